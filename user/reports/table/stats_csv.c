/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the statistics as CSV (RFC 4180, but lines end with \n): all parts in one table that has
 * the columns of all of them, and a first column with the part.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reports/table/stats_print.h"
#include "reports/table/stats_view.h"

static void csv_put_name(FILE *out, const struct name *name)
{
	fputc(',', out);
	put_csv_text(out, name ? name->text : "");
}

static void csv_put_value(FILE *out, enum stats_unit unit, const struct stats_value *value)
{
	fputc(',', out);
	switch (value->kind) {
	case STATS_VALUE_NONE:
		break;
	case STATS_VALUE_COUNT:
	case STATS_VALUE_BYTES:
		fprintf(out, "%" PRIu64, value->u);
		break;
	case STATS_VALUE_TIME:
		put_csv_time(out, unit, value->u);
		break;
	case STATS_VALUE_REAL:
	case STATS_VALUE_PERCENT:
		put_csv_double(out, (double)value->number);
		break;
	case STATS_VALUE_ARG:
		put_number(out, &value->arg, put_csv_double);
		break;
	}
}

/* The unit of the numbers of a row. */
static const char *csv_unit(const struct stats_view *view, const struct stats_row *row)
{
	static const char *const units[] = { "ns", "ns", "us", "ms", "s" };

	switch (view->part) {
	case STATS_SLICES:
	case STATS_ASYNCS:
	case STATS_FRAMES:
		return units[view->options->unit];
	case STATS_POOLS:
		return "bytes";
	default:
		return row->unit ? row->unit->text : "";
	}
}

static void csv_put_owner(const struct stats_view *view, const struct stats_row *row, FILE *out)
{
	const struct stats_owner *owner = stats_row_owner(view->stats, row);

	if (view->stats->by)
		csv_put_name(out, owner ? owner->group : NULL);
	if (!view->stats->per_thread)
		return;
	if (!owner) {
		fputs(",,,,", out);
		return;
	}
	fprintf(out, ",%" PRIu32, owner->pid);
	csv_put_name(out, owner->process);
	if (owner->tid)
		fprintf(out, ",%" PRIu32, owner->tid);
	else
		fputc(',', out);
	csv_put_name(out, owner->thread);
}

static void csv_put_row(const struct stats_view *view, const struct stats_row *row,
			const struct stats_column *columns, unsigned n, FILE *out)
{
	static const char *const parts[STATS_PARTS] = {
		[STATS_SLICES] = "slice",     [STATS_ASYNCS] = "async",
		[STATS_FRAMES] = "frame",     [STATS_INSTANTS] = "instant",
		[STATS_COUNTERS] = "counter", [STATS_POOLS] = "pool",
	};
	char buffer[STATS_DISPLAY_NAME];
	struct stats_value value;

	fputs(parts[view->part], out);
	csv_put_name(out, row->key.category);
	fputc(',', out);
	put_csv_text(out, stats_row_name(row, buffer));
	csv_put_owner(view, row, out);
	fputc(',', out);
	put_csv_text(out, csv_unit(view, row));
	for (unsigned i = 0; i < n; i++) {
		value = stats_value(view, row, &columns[i]);
		csv_put_value(out, view->options->unit, &value);
	}
	fputc('\n', out);
}

/* The columns of slices and those that only other parts have; or the requested ones. */
static unsigned csv_columns(struct stats_view *view, struct stats_column *columns)
{
	struct stats_column more[STATS_MAX_COLUMNS];
	unsigned i, j, n, n_more, n_counted = 0;

	if (view->chosen) {
		memcpy(columns, view->columns, view->n_columns * sizeof(*columns));
		return view->n_columns;
	}
	view->part = STATS_SLICES;
	n = stats_part_columns(view, columns);
	for (i = 0; i < n; i++)
		n_counted += columns[i].what >= STATS_COUNTED_TOTAL;
	for (int part = STATS_ASYNCS; part < STATS_PARTS; part++) {
		view->part = (enum stats_part)part;
		n_more = stats_part_columns(view, more);
		for (i = 0; i < n_more; i++) {
			for (j = 0; j < n && columns[j].what != more[i].what; j++)
				;
			if (j < n || n == STATS_MAX_COLUMNS)
				continue;
			/* Before the counters, which differ from trace to trace. */
			j = n - n_counted;
			memmove(&columns[j + 1], &columns[j], n_counted * sizeof(*columns));
			columns[j] = more[i];
			n++;
		}
	}
	return n;
}

static void csv_put_diagnostics(const struct stats_view *view, const struct account *account,
				const struct stats_column *columns, unsigned n, FILE *out)
{
	for (unsigned i = 0; i < account_numbers(); i++) {
		if (!account_number_text(i) || !account_number(account, i))
			continue;
		fprintf(out, "diagnostic,,%s%s,", account_number_name(i),
			view->stats->per_thread ? ",,,,"
			: view->stats->by	? ","
						: "");
		for (unsigned c = 0; c < n; c++) {
			fputc(',', out);
			if (columns[c].what == STATS_COUNT)
				fprintf(out, "%" PRIu64, account_number(account, i));
		}
		fputc('\n', out);
	}
}

static int csv_print(struct stats_view *view, const struct account *account, FILE *out)
{
	struct stats_column columns[STATS_MAX_COLUMNS];
	unsigned i, n = csv_columns(view, columns);
	int error;

	fputs("part,category,name", out);
	if (view->stats->per_thread)
		fputs(",pid,process,tid,thread", out);
	if (view->stats->by)
		fputs(",by", out);
	fputs(",unit", out);
	for (i = 0; i < n; i++) {
		fputc(',', out);
		put_csv_text(out, columns[i].name);
	}
	fputc('\n', out);
	for (int part = 0; part < STATS_PARTS; part++) {
		error = stats_view_part(view, (enum stats_part)part);
		if (error)
			return error;
		for (size_t row = 0; row < view->n_rows; row++)
			csv_put_row(view, &view->rows[row], columns, n, out);
	}
	if (account)
		csv_put_diagnostics(view, account, columns, n, out);
	return 0;
}

int stats_print_csv(const struct consumer *stats, FILE *out, const struct stats_options *options,
		    const struct account *account, struct failure *f)
{
	struct stats_view view = { 0 };
	int error = stats_view_init(&view, stats, options, f);

	if (!error) {
		error = csv_print(&view, account, out);
		if (error)
			failure_set(f, error, "cannot print", "the table", NULL);
	}
	stats_view_free(&view);
	return error;
}
