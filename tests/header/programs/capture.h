/* SPDX-License-Identifier: BSD-2-Clause */
/* What the last marker passed to its stub, as capture.c caught it. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <stdint.h>

struct capture {
	const char *kind; /* "begin", ...; NULL until a marker was seen */
	const char *name;
	uint64_t meta, a, b;
	const char *keys;
	uint64_t values[6];
	uint64_t token;	      /* of the last begin that had one */
	const char *expected; /* a string; */
	int as_expected;      /* marks with a value that is equal to it */
	int readings;	      /* of clocks */
};

#ifdef __cplusplus
extern "C"
#else
extern
#endif
	struct capture captured;

#endif
