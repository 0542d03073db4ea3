/* SPDX-License-Identifier: BSD-2-Clause */
#include "handlers/globs.h"

#include <fnmatch.h>
#include <string.h>

/* Several categories stand in one text, separated by commas. */
static bool any_matches(const char *glob, const char *list)
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

bool globs_want(const char *const *globs, unsigned n, const char *text, bool is_list)
{
	bool included = true, found = false;
	unsigned i;

	for (i = 0; i < n; i++) {
		bool excludes = globs[i][0] == '!';
		const char *glob = globs[i] + excludes;
		bool matches = is_list ? any_matches(glob, text) : !fnmatch(glob, text, 0);

		if (excludes && matches)
			return false;
		if (!excludes) {
			included = false;
			found |= matches;
		}
	}
	return included || found;
}
