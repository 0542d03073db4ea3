/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a trace comes from: what the recorder writes at its start, and what is found there again when
 * traces are put together. Empty strings: not known.
 */
#ifndef PROFTRACE_TIMELINE_ORIGIN_H
#define PROFTRACE_TIMELINE_ORIGIN_H

#include <stdint.h>

#include "timeline/account.h"
#include "timeline/event.h"

struct trace_origin {
	char host[65];
	char boot_id
		[37]; /* as in /proc/sys/kernel/random/boot_id: one clock ticks for all of a boot */
	char rank[12];	  /* of the program among those that run together, a number */
	char version[32]; /* of proftrace; empty: somebody else's trace */
	char sysname[65];
	char kernel_release[65];
	char kernel_version[129];
	char machine[65];
	uint64_t trace_uuid[2];
	struct clock_reading clock; /* the first one */
	uint64_t base_ns;	    /* JSON: of CLOCK_MONOTONIC, to which its times are relative */
	/* Of the recording, at its end: a file that was cut off has none. */
	bool has_account;
	struct account account;
	enum {
		ENDING_NONE, /* cut off, or somebody else's */
		ENDING_BROKEN,
		ENDING_ORDERLY,
	} ending;
	uint64_t realtime_base_ns; /* JSON of others: the same of CLOCK_REALTIME */
};

#endif
