/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects of an array, as nearly all of them are: whole in one piece of the file, of a few values,
 * without escape sequences. They are taken apart here, without the detour of yajl, which keeps state for
 * every byte. What is not seen here in the form in which it always comes is left to yajl, whatever it is.
 */
#ifndef PROFTRACE_READERS_JSON_OBJECT_H
#define PROFTRACE_READERS_JSON_OBJECT_H

#include <stddef.h>
#include <stdint.h>

enum {
	JSON_MAX_TOKENS = 256,
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
};

struct json_token {
	enum json_kind kind;
	uint32_t length;
	const char *text; /* KEY, STRING: without the quotes; NUMBER */
};

struct json_object {
	unsigned n;
	struct json_token tokens[JSON_MAX_TOKENS];
};

/*
 * Takes an object with the comma behind it and the white space around both. Returns how many bytes that
 * are; 0: it is not all here, or is something else.
 */
size_t json_object(const uint8_t *bytes, size_t size, struct json_object *object);

#endif
