/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a trace says about its own recording: `trace_info` is what goes into a file at its start, and
 * `trace_origin` is what a reader finds there again, which merge needs to put traces on one timeline.
 */
#ifndef PROFTRACE_TIMELINE_ORIGIN_H
#define PROFTRACE_TIMELINE_ORIGIN_H

#include <stdint.h>

#include "timeline/account.h"
#include "timeline/event.h"

#define COUNTER_STEP_NS \
	10000000ull /* finer than a viewer's pixel while a second is on the screen */

/* All strings are borrowed for the call that gets them. */
struct trace_info {
	uint64_t start_ns; /* CLOCK_MONOTONIC: no fact is older */
	struct clock_reading clock;
	uint64_t trace_uuid[2];
	const char *version;	    /* of proftrace */
	const char *kernel_release; /* uname -r, -v, -m, -s */
	const char *kernel_version;
	const char *machine;
	const char *sysname;
	/* `merge` matches traces of several ranks and hosts by these; NULL or empty: not known. */
	const char *host;
	const char *boot_id;
	const char *rank;
	/* The most that the wall clock was wrong at the start, in ns, as the kernel says; empty: nobody keeps it right. */
	const char *clock_error;
	/* "true" or "false": whether the broker saw what the kernel had kept of other files (broker/kept_copies.h); empty: unknown. */
	const char *instructions_compared;
	/*
	 * A format without deltas in its slices needs a thread's counters at each begin and end. In Chrome JSON they
	 * are for the eye only: at most one sample of a thread in this time, or each (0).
	 */
	uint64_t counter_step_ns;
	/*
	 * The functions of frames are looked up at the end of a file. A format that needs the names at once
	 * calls this for one stack, whose frames then have the names that are known. NULL: nobody knows any.
	 */
	void (*name_stack)(void *context, const struct callstack *callstack);
	void *name_context;
};

/* Empty strings: not known. */
struct trace_origin {
	char host[65];
	char boot_id
		[37];  /* /proc/sys/kernel/random/boot_id: all traces of one boot share a clock */
	char rank[12]; /* of the program among those that run together, a number */
	char clock_error[24];	       /* ns; see struct trace_info */
	char instructions_compared[8]; /* see struct trace_info */
	char version[32];	       /* of proftrace; empty: a trace of another program */
	char sysname[65];
	char kernel_release[65];
	char kernel_version[129];
	char machine[65];
	uint64_t trace_uuid[2];
	struct clock_reading clock; /* the first one */
	uint64_t base_ns; /* JSON: of CLOCK_MONOTONIC; times in the file are relative to it */
	/* Written at the end of the recording: a file that was cut off has none. */
	bool has_account;
	struct account account;
	/*
	 * What the file was made of, as it says at its end, and how many of these are not there: they were removed from the
	 * middle. Counted as written and not as marks, since a mark may become several records, or none. More than that are
	 * no damage: other programs append to files.
	 */
	const char *record_name; /* "packets" or "events" */
	uint64_t records, records_missing;
	enum {
		ENDING_NONE, /* cut off, or a trace of another program */
		ENDING_BROKEN,
		ENDING_ORDERLY,
	} ending;
};

#endif
