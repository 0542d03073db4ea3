/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A histogram of times for percentiles: sixteen buckets for each power of two, so that a percentile
 * is exact to 1/16, whatever the times are. Memory grows with the range of the times in it.
 */
#ifndef PROFTRACE_BASE_HISTOGRAM_H
#define PROFTRACE_BASE_HISTOGRAM_H

#include <stdint.h>

enum {
	/* log2 of the buckets of a group, which covers one power of two. */
	HISTOGRAM_BITS = 4,
	HISTOGRAM_GROUP = 1 << HISTOGRAM_BITS,
	HISTOGRAM_GROUPS = 64 - HISTOGRAM_BITS + 1,
	HISTOGRAM_BUCKETS = HISTOGRAM_GROUPS * HISTOGRAM_GROUP,
};

/* All zero at the beginning. */
struct histogram {
	uint64_t *counts;     /* of the groups from `first` on */
	uint8_t first, n;     /* groups */
	uint64_t not_counted; /* times for which there was no memory */
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

/* The smallest value in the bucket. */
static inline uint64_t histogram_least(unsigned bucket)
{
	unsigned shift = bucket >> HISTOGRAM_BITS;

	if (shift < 2)
		return bucket;
	return (uint64_t)(HISTOGRAM_GROUP + bucket % HISTOGRAM_GROUP) << (shift - 1);
}

/* histogram_add() for a bucket that is not allocated yet. */
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
 * The smallest value that `percent` of all values do not exceed, as exactly as the buckets are;
 * limited to the range of `min` and `max`, which are known exactly. 0 when the histogram is empty.
 */
uint64_t histogram_percentile(const struct histogram *h, unsigned percent, uint64_t min,
			      uint64_t max);

#endif
