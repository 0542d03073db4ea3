/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Matches globs. fnmatch(3) is used where only the result matters; glob_matches() also returns what
 * each star stands for, and bounds the time a hostile pattern can take.
 */
#include "base/glob.h"

#include <fnmatch.h>
#include <string.h>

/* Matches [...] and sets *ret_length to its length in the pattern; a [ without ] matches itself. */
static bool glob_set_matches(const char *set, size_t n, char c, size_t *ret_length)
{
	bool negated, fits = false;
	size_t i = 1;

	negated = i < n && (set[i] == '!' || set[i] == '^');
	i += negated;
	do {
		if (i >= n) {
			*ret_length = 1;
			return c == '[';
		}
		if (i + 2 < n && set[i + 1] == '-' && set[i + 2] != ']') {
			fits |= (unsigned char)c >= (unsigned char)set[i] &&
				(unsigned char)c <= (unsigned char)set[i + 2];
			i += 3;
		} else {
			fits |= c == set[i++];
		}
	} while (i >= n || set[i] != ']');
	*ret_length = i + 1;
	return fits != negated;
}

/* Matches one character of the text; *ret_length is the length in the pattern. */
static bool glob_char_matches(const char *glob, size_t n, char c, size_t *ret_length)
{
	*ret_length = 1;
	if (*glob == '?')
		return true;
	if (*glob == '[')
		return glob_set_matches(glob, n, c, ret_length);
	return *glob == c;
}

bool glob_matches(const char *glob, size_t n, const char *text, struct glob_stars *stars)
{
	size_t g = 0, t = 0, length, star_g = 0, star_t = 0;
	bool starred = false;

	stars->n = 0;
	for (;;) {
		if (g < n && glob[g] == '*') {
			if (stars->n == GLOB_MAX_STARS)
				return false;
			starred = true;
			stars->list[stars->n].at = t;
			stars->list[stars->n++].length = 0;
			star_g = ++g;
			star_t = t;
			continue;
		}
		if (g == n && !text[t])
			return true;
		if (g < n && text[t] && glob_char_matches(glob + g, n - g, text[t], &length)) {
			g += length;
			t++;
			continue;
		}
		if (!starred || !text[star_t])
			return false;
		stars->list[stars->n - 1].length = ++star_t - stars->list[stars->n - 1].at;
		t = star_t;
		g = star_g;
	}
}

/* --- lists of globs --- */

/* Whether one of several categories, which are separated by commas, matches. */
static bool any_category_matches(const char *glob, const char *list)
{
	char one[1024];
	size_t length;

	if (!fnmatch(glob, list, 0))
		return true;
	for (; strchr(list, ','); list += length + 1) {
		length = strcspn(list, ",");
		if (length < sizeof(one)) {
			memcpy(one, list, length);
			one[length] = '\0';
			if (!fnmatch(glob, one, 0))
				return true;
		}
		if (!list[length])
			return false;
	}
	return !fnmatch(glob, list, 0);
}

bool globs_select(const char *const *globs, unsigned n, const char *text, bool is_list)
{
	bool included = true, found = false;

	for (unsigned i = 0; i < n; i++) {
		bool excludes = globs[i][0] == '!';
		const char *glob = globs[i] + excludes;
		bool matches = is_list ? any_category_matches(glob, text) : !fnmatch(glob, text, 0);

		if (excludes && matches)
			return false;
		if (!excludes) {
			included = false;
			found |= matches;
		}
	}
	return included || found;
}
