/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers and strings as JSON text. Each function writes at `at` and returns the end of what it wrote. The caller
 * reserves the number of bytes given below. No function depends on the locale.
 */
#ifndef PROFTRACE_FORMATS_JSON_TEXT_H
#define PROFTRACE_FORMATS_JSON_TEXT_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	JSON_NUMBER_MAX = 32,
	JSON_EIGHT = 100000000, /* json_digits() converts eight digits at once */
	JSON_US_LOW = 9,
};

#define json_literal(at, text) ((char *)memcpy(at, text, sizeof(text) - 1) + sizeof(text) - 1)

#define JSON_ZEROS 0x3030303030303030ull

/*
 * Converts a number below 10^8 into eight digits, one in each byte of a word, the first in the lowest byte. The
 * number is split into two numbers of four digits, these into four of two digits, and these into digits. The parts
 * are side by side in the word, so that one multiplication by a reciprocal divides all of them. The reciprocals
 * 5243/2^19 and 103/2^10 are exact for numbers of four and of two digits.
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

/* Nanoseconds as microseconds with exactly three decimals. Writes up to 26 bytes and uses at most 21 of them. */
char *json_us(char *at, uint64_t ns);

/* The last eight digits of such a time, with the point: `ns` is below JSON_EIGHT. Writes 14 bytes and uses 9. */
static inline char *json_us_low(char *at, uint32_t ns)
{
	uint64_t digits = json_digits(ns) + JSON_ZEROS;

	json_put_word(at, digits);
	at[5] = '.';
	json_put_word(at + 6, digits >> 40);
	return at + JSON_US_LOW;
}

/*
 * The shortest text that parses to the same double. It always has a '.' or an 'e', so that readers do not take it
 * for an integer. NaN and Infinity, which JSON lacks, become strings. JSON_NUMBER_MAX bytes.
 */
char *json_double(char *at, double value);

/*
 * The inside of a string, at most 2 * length bytes. UTF-8 is not escaped: Perfetto's loader rejects files with
 * surrogate escapes. Control characters that have no escape of one letter, and that no cleaned text contains, become
 * '?'.
 */
char *json_escaped(char *at, const char *text, size_t length);

#endif
