/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel has added up (capture_options.table_rows): bpf/table.h says how. */
#ifndef PROFTRACE_CAPTURE_TABLES_H
#define PROFTRACE_CAPTURE_TABLES_H

#include "handlers/histogram.h"
#include "timeline/fact.h"
#include "timeline/hash_key.h"

struct capture;

enum table_part {
	TABLE_SLICES,
	TABLE_ASYNC_SLICES,
	TABLE_FRAMES,
	TABLE_INSTANTS,
	TABLE_COUNTERS,
};

/* Which row it is. All bytes are compared: clear it first. */
struct table_key {
	const struct name *category;
	const struct name *name;   /* NULL: (other) */
	const struct name *series; /* of a counter, may be NULL */
	enum table_part part;
	uint32_t pid;
	uint32_t tid;
	uint32_t pad;
};

struct table_entry {
	struct table_key key;
	const struct name *thread; /* what it is called; may be NULL */
	uint64_t count;
	/* Slices and asynchronous ones, ns */
	uint64_t total_ns; /* what is nested in a slice of the same name counts once */
	uint64_t self_ns;
	uint64_t sum_ns; /* of all durations */
	uint64_t min_ns, max_ns;
	struct histogram histogram; /* of all durations */
	/* Counters */
	uint64_t numbers; /* samples that are numbers: the others are not counted in what follows */
	struct arg min, max, last;
	uint64_t last_ns;
	long double sum;
	UT_hash_handle hh;
};

/* Adds all that is in `from`. */
void table_entry_add(struct table_entry *to, const struct table_entry *from);

/* Each row of each thread since the last reset, in no order; borrowed for the call. */
void capture_table(struct capture *capture,
		   void (*each)(void *context, const struct table_entry *entry), void *context);
/* All begins anew; what is open goes on. */
void capture_table_reset(struct capture *capture);
/* Takes over what threads that have ended leave behind: now and then, or there is no place for new ones. */
void capture_table_tick(struct capture *capture);
/* What timeline_open_slices() tells of a recording; here threads have no uuid. */
void capture_table_open(struct capture *capture,
			void (*each)(void *context, const struct thread *thread,
				     const struct name *name, uint64_t begin_ns),
			void *context);

#endif
