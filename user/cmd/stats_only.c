/* SPDX-License-Identifier: BSD-2-Clause */
/* --stats-only: the table that the kernel adds up takes the road of the one that a trace is made into. */
#include <time.h>

#include "capture/capture.h"
#include "capture/tables.h"
#include "cmd/record.h"
#include "cmd/top.h"
#include "handlers/stats.h"
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

void stats_from_tables(struct recording *r)
{
	struct top top = { .recording = r };
	struct table table;

	top_collect(&top, r->ended_ns);
	top_order(&top);
	top_table(&top, 0, &table);
	table_print(&table, stderr);
	if (top.n_counters) {
		fputc('\n', stderr);
		top_counters_table(&top, &table);
		table_print(&table, stderr);
	}
	top_free(&top);
}

void recording_table(struct recording *r)
{
	status_clear(r);
	stats_from_tables(r);
}

void recording_table_reset(struct recording *r)
{
	capture_table_reset(r->capture);
}
