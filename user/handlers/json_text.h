/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers and strings as JSON text. Each function writes at a pointer and returns where it stopped;
 * the caller has made room for the most it can write, said below. None depends on the locale.
 */
#ifndef PROFTRACE_HANDLERS_JSON_TEXT_H
#define PROFTRACE_HANDLERS_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	JSON_NUMBER_MAX = 32
};

#define json_literal(at, text) ((char *)memcpy(at, text, sizeof(text) - 1) + sizeof(text) - 1)

/*
 * Names have some ten bytes. A call of memcpy() costs more than to copy that by two words that overlap.
 */
static inline char *json_copy(char *at, const char *text, size_t length)
{
	if (length >= 8 && length <= 16) {
		memcpy(at, text, 8);
		memcpy(at + length - 8, text + length - 8, 8);
	} else if (length >= 4 && length < 8) {
		memcpy(at, text, 4);
		memcpy(at + length - 4, text + length - 4, 4);
	} else {
		memcpy(at, text, length);
	}
	return at + length;
}

char *json_u64(char *at, uint64_t value); /* 20 bytes */
char *json_i64(char *at, int64_t value);  /* 20 bytes */
char *json_hex(char *at, uint64_t value); /* "0x1f" with its quotes, 20 bytes */

/* Nanoseconds as microseconds with exactly three decimals: 21 bytes. */
char *json_us(char *at, uint64_t ns);

/*
 * The shortest text that gives the same double again, always with a '.' or an 'e' so that it is not
 * taken for an integer; JSON has no NaN and Infinity, these are strings. JSON_NUMBER_MAX bytes.
 */
char *json_double(char *at, double value);

/*
 * The inside of a string, 2 * length bytes at most. UTF-8 stays as it is: Perfetto's loader rejects
 * whole files for surrogate escapes. Control characters other than line breaks and tabs, which no
 * cleaned text contains, become '?'.
 */
char *json_escaped(char *at, const char *text, size_t length);

#endif
