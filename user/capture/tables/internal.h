/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by tables.c (the rows) and threads.c (the threads' slots). */
#ifndef PROFTRACE_CAPTURE_TABLES_INTERNAL_H
#define PROFTRACE_CAPTURE_TABLES_INTERNAL_H

#include "capture/internal.h"
#include "capture/tables/tables.h"
#include "bpf/table/table.h"

/* The contents of a row at the last reset. */
struct table_before {
	struct table_row row;
	struct table_page page;
};

/* An exited process, whose asynchronous slices have to be dropped. */
struct exited_process {
	uint32_t pid;
	uint64_t ts_ns;
};

#define MAX_EXITED 1024
#define MAX_KEPT   65536 /* names of exited threads, and as many again for all processes together */

struct tables {
	struct table_thread *threads;
	struct table_row *rows;
	struct table_page *pages;
	struct table_bundle *asyncs;
	size_t sizes[BROKER_TABLES];
	uint32_t n_rows; /* including the shared rows */
	struct table_before **before;
	struct table_entry *kept; /* of exited threads */
	uint32_t n_threads;	  /* slots that were ever used */
	struct exited_process exited[MAX_EXITED];
	unsigned n_exited;

	/* Sums of exited threads. */
	uint64_t marked;
	uint64_t marks;
	uint64_t unfinished;
	uint64_t limit;
	uint64_t malformed;
	uint64_t unmatched;
	uint64_t nameless; /* uses of names that `kept` has no space for */
};

/* tables.c */
void table_row_keep(struct capture *c, const struct table_thread *t, uint32_t index);
const struct name *table_row_name(struct capture *c, const struct table_row *row,
				  const struct table_page *page);

/* threads.c */
int tables_open(struct capture *c);
void tables_close(struct capture *c);
void tables_process_exited(struct capture *c, uint32_t pid, uint64_t ts_ns);
struct tables_sums {
	uint64_t marked, marks, unfinished, limit, malformed;
};
void tables_sums(const struct capture *c, struct tables_sums *sums);
void tables_account(struct capture *c, struct account *a);
bool table_row_is_used(const struct table_row *row);

#endif
