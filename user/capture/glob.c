/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/glob.h"

/* [...]: sets *ret_length, of the pattern; a [ without its ] stands for itself. */
static bool fits_set(const char *set, size_t n, char c, size_t *ret_length)
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

/* One character that is no star: *ret_length is how much of the pattern it takes. */
static bool fits_one(const char *glob, size_t n, char c, size_t *ret_length)
{
	*ret_length = 1;
	if (*glob == '?')
		return true;
	if (*glob == '[')
		return fits_set(glob, n, c, ret_length);
	return *glob == c;
}

bool glob_fits(const char *glob, size_t n, const char *text, struct glob_stars *stars)
{
	size_t g = 0, t = 0, length, star_g = 0, star_t = 0;
	bool starred = false;

	stars->n = 0;
	for (;;) {
		if (g < n && glob[g] == '*') {
			if (stars->n == GLOB_MAX_STARS)
				return false;
			starred = true;
			stars->of[stars->n].at = t;
			stars->of[stars->n++].length = 0;
			star_g = ++g;
			star_t = t;
			continue;
		}
		if (g == n && !text[t])
			return true;
		if (g < n && text[t] && fits_one(glob + g, n - g, text[t], &length)) {
			g += length;
			t++;
			continue;
		}
		if (!starred || !text[star_t])
			return false;
		stars->of[stars->n - 1].length = ++star_t - stars->of[stars->n - 1].at;
		t = star_t;
		g = star_g;
	}
}
