/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of names: how often, how long, how much of that was their own, by category and name;
 * counters, memory pools, and what went wrong. It is collected here and printed by stats_print.h.
 */
#ifndef PROFTRACE_HANDLERS_STATS_H
#define PROFTRACE_HANDLERS_STATS_H

#include "handlers/handler.h"
#include "handlers/histogram.h"

/* What rows there are. */
enum stats_part {
	STATS_SLICES, /* of threads: their Self adds up to the time inside slices */
	STATS_ASYNCS,
	STATS_FRAMES,
	STATS_INSTANTS,
	STATS_COUNTERS,
	STATS_POOLS,
	STATS_PARTS,
};

/* A handler that keeps rows in memory and writes nothing until asked. NULL when out of memory. */
struct handler *stats_handler_new(void);

/* A row for each thread (of a counter or a pool: each process), before the first fact. */
void stats_per_thread(struct handler *stats);

/*
 * One of several traces is over: what it holds counts, what comes next is another trace, whose times
 * have nothing to do with those before. Not needed after the last one.
 */
void stats_next_trace(struct handler *stats);

/* What somebody else added up: rows that are finished, at least in part. */
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
	uint64_t numbers;	   /* samples that are numbers: what follows is of these */
	struct arg min, max;
	long double sum;
	struct arg last;
	uint64_t last_ns; /* when that was */
};

/* Adds it to what the row of that category and name holds already. */
void stats_add(struct handler *stats, enum stats_part part, const struct stats_finished *row);

/* The time that a trace took where no fact tells: from its first mark to its last. */
void stats_add_time(struct handler *stats, uint64_t wall_ns);

/* Forgets all rows, but not who is who. */
void stats_clear(struct handler *stats);

/* For the status line and tests: facts counted so far. */
uint64_t stats_events(const struct handler *stats);

#endif
