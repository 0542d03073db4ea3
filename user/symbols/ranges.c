/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbols/ranges.h"

#include <stdlib.h>

enum {
	/* Ranges looked at, back from the nearest that begins before: real ones are nested less deeply. */
	MAX_OVERLAP = 64,
};

void ranges_add(struct ranges *r, uint64_t low, uint64_t high, size_t index, uint32_t rank)
{
	if (low >= high || r->n == RANGES_MAX)
		return;
	if (r->n == r->size) {
		size_t size = r->size ? 2 * r->size : 64;
		struct range *ranges = reallocarray(r->ranges, size, sizeof(*ranges));

		if (!ranges)
			return;
		r->ranges = ranges;
		r->size = size;
	}
	r->ranges[r->n++] = (struct range){ low, high, index, rank };
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	/* The smaller after the larger, which it is part of. */
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->index > y->index ? -1 : x->index < y->index;
}

void ranges_sort(struct ranges *r)
{
	if (r->n)
		qsort(r->ranges, r->n, sizeof(*r->ranges), compare);
}

/* How many begin at the address or before. */
static size_t count_before(const struct ranges *r, uint64_t address)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->ranges[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct range *ranges_before(const struct ranges *r, uint64_t address)
{
	size_t n = count_before(r, address);

	return n ? &r->ranges[n - 1] : NULL;
}

const struct range *ranges_find(const struct ranges *r, uint64_t address)
{
	size_t n = count_before(r, address), i;

	for (i = 0; i < MAX_OVERLAP && i < n; i++) {
		if (address < r->ranges[n - 1 - i].high)
			return &r->ranges[n - 1 - i];
	}
	return NULL;
}

void ranges_free(struct ranges *r)
{
	free(r->ranges);
	*r = (struct ranges){ 0 };
}
