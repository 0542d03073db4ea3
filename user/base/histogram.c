/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buckets are allocated in groups of sixteen (128 bytes), in one array from the lowest group that is used
 * to the highest.
 */
#include "base/histogram.h"

#include <stdlib.h>
#include <string.h>

/* Allocates a group. Out of memory, the histogram stays as it is. */
static void histogram_grow(struct histogram *h, unsigned group)
{
	unsigned first = h->n && h->first < group ? h->first : group;
	unsigned end = h->n && h->first + h->n > group ? h->first + h->n : group + 1;
	uint64_t *grown = calloc((size_t)(end - first) * HISTOGRAM_GROUP, sizeof(*grown));

	if (!grown)
		return;
	if (h->n)
		memcpy(grown + (size_t)(h->first - first) * HISTOGRAM_GROUP, h->counts,
		       (size_t)h->n * HISTOGRAM_GROUP * sizeof(*grown));
	free(h->counts);
	h->counts = grown;
	h->first = (uint8_t)first;
	h->n = (uint8_t)(end - first);
}

void histogram_add_first(struct histogram *h, unsigned bucket, uint64_t n)
{
	unsigned group = bucket >> HISTOGRAM_BITS;

	histogram_grow(h, group);
	if (group - h->first < h->n)
		h->counts[bucket - h->first * HISTOGRAM_GROUP] += n;
	else
		h->not_counted += n;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	unsigned i, first = from->first * HISTOGRAM_GROUP;

	for (i = 0; i < from->n * HISTOGRAM_GROUP; i++) {
		if (from->counts[i])
			histogram_add(to, first + i, from->counts[i]);
	}
	to->not_counted += from->not_counted;
}

void histogram_free(struct histogram *h)
{
	free(h->counts);
	*h = (struct histogram){ 0 };
}

/*
 * The time of the `rank`th of `n` in a bucket, as if they were spread evenly over its range: several
 * percentiles in one bucket then differ as they should.
 */
static uint64_t bucket_time(unsigned bucket, uint64_t rank, uint64_t n)
{
	uint64_t width = bucket < HISTOGRAM_GROUP ? 1 : 1ull << ((bucket >> HISTOGRAM_BITS) - 1);

	return histogram_least(bucket) +
	       (uint64_t)((double)(width - 1) * ((double)rank - 0.5) / (double)n);
}

uint64_t histogram_percentile(const struct histogram *h, unsigned percent, uint64_t min,
			      uint64_t max)
{
	uint64_t total = 0, rank, value = 0;
	unsigned i, last = h->n * HISTOGRAM_GROUP;

	for (i = 0; i < last; i++)
		total += h->counts[i];
	if (!total)
		return 0;
	rank = total / 100 * percent + (total % 100 * percent + 99) / 100;
	if (rank <= 1)
		return min;
	if (rank >= total)
		return max;
	for (i = 0; rank > h->counts[i]; i++)
		rank -= h->counts[i];
	value = bucket_time(h->first * HISTOGRAM_GROUP + i, rank, h->counts[i]);
	return value < min ? min : value > max ? max : value;
}
