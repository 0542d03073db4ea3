/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the statistics as JSON. The fields are documented in proftrace-report(1), section "JSON":
 * a change of the meaning of a field changes STATS_JSON_VERSION, a new field does not.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "reports/table/stats_print.h"
#include "reports/table/stats_view.h"

enum {
	STATS_JSON_VERSION = 1
};

/* --- pieces ------------------------------------------------------------------------------------ */

static void json_put_value(FILE *out, const char *key, const struct stats_value *value)
{
	fprintf(out, ", \"%s\": ", key);
	switch (value->kind) {
	case STATS_VALUE_NONE:
		fputs("null", out);
		break;
	case STATS_VALUE_COUNT:
	case STATS_VALUE_TIME:
	case STATS_VALUE_BYTES:
		fprintf(out, "%" PRIu64, value->u);
		break;
	case STATS_VALUE_REAL:
	case STATS_VALUE_PERCENT:
		put_json_double(out, (double)value->number);
		break;
	case STATS_VALUE_ARG:
		put_number(out, &value->arg, put_json_double);
		break;
	}
}

/* --- rows -------------------------------------------------------------------------------------- */

static const struct {
	enum stats_what what;
	const char *key;
} numbers[] = {
	{ STATS_COUNT, "count" },	 { STATS_TOTAL, "total_ns" },
	{ STATS_SELF, "self_ns" },	 { STATS_MIN, "min_ns" },
	{ STATS_MAX, "max_ns" },	 { STATS_AVG, "avg_ns" },
	{ STATS_P50, "p50_ns" },	 { STATS_P95, "p95_ns" },
	{ STATS_P99, "p99_ns" },	 { STATS_SHARE, "share_percent" },
	{ STATS_FREES, "frees" },	 { STATS_LIVE, "live_bytes" },
	{ STATS_PEAK, "peak_bytes" },	 { STATS_LEAKED, "leaked_bytes" },
	{ STATS_LEAKS, "leaks" },	 { STATS_LAST, "last" },
	{ STATS_RUNNING, "running_ns" }, { STATS_RUNNABLE, "runnable_ns" },
	{ STATS_BLOCKED, "blocked_ns" }, { STATS_UNKNOWN, "unknown_ns" },
};

/* The values of counters are not times. */
static const char *stats_json_key(enum stats_part part, size_t i)
{
	static const char *const values[] = {
		[STATS_MIN] = "min", [STATS_MAX] = "max", [STATS_AVG] = "avg"
	};
	enum stats_what what = numbers[i].what;

	if (part == STATS_POOLS && what == STATS_COUNT)
		return "allocations";
	if (part == STATS_COUNTERS && (what == STATS_MIN || what == STATS_MAX || what == STATS_AVG))
		return values[what];
	return numbers[i].key;
}

static void json_put_owner(const struct stats_view *view, const struct stats_row *row, FILE *out)
{
	const struct stats_owner *owner = stats_row_owner(view->stats, row);

	if (view->stats->by) {
		put_json_name(out, ", \"by\": ", owner ? owner->group : NULL);
		return;
	}
	if (!owner)
		return;
	fprintf(out, ", \"pid\": %" PRIu32, owner->pid);
	put_json_name(out, ", \"process\": ", owner->process);
	if (!owner->tid)
		return;
	fprintf(out, ", \"tid\": %" PRIu32, owner->tid);
	put_json_name(out, ", \"thread\": ", owner->thread);
}

static void json_put_counters(const struct stats_view *view, const struct stats_row *row, FILE *out)
{
	static const struct {
		enum stats_what what;
		const char *key;
	} keys[] = {
		{ STATS_COUNTED_SELF, "self" },
		{ STATS_COUNTED_CALL, "per_call" },
		{ STATS_COUNTED_SECOND, "per_second" },
	};
	const struct stats *stats = view->stats;
	const struct stats_column ipc = { .what = STATS_IPC };
	struct stats_value value;
	bool comma = false;

	fputs(", \"counters\": {", out);
	for (unsigned c = 0; row->counted && c < stats->n_counters; c++) {
		const struct stats_counted *counted = &row->counted[c];

		if (!counted->calls)
			continue;
		fputs(comma ? ", " : "", out);
		comma = true;
		put_json_string(out, "", stats->counters[c]->text);
		fprintf(out, ": {\"calls\": %" PRIu64, counted->calls);
		put_json_u64(out, "total", counted->total);
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			const struct stats_column column = { .what = keys[i].what, .counter = c };

			value = stats_value(view, row, &column);
			json_put_value(out, keys[i].key, &value);
		}
		fputc('}', out);
	}
	fputc('}', out);
	if (!stats_has_ipc(stats))
		return;
	value = stats_value(view, row, &ipc);
	json_put_value(out, "ipc", &value);
}

static void json_put_reasons(const struct stats_row *row, FILE *out)
{
	unsigned i, n = 0;

	fputs(", \"blocked_in\": {", out);
	for (i = 0; i < WAIT_REASONS; i++) {
		if (row->blocked_in[i])
			fprintf(out, "%s\"%s_ns\": %" PRIu64, n++ ? ", " : "", wait_reason_text(i),
				row->blocked_in[i]);
	}
	fputc('}', out);
}

