/* SPDX-License-Identifier: BSD-2-Clause */
/* Below the tables of names: allocations that were not freed, and what went wrong. */
#include <inttypes.h>

#include "reports/table/stats_view.h"
#include "reports/table/table.h"

struct leaks {
	unsigned n;
	const struct stats_leak *list[STATS_LEAKS_KEPT];
};

static void format_leak_cell(const void *context, size_t i, unsigned column, char *cell)
{
	const struct stats_leak *leak = ((const struct leaks *)context)->list[i];
	const struct name *text = column ? leak->slice : leak->pool;

	switch (column) {
	case 1:
		snprintf(cell, TABLE_CELL, "0x%" PRIx64, leak->address);
		break;
	case 2:
		format_bytes(cell, TABLE_CELL, leak->size);
		break;
	case 3:
	case 4:
		snprintf(cell, TABLE_CELL, "%" PRIu32, column == 3 ? leak->pid : leak->tid);
		break;
	default:
		text_shorten(cell, TABLE_CELL, text ? text->text : "-", TABLE_CELL);
	}
}

static bool print_leaks(const struct stats_view *view, FILE *out, bool first)
{
	static const struct table_column columns[] = {
		{ "Leak of", true, 0 },	 { "Address", false, 0 }, { "Size", false, 0 },
		{ "Process", false, 1 }, { "Thread", false, 2 },  { "In slice", true, 3 },
	};
	struct leaks leaks = { 0 };
	struct table table = {
		.columns = columns,
		.n_columns = sizeof(columns) / sizeof(columns[0]),
		.cell = format_leak_cell,
		.context = &leaks,
		.color = view->options->color,
		.width = view->options->width,
	};

	for (unsigned i = 0; i < view->stats->n_leaks; i++) {
		if (stats_leak_wanted(view, &view->stats->leaks[i]))
			leaks.list[leaks.n++] = &view->stats->leaks[i];
	}
	table.n_rows = leaks.n;
	if (view->options->max_rows && table.n_rows > view->options->max_rows)
		table.n_rows = view->options->max_rows;
	if (!table.n_rows)
		return first;
	if (!first)
		fputc('\n', out);
	table_print(&table, out);
	if (table.n_rows < leaks.n)
		fprintf(out, "and %zu more\n", leaks.n - table.n_rows);
	return false;
}

struct diagnostics {
	const struct account *account;
	unsigned n;
	unsigned list[sizeof(struct account) / sizeof(uint64_t)];
};

static void format_diagnostic_cell(const void *context, size_t i, unsigned column, char *cell)
{
	const struct diagnostics *d = context;

	if (column)
		snprintf(cell, TABLE_CELL, "%" PRIu64, account_number(d->account, d->list[i]));
	else
		snprintf(cell, TABLE_CELL, "%s", account_number_text(d->list[i]));
}

void stats_print_diagnostics(const struct stats_options *options, const struct account *account,
			     FILE *out, bool first)
{
	static const struct table_column columns[] = { { "Diagnostic", true, 0 },
						       { "Count", false, 0 } };
	struct diagnostics d = { .account = account };
	struct table table = {
		.columns = columns,
		.n_columns = 2,
		.cell = format_diagnostic_cell,
		.context = &d,
		.color = options->color,
		.width = options->width,
	};

	for (unsigned i = 0; i < account_numbers(); i++) {
		if (account_number_text(i) && account_number(account, i))
			d.list[d.n++] = i;
	}
	table.n_rows = d.n;
	if (!d.n)
		return;
	if (!first)
		fputc('\n', out);
	table_print(&table, out);
}

int stats_print_rest(const struct stats_view *view, const struct account *account, FILE *out,
		     bool first)
{
	first = stats_print_waits(view, out, first);
	first = print_leaks(view, out, first);
	if (account)
		stats_print_diagnostics(view->options, account, out, first);
	return 0;
}
