/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of the statistics, which is private to reports/: stats.c, stats_samples.c and
 * stats_pools.c fill them, and stats_view.c chooses and sorts what is printed.
 */
#ifndef PROFTRACE_REPORTS_TABLE_STATS_ROWS_H
#define PROFTRACE_REPORTS_TABLE_STATS_ROWS_H

#include "reports/table/stats.h"
#include "base/hash.h"
#include "reports/waits.h"

/* Rows of each part of the table; all further names share one row (other). */
#define STATS_LIMIT_ROWS 65536

enum {
	STATS_COUNTED = 16,  /* counters of threads, in all traces together */
	STATS_RECENT = 1024, /* a power of two */
	STATS_LEAKS_KEPT = 64,
	STATS_LIMIT_WAITS = 4096, /* different ones; all others are counted together */
};

struct stats_key {
	const struct name *category; /* may be NULL */
	const struct name *name;     /* NULL in (other) */
	const struct name *series;   /* of a counter, may be NULL */
	uint64_t owner; /* uuid of the thread or process, if each has rows of its own */
};

/* The sums of one counter of threads over the slices of a row. */
struct stats_counted {
	uint64_t calls;	   /* slices whose delta is known; the sums are over these */
	uint64_t total;	   /* without slices nested in a slice of the same name */
	uint64_t total_ns; /* the duration of the slices in `total` */
	uint64_t selves;   /* slices whose self value is known */
	uint64_t self;
	uint64_t sum; /* of all slices */
};

struct stats_row {
	struct stats_key key;
	bool other;
	uint64_t count;
	/* Slices, ns */
	uint64_t total_ns; /* without slices nested in a slice of the same name */
	uint64_t self_ns;
	uint64_t sum_ns; /* of all durations */
	uint64_t min_ns;
	uint64_t max_ns;
	struct histogram histogram; /* of durations */
	/* The parts of total_ns in which the thread's state is known. */
	uint64_t running_ns, runnable_ns, blocked_ns;
	uint64_t blocked_in
		[WAIT_REASONS];	       /* they add up to the blocked_ns of slices that have them */
	struct stats_counted *counted; /* STATS_COUNTED of them; NULL: nothing was counted */
	/* Counters */
	const struct name *unit;
	struct arg min, max, last;
	uint64_t last_order; /* the number of facts when `last` came */
	uint64_t numbers;    /* samples that are not NaN */
	/* ARG_INT, ARG_UINT: all samples have this type, and their whole sum is in `whole`. */
	enum arg_type integers;
	__int128 whole;
	long double sum; /* of samples that are not in `whole` */
	/* Memory pools, bytes; `count` are allocations */
	uint64_t frees;
	int64_t live, peak;  /* of this trace */
	int64_t live_before; /* at the ends of the traces before */
	uint64_t leaked;
	uint64_t leaks;
	UT_hash_handle hh;
};

/* An allocation that was not freed before its process ended. */
struct stats_leak {
	const struct name *category;
	const struct name *pool;
	const struct name *slice; /* open when it was made; NULL: none */
	uint64_t address;
	uint64_t size;
	uint32_t pid;
	uint32_t tid; /* 0: not known */
};

/* All waits in slices of one name that have the same reason, object and waker. */
struct stats_wait {
	struct stats_wait_key {
		const struct name *slice; /* the innermost one */
		const struct name *category;
		unsigned reason;
		char on[WAIT_TEXT], by[WAIT_TEXT], by_slice[WAIT_TEXT];
	} key;
	uint64_t count, total_ns, max_ns;
	UT_hash_handle hh;
};

/* A thread or process that has rows of its own. */
struct stats_owner {
	uint64_t uuid;
	uint32_t pid;
	uint32_t tid; /* 0: a process */
	const struct name *process;
	const struct name *thread;
	const struct name *group; /* of --by, whose `uuid` is the id of this name; else NULL */
	UT_hash_handle hh;
};

