/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers as JSON spells them, read without losing what fits. */
#ifndef PROFTRACE_READERS_NUMBER_H
#define PROFTRACE_READERS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum number_type {
	NUMBER_NONE, /* no number */
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
 * All of the text must be the number. Integers that fit no 64 bits become doubles. "NaN", "Infinity"
 * and "-Infinity", which JSON cannot say otherwise, are read where `words` allows.
 */
struct number number_read(const char *text, size_t length, bool words);

/* A decimal of at most nineteen digits: `digits`, of which the last `fraction` stand behind the point. */
struct number_parts {
	uint64_t digits;
	uint8_t fraction;
	bool negative;
};

/* The same as number_read() makes of its text, which is looked at only where the parts do not suffice. */
struct number number_parts_read(const struct number_parts *parts, const char *text, size_t length);
/* The same as number_microseconds(); false also where only that can tell. */
bool number_parts_microseconds(const struct number_parts *parts, int64_t *ret_ns);

/*
 * Microseconds as nanoseconds, exactly; what is finer is rounded. False: no number, or a time of which
 * there can be none (|time| of 292 years and more).
 */
bool number_microseconds(const char *text, size_t length, int64_t *ret_ns);

/* "0x1f" or "31", and nothing else. */
bool number_id(const char *text, size_t length, uint64_t *ret_id);

#endif
