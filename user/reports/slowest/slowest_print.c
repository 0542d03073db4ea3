/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the comparison as a table for people: a column for the median slice and one for each slow
 * slice.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reports/slowest/slowest_internal.h"
#include "reports/table/stats_view.h"
#include "reports/table/table.h"

enum {
	CHILDREN = 30,	 /* the default limit of rows */
	TEXT_WIDTH = 32, /* of a text in a cell */
	STACK_WIDTH = 72,
};

struct shown {
	struct slow_comparison c;
	const struct stats_options *options;
	struct table_column columns[SLOWEST_MAX + 2];
	char titles[SLOWEST_MAX + 2][TABLE_CELL];
};

static void format_indented(unsigned depth, const char *text, char *cell)
{
	unsigned indent = 2 * depth < 200 ? 2 * depth : 200;

	memset(cell, ' ', indent);
	text_shorten(cell + indent, TABLE_CELL - indent, text, TABLE_CELL);
}

static void format_slowest_label(const struct slow_comparison *c, const struct slow_row *row,
				 char *cell)
{
	static const char *const labels[] = {
		[SLOW_NAME] = "name",
		[SLOW_FILE] = "file",
		[SLOW_AT] = "at",
		[SLOW_PROCESS] = "process",
		[SLOW_THREAD] = "thread",
		[SLOW_STEP] = "epoch/batch",
		[SLOW_DURATION] = "duration",
		[SLOW_LOST] = "marks lost in it",
	};
	static const char *const states[] = { "on-CPU", "runnable", "blocked", "unknown" };
	static const char *const headings[] = {
		[SLOW_CHILD] = "inside",      [SLOW_SAMPLE] = "samples in",
		[SLOW_STACK] = "called from", [SLOW_COUNTER] = "counted",
		[SLOW_ARG] = "arguments",
	};
	char text[TABLE_CELL];

	switch (row->part) {
	case SLOW_HEADING:
		format_indented(0, headings[row->which], cell);
		break;
	case SLOW_STATE:
		if (row->which >= SLOW_REASONS)
			format_indented(2, wait_reason_text(row->which - SLOW_REASONS), cell);
		else
			format_indented(1, states[row->which], cell);
		break;
	case SLOW_WAIT:
		format_indented(2, "longest", cell);
		break;
	case SLOW_SELF:
	case SLOW_CHILD_SELF:
		format_indented(1 + row->depth, "(self)", cell);
		break;
	case SLOW_CHILD:
		format_indented(1 + row->depth, row->name ? row->name->text : "(other)", cell);
		break;
	case SLOW_SAMPLE:
		format_indented(1, row->name ? row->name->text : "(unknown)", cell);
		break;
	case SLOW_STACK:
		text_shorten(text, sizeof(text), c->stacks[row->which].text, STACK_WIDTH);
		format_indented(1, text, cell);
		break;
	case SLOW_COUNTER:
	case SLOW_ARG:
		format_indented(1, row->name->text, cell);
		break;
	default:
		format_indented(0, labels[row->part], cell);
	}
}

static void format_slowest_number(const struct slow_row *row, const struct arg *arg, char *cell)
{
	if (arg->type == ARG_DOUBLE)
		snprintf(cell, TABLE_CELL, "%.6g", arg->d);
	else if (arg->type == ARG_INT)
		snprintf(cell, TABLE_CELL, "%" PRId64, arg->i);
	else if (row->part == SLOW_COUNTER)
		format_count(cell, TABLE_CELL, arg->u);
	else
		snprintf(cell, TABLE_CELL, "%" PRIu64, arg->u);
}

/* A column has values of many kinds, so each value has its unit. */
static void format_time_with_unit(enum stats_unit unit, uint64_t ns, char *cell)
{
	static const char *const units[] = { "", " ns", " us", " ms", " s" };

	stats_put_time(unit, ns, cell);
	strcat(cell, units[unit]);
}

static void format_slowest_value(struct shown *shown, const struct slow_row *row, unsigned instance,
				 char *cell)
{
	struct slow_value value = slow_value(&shown->c, row, instance);
	char text[TABLE_CELL] = "";

	switch (value.kind) {
	case SLOW_NONE:
		strcpy(cell, row->part == SLOW_HEADING ? "" : "-");
		return;
	case SLOW_TIME:
		format_time_with_unit(shown->options->unit, value.ns, text);
		break;
	case SLOW_NUMBER:
		format_slowest_number(row, &value.arg, text);
		break;
	case SLOW_TEXT:
		text_shorten(text, sizeof(text), value.arg.s, TEXT_WIDTH);
		break;
	}
	if (value.count > 1)
		snprintf(cell, TABLE_CELL, "%s%" PRIu64 " x %.64s", value.differs ? "* " : "",
			 value.count, text);
	else
		snprintf(cell, TABLE_CELL, "%s%.512s", value.differs ? "* " : "", text);
}

static void format_slowest_cell(const void *context, size_t i, unsigned column, char *cell)
{
	struct shown *shown = (struct shown *)context;
	const struct slow_row *row = &shown->c.rows[i];

	if (column)
		format_slowest_value(shown, row, column - 1, cell);
	else
		format_slowest_label(&shown->c, row, cell);
}

