/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the statistics as tables for people. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reports/table/stats_view.h"
#include "reports/table/table.h"

/* --- values as text ---------------------------------------------------------------------------- */

void stats_put_time(enum stats_unit unit, uint64_t ns, char *cell)
{
	switch (unit) {
	case STATS_UNIT_NS:
		snprintf(cell, TABLE_CELL, "%" PRIu64, ns);
		return;
	case STATS_UNIT_US:
		snprintf(cell, TABLE_CELL, "%.3f", (double)ns / 1e3);
		return;
	case STATS_UNIT_MS:
		snprintf(cell, TABLE_CELL, "%.3f", (double)ns / 1e6);
		return;
	case STATS_UNIT_S:
		snprintf(cell, TABLE_CELL, "%.6f", (double)ns / 1e9);
		return;
	case STATS_UNIT_AUTO:
		format_duration(cell, TABLE_CELL, ns);
		return;
	}
}

static void format_arg(const struct arg *value, char *cell)
{
	if (value->type == ARG_INT)
		snprintf(cell, TABLE_CELL, "%" PRId64, value->i);
	else if (value->type == ARG_DOUBLE)
		snprintf(cell, TABLE_CELL, "%g", value->d);
	else
		snprintf(cell, TABLE_CELL, "%" PRIu64, value->u);
}

static void format_value(const struct stats_view *view, const struct stats_column *column,
			 const struct stats_value *value, char *cell)
{
	switch (value->kind) {
	case STATS_VALUE_NONE:
		strcpy(cell, "-");
		break;
	case STATS_VALUE_COUNT:
		/* Counts of marks are printed with all digits. */
		if (column->what == STATS_COUNT)
			snprintf(cell, TABLE_CELL, "%" PRIu64, value->u);
		else
			format_count(cell, TABLE_CELL, value->u);
		break;
	case STATS_VALUE_TIME:
		stats_put_time(view->options->unit, value->u, cell);
		break;
	case STATS_VALUE_BYTES:
		format_bytes(cell, TABLE_CELL, value->u);
		break;
	case STATS_VALUE_PERCENT:
		snprintf(cell, TABLE_CELL, "%.1f", (double)value->number);
		break;
	case STATS_VALUE_REAL:
		if (view->part == STATS_COUNTERS)
			snprintf(cell, TABLE_CELL, "%.9Lg", value->number);
		else
			format_real(cell, TABLE_CELL, (double)value->number);
		break;
	case STATS_VALUE_ARG:
		format_arg(&value->arg, cell);
		break;
	}
}

/* --- the columns of a table -------------------------------------------------------------------- */

enum text_column {
	TEXT_CATEGORY,
	TEXT_NAME,
	TEXT_PROCESS,
	TEXT_THREAD,
	TEXT_GROUP,
	TEXT_UNIT,
	TEXT_NONE,
};

struct shown {
	const struct stats_view *view;
	unsigned n;
	enum text_column texts[TABLE_COLUMNS]; /* TEXT_NONE: a number */
	struct stats_column columns[TABLE_COLUMNS];
	struct table_column table[TABLE_COLUMNS];
	char titles[TABLE_COLUMNS][STATS_COLUMN_NAME + 8];
};

static void format_owner(const struct name *name, uint32_t id, char *cell)
{
	char number[16];

	snprintf(number, sizeof(number), "%s%u", name ? " " : "", id);
	text_shorten(cell, TABLE_CELL - sizeof(number), name ? name->text : "", TABLE_CELL);
	strcat(cell, number);
}

static void format_text_cell(const struct shown *shown, enum text_column text,
			     const struct stats_row *row, char *cell)
{
	const struct stats_owner *owner = stats_row_owner(shown->view->stats, row);
	char buffer[STATS_DISPLAY_NAME];
	const char *string = "-";

	if (text == TEXT_CATEGORY && row->key.category)
		string = row->key.category->text;
	if (text == TEXT_NAME)
		string = stats_row_name(row, buffer);
	if (text == TEXT_GROUP && owner && owner->group)
		string = owner->group->text;
	if (text == TEXT_UNIT)
		string = row->unit ? row->unit->text : "";
	if (text == TEXT_PROCESS && owner)
		format_owner(owner->process, owner->pid, cell);
	else if (text == TEXT_THREAD && owner && owner->tid)
		format_owner(owner->thread, owner->tid, cell);
	else
		text_shorten(cell, TABLE_CELL, string, TABLE_CELL);
}

