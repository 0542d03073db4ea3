/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints a comparison as tables for a terminal or in Markdown, and the reasons under them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reports/diff/diff_internal.h"
#include "reports/table/table.h"

enum diff_column {
	COLUMN_NAME,
	COLUMN_VERDICT,
	COLUMN_COUNT,
	COLUMN_P50_A,
	COLUMN_P50_B,
	COLUMN_P50,
	COLUMN_P95,
	COLUMN_TOTAL,
	COLUMN_SELF,
	COLUMN_WAIT,
	COLUMN_AVERAGE_A,
	COLUMN_AVERAGE_B,
	COLUMN_AVERAGE,
	DIFF_COLUMNS,
};

/* The rows of one kind. */
struct diff_part {
	const struct diff *d;
	const struct diff_row **rows;
	unsigned n, n_all, n_columns;
	enum diff_column columns[DIFF_COLUMNS];
	char titles[DIFF_COLUMNS][DIFF_CELL];
};

static void format_diff_cell(const void *context, size_t i, unsigned column, char *cell)
{
	static const enum diff_metric metrics[] = {
		[COLUMN_COUNT] = METRIC_COUNT,	     [COLUMN_P50_A] = METRIC_P50,
		[COLUMN_P50_B] = METRIC_P50,	     [COLUMN_P50] = METRIC_P50,
		[COLUMN_P95] = METRIC_P95,	     [COLUMN_TOTAL] = METRIC_TOTAL,
		[COLUMN_SELF] = METRIC_SELF,	     [COLUMN_WAIT] = METRIC_BLOCKED,
		[COLUMN_AVERAGE_A] = METRIC_AVERAGE, [COLUMN_AVERAGE_B] = METRIC_AVERAGE,
		[COLUMN_AVERAGE] = METRIC_AVERAGE,
	};
	const struct diff_part *part = context;
	const struct diff_row *row = part->rows[i];
	enum diff_column what = part->columns[column];
	const struct diff_result *result = &row->results[metrics[what]];
	char title[DIFF_CELL];

	if (what == COLUMN_NAME)
		snprintf(cell, TABLE_CELL, "%s", diff_row_title(row, title));
	else if (what == COLUMN_VERDICT)
		snprintf(cell, TABLE_CELL, "%s", diff_verdict_text(row));
	else if (what == COLUMN_P50_A || what == COLUMN_AVERAGE_A)
		diff_format_value(cell, TABLE_CELL, metrics[what],
				  result->known ? result->a : (double)NAN);
	else if (what == COLUMN_P50_B || what == COLUMN_AVERAGE_B)
		diff_format_value(cell, TABLE_CELL, metrics[what],
				  result->known ? result->b : (double)NAN);
	else
		diff_format_change(cell, TABLE_CELL, result,
				   what == COLUMN_P50 || what == COLUMN_AVERAGE);
}

static void add_diff_column(struct diff_part *part, enum diff_column column, const char *title)
{
	part->columns[part->n_columns] = column;
	snprintf(part->titles[part->n_columns++], DIFF_CELL, "%s", title);
}

static bool any_row_has(const struct diff_part *part, enum diff_metric metric)
{
	for (unsigned i = 0; i < part->n; i++) {
		if (part->rows[i]->results[metric].known)
			return true;
	}
	return false;
}

