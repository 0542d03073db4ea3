/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints what slices waited for: a table below that of the slices, and a list in the JSON. */
#include <errno.h>
#include <stdlib.h>

#include "reports/table/stats_view.h"
#include "reports/table/table.h"

enum {
	WAITS_USUAL_ROWS = 20, /* where --top does not say how many */
};

struct shown_waits {
	const struct stats_view *view;
	const struct stats_wait **list;
};

static void format_wait_text(char *cell, const char *text)
{
	text_shorten(cell, TABLE_CELL, *text ? text : "-", TABLE_CELL);
}

static void format_wait_cell(const void *context, size_t i, unsigned column, char *cell)
{
	const struct shown_waits *shown = context;
	const struct stats_wait *wait = shown->list[i];
	enum stats_unit unit = shown->view->options->unit;

	switch (column) {
	case 0:
		format_wait_text(cell, wait->key.slice ? wait->key.slice->text : "(other)");
		break;
	case 1:
		format_wait_text(cell, wait->key.slice ? wait_reason_text(wait->key.reason) : "");
		break;
	case 2:
		format_wait_text(cell, wait->key.on);
		break;
	case 3:
		format_wait_text(cell, wait->key.by);
		break;
	case 4:
		format_wait_text(cell, wait->key.by_slice);
		break;
	case 5:
		format_count(cell, TABLE_CELL, wait->count);
		break;
	default:
		stats_put_time(unit,
			       column == 6   ? wait->total_ns
			       : column == 7 ? wait->total_ns / wait->count
					     : wait->max_ns,
			       cell);
	}
}

bool stats_print_waits(const struct stats_view *view, FILE *out, bool first)
{
	static const struct table_column columns[] = {
		{ "Blocked slice", true, 0 }, { "In", true, 0 },       { "On", true, 3 },
		{ "Woken by", true, 0 },      { "In slice", true, 0 }, { "Count", false, 4 },
		{ "Total", false, 0 },	      { "Avg", false, 1 },     { "Max", false, 2 },
	};
	struct shown_waits shown = { .view = view };
	struct table table = {
		.columns = columns,
		.n_columns = sizeof(columns) / sizeof(columns[0]),
		.cell = format_wait_cell,
		.context = &shown,
		.color = view->options->color,
		.width = view->options->width,
	};
	size_t n, most = view->options->max_rows ? view->options->max_rows : WAITS_USUAL_ROWS;

	shown.list = stats_waits_sorted(view->stats, stats_wait_wanted, view, &n);
	table.n_rows = n < most ? n : most;
	if (n) {
		if (!first)
			fputc('\n', out);
		table_print(&table, out);
		first = false;
	}
	if (table.n_rows < n)
		fprintf(out, "and %zu more\n", n - table.n_rows);
	free(shown.list);
	return first;
}

static void put_wait_text(FILE *out, const char *key, const char *text)
{
	if (*text)
		put_json_string(out, key, text);
	else
		fprintf(out, "%snull", key);
}

int stats_print_json_waits(const struct stats_view *view, FILE *out)
{
	const struct stats_wait **list;
	size_t n;

	list = stats_waits_sorted(view->stats, stats_wait_wanted, view, &n);
	if (!list)
		return -ENOMEM;
	fputs(",\n  \"waits\": [", out);
	for (size_t i = 0; i < n; i++) {
		const struct stats_wait_key *key = &list[i]->key;

		fputs(i ? ",\n    {" : "\n    {", out);
		put_json_name(out, "\"category\": ", key->category);
		put_json_name(out, ", \"slice\": ", key->slice);
		put_json_string(out, ", \"blocked_in\": ", wait_reason_text(key->reason));
		put_wait_text(out, ", \"on\": ", key->on);
		put_wait_text(out, ", \"woken_by\": ", key->by);
		put_wait_text(out, ", \"woken_by_slice\": ", key->by_slice);
		put_json_u64(out, "count", list[i]->count);
		put_json_u64(out, "total_ns", list[i]->total_ns);
		put_json_u64(out, "max_ns", list[i]->max_ns);
		fputc('}', out);
	}
	fputs(n ? "\n  ]" : "]", out);
	free(list);
	return 0;
}
