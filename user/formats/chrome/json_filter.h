/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters the bytes that yajl gets. yajl keeps a string or a number that spans several pieces of the file in memory,
 * independent of its length, and scans all of it again with each piece. So yajl only gets the beginning of a long
 * string, and a long number is an error.
 */
#ifndef PROFTRACE_FORMATS_CHROME_JSON_FILTER_H
#define PROFTRACE_FORMATS_CHROME_JSON_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	JSON_MAX_STRING = 16384, /* bytes of a string, with escapes: see read_parser.h */
	JSON_MAX_NUMBER = 1024,
	/*
	 * No trace has a string or white space of this length. The longest known strings are ftrace output
	 * as text, in a key beside traceEvents, from buffers of at most some 100 MB.
	 */
	JSON_LONGEST_STRING = 256 << 20,
	JSON_LONGEST_SPACE = 8 << 20,
};

enum json_fate {
	JSON_PASS,
	JSON_DROP,
	JSON_TOO_LONG, /* the byte continues a number or a string that is too long already */
};

/* All zero at the beginning of a file. */
struct json_filter {
	bool in_string;
	bool escape_start; /* after a backslash */
	bool drop;	   /* the current escape sequence is dropped */
	unsigned escape;   /* hexadecimal digits still to come */
	size_t token;	   /* bytes of this string or number so far */
};

/* Returns how many bytes from the first on have the same fate, and which. */
size_t json_filter(struct json_filter *filter, const uint8_t *bytes, size_t size,
		   enum json_fate *ret_fate);

#endif
