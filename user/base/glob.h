/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Globs: one pattern of * ? and [...] against one name, with what its stars stand for, and the lists of
 * patterns behind --domain and --name.
 */
#ifndef PROFTRACE_BASE_GLOB_H
#define PROFTRACE_BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

enum {
	GLOB_MAX_STARS = 8
};

struct glob_stars {
	unsigned n;
	struct {
		size_t at, length;
	} list[GLOB_MAX_STARS];
};

/*
 * Whether the glob (n bytes) matches, and what its stars stand for: each for as little as possible.
 * Only the latest star is ever extended, which finds a match if there is one and takes no more than
 * n times the length of the text.
 */
bool glob_matches(const char *glob, size_t n, const char *text, struct glob_stars *ret_stars);

/*
 * Whether the list of globs selects the text. Without a glob that includes, everything is included; !GLOB
 * excludes. `is_list`: the text is several categories, separated by commas, of which one has to match.
 */
bool globs_select(const char *const *globs, unsigned n, const char *text, bool is_list);

#endif
