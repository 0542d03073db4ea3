/* SPDX-License-Identifier: BSD-2-Clause */
/* Names by patterns of * ? and [...], and what their stars stand for. */
#ifndef PROFTRACE_CAPTURE_GLOB_H
#define PROFTRACE_CAPTURE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

enum {
	GLOB_MAX_STARS = 8
};

struct glob_stars {
	unsigned n;
	struct {
		size_t at, length;
	} of[GLOB_MAX_STARS];
};

/*
 * Whether the glob (n bytes) fits, and what its stars stand for: each for as little as it can. Only
 * the latest is ever tried again, which finds a way if there is one, and takes no more than n times
 * the text's length.
 */
bool glob_fits(const char *glob, size_t n, const char *text, struct glob_stars *ret_stars);

#endif
