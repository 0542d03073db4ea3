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
	STATS_LEAKS_KEPT = 64,
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
	struct histogram histogram; /* of durations */
	/* Of total_ns, what is known of what the threads did meanwhile. */
	uint64_t running_ns, runnable_ns, blocked_ns;
	struct stats_counted *counted; /* STATS_COUNTED of them, NULL: nothing was counted */
	/* Counters */
	const struct name *unit;
	struct arg min, max, last;
	uint64_t last_order; /* how many facts there were when it was the last */
	uint64_t numbers;    /* samples that are numbers: not NaN */
	/* ARG_INT, ARG_UINT: all samples are of this type, and their sum is in `whole` alone. */
	enum arg_type integers;
	__int128 whole;
	long double sum; /* of the others */
	/* Memory pools, bytes; `count` are allocations */
	uint64_t frees;
	int64_t live, peak;  /* of this trace */
	int64_t live_before; /* at the ends of the traces before */
	uint64_t leaked;
	uint64_t leaks;
	UT_hash_handle hh;
};

/* An allocation that was not freed when its process ended. */
struct stats_leak {
	const struct name *category;
	const struct name *pool;
	const struct name *slice; /* in which it was made, NULL: in none */
	uint64_t address;
	uint64_t size;
	uint32_t pid;
	uint32_t tid; /* 0: not known */
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
	/* By what is easy to compute of the key. */
	struct stats_row *recent[STATS_PARTS][STATS_RECENT];
	struct stats_owner *owners;
	uint64_t known_ns;   /* of all slices: what is known of what their threads did */
	uint64_t unknown_ns; /* and what is not. Where nothing is, no traces tell that */
	unsigned n_counters; /* of threads */
	const struct name *counters[STATS_COUNTED];
	unsigned n_leaks;
	struct stats_leak leaks[STATS_LEAKS_KEPT]; /* the largest */
	uint64_t events;
	uint64_t unfinished, ends_lost; /* slices that did not end by an END of their own */
	uint64_t marks_lost;		/* as the facts say */
	uint64_t first_ns;		/* of all facts of this trace */
	uint64_t last_ns;
	uint64_t wall_ns; /* of the traces before */
};

uint64_t stats_wall_ns(const struct stats *stats);
/* Adds all that `from` holds to `to`, of the same part. */
void stats_row_merge(struct stats_row *to, const struct stats_row *from);
void stats_row_clear(struct stats_row *row);

/* stats.c: the row of that name, which is new if there was none; the one for all others, where there are too many. */
struct stats_row *stats_row_find(struct stats *stats, enum stats_part part,
				 const struct name *category, const struct name *name,
				 const struct name *series, uint64_t owner);

/* Facts come by the million, and most have the name of one that came just before. */
static inline struct stats_row **stats_recent(struct stats *stats, enum stats_part part,
					      const struct name *category, const struct name *name,
					      const struct name *series, uint64_t owner)
{
	unsigned i = (name ? name->id : 0) ^ (category ? category->id : 0) << 5 ^
		     (series ? series->id : 0) << 7 ^ (unsigned)owner << 3;

	return &stats->recent[part][i & (STATS_RECENT - 1)];
}

/* The key is put together, in memory, only where the row has to be looked for. */
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

int64_t stats_bytes_sum(int64_t a, int64_t b); /* of what a file may have said: within its limits */

/* The owner of a fact's row, where rows are of processes. */
static inline uint64_t stats_process(const struct stats *stats, const struct fact *fact)
{
	return stats->per_thread && fact->process ? fact->process->uuid : 0;
}

/* stats_samples.c */
/* The value, wide enough for 64-bit integers and doubles alike; NAN: no number. */
long double stats_number(const struct arg *value);
/* One value of a counter. */
void stats_sample(struct stats *stats, const struct fact *fact, unsigned i);
long double stats_sum(const struct stats_row *row);
void stats_samples_merge(struct stats_row *to, const struct stats_row *from);

/* stats_pools.c */
void stats_memory(struct stats *stats, const struct fact *fact);
void stats_memory_left(struct stats *stats, const struct fact *fact);
void stats_pools_next_trace(struct stats *stats);

#endif