static void json_put_row(const struct stats_view *view, const struct stats_row *row, FILE *out)
{
	char buffer[STATS_DISPLAY_NAME];

	put_json_name(out, "{\"category\": ", row->key.category);
	put_json_string(out, ", \"name\": ", stats_row_name(row, buffer));
	if (row->other)
		fputs(", \"other\": true", out);
	json_put_owner(view, row, out);
	if (view->part == STATS_COUNTERS)
		put_json_name(out, ", \"unit\": ", row->unit);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct stats_column column = { .what = numbers[i].what };
		struct stats_value value = stats_value(view, row, &column);

		if (stats_part_has(view->part, numbers[i].what) &&
		    (numbers[i].what == STATS_UNKNOWN ? stats_has(view->stats, STATS_RUNNING)
						      : stats_has(view->stats, numbers[i].what)))
			json_put_value(out, stats_json_key(view->part, i), &value);
	}
	if (view->part == STATS_SLICES && view->stats->has_reasons)
		json_put_reasons(row, out);
	if (view->part == STATS_SLICES)
		json_put_counters(view, row, out);
	fputc('}', out);
}

static int json_put_part(struct stats_view *view, enum stats_part part, const char *key, FILE *out)
{
	int error = stats_view_part(view, part);

	if (error)
		return error;
	fprintf(out, ",\n  \"%s\": [", key);
	for (size_t i = 0; i < view->n_rows; i++) {
		fputs(i ? ",\n    " : "\n    ", out);
		json_put_row(view, &view->rows[i], out);
	}
	fputs(view->n_rows ? "\n  ]" : "]", out);
	return 0;
}

/* --- the whole --------------------------------------------------------------------------------- */

void stats_print_json_files(const struct stats_file *files, unsigned n, FILE *out)
{
	fputs("  \"files\": [", out);
	for (unsigned i = 0; i < n; i++) {
		put_json_string(out, i ? ",\n    {\"path\": " : "\n    {\"path\": ", files[i].path);
		fputs(", \"truncated_at\": ", out);
		if (files[i].is_truncated)
			fprintf(out, "%" PRIu64 "}", files[i].truncated_at);
		else
			fputs("null}", out);
	}
	fputs(n ? "\n  ],\n" : "],\n", out);
}

static void json_put_leaks(const struct stats_view *view, FILE *out)
{
	unsigned i, n = 0;

	fputs(",\n  \"leaks\": [", out);
	for (i = 0; i < view->stats->n_leaks; i++) {
		const struct stats_leak *leak = &view->stats->leaks[i];

		if (!stats_leak_wanted(view, leak))
			continue;
		fputs(n++ ? ",\n    {" : "\n    {", out);
		put_json_name(out, "\"category\": ", leak->category);
		put_json_name(out, ", \"pool\": ", leak->pool);
		fprintf(out, ", \"address\": \"0x%" PRIx64 "\"", leak->address);
		put_json_u64(out, "size_bytes", leak->size);
		put_json_u64(out, "pid", leak->pid);
		put_json_u64(out, "tid", leak->tid);
		put_json_name(out, ", \"slice\": ", leak->slice);
		fputc('}', out);
	}
	fputs(n ? "\n  ]" : "]", out);
}

static void json_put_diagnostic(const char *name, uint64_t value, unsigned n, FILE *out)
{
	fputs(n ? ",\n    \"" : "\n    \"", out);
	/* "lost.cut" would look like two levels to tools such as jq, so it becomes "lost_cut". */
	for (; *name; name++)
		fputc(*name == '.' ? '_' : *name, out);
	fprintf(out, "\": %" PRIu64, value);
}

void stats_print_json_diagnostics(const struct account *account, FILE *out)
{
	unsigned i, n = 0;

	fputs(",\n  \"diagnostics\": {", out);
	for (i = 0; i < account_numbers(); i++) {
		if (account_number_text(i))
			json_put_diagnostic(account_number_name(i), account_number(account, i), n++,
					    out);
	}
	fputs("\n  }", out);
}

static int json_put_report(struct stats_view *view, const struct account *account,
			   const struct stats_file *files, unsigned n_files, FILE *out)
{
	static const char *const keys[STATS_PARTS] = {
		[STATS_SLICES] = "slices",     [STATS_ASYNCS] = "async_slices",
		[STATS_FRAMES] = "frames",     [STATS_INSTANTS] = "instants",
		[STATS_COUNTERS] = "counters", [STATS_POOLS] = "memory_pools",
	};
	int part, error = 0;

	fprintf(out, "{\n  \"proftrace_report\": %d,\n", STATS_JSON_VERSION);
	stats_print_json_files(files, n_files, out);
	fprintf(out, "  \"wall_ns\": %" PRIu64 ",\n", view->wall_ns);
	fputs("  \"counted\": [", out);
	for (unsigned i = 0; i < view->stats->n_counters; i++)
		put_json_string(out, i ? ", " : "", view->stats->counters[i]->text);
	fputs("]", out);
	for (part = 0; part < STATS_PARTS && !error; part++)
		error = json_put_part(view, (enum stats_part)part, keys[part], out);
	if (view->stats->has_reasons)
		error = error ?: stats_print_json_waits(view, out);
	json_put_leaks(view, out);
	if (account)
		stats_print_json_diagnostics(account, out);
	fputs("\n}\n", out);
	return error;
}

int stats_print_json(const struct consumer *stats, FILE *out, const struct stats_options *options,
		     const struct account *account, const struct stats_file *files,
		     unsigned n_files, struct failure *f)
{
	struct stats_view view = { 0 };
	int error = stats_view_init(&view, stats, options, f);

	if (!error) {
		error = json_put_report(&view, account, files, n_files, out);
		if (error)
			failure_set(f, error, "cannot print", "the table", NULL);
	}
	stats_view_free(&view);
	return error;
}
