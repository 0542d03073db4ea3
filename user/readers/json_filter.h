/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What stands between a file and yajl. yajl gathers a string or a number that spans two pieces of the
 * file in memory, however long it is, and looks at all of it again with each piece. So it is not told
 * all: of a string only the beginning, and numbers have a limit.
 */
#ifndef PROFTRACE_READERS_JSON_FILTER_H
#define PROFTRACE_READERS_JSON_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/*
	 * Of a string, as written. Even of escape sequences alone, six bytes for one, this is more
	 * than READ_MAX_STRING: what is cut here is seen to be cut there.
	 */
	JSON_MAX_STRING = 16384,
	JSON_MAX_NUMBER = 1024,
};

enum json_fate {
	JSON_PASS,
	JSON_DROP,
	JSON_TOO_LONG, /* the byte here goes on with a number that is too long already */
};

/* All zero at the beginning of a file. */
struct json_filter {
	bool in_string;
	bool escape_start; /* after a backslash */
	bool drop;	   /* the escape sequence that was begun */
	unsigned escape;   /* hexadecimal digits still to come */
	size_t token;	   /* bytes of this string or number so far */
};

/* How many bytes from the first on share a fate, and which. */
size_t json_filter(struct json_filter *filter, const uint8_t *bytes, size_t size,
		   enum json_fate *ret_fate);

#endif