struct stats {
	struct consumer consumer;
	bool per_thread;
	const char *by; /* NULL: there are no groups */
	uint64_t group; /* of the next facts: the id of its name, 0 = none */
	uint32_t limit_rows;
	struct stats_row *parts[STATS_PARTS];
	struct stats_row other[STATS_PARTS];
	/* A cache, by a hash that is cheap to compute. */
	struct stats_row *recent[STATS_PARTS][STATS_RECENT];
	struct stats_owner *owners;
	uint64_t known_ns; /* of all slices: time in known thread states */
	/* and in unknown ones. If nothing is known, no trace has context switches */
	uint64_t unknown_ns;
	unsigned n_counters; /* of threads */
	const struct name *counters[STATS_COUNTED];
	bool has_reasons; /* why threads were blocked, in one trace at least */
	struct stats_wait *waits, other_waits;
	unsigned n_leaks;
	struct stats_leak leaks[STATS_LEAKS_KEPT]; /* the largest */
	uint64_t events;
	uint64_t unfinished, ends_lost; /* slices without an END of their own */
	uint64_t marks_lost;		/* according to the facts */
	uint64_t first_ns;		/* of all facts of this trace */
	uint64_t last_ns;
	uint64_t wall_ns; /* of the traces before */
};

uint64_t stats_wall_ns(const struct stats *stats);
/* Adds the values of `from` to `to`, a row of the same part. */
void stats_row_merge(struct stats_row *to, const struct stats_row *from);
void stats_row_clear(struct stats_row *row);

/*
 * stats.c: the row of that name, a new one if there is none, and (other) beyond STATS_LIMIT_ROWS.
 */
struct stats_row *stats_row_find(struct stats *stats, enum stats_part part,
				 const struct name *category, const struct name *name,
				 const struct name *series, uint64_t owner);

/* Facts come by the million, and most have the name of a recent one. */
static inline struct stats_row **stats_recent(struct stats *stats, enum stats_part part,
					      const struct name *category, const struct name *name,
					      const struct name *series, uint64_t owner)
{
	unsigned i = (name ? name->id : 0) ^ (category ? category->id : 0) << 5 ^
		     (series ? series->id : 0) << 7 ^ (unsigned)owner << 3;

	return &stats->recent[part][i & (STATS_RECENT - 1)];
}

/* The key is built in memory only if the row is not in the cache. */
static inline struct stats_row *stats_row_of(struct stats *stats, enum stats_part part,
					     const struct name *category, const struct name *name,
					     const struct name *series, uint64_t owner)
{
	struct stats_row *row = *stats_recent(stats, part, category, name, series, owner);

	if (row && row->key.name == name && row->key.category == category &&
	    row->key.series == series && row->key.owner == owner)
		return row;
	return stats_row_find(stats, part, category, name, series, owner);
}

int64_t stats_bytes_sum(int64_t a, int64_t b); /* saturates, since files may have any numbers */

/* The owner of a fact's row, if rows belong to processes. */
static inline uint64_t stats_process(const struct stats *stats, const struct fact *fact)
{
	return stats->per_thread && fact->process ? fact->process->uuid : stats->group;
}

/* stats_samples.c */
/* The value in a type that holds 64-bit integers and doubles exactly; NAN: not a number. */
long double stats_number(const struct arg *value);
/* Adds sample `i` of a fact of kind COUNTER. */
void stats_sample(struct stats *stats, const struct fact *fact, unsigned i);
long double stats_sum(const struct stats_row *row);
void stats_samples_merge(struct stats_row *to, const struct stats_row *from);

/* stats_waits.c */
void stats_wait(struct stats *stats, const struct fact *fact);
void stats_waits_clear(struct stats *stats);
/*
 * Those that are wanted, the longest total first, and at the end all that are beyond the limit as one
 * without a slice. Freed by the caller. NULL: out of memory.
 */
const struct stats_wait **stats_waits_sorted(const struct stats *stats,
					     bool (*wanted)(const void *context,
							    const struct stats_wait_key *key),
					     const void *context, size_t *ret_n);

/* stats_pools.c */
void stats_memory(struct stats *stats, const struct fact *fact);
void stats_memory_left(struct stats *stats, const struct fact *fact);
void stats_pools_next_trace(struct stats *stats);

#endif
