/* SPDX-License-Identifier: BSD-2-Clause */
/* What the statistics handler keeps: shared by what collects (stats.c) and what prints (stats_print.c). */
#ifndef PROFTRACE_HANDLERS_STATS_ROWS_H
#define PROFTRACE_HANDLERS_STATS_ROWS_H

#include "handlers/stats.h"
#include "timeline/hash.h"

/* Rows of each part of the table; what comes later goes to a row (other). */
#define STATS_LIMIT_ROWS 65536

enum stats_part {
	STATS_SLICES,
	STATS_ASYNCS,
	STATS_INSTANTS,
	STATS_COUNTERS,
	STATS_PARTS,
};

struct stats_key {
	const struct name *group; /* category; of a counter: its name. May be NULL */
	const struct name *name;  /* of a counter: the key of the series. NULL in (other), too */
};

struct stats_row {
	struct stats_key key;
	bool other;
	uint64_t count;
	/* Slices, ns */
	uint64_t total_ns; /* what is nested in a slice of the same name counts once */
	uint64_t self_ns;
	uint64_t sum_ns; /* of all durations */
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t counters[EVENT_MAX_COUNTERS]; /* what was counted, in the way of total_ns */
	/* Counters */
	const struct name *unit;
	struct arg min, max, last;
	uint64_t numbers; /* samples that are numbers: not NaN */
	long double sum;
	UT_hash_handle hh;
};

struct stats {
	struct handler handler;
	uint32_t limit_rows;
	struct stats_row *parts[STATS_PARTS];
	struct stats_row other[STATS_PARTS];
	unsigned n_counters; /* of threads */
	const struct name *counters[EVENT_MAX_COUNTERS];
	uint64_t events;
	uint64_t without_end; /* slices that did not end by an END of their own */
	uint64_t first_ns;    /* of all facts */
	uint64_t last_ns;
};

#endif
