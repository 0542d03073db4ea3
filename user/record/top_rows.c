/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of the live table: one for each name over all threads, with the values since the last
 * refresh.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record/top.h"

#define MOST_ROWS 65536

static const char *top_name_text(const struct name *name, const char *none)
{
	return name ? name->text : none;
}

static struct top_row *top_get_row(struct top *top, const struct table_key *from)
{
	struct table_key key = *from;
	struct top_row *row;

	key.pid = key.tid = 0;
	HASH_FIND(hh, top->rows, &key, sizeof(key), row);
	if (!row && HASH_COUNT(top->rows) >= MOST_ROWS) {
		key.category = key.name = key.series = NULL;
		HASH_FIND(hh, top->rows, &key, sizeof(key), row);
	}
	return row ? row : hash_add_new(hh, top->rows, key, key);
}

static void top_add_entry(void *context, const struct table_entry *entry)
{
	struct top_row *row = top_get_row(context, &entry->key);

	if (row)
		table_entry_add(&row->now, entry);
}

/* Subtracts the previous values. Minimum and maximum are as precise as the histogram. */
static void entry_subtract(struct table_entry *e, const struct table_entry *now,
			   const struct table_entry *before)
{
	unsigned i, first = now->histogram.first * HISTOGRAM_GROUP;
	unsigned old_first = before->histogram.first * HISTOGRAM_GROUP;
	unsigned old_end = old_first + before->histogram.n * HISTOGRAM_GROUP, last = 0;

	e->count = now->count - before->count;
	e->total_ns = now->total_ns - before->total_ns;
	e->self_ns = now->self_ns - before->self_ns;
	e->sum_ns = now->sum_ns - before->sum_ns;
	e->min_ns = now->min_ns;
	e->max_ns = now->max_ns;
	for (i = first; i < first + now->histogram.n * HISTOGRAM_GROUP; i++) {
		uint64_t n = now->histogram.counts[i - first];

		if (i >= old_first && i < old_end)
			n -= before->histogram.counts[i - old_first];
		if (!n)
			continue;
		histogram_add(&e->histogram, i, n);
		last = i;
	}
	if (last + 1 < HISTOGRAM_BUCKETS && histogram_least(last + 1) - 1 < e->max_ns)
		e->max_ns = histogram_least(last + 1) - 1;
}

static void entry_clear(struct table_entry *e)
{
	histogram_free(&e->histogram);
	memset(e, 0, sizeof(*e));
}

void top_collect(struct top *top, uint64_t now)
{
	double seconds = (now - top->refreshed_ns) / 1e9;
	struct top_row *row;

	for (row = top->rows; row; row = row->hh.next) {
		entry_clear(&row->before);
		row->before = row->now;
		memset(&row->now, 0, sizeof(row->now));
	}
	capture_table(top->recording->capture, top_add_entry, top);
	for (row = top->rows; row; row = row->hh.next) {
		/* A new row shows everything since the start. */
		entry_clear(&row->shown);
		entry_subtract(&row->shown, &row->now, &row->before);
		row->per_second = seconds > 0 ? row->shown.count / seconds : 0;
		if (!top->since_refresh) {
			entry_clear(&row->shown);
			table_entry_add(&row->shown, &row->now);
		}
	}
	top->refreshed_ns = now;
}

static uint64_t entry_average(const struct table_entry *e)
{
	return e->count ? e->sum_ns / e->count : 0;
}

