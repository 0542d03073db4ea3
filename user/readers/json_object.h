/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects of an array, as nearly all of them are: whole in one piece of the file, of a few values,
 * with no escape sequences but the short ones. They are taken apart here, without the detour of yajl,
 * which keeps state for every byte. What is not seen here in the form in which it always comes is left
 * to yajl, whatever it is.
 */
#ifndef PROFTRACE_READERS_JSON_OBJECT_H
#define PROFTRACE_READERS_JSON_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	JSON_MAX_TOKENS = 256,
	JSON_MAX_OPEN = 8,    /* maps and lists in each other */
	JSON_MAX_SIZE = 8192, /* bytes of an object: json_filter.h lets all that fits pass */
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
	JSON_NUMBERS, /* a list of nothing but numbers and such lists, whole */
};

struct json_token {
	enum json_kind kind;
	uint32_t length;
	const char *text; /* KEY, STRING: without the quotes; NUMBER, NUMBERS: all of it */
	/*
	 * KEY: json_word() of it. NUMBER: its digits, without sign and point, where they fit. NUMBERS:
	 * not 0 where there is white space in it.
	 */
	uint64_t word;
	bool negative;
	bool fits;	  /* NUMBER: in nineteen digits */
	uint8_t fraction; /* how many digits stand behind its point */
};

struct json_object {
	unsigned n;
	/* Room for what may come behind the last one before it is seen that there are too many. */
	struct json_token tokens[JSON_MAX_TOKENS + 2 + JSON_MAX_OPEN];
	char unescaped[JSON_MAX_SIZE +
		       8]; /* strings that had escape sequences, and a word behind */
};

/* A word of at most eight bytes as one number, of a longer one its beginning. */
#define JSON_WORD(word) json_word(word, sizeof(word) - 1)

static inline uint64_t json_word(const char *text, size_t length)
{
	uint64_t word = 0;

	memcpy(&word, text, length < sizeof(word) ? length : sizeof(word));
	return word;
}

/*
 * Takes an object with the comma behind it and the white space around both. Returns how many bytes that
 * are; 0: it is not all here, or is something else. INPUT_PADDING bytes behind may be read, too.
 */
size_t json_object(const uint8_t *bytes, size_t size, struct json_object *object);

#endif
