/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses numbers in the syntax of JSON without losing precision: integers stay 64-bit integers, and
 * times in microseconds become nanoseconds exactly. And makes random numbers.
 */
#ifndef PROFTRACE_BASE_NUMBER_H
#define PROFTRACE_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum number_type {
	NUMBER_NONE, /* not a number */
	NUMBER_INT,
	NUMBER_UINT, /* above INT64_MAX */
	NUMBER_DOUBLE,
};

struct number {
	enum number_type type;
	union {
		int64_t i;
		uint64_t u;
		double d;
	};
};

/*
 * The whole text must be the number. Integers beyond 64 bits become doubles. `words` also permits
 * "NaN", "Infinity" and "-Infinity", which JSON has no other way to write.
 */
struct number number_read(const char *text, size_t length, bool words);

/*
 * A decimal of at most nineteen digits: `digits`, of which the last `fraction` are behind the
 * point.
 */
struct number_parts {
	uint64_t digits;
	uint8_t fraction;
	bool negative;
};

/* The same result as number_read() of its text, which is read only if the parts do not suffice. */
struct number number_parts_read(const struct number_parts *parts, const char *text, size_t length);
/* The same result as number_microseconds(); false also if only that function can parse it. */
bool number_parts_microseconds(const struct number_parts *parts, int64_t *ret_ns);

/*
 * Converts microseconds to nanoseconds, exactly; finer digits are rounded. False: not a number, or
 * an impossible time (|time| of 292 years and more).
 */
bool number_microseconds(const char *text, size_t length, int64_t *ret_ns);

/* "0x1f" or "31", and nothing else. */
bool number_id(const char *text, size_t length, uint64_t *ret_id);

/* The next number of Marsaglia's xorshift64: what is chosen by it depends on nothing but the input. */
static inline uint64_t number_next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