static int top_compare_values(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int top_compare_key(const struct top *top, const struct top_row *a, const struct top_row *b)
{
	switch (top->sort) {
	case TOP_TOTAL:
		return top_compare_values(a->shown.total_ns, b->shown.total_ns);
	case TOP_SELF:
		return top_compare_values(a->shown.self_ns, b->shown.self_ns);
	case TOP_AVERAGE:
		return top_compare_values(entry_average(&a->shown), entry_average(&b->shown));
	case TOP_MAX:
		return top_compare_values(a->shown.max_ns, b->shown.max_ns);
	case TOP_COUNT:
		return top_compare_values(a->shown.count, b->shown.count);
	default:
		return strcmp(top_name_text(a->key.name, ""), top_name_text(b->key.name, ""));
	}
}

/* Equal rows are ordered by name, so that they do not jump. */
static int top_compare_rows(const void *left, const void *right, void *context)
{
	const struct top *top = context;
	const struct top_row *a = *(struct top_row *const *)left;
	const struct top_row *b = *(struct top_row *const *)right;
	bool a_counter = a->key.part == TABLE_COUNTERS, b_counter = b->key.part == TABLE_COUNTERS;
	int result = 0;

	if (a_counter != b_counter)
		return a_counter - b_counter;
	if (!a_counter)
		result = top_compare_key(top, a, b);
	if (top->reverse)
		result = -result;
	if (!result)
		result = strcmp(top_name_text(a->key.name, ""), top_name_text(b->key.name, ""));
	if (!result)
		result = strcmp(top_name_text(a->key.series, ""), top_name_text(b->key.series, ""));
	if (!result)
		result = strcmp(top_name_text(a->key.category, ""),
				top_name_text(b->key.category, ""));
	return result ? result : (int)a->key.part - (int)b->key.part;
}

void top_sort_rows(struct top *top)
{
	size_t n = HASH_COUNT(top->rows);
	struct top_row *row;

	if (n > top->capacity) {
		struct top_row **grown = realloc(top->sorted, 2 * n * sizeof(struct top_row *));

		if (!grown)
			return;
		top->sorted = grown;
		top->capacity = 2 * n;
	}
	top->n_sorted = top->n_counters = 0;
	for (row = top->rows; row; row = row->hh.next) {
		if (!row->shown.count)
			continue;
		top->sorted[top->n_sorted + top->n_counters] = row;
		if (row->key.part == TABLE_COUNTERS)
			top->n_counters++;
		else
			top->n_sorted++;
	}
	if (top->n_sorted + top->n_counters)
		qsort_r(top->sorted, top->n_sorted + top->n_counters, sizeof(struct top_row *),
			top_compare_rows, top);
}

void top_reset(struct top *top)
{
	hash_clear(hh, top->rows, row, entry_clear(&row->now), entry_clear(&row->before),
		   entry_clear(&row->shown));
	top->n_sorted = top->n_counters = 0;
}

void top_free(struct top *top)
{
	top_reset(top);
	free(top->sorted);
	top->sorted = NULL;
	top->capacity = 0;
}

/* A rate in few characters. */
static void put_rate(char *cell, double rate)
{
	if (rate >= 1e6)
		snprintf(cell, TABLE_CELL, "%.2fM", rate / 1e6);
	else if (rate >= 1e4)
		snprintf(cell, TABLE_CELL, "%.1fk", rate / 1e3);
	else
		snprintf(cell, TABLE_CELL, rate < 10 && rate > 0 ? "%.1f" : "%.0f", rate);
}

enum {
	COLUMN_CATEGORY,
	COLUMN_NAME,
	COLUMN_RATE,
	COLUMN_COUNT,
	COLUMN_TOTAL,
	COLUMN_SELF,
	COLUMN_AVERAGE,
	COLUMN_P99,
	COLUMN_MAX,
	COLUMNS,
};

static void top_print_time(const struct top_row *row, unsigned column, char *cell)
{
	const struct table_entry *e = &row->shown;
	uint64_t ns = 0;

	/* An asynchronous slice is on no thread, so nothing is inside of it. */
	if (row->key.part == TABLE_INSTANTS ||
	    (column == COLUMN_SELF && row->key.part != TABLE_SLICES)) {
		strcpy(cell, "-");
		return;
	}
	if (column == COLUMN_TOTAL)
		ns = e->total_ns;
	else if (column == COLUMN_SELF)
		ns = e->self_ns;
	else if (column == COLUMN_AVERAGE)
		ns = entry_average(e);
	else if (column == COLUMN_MAX)
		ns = e->max_ns;
	else
		ns = histogram_percentile(&e->histogram, 99, e->min_ns, e->max_ns);
	format_duration(cell, TABLE_CELL, ns);
}

static void top_print_cell(const void *context, size_t i, unsigned column, char *cell)
{
	const struct top *top = context;
	const struct top_row *row = top->sorted[i];

	if (column == COLUMN_CATEGORY)
		snprintf(cell, TABLE_CELL, "%s", top_name_text(row->key.category, "-"));
	else if (column == COLUMN_NAME)
		snprintf(cell, TABLE_CELL, "%s", top_name_text(row->key.name, "(other)"));
	else if (column == COLUMN_RATE)
		put_rate(cell, row->per_second);
	else if (column == COLUMN_COUNT)
		snprintf(cell, TABLE_CELL, "%" PRIu64, row->shown.count);
	else
		top_print_time(row, column, cell);
}

void top_table(const struct top *top, unsigned width, struct table *table)
{
	static const struct table_column columns[COLUMNS] = {
		[COLUMN_CATEGORY] = { .title = "Category", .left = true, .drop = 3 },
		[COLUMN_NAME] = { .title = "Name", .left = true },
		[COLUMN_RATE] = { .title = "/s", .drop = 4 },
		[COLUMN_COUNT] = { .title = "Count", .drop = 1 },
		[COLUMN_TOTAL] = { .title = "Total" },
		[COLUMN_SELF] = { .title = "Self", .drop = 2 },
		[COLUMN_AVERAGE] = { .title = "Avg", .drop = 5 },
		[COLUMN_P99] = { .title = "p99", .drop = 7 },
		[COLUMN_MAX] = { .title = "Max", .drop = 6 },
	};

	*table = (struct table){
		.columns = columns,
		.n_columns = COLUMNS,
		.n_rows = top->n_sorted,
		.cell = top_print_cell,
		.context = top,
		.width = width,
	};
}

enum {
	SAMPLES_NAME,
	SAMPLES_SERIES,
	SAMPLES_RATE,
	SAMPLES_COUNT,
	SAMPLES_LAST,
	SAMPLES_MIN,
	SAMPLES_MAX,
	SAMPLES_COLUMNS,
};

static void top_print_value(const struct arg *value, char *cell)
{
	if (value->type == ARG_INT)
		snprintf(cell, TABLE_CELL, "%" PRId64, value->i);
	else if (value->type == ARG_DOUBLE)
		snprintf(cell, TABLE_CELL, "%g", value->d);
	else if (value->type)
		snprintf(cell, TABLE_CELL, "%" PRIu64, value->u);
	else
		strcpy(cell, "-");
}

static void top_print_counter(const void *context, size_t i, unsigned column, char *cell)
{
	const struct top *top = context;
	const struct top_row *row = top->sorted[top->n_sorted + i];

	if (column == SAMPLES_NAME)
		snprintf(cell, TABLE_CELL, "%s", top_name_text(row->key.name, "(other)"));
	else if (column == SAMPLES_SERIES)
		snprintf(cell, TABLE_CELL, "%s", top_name_text(row->key.series, "-"));
	else if (column == SAMPLES_RATE)
		put_rate(cell, row->per_second);
	else if (column == SAMPLES_COUNT)
		snprintf(cell, TABLE_CELL, "%" PRIu64, row->now.count);
	else
		top_print_value(column == SAMPLES_LAST	? &row->now.last
				: column == SAMPLES_MIN ? &row->now.min
							: &row->now.max,
				cell);
}

void top_counters_table(const struct top *top, unsigned width, struct table *table)
{
	static const struct table_column columns[SAMPLES_COLUMNS] = {
		[SAMPLES_NAME] = { .title = "Counter", .left = true },
		[SAMPLES_SERIES] = { .title = "Series", .left = true, .drop = 1 },
		[SAMPLES_RATE] = { .title = "/s", .drop = 5 },
		[SAMPLES_COUNT] = { .title = "Count", .drop = 4 },
		[SAMPLES_LAST] = { .title = "Last" },
		[SAMPLES_MIN] = { .title = "Min", .drop = 2 },
		[SAMPLES_MAX] = { .title = "Max", .drop = 3 },
	};

	*table = (struct table){
		.columns = columns,
		.n_columns = SAMPLES_COLUMNS,
		.n_rows = top->n_counters,
		.cell = top_print_counter,
		.context = top,
		.width = width,
	};
}
