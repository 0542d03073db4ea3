/* SPDX-License-Identifier: BSD-2-Clause */
/* A comparison as JSON, with everything that was looked at. */
#include <inttypes.h>

#include "reports/diff/diff_internal.h"

static void put_field(FILE *out, const char *key, double value)
{
	fprintf(out, ", \"%s\": ", key);
	put_json_double(out, value);
}

static void put_result(const struct diff *d, FILE *out, enum diff_metric metric,
		       const struct diff_result *r)
{
	put_json_string(out, "", diff_metric_name(d, metric));
	fputs(": {\"a\": ", out);
	put_json_double(out, r->a);
	put_field(out, "b", r->b);
	put_field(out, "change", r->change);
	put_field(out, "low", r->low);
	put_field(out, "high", r->high);
	put_field(out, "p", r->p);
	fprintf(out, ", \"decided\": %s", r->decided ? "true" : "false");
	if (r->is_alone)
		fputs(", \"without_common_noise\": true", out);
	if (!r->decided && r->needed)
		fprintf(out, ", \"runs_needed\": %u", r->needed);
	fputc('}', out);
}

static void put_row_name(FILE *out, const struct diff_row *row)
{
	char title[DIFF_CELL];

	put_json_string(out, "", diff_row_title(row, title));
}

static void put_why_functions(FILE *out, const struct diff_functions *found)
{
	fprintf(out, ", \"samples_a\": %" PRIu64 ", \"samples_b\": %" PRIu64 ", \"functions\": [",
		found->samples[0], found->samples[1]);
	for (unsigned i = 0; i < found->n; i++) {
		const struct diff_function *f = &found->functions[i];

		put_json_string(out, i ? ", {\"name\": " : "{\"name\": ", f->name->text);
		put_json_name(out, ", \"caller\": ", f->caller);
		fprintf(out, ", \"samples_a\": %" PRIu64 ", \"samples_b\": %" PRIu64, f->samples[0],
			f->samples[1]);
		put_field(out, "change_ns", f->change_ns);
		fputc('}', out);
	}
	fputc(']', out);
}

static void put_why(const struct diff *d, FILE *out, const struct diff_row *row)
{
	struct diff_why why;

	diff_explain(d, row, &why);
	fputs(", \"why\": {\"change_ns\": ", out);
	put_json_double(out, why.change_ns);
	put_field(out, "self_ns", why.self_ns);
	if (why.has_states) {
		put_field(out, "running_ns", why.running_ns);
		put_field(out, "runnable_ns", why.runnable_ns);
		put_field(out, "blocked_ns", why.blocked_ns);
	}
	fputs(", \"path\": [", out);
	for (unsigned i = 0; i < why.n_path; i++) {
		fputs(i ? ", " : "", out);
		put_row_name(out, why.path[i]);
	}
	fputs("], \"children\": [", out);
	for (unsigned i = 0; i < why.n_children; i++) {
		fputs(i ? ", {\"name\": " : "{\"name\": ", out);
		put_row_name(out, why.children[i].row);
		put_field(out, "change_ns", why.children[i].change_ns);
		fputc('}', out);
	}
	fputs("], \"counters\": {", out);
	for (unsigned i = 0; i < why.n_counters; i++) {
		put_json_string(out, i ? ", " : "", why.counters[i].name->text);
		fputs(": {\"a\": ", out);
		put_json_double(out, why.counters[i].a);
		put_field(out, "b", why.counters[i].b);
		fputc('}', out);
	}
	fputc('}', out);
	if (row->functions)
		put_why_functions(out, row->functions);
	fputc('}', out);
}

static void put_row(const struct diff *d, FILE *out, const struct diff_row *row)
{
	static const char *const kinds[] = { "slice", "async", "frame", "instant", "counter" };
	static const char *const verdicts[] = {
		[VERDICT_NONE] = "none",	 [VERDICT_SLOWER] = "slower",
		[VERDICT_FASTER] = "faster",	 [VERDICT_CHANGED] = "changed",
		[VERDICT_ONLY_A] = "only_a",	 [VERDICT_ONLY_B] = "only_b",
		[VERDICT_UNTESTED] = "untested",
	};
	bool comma = false;

	fprintf(out, "{\"kind\": \"%s\", ", kinds[row->key.kind]);
	put_json_name(out, "\"category\": ", row->key.category);
	fputs(", \"name\": ", out);
	put_row_name(out, row);
	fprintf(out, ", \"decision\": \"%s\", \"runs_a\": %u, \"runs_b\": %u, \"metrics\": {",
		verdicts[row->verdict], row->runs[0], row->runs[1]);
	for (unsigned m = 0; m < METRICS; m++) {
		if (!row->results[m].known)
			continue;
		fputs(comma ? ", " : "", out);
		put_result(d, out, m, &row->results[m]);
		comma = true;
	}
	fputc('}', out);
	if (row->key.kind == DIFF_SLICE)
		put_why(d, out, row);
	fputc('}', out);
}

static void put_side(const struct diff *d, FILE *out, bool is_b)
{
	bool comma = false;

	fprintf(out, "  \"%s\": [", is_b ? "b" : "a");
	for (unsigned i = 0; i < d->n_runs; i++) {
		if (d->runs[i].is_b != is_b)
			continue;
		put_json_string(out, comma ? ", " : "", d->runs[i].path);
		comma = true;
	}
	fputs("],\n", out);
}

int diff_print_json(const struct diff *d, FILE *out)
{
	char unit[DIFF_CELL];
	unsigned i, n = d->options->max_rows && d->options->max_rows < d->n_order
				? d->options->max_rows
				: d->n_order;

	fputs("{\n  \"proftrace_diff\": 1,\n", out);
	put_side(d, out, false);
	put_side(d, out, true);
	fprintf(out, "  \"samples_are\": \"%s\",\n  \"samples_a\": %u,\n  \"samples_b\": %u,\n",
		d->in_blocks ? "blocks" : "runs", d->n_side[0], d->n_side[1]);
	put_json_string(out, "  \"per\": ", diff_unit_text(d, unit));
	fputs(",\n  \"confidence\": ", out);
	put_json_double(out, d->options->confidence);
	fprintf(out,
		",\n  \"correction\": \"westfall-young\",\n  \"looked_at\": %u,\n"
		"  \"permutations\": %u,\n  \"testable\": %s,\n  \"names\": [\n",
		d->n_tests, d->most_permutations, d->testable ? "true" : "false");
	for (i = 0; i < n; i++) {
		fputs("    ", out);
		put_row(d, out, d->order[i]);
		fputs(i + 1 < n ? ",\n" : "\n", out);
	}
	fputs("  ]\n}\n", out);
	return 0;
}
