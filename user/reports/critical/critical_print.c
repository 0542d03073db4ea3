/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints critical paths: a table for people, JSON for programs. */
#include "reports/critical/critical_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "reports/table/stats_view.h"
#include "reports/table/table.h"

enum {
	CRITICAL_JSON_VERSION = 1,
	CRITICAL_USUAL_ROWS = 30, /* where --limit does not say how many */
};

struct shown_rows {
	const struct critical *c;
	const struct stats_options *options;
	const struct critical_row **list;
};

const char *critical_row_doing(const struct critical_row_key *key)
{
	static const char *const states[] = { "running", "runnable", "blocked", "unknown" };

	return key->state == CRITICAL_BLOCKED && key->reason != WAIT_UNKNOWN
		       ? wait_reason_text((enum wait_reason)key->reason)
		       : states[key->state];
}

int critical_ready(struct critical *c, struct failure *f)
{
	if (c->error == -E2BIG) {
		failure_set(f, c->error, "cannot follow", c->name, "the trace is too large");
		failure_hint(f,
			     "write a part of it with `proftrace convert --from TIME --to TIME`");
	} else if (c->error) {
		failure_set(f, c->error, "cannot follow", c->name, NULL);
	}
	if (!c->error && !c->total_ns)
		critical_sum_up(c);
	return c->error;
}

/* --- the table ----------------------------------------------------------------------------------- */

static void format_critical_name(char *cell, const struct name *name)
{
	text_shorten(cell, TABLE_CELL, name ? name->text : "-", TABLE_CELL);
}

static void format_critical_cell(const void *context, size_t i, unsigned column, char *cell)
{
	const struct shown_rows *shown = context;
	const struct critical *c = shown->c;
	const struct critical_row *row = shown->list[i];
	enum stats_unit unit = shown->options->unit;

	switch (column) {
	case 0:
		format_critical_name(cell, row->key.thread);
		break;
	case 1:
		format_critical_name(cell, row->key.slice);
		break;
	case 2:
		text_shorten(cell, TABLE_CELL,
			     row == &c->other ? "(other)" : critical_row_doing(&row->key),
			     TABLE_CELL);
		break;
	case 3:
		format_critical_name(cell, row->key.on);
		break;
	case 4:
		format_critical_name(cell, row->key.woken_by);
		break;
	case 5:
		stats_put_time(unit, row->total_ns, cell);
		break;
	case 6:
		snprintf(cell, TABLE_CELL, "%.1f",
			 (double)row->total_ns * 100 / (double)c->total_ns);
		break;
	case 7:
		stats_put_time(unit, row->median_ns / c->n_median, cell);
		break;
	default:
		stats_put_time(unit, row->slowest_ns / c->n_slowest, cell);
	}
}

static void print_critical_heading(const struct critical *c, FILE *out,
				   const struct stats_options *options)
{
	char median[TABLE_CELL], slowest[TABLE_CELL], text[256];

	stats_put_time(options->unit, c->median_ns / c->n_median, median);
	stats_put_time(options->unit, c->slowest_ns / c->n_slowest, slowest);
	snprintf(text, sizeof(text),
		 "%.80s: %" PRIu32 " slice%s; median of %" PRIu32 ": %.40s; slowest %" PRIu32
		 ": %.40s",
		 c->name, c->n_instances, c->n_instances == 1 ? "" : "s", c->n_median, median,
		 c->n_slowest, slowest);
	stats_print_note(options, out, text);
	fputc('\n', out);
}

int critical_print_table(struct consumer *consumer, FILE *out, const struct stats_options *options,
			 const struct account *account, struct failure *f)
{
	static const struct table_column columns[] = {
		{ "Thread", true, 0 }, { "Slice", true, 0 },	{ "Doing", true, 0 },
		{ "On", true, 2 },     { "Woken by", true, 3 }, { "Total", false, 1 },
		{ "%", false, 0 },     { "Median", false, 0 },	{ "Slowest", false, 0 },
	};
	struct critical *c = (struct critical *)consumer;
	struct shown_rows shown = { .c = c, .options = options };
	struct table table = {
		.columns = columns,
		.n_columns = sizeof(columns) / sizeof(columns[0]),
		.cell = format_critical_cell,
		.context = &shown,
		.color = options->color,
		.width = options->width,
	};
	size_t n = 0, most = options->max_rows ? options->max_rows : CRITICAL_USUAL_ROWS;
	int error = critical_ready(c, f);

	if (error)
		return error;
	shown.list = critical_rows_sorted(c, &n);
	if (!shown.list)
		return failure_set(f, -ENOMEM, "cannot print", "the table", NULL);
	table.n_rows = n < most ? n : most;
	if (!c->n_instances)
		stats_print_note(options, out, "no slice matches");
	else
		print_critical_heading(c, out, options);
	if (n)
		table_print(&table, out);
	if (table.n_rows < n)
		fprintf(out, "and %zu more\n", n - table.n_rows);
	free(shown.list);
	stats_print_diagnostics(options, account, out, false);
	return 0;
}

