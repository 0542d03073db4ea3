/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statistics by category and name: how often, how long, how much of that was a slice's own;
 * counters, memory pools, and what went wrong. A consumer collects them here; stats_print.h prints
 * them.
 *
 * stats.h and stats_print.h are the headers of reports/table/ to include from outside.
 */
#ifndef PROFTRACE_REPORTS_TABLE_STATS_H
#define PROFTRACE_REPORTS_TABLE_STATS_H

#include "timeline/consumer.h"
#include "base/histogram.h"

/* The parts of the table, each with rows of one kind. */
enum stats_part {
	STATS_SLICES, /* of threads: the sum of Self is the time inside slices */
	STATS_ASYNCS,
	STATS_FRAMES,
	STATS_INSTANTS,
	STATS_COUNTERS,
	STATS_POOLS,
	STATS_PARTS,
};

/* A consumer that keeps rows in memory until they are printed. NULL when out of memory. */
struct consumer *stats_new(void);

/*
 * Each thread gets rows of its own (for counters and pools: each process). Before the first fact.
 */
void stats_per_thread(struct consumer *stats);

/*
 * Each group gets rows of its own; `by` is the title of their column, borrowed. With tabs, it is several titles, and names
 * of groups are as many values, separated by single spaces; the last value may have spaces. The group of the
 * next facts is that of the latest stats_set_group(); NULL: they have none. Before the first fact.
 */
void stats_by(struct consumer *stats, const char *by);
void stats_set_group(struct consumer *stats, const struct name *group);
/* The trace also has marks at these times, which were no facts here. */
void stats_extend_span(struct consumer *stats, uint64_t first_ns, uint64_t last_ns);

/*
 * One of several traces has been read. Its rows stay; the times of the next trace are independent
 * of its times. Not needed after the last trace.
 */
void stats_next_trace(struct consumer *stats);

/* Rows that were aggregated elsewhere, by the BPF programs for example. */
struct stats_finished {
	const struct name *category; /* may be NULL */
	const struct name *name;     /* NULL: (other) */
	const struct thread *thread; /* may be NULL; used with stats_per_thread() only */
	uint64_t count;
	uint64_t total_ns; /* what is nested in a slice of the same name counts once */
	uint64_t self_ns;
	uint64_t sum_ns; /* of all durations */
	uint64_t min_ns;
	uint64_t max_ns;
	const struct histogram *histogram; /* of all durations; NULL: there are no percentiles */
	/* Counters */
	const struct name *series; /* may be NULL */
	uint64_t numbers;	   /* samples that are not NaN: the members below are of these */
	struct arg min, max;
	long double sum;
	struct arg last;
	uint64_t last_ns; /* when that was */
};

/* Adds the values to the row of that category and name. */
void stats_add(struct consumer *stats, enum stats_part part, const struct stats_finished *row);

/* Adds the duration of a trace, from its first mark to its last, that is not known from facts. */
void stats_add_time(struct consumer *stats, uint64_t wall_ns);

/* Removes all rows, but keeps the threads and processes. */
void stats_clear(struct consumer *stats);

/* The number of facts that were counted, for the status line and tests. */
uint64_t stats_events(const struct consumer *stats);

#endif
