/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times, sizes and shares as users type them. Every function returns false for a text that is not such a
 * quantity as a whole, and writes the result only on success.
 */
#ifndef PROFTRACE_BASE_QUANTITY_H
#define PROFTRACE_BASE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* "500ms", "1.5s", "5m"; a number without a unit is in seconds. From 1 ns to 10^18 ns. */
bool parse_duration(const char *text, uint64_t *ret_ns);
/* The same with a sign. */
bool parse_offset(const char *text, int64_t *ret_ns);
/* "64K", "1G": powers of 1024. "B" and "iB" may follow the unit. */
bool parse_size(const char *text, uint64_t *ret_bytes);
/* "5%", "0.5": above 0, at most 100. */
bool parse_percent(const char *text, double *ret_percent);
/*
 * A moment of the wall clock, later than `now_ns` (of the same clock): "14:30", "14:30:00" in local time, "@1795524416" in
 * seconds since 1970, or "/10s", the next whole multiple of 10 s since 1970 that is at least a second away.
 */
bool parse_moment(const char *text, uint64_t now_ns, uint64_t *ret_ns);
/* A decimal integer within the bounds, which include both. */
bool parse_integer(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);

#endif