static void format_stats_cell(const void *context, size_t i, unsigned column, char *cell)
{
	const struct shown *shown = context;
	const struct stats_row *row = &shown->view->rows[i];
	struct stats_value value;

	if (shown->texts[column] != TEXT_NONE) {
		format_text_cell(shown, shown->texts[column], row, cell);
		return;
	}
	value = stats_value(shown->view, row, &shown->columns[column]);
	format_value(shown->view, &shown->columns[column], &value, cell);
}

static void add_text_column(struct shown *shown, enum text_column text, const char *title)
{
	shown->texts[shown->n] = text;
	shown->table[shown->n++] = (struct table_column){ .title = title, .left = true };
}

/*
 * The order in which columns are dropped when the terminal is too narrow: the least informative
 * ones, which can be requested, go first.
 */
static unsigned drop_order(const struct stats_view *view, enum stats_what what, unsigned counter,
			   unsigned index)
{
	static const enum stats_what order[] = {
		STATS_TOTAL,   STATS_LAST,     STATS_LEAKED, STATS_PEAK, STATS_SELF,
		STATS_BLOCKED, STATS_RUNNING,  STATS_IPC,    STATS_P99,	 STATS_MAX,
		STATS_AVG,     STATS_P50,      STATS_SHARE,  STATS_LIVE, STATS_LEAKS,
		STATS_FREES,   STATS_RUNNABLE, STATS_MIN,    STATS_P95,	 STATS_UNKNOWN,
	};
	unsigned i, n = sizeof(order) / sizeof(order[0]);

	/* The table is in the order of this column. */
	if (view->has_sort && view->sort.what == what && view->sort.counter == counter)
		return 0;
	if (view->chosen)
		return index + 1; /* the last column first */
	for (i = 0; i < n; i++) {
		if (order[i] == what)
			return i + 1;
	}
	return what >= STATS_COUNTED_TOTAL ? n + 1 + index : 0;
}

static bool is_time_column(const struct stats_view *view, const struct stats_column *column)
{
	if (view->part == STATS_COUNTERS)
		return false;
	if (column->what == STATS_COUNTED_TOTAL || column->what == STATS_COUNTED_SELF ||
	    column->what == STATS_COUNTED_CALL)
		return stats_is_time(view->stats->counters[column->counter]);
	return (column->what >= STATS_TOTAL && column->what <= STATS_P99) ||
	       column->what == STATS_BLOCKED_IN;
}

static const char *column_title(const struct stats_view *view, const struct stats_column *column,
				char *buffer, size_t size)
{
	static const char *const units[] = { "", " ns", " us", " ms", " s" };
	const char *unit = is_time_column(view, column) ? units[view->options->unit] : "";
	const char *name = column->name;

	if (column->what == STATS_SHARE)
		return "%";
	if (column->what == STATS_RUNNING)
		name = "On-CPU";
	if (view->part == STATS_POOLS && column->what == STATS_COUNT)
		return "Allocated";
	snprintf(buffer, size, "%s%s", name, unit);
	/* Percentiles and counters keep their lower-case names. */
	if (column->what != STATS_RUNNING &&
	    (column->what < STATS_P50 || (column->what > STATS_P99 && column->what <= STATS_LEAKS)))
		buffer[0] = (char)(buffer[0] - 'a' + 'A');
	return buffer;
}

static void add_number_columns(struct shown *shown)
{
	const struct stats_view *view = shown->view;
	struct stats_column columns[STATS_MAX_COLUMNS];
	unsigned i, at, n = stats_part_columns(view, columns);

	for (i = 0; i < n; i++) {
		at = shown->n++;
		shown->texts[at] = TEXT_NONE;
		shown->columns[at] = columns[i];
		shown->table[at] = (struct table_column){
			.title = column_title(view, &columns[i], shown->titles[at],
					      sizeof(shown->titles[at])),
			.drop = drop_order(view, columns[i].what, columns[i].counter, i),
		};
	}
}

/* --- the table --------------------------------------------------------------------------------- */

void stats_print_note(const struct stats_options *options, FILE *out, const char *text)
{
	char line[256];

	text_shorten(line, sizeof(line), text, options->width ? options->width : 250);
	print_visible(out, "%s\n", line);
}

