/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arrays that grow by doubling, and searches in sorted ones. A lack of memory is survived: then the array and
 * its capacity stay as they were.
 */
#ifndef PROFTRACE_BASE_ARRAY_H
#define PROFTRACE_BASE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* `array`: the address of the pointer to the elements. False when out of memory. */
static inline bool array_grow(void *array, uint32_t *capacity, uint32_t first, size_t size)
{
	uint32_t more = *capacity ? *capacity * 2 : first;
	void *old, *grown;

	memcpy(&old, array, sizeof(old));
	grown = reallocarray(old, more, size);
	if (!grown)
		return false;
	memcpy(array, &grown, sizeof(grown));
	*capacity = more;
	return true;
}

/* Makes space for element number `n`; the first allocation has `first` elements. */
#define array_reserve(array, n, capacity, first) \
	((n) < (capacity) || array_grow(&(array), &(capacity), first, sizeof(*(array))))

/*
 * Of `n` elements in order, the number of those that come first and for which `is_before` is true. It is an
 * expression of `i`, the index of an element.
 */
#define array_count_before(n, i, is_before)                         \
	({                                                          \
		size_t low_ = 0, high_ = (n);                       \
                                                                    \
		while (low_ < high_) {                              \
			const size_t i = low_ + (high_ - low_) / 2; \
                                                                    \
			if (is_before)                              \
				low_ = i + 1;                       \
			else                                        \
				high_ = i;                          \
		}                                                   \
		low_;                                               \
	})

#endif