static void choose_diff_columns(struct diff_part *part, enum diff_kind kind)
{
	static const char *const titles[] = { "Slice", "Asynchronous slice", "Frame", "Instant",
					      "Counter" };
	char unit[DIFF_CELL], title[DIFF_CELL];

	part->n_columns = 0;
	diff_unit_text(part->d, unit);
	add_diff_column(part, COLUMN_NAME, titles[kind]);
	add_diff_column(part, COLUMN_VERDICT, "Decision");
	snprintf(title, sizeof(title), "Count/%.100s", unit);
	add_diff_column(part, COLUMN_COUNT, title);
	if (kind == DIFF_COUNTER) {
		add_diff_column(part, COLUMN_AVERAGE_A, "Avg A");
		add_diff_column(part, COLUMN_AVERAGE_B, "Avg B");
		add_diff_column(part, COLUMN_AVERAGE, "Avg");
	}
	if (kind > DIFF_FRAME)
		return;
	add_diff_column(part, COLUMN_P50_A, "p50 A");
	add_diff_column(part, COLUMN_P50_B, "p50 B");
	add_diff_column(part, COLUMN_P50, "p50");
	add_diff_column(part, COLUMN_P95, "p95");
	snprintf(title, sizeof(title), "Total/%.100s", unit);
	add_diff_column(part, COLUMN_TOTAL, title);
	if (kind == DIFF_SLICE)
		add_diff_column(part, COLUMN_SELF, "Self");
	if (any_row_has(part, METRIC_BLOCKED))
		add_diff_column(part, COLUMN_WAIT, "Waiting");
}

static void find_part_rows(struct diff_part *part, enum diff_kind kind)
{
	const struct diff *d = part->d;

	part->n = part->n_all = 0;
	for (unsigned i = 0; i < d->n_order; i++) {
		if (d->order[i]->key.kind != kind)
			continue;
		if (!d->options->max_rows || part->n < d->options->max_rows)
			part->rows[part->n++] = d->order[i];
		part->n_all++;
	}
}

/* --- the two forms of a table ------------------------------------------------------------------ */

static void print_diff_table(const struct diff_part *part, FILE *out)
{
	struct table_column columns[DIFF_COLUMNS];
	struct table table = {
		.columns = columns,
		.n_columns = part->n_columns,
		.n_rows = part->n,
		.cell = format_diff_cell,
		.context = part,
		.color = part->d->options->color,
		.width = part->d->options->width,
	};

	for (unsigned i = 0; i < part->n_columns; i++)
		columns[i] = (struct table_column){ .title = part->titles[i],
						    .left = i < 2,
						    .drop = i < 2 ? 0 : i };
	table_print(&table, out);
}

