/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * -u: which probes of others are recorded, and as what.
 *
 *	SPEC	 PROBE[~PROBE][/TEMPLATE]
 *	PROBE	 PROVIDER:NAME[|NAME...][(ARG,...)][@KEY]
 *	ARG	 [KEY=]argN[:TYPE]
 *	KEY	 argN or tid
 *	TEMPLATE text with {argN}, {argN:TYPE}, {provider}, {name}; {{ and }} for braces
 *	TYPE	 s string, d signed, u unsigned, x pointer, b boolean
 *
 * PROVIDER and NAME are globs of * ? and [...]. One PROBE is an instant. Two are a slice; what * stands
 * for in the first is what it stands for in the second, if both have as many. Slices of a pair nest on
 * their thread, or with @KEY are asynchronous and told apart by that argument.
 */
#ifndef PROFTRACE_CAPTURE_USDT_REQUEST_H
#define PROFTRACE_CAPTURE_USDT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "target/usdt_args.h"

enum {
	USDT_MAX_TEXT = 512,
	USDT_MAX_PARTS = 16, /* of a template */
	USDT_MAX_CAPTURES = 256,
	USDT_KEY_NONE = -1,
	USDT_KEY_THREAD = -2,
	USDT_WHOLE = -1, /* args_given: all of them */
};

struct usdt_choice {
	uint8_t number;	 /* of the note's arguments */
	uint8_t type;	 /* enum value_type; VALUE_NONE: as the note says */
	const char *key; /* NULL: argN */
};

struct usdt_pattern {
	const char *provider; /* a glob */
	const char *name;     /* globs, separated by | */
	int n_choices;	      /* USDT_WHOLE: none were named */
	struct usdt_choice choices[MAX_ARGS];
	int key; /* the number of an argument, or USDT_KEY_... */
};

enum usdt_part_kind {
	USDT_PART_TEXT,
	USDT_PART_ARG,
	USDT_PART_PROVIDER,
	USDT_PART_NAME,
};

struct usdt_part {
	uint8_t kind;
	struct usdt_choice arg;
	const char *text;
};

struct usdt_request {
	const char *text; /* as it was given: borrowed */
	char strings[2 * USDT_MAX_TEXT];
	bool is_pair;
	struct usdt_pattern begin, end;
	unsigned n_parts; /* 0: no template */
	struct usdt_part parts[USDT_MAX_PARTS];
	bool found; /* there was a site */
};

/* Returns NULL, or what is wrong with it. `text` must live as long as the request. */
const char *usdt_request_parse(const char *text, struct usdt_request *ret);

enum usdt_role {
	USDT_NO_ROLE,
	USDT_INSTANT,
	USDT_BEGIN,
	USDT_END,
};

/*
 * What the probe is to the request. `ret_captures`: what tells the pair from others of the same
 * request, empty when there is one pair only.
 */
enum usdt_role usdt_request_role(const struct usdt_request *r, const char *provider,
				 const char *name, char ret_captures[USDT_MAX_CAPTURES]);

/* The name that slices of this pair have without a template, without their provider. */
void usdt_pair_name(const struct usdt_request *r, const char *captures, char *out, size_t size);

#endif
