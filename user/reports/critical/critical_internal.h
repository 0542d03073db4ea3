/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is kept of a trace, and of the paths that were found in it; private to this folder.
 *
 *	critical.c		collects the facts of a trace
 *	critical_walk.c		follows a slice from its end to its begin
 *	critical_rows.c		sums paths up: of all slices, of the median ones, of the slowest ones
 *	critical_print.c	the table and the JSON
 *	critical_tracks.c	tracks in a trace that is written
 */
#ifndef PROFTRACE_REPORTS_CRITICAL_CRITICAL_INTERNAL_H
#define PROFTRACE_REPORTS_CRITICAL_CRITICAL_INTERNAL_H

#include "base/hash.h"
#include "reports/critical/critical.h"

enum {
	CRITICAL_MOST = 1 << 25,      /* facts that are kept of a trace, some 40 bytes each */
	CRITICAL_MOST_ROWS = 1 << 16, /* all others become one */
	CRITICAL_DEPTH = 64,	      /* wakers of wakers */
	CRITICAL_CPUS = 1024,
};

enum critical_state {
	CRITICAL_RUNNING,
	CRITICAL_RUNNABLE,
	CRITICAL_BLOCKED,
	CRITICAL_UNKNOWN, /* the thread's state was not recorded */
};

/* A time in which a thread was in one state. What lies between two of them is unknown. */
struct critical_interval {
	uint64_t from_ns, to_ns;
	uint64_t waker; /* BLOCKED: uuid of the thread that ended it; 0: none that was recorded */
	const struct name
		*woken_by; /* its name, recorded or not; NULL: not known, or an interrupt */
	enum critical_state state;
};

struct critical_wait {
	uint64_t from_ns, to_ns;
	const struct name *on; /* NULL: nothing in particular */
	enum wait_reason reason;
};

/* The innermost slice from this time on. */
struct critical_place {
	uint64_t ns;
	const struct name *slice; /* NULL: none */
	uint32_t depth;
};

struct critical_flow {
	uint64_t ns, id;
	uint64_t thread; /* its uuid */
};

struct critical_thread {
	uint64_t uuid;
	uint32_t pid, tid;
	const struct name *name;
	struct critical_interval *intervals; /* in the order of their ends */
	uint32_t n_intervals, intervals_capacity;
	struct critical_wait *waits; /* likewise */
	uint32_t n_waits, waits_capacity;
	struct critical_place *places;
	uint32_t n_places, places_capacity;
	struct critical_flow *flows_in;
	uint32_t n_flows_in, flows_in_capacity;
	const struct name **open; /* slices, outermost first */
	uint32_t n_open, open_capacity;
	UT_hash_handle hh;
};

/* A part of a path: what a thread did meanwhile. */
struct critical_part {
	uint64_t from_ns, to_ns;
	struct critical_row *row;
	uint32_t pid, tid;
};

struct critical_row {
	struct critical_row_key {
		const struct name *thread, *slice, *on, *woken_by; /* each may be NULL */
		unsigned state, reason;
	} key;
	uint64_t count; /* of parts */
	uint64_t total_ns, median_ns, slowest_ns;
	UT_hash_handle hh;
};

struct critical_instance {
	uint64_t from_ns, to_ns;
	const struct name *name;
	uint32_t pid;
	uint64_t thread; /* that ended it; 0: not known */
	uint64_t id;
	bool is_async;
	uint64_t offset_ns; /* since the first mark of its trace */
	/* After the walk: its parts, the last one in time first. */
	struct critical_part *parts;
	uint32_t n_parts, parts_capacity;
};

struct critical {
	struct consumer consumer;
	const char *name;
	struct names *texts; /* what threads waited on */
	int error;
	size_t kept;
	struct critical_thread *threads;
	struct critical_flow *flows_out; /* sorted by id and time when a trace is complete */
	uint32_t n_flows_out, flows_out_capacity;
	struct {
		uint64_t thread; /* 0: none that is recorded, or not known */
		uint64_t since_ns;
	} cpus[CRITICAL_CPUS];
	bool has_states, had_states; /* this trace; any so far */
	bool complete; /* all traces are read; what comes now are the tracks that it writes */
	uint64_t first_ns, last_ns; /* of this trace */
	struct critical_instance *instances;
	uint32_t n_instances, instances_capacity, n_walked;
	struct critical_row *rows, other;
	/* critical_rows.c */
	uint32_t n_median, n_slowest;
	uint64_t total_ns, median_ns, slowest_ns;
};

struct critical_thread *critical_thread_find(struct critical *c, uint64_t uuid);

/* critical_walk.c: fills in the parts of the instance. Returns 0 or -ENOMEM. */
int critical_walk(struct critical *c, struct critical_instance *in);

/* critical_rows.c */
struct critical_row *critical_row_get(struct critical *c, const struct critical_row_key *key);
/*
 * Sorts the instances by duration, the shortest first, and sums them up. Those around the median are
 * a tenth of all, the slowest a hundredth; each at least one.
 */
void critical_sum_up(struct critical *c);
void critical_sort_by_begin(struct critical *c);
/* "running", "runnable", "blocked", "futex", "unknown" */
const char *critical_row_doing(const struct critical_row_key *key);
/* Sums up what has been read, once. Returns 0 or negative errno with `f` filled. */
int critical_ready(struct critical *c, struct failure *f);
/* The rows with the longest total first; freed by the caller. NULL: out of memory. */
const struct critical_row **critical_rows_sorted(const struct critical *c, size_t *ret_n);

#endif
