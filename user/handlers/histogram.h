/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A histogram of times: sixteen buckets for each power of two, so that what is told of a percentile is
 * within 1/16 of the truth, whatever the times are. Memory grows with the range of what is in it.
 */
#ifndef PROFTRACE_HANDLERS_HISTOGRAM_H
#define PROFTRACE_HANDLERS_HISTOGRAM_H

#include <stdint.h>

enum {
	HISTOGRAM_BITS = 4, /* log2 of the buckets of one power of two, which are a group */
	HISTOGRAM_GROUP = 1 << HISTOGRAM_BITS,
	HISTOGRAM_GROUPS = 64 - HISTOGRAM_BITS + 1,
	HISTOGRAM_BUCKETS = HISTOGRAM_GROUPS * HISTOGRAM_GROUP,
};

/* All zero at the beginning. */
struct histogram {
	uint64_t *counts;     /* of the groups from `first` on */
	uint8_t first, n;     /* groups */
	uint64_t not_counted; /* there was no memory for them */
};

/* The bucket of a value: the first sixteen hold one value each. */
static inline unsigned histogram_bucket(uint64_t value)
{
	unsigned shift;

	if (value < HISTOGRAM_GROUP)
		return (unsigned)value;
	shift = 63 - HISTOGRAM_BITS - (unsigned)__builtin_clzll(value);
	return (shift << HISTOGRAM_BITS) + (unsigned)(value >> shift);
}

/* The least value that falls into the bucket. */
static inline uint64_t histogram_least(unsigned bucket)
{
	unsigned shift = bucket >> HISTOGRAM_BITS;

	if (shift < 2)
		return bucket;
	return (uint64_t)(HISTOGRAM_GROUP + bucket % HISTOGRAM_GROUP) << (shift - 1);
}

/* The same as histogram_add(), where there is no room for the bucket yet. */
void histogram_add_first(struct histogram *h, unsigned bucket, uint64_t n);

/* Adds `n` to a bucket. */
static inline void histogram_add(struct histogram *h, unsigned bucket, uint64_t n)
{
	unsigned first = h->first * HISTOGRAM_GROUP;

	if (bucket - first < h->n * HISTOGRAM_GROUP)
		h->counts[bucket - first] += n;
	else
		histogram_add_first(h, bucket, n);
}

void histogram_merge(struct histogram *to, const struct histogram *from);
void histogram_free(struct histogram *h);

/*
 * The least value that `percent` of all are not above, as far as the buckets tell; between the least
 * and the greatest value that there were, which are known exactly. 0 when there is nothing in it.
 */
uint64_t histogram_percentile(const struct histogram *h, unsigned percent, uint64_t min,
			      uint64_t max);

#endif