/* Counters belong to processes, except counters of threads read from files. */
static bool has_threads(const struct stats_view *view)
{
	for (size_t i = 0; view->part == STATS_COUNTERS && i < view->n_rows; i++) {
		const struct stats_owner *owner = stats_row_owner(view->stats, &view->rows[i]);

		if (owner && owner->tid)
			return true;
	}
	return view->part == STATS_SLICES || view->part == STATS_INSTANTS;
}

static void print_part(const struct stats_view *view, struct shown *shown, FILE *out)
{
	static const char *const titles[STATS_PARTS] = {
		[STATS_SLICES] = "Slice",     [STATS_ASYNCS] = "Asynchronous slice",
		[STATS_FRAMES] = "Frame",     [STATS_INSTANTS] = "Instant",
		[STATS_COUNTERS] = "Counter", [STATS_POOLS] = "Memory pool",
	};
	struct table table = {
		.columns = shown->table,
		.n_rows = view->n_rows,
		.cell = format_stats_cell,
		.context = shown,
		.color = view->options->color,
		.width = view->options->width,
	};
	unsigned n_dropped;
	char text[96];

	shown->n = 0;
	shown->view = view;
	add_text_column(shown, TEXT_CATEGORY, "Category");
	add_text_column(shown, TEXT_NAME, titles[view->part]);
	if (view->stats->per_thread)
		add_text_column(shown, TEXT_PROCESS, "Process");
	if (view->stats->per_thread && has_threads(view))
		add_text_column(shown, TEXT_THREAD, "Thread");
	if (view->stats->by)
		add_text_column(shown, TEXT_GROUP, view->stats->by);
	add_number_columns(shown);
	if (view->part == STATS_COUNTERS)
		add_text_column(shown, TEXT_UNIT, "Unit");
	table.n_columns = shown->n;
	n_dropped = table_print(&table, out);
	if (n_dropped && view->chosen) {
		snprintf(text, sizeof(text), "%u column%s not shown: the terminal is too narrow",
			 n_dropped, n_dropped == 1 ? "" : "s");
		stats_print_note(view->options, out, text);
	}
	if (view->n_rows < view->n_all)
		fprintf(out, "and %zu more\n", view->n_all - view->n_rows);
}

static void print_without_end(const struct stats_view *view, FILE *out)
{
	uint64_t n = view->stats->unfinished + view->stats->ends_lost;
	char text[128];

	snprintf(text, sizeof(text),
		 "%" PRIu64 " slice%s without an end of %s own %s not in the table", n,
		 n == 1 ? "" : "s", n == 1 ? "its" : "their", n == 1 ? "is" : "are");
	stats_print_note(view->options, out, text);
}

/* Returns whether nothing was printed, or negative errno. */
static int print_parts(struct stats_view *view, struct shown *shown, FILE *out)
{
	const struct stats_options *o = view->options;
	bool first = true, any = false;
	int error;

	for (int part = 0; part < STATS_PARTS; part++) {
		error = stats_view_part(view, (enum stats_part)part);
		if (error)
			return error;
		if (view->n_rows) {
			if (!first)
				fputc('\n', out);
			print_part(view, shown, out);
			first = false;
			any = true;
		}
		if (part == STATS_FRAMES && view->stats->unfinished + view->stats->ends_lost) {
			print_without_end(view, out);
			first = false;
		}
	}
	if (!any && o->n_domains + o->n_names) {
		stats_print_note(view->options, out, "no name and category matches");
		first = false;
	}
	return first;
}

int stats_print_table(const struct consumer *stats, FILE *out, const struct stats_options *options,
		      const struct account *account, struct failure *f)
{
	struct shown *shown = calloc(1, sizeof(*shown));
	struct stats_view view = { 0 };
	int error = -ENOMEM;

	if (!shown)
		return failure_set(f, error, "cannot print", "the table", NULL);
	error = stats_view_init(&view, stats, options, f);
	if (!error) {
		error = print_parts(&view, shown, out);
		if (error >= 0)
			error = stats_print_rest(&view, account, out, error);
		if (error)
			failure_set(f, error, "cannot print", "the table", NULL);
	}
	stats_view_free(&view);
	free(shown);
	return error;
}