/* Names may contain what Markdown gives a meaning. */
static void put_markdown(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_{}[]<>#|~", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void print_diff_markdown(const struct diff_part *part, FILE *out)
{
	char cell[TABLE_CELL];

	for (unsigned i = 0; i < part->n_columns; i++) {
		fputs("| ", out);
		put_markdown(out, part->titles[i]); /* with the name of the unit of work */
		fputc(' ', out);
	}
	fputs("|\n", out);
	for (unsigned i = 0; i < part->n_columns; i++)
		fputs(i < 2 ? "| --- " : "| ---: ", out);
	fputs("|\n", out);
	for (unsigned row = 0; row < part->n; row++) {
		for (unsigned i = 0; i < part->n_columns; i++) {
			format_diff_cell(part, row, i, cell);
			fputs("| ", out);
			put_markdown(out, cell);
			fputc(' ', out);
		}
		fputs("|\n", out);
	}
}

/* --- reasons ----------------------------------------------------------------------------------- */

static void format_signed_time(char *out, size_t size, double ns)
{
	char time[40];

	format_duration(time, sizeof(time), (uint64_t)(fabs(ns) + 0.5));
	snprintf(out, size, "%c%s", ns < 0 ? '-' : '+', time);
}

static void print_part_of_change(FILE *out, const struct diff_why *why, const char *what,
				 double change_ns)
{
	char time[48];

	if (fabs(change_ns) < 0.05 * fabs(why->change_ns))
		return;
	format_signed_time(time, sizeof(time), change_ns);
	fprintf(out, "    %s %s (%.0f %%)\n", time, what, 100 * change_ns / why->change_ns);
}

static void print_why_parts(const struct diff_row *row, const struct diff_why *why, FILE *out)
{
	char title[DIFF_CELL], text[2 * DIFF_CELL];

	if (row->key.kind == DIFF_SLICE)
		print_part_of_change(out, why, "its own time", why->self_ns);
	for (unsigned i = 0; i < why->n_children; i++) {
		snprintf(text, sizeof(text), "in %s", diff_row_title(why->children[i].row, title));
		print_part_of_change(out, why, text, why->children[i].change_ns);
	}
	if (why->has_states) {
		print_part_of_change(out, why, "running", why->running_ns);
		print_part_of_change(out, why, "runnable: waiting for a CPU", why->runnable_ns);
		print_part_of_change(out, why, "waiting: blocked", why->blocked_ns);
	}
	for (unsigned i = 0; i < why->n_counters; i++) {
		const struct diff_counter_change *c = &why->counters[i];

		if (c->a > 0 && fabs(c->b / c->a - 1) >= 0.01)
			fprintf(out, "    %+.1f %% %s for each\n", 100 * (c->b / c->a - 1),
				c->name->text);
	}
}

static void print_why_functions(const struct diff_functions *found, FILE *out)
{
	char time[48];

	for (unsigned i = 0; i < found->n; i++) {
		const struct diff_function *f = &found->functions[i];

		format_signed_time(time, sizeof(time), f->change_ns);
		fprintf(out, "    %s in the function %.200s%s%.200s: %" PRIu64 " and %" PRIu64,
			time, f->name->text, f->caller ? ", called by " : "",
			f->caller ? f->caller->text : "", f->samples[0], f->samples[1]);
		fprintf(out, " of %" PRIu64 " and %" PRIu64 " samples\n", found->samples[0],
			found->samples[1]);
	}
	if (!found->n)
		fprintf(out,
			"    no function changed by more than chance explains (%" PRIu64
			" and %" PRIu64 " samples)\n",
			found->samples[0], found->samples[1]);
}

static void print_why(const struct diff *d, const struct diff_row *row, FILE *out)
{
	char title[DIFF_CELL], time[48];
	struct diff_why why;

	diff_explain(d, row, &why);
	if (!why.change_ns)
		return;
	format_signed_time(time, sizeof(time), why.change_ns);
	fprintf(out, "  %s: %s on average", diff_row_title(row, title), time);
	for (unsigned i = 0; i < why.n_path && why.n_path > 1; i++)
		fprintf(out, "%s%s", i ? " > " : ", in ", diff_row_title(why.path[i], title));
	fputc('\n', out);
	print_why_parts(row, &why, out);
	if (row->functions)
		print_why_functions(row->functions, out);
}

static void print_reasons(const struct diff *d, FILE *out)
{
	bool markdown = d->options->format == DIFF_MARKDOWN, any = false;

	for (unsigned i = 0; i < d->n_order; i++) {
		const struct diff_row *row = d->order[i];

		if (row->verdict != VERDICT_SLOWER && row->verdict != VERDICT_FASTER &&
		    !(row->functions && row->functions->n))
			continue;
		if (d->options->max_rows && i >= d->options->max_rows)
			break;
		if (!any)
			fputs(markdown ? "\n### Why\n\n```\n" : "\nWhy\n", out);
		any = true;
		print_why(d, row, out);
	}
	if (any && markdown)
		fputs("```\n", out);
}

/* --- what was and was not seen ------------------------------------------------------------------ */

/* Begins a line; in Markdown, lines are one paragraph unless they are items of a list. */
static void print_diff_item(const struct diff *d, const char *text, FILE *out)
{
	if (d->options->format != DIFF_MARKDOWN) {
		fputs(text, out);
		return;
	}
	fputs("* ", out);
	put_markdown(out, text);
}

/* The largest changes that noise hides, and how many runs would tell. */
static void print_hidden(const struct diff *d, FILE *out)
{
	unsigned i, n = 0;

	for (i = 0; i < d->n_order && n < 5; i++) {
		const struct diff_row *row = d->order[i];
		const struct diff_result *r = &row->results[METRIC_P50];
		char title[DIFF_CELL];

		if (row->verdict != VERDICT_NONE && row->verdict != VERDICT_UNTESTED)
			continue;
		if (!r->known || isnan(r->change) || fabs(r->change) < 0.01 || !r->needed)
			continue;
		print_diff_item(d, diff_row_title(row, title), out);
		fprintf(out, ": p50 %+.1f %% cannot be told from noise with %u and %u %s",
			100 * r->change, d->n_side[0], d->n_side[1],
			d->in_blocks ? "blocks\n" : "runs; ");
		if (!d->in_blocks)
			fprintf(out, "about %u of each would tell\n", r->needed);
		n++;
	}
}

static void print_basis(const struct diff *d, FILE *out)
{
	unsigned i, runs[2] = { 0 };

	for (i = 0; i < d->n_runs; i++)
		runs[d->runs[i].is_b]++;
	fprintf(out, "A: %u trace%s, B: %u trace%s", runs[0], runs[0] == 1 ? "" : "s", runs[1],
		runs[1] == 1 ? "" : "s");
	if (d->in_blocks)
		fprintf(out, ", compared in %u and %u blocks of time", d->n_side[0], d->n_side[1]);
	fputs(d->options->format == DIFF_MARKDOWN ? "\n\n" : "\n", out);
}

static bool diff_has_saved_run(const struct diff *d)
{
	for (unsigned i = 0; i < d->n_runs; i++) {
		if (d->runs[i].is_saved)
			return true;
	}
	return false;
}

static void print_remarks(const struct diff *d, FILE *out)
{
	double percent = 100 * d->options->confidence;

	if (d->options->format == DIFF_MARKDOWN)
		fputc('\n', out);
	print_diff_item(d, d->testable ? "* decided: " : "nothing is decided: ", out);
	if (d->testable)
		fprintf(out,
			"permutation test, %u values of names looked at together "
			"(Westfall-Young, as Holm), %.4g %%\n",
			d->n_tests, percent);
	else
		fprintf(out, "%.4g %% needs at least %u runs on each side, or one trace on each\n",
			percent, d->least_runs);
	if (d->in_blocks && d->testable) {
		print_diff_item(d, "one trace on each side: ", out);
		fputs("what differs from run to run also counts as a change; several traces of "
		      "each would tell\n",
		      out);
	}
	if (diff_has_saved_run(d)) {
		print_diff_item(d, "saved reports", out);
		fputs(" say neither which slices are inside which nor in which functions; traces "
		      "would tell more of why\n",
		      out);
	}
	print_hidden(d, out);
}

static void print_diff_parts(const struct diff *d, struct diff_part *part, FILE *out)
{
	bool first = true;

	for (unsigned kind = DIFF_SLICE; kind <= DIFF_COUNTER; kind++) {
		find_part_rows(part, kind);
		if (!part->n)
			continue;
		choose_diff_columns(part, kind);
		if (!first)
			fputc('\n', out);
		first = false;
		if (d->options->format == DIFF_MARKDOWN)
			print_diff_markdown(part, out);
		else
			print_diff_table(part, out);
		if (part->n < part->n_all)
			fprintf(out, "and %u more\n", part->n_all - part->n);
	}
}

int diff_print(const struct diff *d, FILE *out)
{
	struct diff_part part = { .d = d };

	if (d->options->format == DIFF_JSON)
		return diff_print_json(d, out);
	part.rows = calloc(d->n_order + 1, sizeof(struct diff_row *));
	if (!part.rows)
		return -ENOMEM;
	print_basis(d, out);
	print_diff_parts(d, &part, out);
	print_reasons(d, out);
	print_remarks(d, out);
	free(part.rows);
	return 0;
}

unsigned diff_print_failures(const struct diff *d, FILE *out)
{
	char title[DIFF_CELL];
	enum diff_metric metric;
	unsigned i, n = 0;
	double change;

	for (i = 0; d->options->fail_over >= 0 && i < d->n_order; i++) {
		if (!diff_row_regressed(d->order[i], &change, &metric) ||
		    change < d->options->fail_over)
			continue;
		diff_row_title(d->order[i], title);
		print_visible(out, "proftrace: '%s': %s regressed by %.1f %%\n", title,
			      diff_metric_name(d, metric), 100 * change);
		n++;
	}
	return n;
}
