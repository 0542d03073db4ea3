/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names: every name, key and category of a trace, once.
 *
 * Names come from a process or a file that nobody vouches for. Interning a name makes it fit for
 * every output: it is cut to a limit, becomes valid UTF-8 (a bad byte becomes U+FFFD), its control
 * characters are escaped as \xNN, and the number of names is limited: beyond the limit every new
 * name is `(other)`. Each of these cases is counted.
 */
#ifndef PROFTRACE_TIMELINE_NAMES_H
#define PROFTRACE_TIMELINE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name {
	uint32_t id; /* 1, 2, 3, ... in the order of first use: consumers intern by it */
	uint32_t length;
	char text[]; /* NUL-terminated, valid UTF-8 without control characters */
};

struct names;

struct names_count {
	uint64_t cut;	   /* names longer than the limit */
	uint64_t repaired; /* names that were not valid UTF-8 or held control characters */
	uint64_t capped;   /* uses of `(other)` because of the limit on their number */
};

enum {
	NAME_LONGEST = 4096,		 /* bytes kept of any name, whatever the caller allows */
	NAME_LONGEST_REPAIRED = 128 * 6, /* the same, where the repair made a shorter name longer */
};

/* max_names: how many distinct names are kept, 0 = 65536. Returns NULL when out of memory. */
struct names *names_new(uint32_t max_names);
void names_free(struct names *names);

/*
 * The name of these bytes; never NULL (out of memory, it is `(other)`). `max_length`: how many
 * bytes are kept, normally MAX_NAME, at most NAME_LONGEST. A repaired name is no longer than that
 * or than NAME_LONGEST_REPAIRED bytes. Equal results are the same pointer, valid until names_free().
 */
const struct name *names_intern(struct names *names, const char *bytes, size_t length,
				size_t max_length);
const struct name *names_intern_string(struct names *names, const char *string);
/* A name that the traced programs did not give: what is cut or repaired in it is not counted. */
const struct name *names_intern_foreign(struct names *names, const char *bytes, size_t length);
const struct names_count *names_count(const struct names *names);

/*
 * Makes any bytes printable as above, for string values, which are not interned. Writes at most
 * `size` bytes with the NUL to `out` (6 * length + 1 always suffice; U+FFFD takes 3, an escape 4),
 * never splits a character, and returns the length. *ret_changed is set to true if anything had to
 * be repaired, else left alone.
 */
size_t text_clean(char *out, size_t size, const char *bytes, size_t length, bool *ret_changed);

/* The length of the longest beginning of `text` within `max` bytes that does not split a character. */
static inline size_t text_fit(const char *text, size_t length, size_t max)
{
	if (length <= max)
		return length;
	while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

#endif
