/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranges of addresses in a sorted array, which may be nested. A binary search finds the last one
 * that begins before an address, and the innermost one that contains it is at most MAX_OVERLAP
 * places before: hostile files can nest ranges as deeply as they like, and a lookup must not become
 * a search of all of them.
 */
#include "symbols/code_file.h"
#include "base/array.h"

#include <stdlib.h>

enum {
	/*
	 * Ranges that are examined, backwards from the nearest one; real ones are nested less
	 * deeply.
	 */
	MAX_OVERLAP = 64,
};

void ranges_add(struct ranges *r, uint64_t low, uint64_t high, size_t index, uint32_t rank)
{
	if (low >= high || r->n == RANGES_MAX)
		return;
	if (!array_reserve(r->ranges, r->n, r->capacity, 64))
		return;
	r->ranges[r->n++] = (struct range){ low, high, index, rank };
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	/* An inner range comes after the one around it. */
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->index > y->index ? -1 : x->index < y->index;
}

void ranges_sort(struct ranges *r)
{
	if (r->n)
		qsort(r->ranges, r->n, sizeof(*r->ranges), compare_ranges);
}

/* How many ranges begin at the address or before it. */
static size_t count_ranges_before(const struct ranges *r, uint64_t address)
{
	return array_count_before(r->n, i, r->ranges[i].low <= address);
}

const struct range *ranges_before(const struct ranges *r, uint64_t address)
{
	size_t n = count_ranges_before(r, address);

	return n ? &r->ranges[n - 1] : NULL;
}

const struct range *ranges_find(const struct ranges *r, uint64_t address)
{
	size_t n = count_ranges_before(r, address), i;

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
