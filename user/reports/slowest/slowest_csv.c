/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the comparison as CSV: the rows of the table with all digits, and one number per row. */
#include <inttypes.h>

#include "reports/table/stats_print.h"
#include "reports/slowest/slowest_internal.h"

struct csv {
	struct slow_comparison c;
	enum stats_unit unit;
	FILE *out;
};

static void write_node_path(const struct csv *csv, uint32_t node)
{
	const struct slow_node *nodes = csv->c.merged.nodes;
	uint32_t path[SLOWEST_NODES + 1], n = 0;
	char text[SLOW_TEXT_MAX];
	size_t length = 0;

	for (; node && n < SLOWEST_NODES; node = nodes[node].parent)
		path[n++] = node;
	while (n-- > 0 && length < sizeof(text))
		length += (size_t)snprintf(
			text + length, sizeof(text) - length, "%s%s", length ? "/" : "",
			nodes[path[n]].name ? nodes[path[n]].name->text : "(other)");
	put_csv_text(csv->out, text);
}

static void write_slowest_value(const struct csv *csv, const struct slow_value *value)
{
	FILE *out = csv->out;

	fputc(',', out);
	if (value->kind == SLOW_TIME)
		put_csv_time(out, csv->unit, value->ns);
	else if (value->kind == SLOW_TEXT)
		put_csv_text(out, value->arg.s);
	else if (value->kind == SLOW_NUMBER)
		put_number(out, &value->arg, put_csv_double);
}

static void write_row_names(const struct csv *csv, const struct slow_row *row, const char *what)
{
	static const char *const parts[] = {
		[SLOW_NAME] = "name",
		[SLOW_FILE] = "file",
		[SLOW_AT] = "at",
		[SLOW_PROCESS] = "process",
		[SLOW_THREAD] = "thread",
		[SLOW_STEP] = "step",
		[SLOW_DURATION] = "duration",
		[SLOW_STATE] = "state",
		[SLOW_WAIT] = "longest_wait",
		[SLOW_SELF] = "self",
		[SLOW_CHILD] = "inside",
		[SLOW_SAMPLE] = "samples",
		[SLOW_STACK] = "called_from",
		[SLOW_COUNTER] = "counter",
		[SLOW_ARG] = "arg",
		[SLOW_LOST] = "marks_lost",
	};
	static const char *const states[] = { "running", "runnable", "blocked", "unknown" };

	fprintf(csv->out, "%s,", parts[row->part]);
	if (row->part == SLOW_CHILD)
		write_node_path(csv, row->which);
	else if (row->part == SLOW_STATE && row->which >= SLOW_REASONS)
		fprintf(csv->out, "blocked_in.%s", wait_reason_text(row->which - SLOW_REASONS));
	else if (row->part == SLOW_STATE)
		fputs(states[row->which], csv->out);
	else if (row->part == SLOW_STACK)
		put_csv_text(csv->out, csv->c.stacks[row->which].text);
	else if (row->part == SLOW_SAMPLE && !row->name)
		fputs("(unknown)", csv->out);
	else if (row->name)
		put_csv_text(csv->out, row->name->text);
	fprintf(csv->out, ",%s", what);
}

/* A slice inside has three numbers, each in a row of its own. */
static void write_child_row(struct csv *csv, const struct slow_row *row, const char *what)
{
	unsigned i, n = csv->c.slowest->n_instances;

	write_row_names(csv, row, what);
	for (i = 0; i < n; i++) {
		struct slow_value value = slow_value(&csv->c, row, i);

		if (value.kind != SLOW_NONE && *what == 'c') {
			fprintf(csv->out, ",%" PRIu64, value.count);
			continue;
		}
		if (*what == 's')
			value.ns = value.self_ns;
		write_slowest_value(csv, &value);
	}
	fputc('\n', csv->out);
}

static void write_slowest_row(struct csv *csv, const struct slow_row *row)
{
	unsigned i, n = csv->c.slowest->n_instances;
	struct slow_value value;

	if (row->part == SLOW_HEADING || row->part == SLOW_CHILD_SELF)
		return;
	if (row->part == SLOW_CHILD) {
		write_child_row(csv, row, "count");
		write_child_row(csv, row, "total");
		write_child_row(csv, row, "self");
		return;
	}
	write_row_names(csv, row, "");
	for (i = 0; i < n; i++) {
		value = slow_value(&csv->c, row, i);
		write_slowest_value(csv, &value);
	}
	fputc('\n', csv->out);
}

static void write_slowest_rows(struct csv *csv, const struct account *account)
{
	const struct slowest *s = csv->c.slowest;

	fputs("part,name,value", csv->out);
	for (unsigned i = 0; i < s->n_instances; i++) {
		if (i)
			fprintf(csv->out, ",slow_%u", i);
		else
			fputs(",median", csv->out);
	}
	fputc('\n', csv->out);
	for (unsigned i = 0; i < csv->c.n_rows; i++)
		write_slowest_row(csv, &csv->c.rows[i]);
	for (unsigned i = 0; account && i < account_numbers(); i++) {
		if (!account_number_text(i) || !account_number(account, i))
			continue;
		fprintf(csv->out, "diagnostic,%s,%" PRIu64, account_number_name(i),
			account_number(account, i));
		for (unsigned c = 0; c < s->n_instances; c++)
			fputc(',', csv->out);
		fputc('\n', csv->out);
	}
}

int slowest_print_csv(const struct consumer *slowest, FILE *out,
		      const struct stats_options *options, const struct account *account,
		      const struct stats_file *files, unsigned n_files, struct failure *f)
{
	struct csv csv = { .unit = options->unit, .out = out };
	int error = slow_compare(&csv.c, (const struct slowest *)slowest, files, n_files,
				 options->max_rows);

	if (error)
		failure_set(f, error, "cannot print", "the table", NULL);
	else
		write_slowest_rows(&csv, account);
	slow_comparison_free(&csv.c);
	return error;
}
