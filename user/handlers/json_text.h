/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers and strings as JSON text. Each function writes at a pointer and returns where it stopped;
 * the caller has made room for the most it can write, said below. None depends on the locale.
 */
#ifndef PROFTRACE_HANDLERS_JSON_TEXT_H
#define PROFTRACE_HANDLERS_JSON_TEXT_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	JSON_NUMBER_MAX = 32,
	JSON_EIGHT = 100000000, /* as many digits as are made at once */
	JSON_US_LOW = 9,
};

#define json_literal(at, text) ((char *)memcpy(at, text, sizeof(text) - 1) + sizeof(text) - 1)

#define JSON_ZEROS 0x3030303030303030ull

/*
 * The eight digits of a number below 10^8, each in a byte, the first one in the lowest byte of a word: halves of
 * four digits, their halves of two and the digits of these lie side by side in it, so that a multiplication
 * divides all of them. Its reciprocals are exact for as many digits as are left then.
 */
static inline uint64_t json_digits(uint32_t value)
{
	uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
	uint64_t hundreds = fours * 5243 >> 19 & 0x0000007f0000007f;
	uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
	uint64_t tens = twos * 103 >> 10 & 0x000f000f000f000f;

	return tens | (twos - tens * 10) << 8;
}

static inline void json_put_word(char *at, uint64_t bytes)
{
	bytes = htole64(bytes);
	memcpy(at, &bytes, sizeof(bytes));
}

char *json_u64(char *at, uint64_t value); /* 20 bytes */
char *json_i64(char *at, int64_t value);  /* 20 bytes */
char *json_hex(char *at, uint64_t value); /* "0x1f" with its quotes, 20 bytes */

/* Nanoseconds as microseconds with exactly three decimals: 26 bytes, of which 21 count. */
char *json_us(char *at, uint64_t ns);

/* Its last eight digits with the point among them, of less than JSON_EIGHT: 14 bytes, of which 9 count. */
static inline char *json_us_low(char *at, uint32_t ns)
{
	uint64_t digits = json_digits(ns) + JSON_ZEROS;

	json_put_word(at, digits);
	at[5] = '.';
	json_put_word(at + 6, digits >> 40);
	return at + JSON_US_LOW;
}

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
