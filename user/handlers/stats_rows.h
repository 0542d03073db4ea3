/* SPDX-License-Identifier: BSD-2-Clause */
/* What the statistics handler keeps: shared by what collects (stats.c) and what prints (stats_view.c). */
#ifndef PROFTRACE_HANDLERS_STATS_ROWS_H
#define PROFTRACE_HANDLERS_STATS_ROWS_H

#include "handlers/stats.h"
#include "timeline/hash.h"

/* Rows of each part of the table; what comes later goes to a row (other). */
#define STATS_LIMIT_ROWS 65536

enum {
	STATS_COUNTED = 16,  /* counters of threads, over all traces */
	STATS_RECENT = 1024, /* a power of two */
};

struct stats_key {
	const struct name *category; /* may be NULL */
	const struct name *name;     /* NULL in (other), too */
	const struct name *series;   /* of a counter, may be NULL */
	uint64_t owner; /* uuid of the thread or process, where there is a row for each */
};

/* What one counter of threads counted in the slices of a row. */
struct stats_counted {
	uint64_t calls;	   /* slices of which it is known; what follows is of these */
	uint64_t total;	   /* what is nested in a slice of the same name counts once */
	uint64_t total_ns; /* time in which that was counted */
	uint64_t selves;   /* slices of which it is known what was their own */
	uint64_t self;
	uint64_t sum; /* of all slices */
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
	struct histogram histogram;    /* of durations */
	struct stats_counted *counted; /* STATS_COUNTED of them, NULL: nothing was counted */
	/* Counters */
	const struct name *unit;
	struct arg min, max, last;
	uint64_t last_order; /* how many facts there were when it was the last */
	uint64_t numbers;    /* samples that are numbers: not NaN */
	long double sum;
	UT_hash_handle hh;
};

/* Who a thread or process is, for rows of its own. */
struct stats_owner {
	uint64_t uuid;
	uint32_t pid;
	uint32_t tid; /* 0: a process */
	const struct name *process;
	const struct name *thread;
	UT_hash_handle hh;
};

struct stats {
	struct handler handler;
	bool per_thread;
	uint32_t limit_rows;
	struct stats_row *parts[STATS_PARTS];
	struct stats_row other[STATS_PARTS];
	struct stats_row *recent[STATS_RECENT]; /* slices, by what is easy to compute of the key */
	struct stats_owner *owners;
	unsigned n_counters; /* of threads */
	const struct name *counters[STATS_COUNTED];
	uint64_t events;
	uint64_t without_end; /* slices that did not end by an END of their own */
	uint64_t marks_lost;  /* as the facts say */
	uint64_t first_ns;    /* of all facts of this trace */
	uint64_t last_ns;
	uint64_t wall_ns; /* of the traces before */
};

uint64_t stats_wall_ns(const struct stats *stats);
/* The value, wide enough for 64-bit integers and doubles alike; NAN: no number. */
long double stats_number(const struct arg *value);
/* Adds all that `from` holds to `to`, of the same part. */
void stats_row_merge(struct stats_row *to, const struct stats_row *from);
void stats_row_clear(struct stats_row *row);

#endif