static void set_slowest_titles(struct shown *shown)
{
	const struct slowest *s = shown->c.slowest;
	bool one_name = shown->c.rows[0].part != SLOW_NAME;

	snprintf(shown->titles[0], TABLE_CELL, "Slice %.1024s",
		 one_name ? s->instances[0].identity.name->text : s->options.name);
	shown->columns[0] = (struct table_column){ .title = shown->titles[0], .left = true };
	for (unsigned i = 0; i < s->n_instances; i++) {
		if (i)
			snprintf(shown->titles[i + 1], TABLE_CELL, "slow %u", i);
		else
			strcpy(shown->titles[i + 1], "median");
		/* The last columns are dropped first when the terminal is too narrow. */
		shown->columns[i + 1] = (struct table_column){ .title = shown->titles[i + 1],
							       .drop = i > 1 ? i : 0 };
	}
}

static void print_slowest_notes(const struct shown *shown, unsigned n_dropped, FILE *out)
{
	const struct slowest *s = shown->c.slowest;
	char text[160];

	if (shown->c.n_left_out)
		fprintf(out, "and %u more inside\n", shown->c.n_left_out);
	if (shown->c.n_functions_left_out)
		fprintf(out, "and samples in %u more functions\n", shown->c.n_functions_left_out);
	if (shown->c.n_stacks_left_out)
		fprintf(out, "and %u more call stacks\n", shown->c.n_stacks_left_out);
	if (n_dropped) {
		snprintf(text, sizeof(text),
			 "%u slow slice%s not shown: the terminal is too narrow", n_dropped,
			 n_dropped == 1 ? "" : "s");
		stats_print_note(shown->options, out, text);
	}
	if (s->count > s->n_seen) {
		snprintf(text, sizeof(text), "the median is that of a random sample of %u slices",
			 s->n_seen);
		stats_print_note(shown->options, out, text);
	}
	snprintf(text, sizeof(text),
		 "%" PRIu64 " slice%s; * marks values that differ from the median slice", s->count,
		 s->count == 1 ? "" : "s");
	stats_print_note(shown->options, out, text);
}

static int print_comparison(struct shown *shown, const struct consumer *slowest,
			    const struct stats_file *files, unsigned n_files, FILE *out)
{
	const struct stats_options *o = shown->options;
	struct table table = {
		.columns = shown->columns,
		.cell = format_slowest_cell,
		.context = shown,
		.color = o->color,
		.width = o->width,
	};
	int error;

	error = slow_compare(&shown->c, (const struct slowest *)slowest, files, n_files,
			     o->max_rows ? o->max_rows : CHILDREN);
	if (error)
		return error;
	set_slowest_titles(shown);
	table.n_columns = shown->c.slowest->n_instances + 1;
	table.n_rows = shown->c.n_rows;
	print_slowest_notes(shown, table_print(&table, out), out);
	return 0;
}

/* Each cell is a text, or a list of one if it differs from the median's. */
static void put_slowest_row(struct shown *shown, unsigned i, FILE *out)
{
	const struct slow_row *row = &shown->c.rows[i];
	char cell[TABLE_CELL];

	format_slowest_label(&shown->c, row, cell);
	put_json_string(out, i ? ",\n[" : "[", cell);
	for (unsigned k = 0; k < shown->c.slowest->n_instances; k++) {
		bool differs = slow_value(&shown->c, row, k).differs;

		format_slowest_value(shown, row, k, cell);
		put_json_string(out, differs ? ",[" : ",", cell + (differs ? 2 : 0));
		fputs(differs ? "]" : "", out);
	}
	fputs("]", out);
}

int slowest_print_cells(const struct consumer *slowest, FILE *out, const struct stats_file *files,
			unsigned n_files)
{
	const struct stats_options options = { 0 };
	struct shown *shown;
	int error;

	if (!((const struct slowest *)slowest)->n_instances) {
		fputs("null", out);
		return 0;
	}
	shown = calloc(1, sizeof(*shown));
	if (!shown)
		return -ENOMEM;
	shown->options = &options;
	error = slow_compare(&shown->c, (const struct slowest *)slowest, files, n_files, CHILDREN);
	if (!error) {
		set_slowest_titles(shown);
		for (unsigned i = 0; i <= shown->c.slowest->n_instances; i++)
			put_json_string(out, i ? "," : "{\"columns\":[", shown->titles[i]);
		fprintf(out, "],\"count\":%" PRIu64 ",\"left_out\":%u,\"rows\":[",
			shown->c.slowest->count,
			shown->c.n_left_out + shown->c.n_functions_left_out +
				shown->c.n_stacks_left_out);
		for (unsigned i = 0; i < shown->c.n_rows; i++)
			put_slowest_row(shown, i, out);
		fputs("]}", out);
	}
	slow_comparison_free(&shown->c);
	free(shown);
	return error;
}

int slowest_print_table(const struct consumer *slowest, FILE *out,
			const struct stats_options *options, const struct account *account,
			const struct stats_file *files, unsigned n_files, struct failure *f)
{
	struct shown *shown = calloc(1, sizeof(*shown));
	int error = shown ? 0 : -ENOMEM;

	if (!error && !((const struct slowest *)slowest)->n_instances) {
		stats_print_note(options, out, "no slice matches");
	} else if (!error) {
		shown->options = options;
		error = print_comparison(shown, slowest, files, n_files, out);
		slow_comparison_free(&shown->c);
	}
	if (error)
		failure_set(f, error, "cannot print", "the table", NULL);
	else if (account)
		stats_print_diagnostics(options, account, out, false);
	free(shown);
	return error;
}
