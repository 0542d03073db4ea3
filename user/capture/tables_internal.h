/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by tables.c (what is in the tables) and table_threads.c (who has a place in them). */
#ifndef PROFTRACE_CAPTURE_TABLES_INTERNAL_H
#define PROFTRACE_CAPTURE_TABLES_INTERNAL_H

#include "capture/internal.h"
#include "capture/tables.h"
#include "table.h"

/* What a row held when all was reset. */
struct table_before {
	struct table_row row;
	struct table_page page;
};

/* A process that is over: its asynchronous slices are. */
struct process_over {
	uint32_t pid;
	uint64_t ts_ns;
};

#define MOST_OVER 1024

struct tables {
	struct table_thread *threads;
	struct table_row *rows;
	struct table_page *pages;
	struct table_bundle *asyncs;
	size_t sizes[BROKER_TABLES];
	uint32_t n_rows; /* those of (other) too */
	struct table_before **before;
	struct table_entry *kept;      /* of threads that have ended */
	struct table_entry kept_other; /* when there are too many */
	uint32_t n_threads;	       /* places that were ever taken */
	struct process_over over[MOST_OVER];
	unsigned n_over;

	/* Of threads that have ended. */
	uint64_t marked;
	uint64_t marks;
	uint64_t unfinished;
	uint64_t limit;
	uint64_t malformed;
	uint64_t unmatched;
};

/* tables.c */
void table_row_keep(struct capture *c, const struct table_thread *t, uint32_t index);
const struct name *table_row_name(struct capture *c, const struct table_row *row,
				  const struct table_page *page);

/* table_threads.c */
int tables_open(struct capture *c);
void tables_close(struct capture *c);
void tables_process_over(struct capture *c, uint32_t pid, uint64_t ts_ns);
struct tables_sums {
	uint64_t marked, marks, unfinished, limit, malformed;
};
void tables_sums(const struct capture *c, struct tables_sums *sums);
void tables_account(struct capture *c, struct account *a);
bool table_row_is_taken(const struct table_row *row);

#endif
