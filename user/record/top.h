/* SPDX-License-Identifier: BSD-2-Clause */
/* `proftrace top`: a recording that shows a live table instead of writing a trace. */
#ifndef PROFTRACE_RECORD_TOP_H
#define PROFTRACE_RECORD_TOP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/tables/tables.h"
#include "record/record.h"
#include "reports/table/table.h"

enum top_sort {
	TOP_TOTAL,
	TOP_SELF,
	TOP_AVERAGE,
	TOP_MAX,
	TOP_COUNT,
	TOP_NAME,
	TOP_SORTS,
};

/* One name, over all threads. */
struct top_row {
	struct table_key key;
	struct table_entry now;	   /* since the start, or the last reset */
	struct table_entry before; /* the values at the last refresh */
	struct table_entry shown;  /* the values to show: `now`, or the difference to `before` */
	double per_second;
	UT_hash_handle hh;
};

struct top {
	uint64_t interval_ns;
	uint64_t iterations; /* number of tables, after which it ends; 0: no limit */
	enum top_sort sort;
	bool reverse;
	bool since_refresh; /* show values since the last refresh, not since the start */
	bool paused;
	bool quit;
	bool screen; /* draw on a terminal; else print lines */

	struct recording *recording;
	struct top_row *rows;
	struct top_row **sorted; /* slices, asynchronous ones, instants */
	size_t n_sorted, capacity;
	size_t n_counters; /* counters, behind these */
	uint64_t begun_ns, refreshed_ns;
	uint64_t shown; /* how often */
};

/* cmd/top.c. top_begin() runs before anything is attached; top_end() restores the terminal. */
int top_begin(struct top *top, struct recording *r, struct failure *f);
void top_end(struct top *top);
void top_tick(struct top *top, uint64_t now);
int top_keys_fd(const struct top *top); /* -1: there are none */
void top_keys(struct top *top);
void top_resized(struct top *top);

/* top_rows.c */
void top_collect(struct top *top, uint64_t now);
void top_sort_rows(struct top *top);
void top_reset(struct top *top);
void top_free(struct top *top);
/* In the selected order. `width` 0: no limit. */
void top_table(const struct top *top, unsigned width, struct table *ret_table);
void top_counters_table(const struct top *top, unsigned width, struct table *ret_table);

/* top_screen.c: the terminal */
int screen_open(struct failure *f);
void screen_close(void);
void screen_resize(void);
int screen_key(void); /* -1: none */
void screen_draw(const struct top *top, uint64_t now);

#endif
