/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parsing -f: which functions are recorded, and which values of their calls.
 *
 *	SPEC	[LIB:]NAME[(ARG,...)]
 *	ARG	[KEY=]argN[:TYPE] or [KEY=]ret[:TYPE]
 *	TYPE	u8 u16 u32 u64, s8 s16 s32 s64, x (hexadecimal), bool, str
 *
 * LIB and NAME are globs with * ? and [...]. LIB matches the SONAME of a library or program, the
 * name of its file, or its whole path; without it the functions are the main program's. A double
 * colon is part of the name, as in C++.
 */
#ifndef PROFTRACE_CAPTURE_PROBES_FUNCTION_REQUEST_H
#define PROFTRACE_CAPTURE_PROBES_FUNCTION_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"

enum {
	FUNCTION_MAX_TEXT = 1024,
	FUNCTION_MAX_ARG = 12, /* arg0 to arg11 */
};

struct function_value {
	uint8_t number; /* of an argument */
	uint8_t type;	/* enum value_type */
	uint8_t bits;
	const char *key; /* NULL: argN, or ret */
};

struct function_request {
	const char *text; /* as it was given: borrowed */
	char strings[2 * FUNCTION_MAX_TEXT];
	const char *library; /* a glob; NULL: the main program */
	const char *name;    /* a glob */
	unsigned n_args;
	struct function_value args[MAX_ARGS];
	bool has_value; /* the returned value is recorded */
	struct function_value value;
	bool found; /* a function matched */
};

/* Returns NULL, or what is wrong. `text` must live as long as the request. */
const char *function_request_parse(const char *text, struct function_request *ret);

#endif
