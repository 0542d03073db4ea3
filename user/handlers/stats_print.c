/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the statistics as tables for people. */
#include "handlers/stats_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/table.h"

#define GROUP_WIDTH 24
#define NAME_WIDTH  48

/* The rows of one part in the order they are printed. */
struct sorted {
	const struct stats_row **rows;
	size_t n;
	uint64_t wall_ns;
	const struct name *const *counters;
	unsigned n_counters;
};

static const char *text_of(const struct name *name)
{
	return name ? name->text : "";
}

static int by_total(const void *left, const void *right)
{
	const struct stats_row *a = *(const struct stats_row *const *)left;
	const struct stats_row *b = *(const struct stats_row *const *)right;
	int order;

	if (a->other != b->other)
		return a->other - b->other;
	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	order = strcmp(text_of(a->key.name), text_of(b->key.name));
	return order ? order : strcmp(text_of(a->key.group), text_of(b->key.group));
}

static int by_count(const void *left, const void *right)
{
	const struct stats_row *a = *(const struct stats_row *const *)left;
	const struct stats_row *b = *(const struct stats_row *const *)right;

	if (a->other == b->other && a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return by_total(left, right);
}

/* A counter's series stand together. */
static int by_group(const void *left, const void *right)
{
	const struct stats_row *a = *(const struct stats_row *const *)left;
	const struct stats_row *b = *(const struct stats_row *const *)right;
	int order = a->other == b->other ? strcmp(text_of(a->key.group), text_of(b->key.group)) : 0;

	return order ? order : by_total(left, right);
}

static bool sort(const struct stats *stats, enum stats_part part,
		 int (*order)(const void *, const void *), struct sorted *sorted)
{
	const struct stats_row *row = stats->parts[part];
	size_t n = HASH_CNT(hh, stats->parts[part]) + 1;

	sorted->n = 0;
	sorted->wall_ns = stats->last_ns - stats->first_ns;
	sorted->rows = malloc(n * sizeof(struct stats_row *));
	if (!sorted->rows)
		return false;
	for (; row; row = row->hh.next)
		sorted->rows[sorted->n++] = row;
	if (stats->other[part].count)
		sorted->rows[sorted->n++] = &stats->other[part];
	qsort(sorted->rows, sorted->n, sizeof(struct stats_row *), order);
	return true;
}

static void put_names(const struct stats_row *row, char cells[TABLE_COLUMNS][TABLE_CELL])
{
	text_shorten(cells[0], TABLE_CELL, row->key.group ? row->key.group->text : "-",
		     GROUP_WIDTH);
	text_shorten(cells[1], TABLE_CELL, row->other ? "(other)" : text_of(row->key.name),
		     NAME_WIDTH);
}

static void put_count(const struct stats_row *row, char *cell)
{
	snprintf(cell, TABLE_CELL, "%" PRIu64, row->count);
}

static void put_spread(const struct stats_row *row, char cells[3][TABLE_CELL])
{
	format_duration(cells[0], TABLE_CELL, row->min_ns);
	format_duration(cells[1], TABLE_CELL, row->max_ns);
	format_duration(cells[2], TABLE_CELL, row->sum_ns / row->count);
}

static void put_share(const struct stats_row *row, uint64_t wall_ns, char *cell)
{
	if (wall_ns)
		snprintf(cell, TABLE_CELL, "%.1f", 100.0 * (double)row->total_ns / (double)wall_ns);
	else
		strcpy(cell, "-");
}

static bool is_time(const struct name *counter)
{
	return !strcmp(counter->text, "task_clock") || !strcmp(counter->text, "cpu_clock");
}

static void slice_row(const void *context, size_t i, char cells[TABLE_COLUMNS][TABLE_CELL])
{
	const struct sorted *sorted = context;
	const struct stats_row *row = sorted->rows[i];

	put_names(row, cells);
	put_count(row, cells[2]);
	format_duration(cells[3], TABLE_CELL, row->total_ns);
	format_duration(cells[4], TABLE_CELL, row->self_ns);
	put_spread(row, &cells[5]);
	put_share(row, sorted->wall_ns, cells[8]);
	for (unsigned c = 0; c < sorted->n_counters; c++) {
		if (is_time(sorted->counters[c]))
			format_duration(cells[9 + c], TABLE_CELL, row->counters[c]);
		else
			snprintf(cells[9 + c], TABLE_CELL, "%" PRIu64, row->counters[c]);
	}
}

static void async_row(const void *context, size_t i, char cells[TABLE_COLUMNS][TABLE_CELL])
{
	const struct sorted *sorted = context;
	const struct stats_row *row = sorted->rows[i];

	put_names(row, cells);
	put_count(row, cells[2]);
	format_duration(cells[3], TABLE_CELL, row->total_ns);
	put_spread(row, &cells[4]);
	put_share(row, sorted->wall_ns, cells[7]);
}

static void instant_row(const void *context, size_t i, char cells[TABLE_COLUMNS][TABLE_CELL])
{
	const struct sorted *sorted = context;

	put_names(sorted->rows[i], cells);
	put_count(sorted->rows[i], cells[2]);
}

static void put_value(const struct arg *value, char *cell)
{
	if (value->type == ARG_INT)
		snprintf(cell, TABLE_CELL, "%" PRId64, value->i);
	else if (value->type == ARG_DOUBLE)
		snprintf(cell, TABLE_CELL, "%g", value->d);
	else
		snprintf(cell, TABLE_CELL, "%" PRIu64, value->u);
}

static void counter_row(const void *context, size_t i, char cells[TABLE_COLUMNS][TABLE_CELL])
{
	const struct sorted *sorted = context;
	const struct stats_row *row = sorted->rows[i];

	text_shorten(cells[0], TABLE_CELL, row->other ? "(other)" : text_of(row->key.group),
		     NAME_WIDTH);
	text_shorten(cells[1], TABLE_CELL, row->key.name ? row->key.name->text : "-", GROUP_WIDTH);
	put_count(row, cells[2]);
	if (row->numbers) {
		put_value(&row->min, cells[3]);
		put_value(&row->max, cells[4]);
		snprintf(cells[5], TABLE_CELL, "%Lg", row->sum / (long double)row->numbers);
	} else {
		strcpy(cells[3], "-");
		strcpy(cells[4], "-");
		strcpy(cells[5], "-");
	}
	put_value(&row->last, cells[6]);
	text_shorten(cells[7], TABLE_CELL, row->unit ? row->unit->text : "", GROUP_WIDTH);
}

static const struct table_column slice_columns[] = {
	{ "Category", true }, { "Slice", true }, { "Count", false },
	{ "Total", false },   { "Self", false }, { "Min", false },
	{ "Max", false },     { "Avg", false },	 { "%", false },
};

static const struct table_column async_columns[] = {
	{ "Category", true }, { "Asynchronous slice", true },
	{ "Count", false },   { "Total", false },
	{ "Min", false },     { "Max", false },
	{ "Avg", false },     { "%", false },
};

static const struct table_column instant_columns[] = {
	{ "Category", true },
	{ "Instant", true },
	{ "Count", false },
};

static const struct table_column counter_columns[] = {
	{ "Counter", true }, { "Series", true }, { "Count", false }, { "Min", false },
	{ "Max", false },    { "Avg", false },	 { "Last", false },  { "Unit", true },
};

#define COLUMNS(array) array, sizeof(array) / sizeof(array[0])

static const struct {
	const struct table_column *columns;
	unsigned n_columns;
	void (*row)(const void *context, size_t row, char cells[TABLE_COLUMNS][TABLE_CELL]);
	int (*order)(const void *left, const void *right);
} parts[STATS_PARTS] = {
	[STATS_SLICES] = { COLUMNS(slice_columns), slice_row, by_total },
	[STATS_ASYNCS] = { COLUMNS(async_columns), async_row, by_total },
	[STATS_INSTANTS] = { COLUMNS(instant_columns), instant_row, by_count },
	[STATS_COUNTERS] = { COLUMNS(counter_columns), counter_row, by_group },
};

#define LEAST_WIDTH 100 /* below it there is no room for the columns of counters */

/* The columns of slices, and one for each counter of threads. */
static void add_counters(const struct stats *stats, const struct stats_options *options,
			 struct table *table, struct sorted *sorted, struct table_column *columns)
{
	unsigned i;

	if (options->width && options->width < LEAST_WIDTH)
		return;
	memcpy(columns, table->columns, table->n_columns * sizeof(columns[0]));
	for (i = 0; i < stats->n_counters; i++)
		columns[table->n_columns + i] =
			(struct table_column){ .title = stats->counters[i]->text };
	table->columns = columns;
	table->n_columns += stats->n_counters;
	sorted->counters = stats->counters;
	sorted->n_counters = stats->n_counters;
}

/* Returns whether there was anything to print. */
static bool print_part(const struct stats *stats, enum stats_part part, FILE *out,
		       const struct stats_options *options, bool first)
{
	struct table_column columns[TABLE_COLUMNS];
	struct sorted sorted = { 0 };
	struct table table = {
		.columns = parts[part].columns,
		.n_columns = parts[part].n_columns,
		.row = parts[part].row,
		.context = &sorted,
		.color = options->color,
	};
	size_t left_out;

	if (!stats->parts[part] && !stats->other[part].count)
		return false;
	if (!sort(stats, part, parts[part].order, &sorted))
		return false;
	if (part == STATS_SLICES)
		add_counters(stats, options, &table, &sorted, columns);
	table.n_rows = sorted.n;
	if (options->max_rows && table.n_rows > options->max_rows)
		table.n_rows = options->max_rows;
	left_out = sorted.n - table.n_rows;
	if (!first)
		fputc('\n', out);
	table_print(&table, out);
	if (left_out)
		fprintf(out, "and %zu more\n", left_out);
	free(sorted.rows);
	return true;
}

void stats_print(const struct handler *handler, FILE *out, const struct stats_options *options)
{
	const struct stats *stats = (const struct stats *)handler;
	bool first = true;
	int part;

	for (part = 0; part < STATS_PARTS; part++) {
		if (print_part(stats, part, out, options, first))
			first = false;
		if (part == STATS_ASYNCS && stats->without_end) {
			fprintf(out,
				"%" PRIu64
				" slice%s without an end of %s own %s not in the table\n",
				stats->without_end, stats->without_end == 1 ? "" : "s",
				stats->without_end == 1 ? "its" : "their",
				stats->without_end == 1 ? "is" : "are");
			first = false;
		}
	}
}
