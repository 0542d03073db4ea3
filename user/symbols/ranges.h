/* SPDX-License-Identifier: BSD-2-Clause */
/* What lies where: ranges of addresses, which may lie in one another. */
#ifndef PROFTRACE_SYMBOLS_RANGES_H
#define PROFTRACE_SYMBOLS_RANGES_H

#include <stddef.h>
#include <stdint.h>

enum {
	RANGES_MAX = 1 << 22,
};

struct range {
	uint64_t low, high;
	size_t index; /* the caller's */
	uint32_t rank;
};

struct ranges {
	struct range *ranges;
	size_t n, size;
};

/* Empty ones, and those beyond the limit or memory, are left out. */
void ranges_add(struct ranges *r, uint64_t low, uint64_t high, size_t index, uint32_t rank);
/* Before the first search, and after the last ranges_add(). */
void ranges_sort(struct ranges *r);
/* The innermost that the address lies in; of equal ones that of the highest rank. NULL: none. */
const struct range *ranges_find(const struct ranges *r, uint64_t address);
/* The last that begins at the address or before, whether it lies in it or not. NULL: none. */
const struct range *ranges_before(const struct ranges *r, uint64_t address);
void ranges_free(struct ranges *r);

#endif
