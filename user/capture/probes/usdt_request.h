/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parsing -u: which existing USDT probes are recorded, and as what.
 *
 *	SPEC	 PROBE[~PROBE][/TEMPLATE]
 *	PROBE	 PROVIDER:NAME[|NAME...][(ARG,...)][@KEY]
 *	ARG	 [KEY=]argN[:TYPE]
 *	KEY	 argN or tid
 *	TEMPLATE text with {argN}, {argN:TYPE}, {provider}, {name}; {{ and }} for braces;
 *		 and once {TIME,...}: the probe tells of something at times of its own
 *	TIME	 start=argN end=argN dur=argN track=TRACK flow=argN clock ticks=argN time=argN
 *	TRACK	 text with argN and argN:TYPE, and slashes between tracks within tracks
 *	TYPE	 s string, d signed, u unsigned, x pointer, b boolean
 *
 * PROVIDER and NAME are globs with * ? and [...]. One PROBE is an instant, two are a slice. A * in
 * the second one stands for the same text as in the first, if both have the same number of stars.
 * Slices of a pair nest on their thread; with @KEY they are asynchronous and identified by that
 * argument.
 *
 * A TIME with start and end, or dur, is a slice; with dur alone one that ends at the hit; with start
 * alone an instant. They are in ns of CLOCK_MONOTONIC or, with `clock`, ticks of the clock of the
 * track. With ticks it is a reading of that clock, at `time` or else at the hit.
 */
#ifndef PROFTRACE_CAPTURE_PROBES_USDT_REQUEST_H
#define PROFTRACE_CAPTURE_PROBES_USDT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"
#include "tracee/usdt_args.h"

enum {
	USDT_MAX_TEXT = 512,
	USDT_MAX_PARTS = 16, /* of a template */
	USDT_MAX_TRACK_PARTS = 8,
	USDT_MAX_CAPTURES = 256,
	USDT_KEY_NONE = -1,
	USDT_KEY_THREAD = -2,
	USDT_WHOLE = -1, /* n_choices: all arguments */
};

struct usdt_choice {
	uint8_t number;	 /* of the argument in the note */
	uint8_t type;	 /* enum value_type; VALUE_NONE: as in the note */
	const char *key; /* NULL: argN */
};

struct usdt_pattern {
	const char *provider; /* a glob */
	const char *name;     /* globs, separated by | */
	int n_choices;	      /* USDT_WHOLE: no list was given */
	struct usdt_choice choices[MAX_ARGS];
	int key; /* number of an argument, or USDT_KEY_... */
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

enum usdt_time {
	USDT_TIME_START, /* or the ticks of a reading */
	USDT_TIME_END,	 /* or the time of a reading */
	USDT_TIME_DUR,
	USDT_TIME_FLOW,
	USDT_TIMES,
};

/* What the probe tells of, at times of its own. */
enum usdt_given {
	USDT_GIVEN_NONE,
	USDT_GIVEN_SLICE,
	USDT_GIVEN_INSTANT,
	USDT_GIVEN_READING,
};

/* Arguments that are not only shown: of the template, of the times, of the track. */
#define USDT_MAX_FIELDS (USDT_MAX_PARTS + USDT_TIMES + USDT_MAX_TRACK_PARTS)

struct usdt_request {
	const char *text; /* as it was given: borrowed */
	unsigned column;  /* where it is wrong, from 1 on */
	char strings[2 * USDT_MAX_TEXT];
	bool is_pair;
	struct usdt_pattern begin, end;
	unsigned n_parts; /* 0: no template */
	struct usdt_part parts[USDT_MAX_PARTS];
	enum usdt_given given;
	bool of_clock;
	unsigned has; /* a bit for each enum usdt_time */
	struct usdt_choice times[USDT_TIMES];
	unsigned n_track_parts; /* 0: no track */
	struct usdt_part track_parts[USDT_MAX_TRACK_PARTS];
	bool found; /* a probe matched */
};

static inline bool usdt_request_has(const struct usdt_request *r, enum usdt_time time)
{
	return r->has >> time & 1;
}

/* The argument of field `i`, below USDT_MAX_FIELDS. NULL: it has none. */
const struct usdt_choice *usdt_request_field(const struct usdt_request *r, unsigned i);

/* Returns NULL, or what is wrong. `text` must live as long as the request. */
const char *usdt_request_parse(const char *text, struct usdt_request *ret);

enum usdt_role {
	USDT_NO_ROLE,
	USDT_INSTANT,
	USDT_BEGIN,
	USDT_END,
};

/*
 * The role of a probe in the request. `ret_captures` identifies the pair among those of the
 * request; it is empty if there is only one.
 */
enum usdt_role usdt_request_role(const struct usdt_request *r, const char *provider,
				 const char *name, char ret_captures[USDT_MAX_CAPTURES]);

/* The name of the pair's slices if there is no template, without the provider. */
void usdt_pair_name(const struct usdt_request *r, const char *captures, char *out, size_t size);

#endif
