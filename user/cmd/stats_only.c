/* SPDX-License-Identifier: BSD-2-Clause */
/* --stats-only: the table that the kernel adds up is printed as the one that a recording ends with. */
#include <time.h>

#include "capture/capture.h"
#include "capture/tables.h"
#include "clock.h"
#include "cmd/record.h"
#include "handlers/stats_print.h"
#include "table.h"

/* Each row has a page of its own beside it. */
uint32_t table_rows(const struct record_options *o)
{
	uint32_t rows = TABLE_LEAST_ROWS;

	if (!o->stats_only)
		return 0;
	while (rows < TABLE_MOST_ROWS && rows * sizeof(struct table_page) < o->buffer_bytes)
		rows *= 2;
	return rows;
}

static void add(void *context, const struct table_entry *e)
{
	static const enum stats_part parts[] = {
		[TABLE_SLICES] = STATS_SLICES,	   [TABLE_ASYNC_SLICES] = STATS_ASYNCS,
		[TABLE_FRAMES] = STATS_FRAMES,	   [TABLE_INSTANTS] = STATS_INSTANTS,
		[TABLE_COUNTERS] = STATS_COUNTERS,
	};
	/* Numbers of threads that live at once differ; of others, those of one name are one row. */
	const struct process process = {
		.uuid = 1ull << 63 | e->key.pid,
		.pid = e->key.pid,
	};
	/* The others belong to the process. */
	bool of_thread = e->key.part == TABLE_SLICES || e->key.part == TABLE_INSTANTS;
	const struct thread thread = {
		.uuid = of_thread ? (uint64_t)e->key.pid << 32 | e->key.tid : process.uuid,
		.tid = of_thread ? e->key.tid : 0,
		.process = &process,
		.name = e->thread,
	};
	const struct stats_finished finished = {
		.category = e->key.category,
		.name = e->key.name,
		.series = e->key.series,
		.thread = e->key.tid ? &thread : NULL,
		.count = e->count,
		.total_ns = e->total_ns,
		.self_ns = e->self_ns,
		.sum_ns = e->sum_ns,
		.min_ns = e->min_ns,
		.max_ns = e->max_ns,
		.histogram = &e->histogram,
		.numbers = e->numbers,
		.min = e->min,
		.max = e->max,
		.sum = e->sum,
		.last = e->last,
		.last_ns = e->last_ns,
	};

	stats_add(context, parts[e->key.part], &finished);
}

void stats_from_tables(struct recording *r, uint64_t now)
{
	uint64_t since = r->reset_ns ? r->reset_ns : r->started_ns;

	stats_clear(r->stats);
	capture_table(r->capture, add, r->stats);
	stats_add_time(r->stats, now > since ? now - since : 0);
}

void recording_table(struct recording *r)
{
	const struct stats_options options = { 0 };

	status_clear(r);
	stats_from_tables(r, clock_ns(CLOCK_MONOTONIC));
	stats_print_table(r->stats, stderr, &options, NULL, NULL);
	fputc('\n', stderr);
}

void recording_table_reset(struct recording *r)
{
	capture_table_reset(r->capture);
	r->reset_ns = clock_ns(CLOCK_MONOTONIC);
	if (r->options->verbosity < 0)
		return;
	status_clear(r);
	fputs("proftrace: the table begins anew\n", stderr);
}
