/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tokenizer for objects in the plain form that nearly all objects of traces have: complete in the window, with few
 * values, and with short escape sequences only. It is faster than yajl, which keeps a state for every byte. Objects in
 * any other form are left to yajl.
 */
#ifndef PROFTRACE_FORMATS_CHROME_JSON_OBJECT_H
#define PROFTRACE_FORMATS_CHROME_JSON_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	JSON_MAX_TOKENS = 256,
	JSON_MAX_OPEN = 8, /* nested maps and lists */
	JSON_MAX_SIZE =
		8192, /* bytes of an object; json_filter.h passes all strings of this length */
};

enum json_kind {
	JSON_MAP_START,
	JSON_MAP_END,
	JSON_LIST_START,
	JSON_LIST_END,
	JSON_KEY,
	JSON_STRING,
	JSON_NUMBER,
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL,
	JSON_NUMBERS, /* a whole list that only contains numbers and such lists */
};

struct json_token {
	enum json_kind kind;
	uint32_t length;
	const char *text; /* KEY, STRING: without the quotes; NUMBER, NUMBERS: all of it */
	/*
	 * KEY: its json_word(). NUMBER: its digits without sign and point, if they fit. NUMBERS: not 0
	 * if it contains white space.
	 */
	uint64_t word;
	bool negative;
	bool fits;	  /* NUMBER: in nineteen digits */
	uint8_t fraction; /* the number of digits after the point */
};

struct json_object {
	unsigned n;
	/* Some more, since the limit is checked only after each value. */
	struct json_token tokens[JSON_MAX_TOKENS + 2 + JSON_MAX_OPEN];
	char unescaped[JSON_MAX_SIZE +
		       8]; /* strings with escape sequences, and a word behind them */
};

/* The first eight bytes of a word as a number. */
#define JSON_WORD(word) json_word(word, sizeof(word) - 1)

static inline uint64_t json_word(const char *text, size_t length)
{
	uint64_t word = 0;

	memcpy(&word, text, length < sizeof(word) ? length : sizeof(word));
	return word;
}

/*
 * Tokenizes an object with the comma behind it and the white space around both. Returns the number of bytes, or 0 if it
 * is not complete or not in the plain form. Up to INPUT_PADDING bytes behind `size` may be read.
 */
size_t json_object(const uint8_t *bytes, size_t size, struct json_object *object);

#endif
