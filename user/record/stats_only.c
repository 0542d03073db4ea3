/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --stats-only: reads the rows that the kernel aggregated into the statistics of the recording, so that one table
 * serves both kinds of recordings.
 */
#include <time.h>

#include "capture/tables/tables.h"
#include "base/clock.h"
#include "record/metrics/labels.h"
#include "record/record.h"
#include "reports/table/stats_print.h"
#include "bpf/table/table.h"

/* The memory of --buffer is that of the pages; each row has one. */
uint32_t table_rows(const struct record_options *o)
{
	uint32_t rows = TABLE_LEAST_ROWS;

	if (!o->stats_only)
		return 0;
	while (rows < TABLE_MOST_ROWS && rows * sizeof(struct table_page) < o->buffer_bytes)
		rows *= 2;
	return rows;
}

static void stats_only_add_row(void *context, const struct table_entry *e)
{
	struct recording *r = context;
	static const enum stats_part parts[] = {
		[TABLE_SLICES] = STATS_SLICES,	   [TABLE_ASYNC_SLICES] = STATS_ASYNCS,
		[TABLE_FRAMES] = STATS_FRAMES,	   [TABLE_INSTANTS] = STATS_INSTANTS,
		[TABLE_COUNTERS] = STATS_COUNTERS,
	};
	/* A tid can be reused, so threads are told apart by pid, tid and name. */
	const struct process process = {
		.uuid = 1ull << 63 | e->key.pid,
		.pid = e->key.pid,
	};
	/* Other parts of the table belong to the process. */
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

	if (r->labels)
		stats_set_group(r->stats, labels_text(r->labels, e->key.pid));
	stats_add(r->stats, parts[e->key.part], &finished);
}

void stats_from_tables(struct recording *r, uint64_t now)
{
	uint64_t since = r->reset_ns ? r->reset_ns : r->started_ns;

	stats_clear(r->stats);
	capture_table(r->capture, stats_only_add_row, r);
	stats_add_time(r->stats, now > since ? now - since : 0);
}

void recording_print_table(struct recording *r)
{
	const struct stats_options options = { 0 };

	status_clear(r);
	stats_from_tables(r, clock_ns(CLOCK_MONOTONIC));
	stats_print_table(r->stats, stderr, &options, NULL, NULL);
	fputc('\n', stderr);
}

void recording_reset_table(struct recording *r)
{
	capture_table_reset(r->capture);
	r->reset_ns = clock_ns(CLOCK_MONOTONIC);
	if (r->options->verbosity < 0)
		return;
	status_clear(r);
	fputs("proftrace: the table was reset\n", stderr);
}