/* --- JSON ---------------------------------------------------------------------------------------- */

static void json_put_key(FILE *out, const struct critical_row_key *key)
{
	put_json_name(out, "\"thread\": ", key->thread);
	put_json_name(out, ", \"slice\": ", key->slice);
	put_json_string(out, ", \"doing\": ", critical_row_doing(key));
	put_json_name(out, ", \"on\": ", key->on);
	put_json_name(out, ", \"woken_by\": ", key->woken_by);
}

static void json_put_path(FILE *out, const struct critical_row **list, size_t n)
{
	fputs(",\n  \"path\": [", out);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ",\n    {" : "\n    {", out);
		json_put_key(out, &list[i]->key);
		put_json_u64(out, "count", list[i]->count);
		put_json_u64(out, "total_ns", list[i]->total_ns);
		put_json_u64(out, "median_ns", list[i]->median_ns);
		put_json_u64(out, "slowest_ns", list[i]->slowest_ns);
		fputc('}', out);
	}
	fputs(n ? "\n  ]" : "]", out);
}

/* One slice with its whole path, in the order of time. */
static void json_put_instance(FILE *out, const char *key, const struct critical_instance *in)
{
	fprintf(out, ",\n  \"%s\": {\"at_ns\": %" PRIu64 ", \"duration_ns\": %" PRIu64, key,
		in->offset_ns, in->to_ns - in->from_ns);
	fputs(", \"path\": [", out);
	for (uint32_t i = in->n_parts; i--;) {
		const struct critical_part *part = &in->parts[i];

		fprintf(out, "%s{\"from_ns\": %" PRIu64 ", \"duration_ns\": %" PRIu64 ", ",
			i + 1 < in->n_parts ? ",\n    " : "\n    ", part->from_ns - in->from_ns,
			part->to_ns - part->from_ns);
		fprintf(out, "\"pid\": %" PRIu32 ", \"tid\": %" PRIu32 ", ", part->pid, part->tid);
		json_put_key(out, &part->row->key);
		fputc('}', out);
	}
	fputs("\n  ]}", out);
}

int critical_print_json(struct consumer *consumer, FILE *out, const struct account *account,
			const struct stats_file *files, unsigned n_files, struct failure *f)
{
	struct critical *c = (struct critical *)consumer;
	const struct critical_row **list;
	int error = critical_ready(c, f);
	size_t n;

	if (error)
		return error;
	list = critical_rows_sorted(c, &n);
	if (!list)
		return failure_set(f, -ENOMEM, "cannot print", "the paths", NULL);
	fprintf(out, "{\n  \"proftrace_critical\": %d,\n", CRITICAL_JSON_VERSION);
	stats_print_json_files(files, n_files, out);
	put_json_string(out, "  \"name\": ", c->name);
	fprintf(out, ",\n  \"all\": {\"count\": %" PRIu32 ", \"total_ns\": %" PRIu64 "}",
		c->n_instances, c->total_ns);
	fprintf(out, ",\n  \"median\": {\"count\": %" PRIu32 ", \"total_ns\": %" PRIu64 "}",
		c->n_median, c->median_ns);
	fprintf(out, ",\n  \"slowest\": {\"count\": %" PRIu32 ", \"total_ns\": %" PRIu64 "}",
		c->n_slowest, c->slowest_ns);
	json_put_path(out, list, n);
	if (c->n_instances) {
		json_put_instance(out, "median_slice", &c->instances[(c->n_instances - 1) / 2]);
		json_put_instance(out, "slowest_slice", &c->instances[c->n_instances - 1]);
	}
	stats_print_json_diagnostics(account, out);
	fputs("\n}\n", out);
	free(list);
	return 0;
}
