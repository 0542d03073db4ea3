/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports from the tables in which the kernel aggregates (capture_options.table_rows); see
 * bpf/table/table.h.
 */
#ifndef PROFTRACE_CAPTURE_TABLES_TABLES_H
#define PROFTRACE_CAPTURE_TABLES_TABLES_H

#include "base/histogram.h"
#include "timeline/fact.h"
#include "base/hash_key.h"

struct capture;

enum table_part {
	TABLE_SLICES,
	TABLE_ASYNC_SLICES,
	TABLE_FRAMES,
	TABLE_INSTANTS,
	TABLE_COUNTERS,
};

/* The key of an entry. All bytes are compared, so clear it first. */
struct table_key {
	const struct name *category;
	const struct name *name;   /* NULL: (other) */
	const struct name *series; /* of a counter, may be NULL */
	enum table_part part;
	uint32_t pid; /* or what capture_options.owner_of() says */
	uint32_t tid;
	uint32_t pad;
};

struct table_entry {
	struct table_key key;
	const struct name *thread; /* name of the thread; may be NULL */
	uint64_t count;
	/* For slices and asynchronous slices, ns. */
	uint64_t total_ns; /* slices nested in one of the same name count once */
	uint64_t self_ns;
	uint64_t sum_ns; /* of all durations */
	uint64_t min_ns, max_ns;
	struct histogram histogram; /* of all durations */
	/* For counters. */
	uint64_t numbers; /* number of samples that are numbers; only these are counted below */
	struct arg min, max, last;
	uint64_t last_ns;
	long double sum;
	UT_hash_handle hh;
};

/* Adds everything in `from`. */
void table_entry_add(struct table_entry *to, const struct table_entry *from);

/*
 * Calls `each` for every row since the last reset, in no particular order. The entry is borrowed.
 */
void capture_table(struct capture *capture,
		   void (*each)(void *context, const struct table_entry *entry), void *context);
/* Starts all statistics again; open slices continue. */
void capture_table_reset(struct capture *capture);
/*
 * Frees the slots of exited threads and keeps their statistics. Must be called now and then, or
 * there are no slots for new threads.
 */
void capture_table_tick(struct capture *capture);
/* As timeline_open_slices() for a recording; threads have no uuid here. */
void capture_table_open(struct capture *capture,
			void (*each)(void *context, const struct thread *thread,
				     const struct name *name, uint64_t begin_ns),
			void *context);

#endif
