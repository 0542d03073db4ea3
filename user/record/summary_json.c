/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --summary-json: the accounting of a recording for machines. Unlike a trace, the file is written
 * only at the end, when all numbers are known. Before, there is not even a temporary file, which a
 * killed recorder would leave behind.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "record/include.h"
#include "record/quota.h"
#include "record/record.h"
#include "reports/table/stats_print.h"

static void json_counters(FILE *out, const struct recording *r)
{
	unsigned i, n = 0;

	fputs("  \"counters\": [", out);
	for (i = 0; i < r->counters.n; i++) {
		put_json_string(out, i ? ", " : "", r->counters.list[i].name);
	}
	fputs("],\n  \"counter_shares\": {", out);
	for (i = 0; i < r->counters.n && r->counters.multiplexed; i++) {
		double share = timeline_share(r->timeline, i);

		if (isnan(share))
			continue;
		put_json_string(out, n++ ? ", " : "", r->counters.list[i].name);
		fprintf(out, ": %.4f", share);
	}
	fputs("},\n", out);
}

static void json_files(FILE *out, const struct recording *r)
{
	fputs("  \"files\": [", out);
	for (unsigned i = 0; i < r->n_files; i++) {
		const struct written_file *file = &r->files[i];

		put_json_string(out, i ? ",\n    {\"path\": " : "\n    {\"path\": ", file->path);
		fprintf(out,
			", \"format\": \"%s\", \"bytes\": %" PRIu64 ", \"marks\": %" PRIu64
			", \"error\": ",
			file->format, file->bytes, file->marks);
		put_json_string(out, "", file->error ? strerror(-file->error) : "");
		fputc('}', out);
	}
	fputs("\n  ]\n", out);
}

static void json_flight(FILE *out, const struct recording *r)
{
	const struct flight_count *n = flight_count(r->flight);

	fprintf(out, "  \"dumps\": %" PRIu64 ",\n  \"dumps_short\": %" PRIu64 ",\n", n->dumps,
		n->dumps_short);
	fprintf(out, "  \"dumps_failed\": %" PRIu64 ",\n", n->failed);
	fprintf(out, "  \"triggers_suppressed\": %" PRIu64 ",\n", n->suppressed);
	fprintf(out, "  \"requests_ignored\": %" PRIu64 ",\n", n->ignored);
}

static void print_summary(struct recording *r, const struct account *a, FILE *out)
{
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{ "buffers", capture_buffers(r->capture) },
		{ "links_attached", capture_counts(r->capture)->attached },
		{ "detach_requests", capture_counts(r->capture)->detaches },
		{ "threads_held", capture_counts(r->capture)->held },
		{ "files_deleted", r->files_deleted },
		{ "controls_ignored", r->controls_ignored },
		{ "files_over_quota", r->quota ? quota_removed(r->quota) : 0 },
	};

	fprintf(out, "{\n  \"version\": \"%s\",\n  \"duration_ns\": %" PRIu64 ",\n",
		PROFTRACE_VERSION, r->ended_ns - r->started_ns);
	fprintf(out, "  \"lost_total\": %" PRIu64 ",\n  \"lost\": {", account_lost(a));
	for (unsigned i = 0; i < LOST_REASONS; i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "", lost_reason_name(i), a->lost[i]);
	fputs("},\n", out);
	for (unsigned i = 0; i < account_numbers(); i++) {
		/* Those of lost[] are above. */
		if (!strchr(account_number_name(i), '.'))
			fprintf(out, "  \"%s\": %" PRIu64 ",\n", account_number_name(i),
				account_number(a, i));
	}
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		fprintf(out, "  \"%s\": %" PRIu64 ",\n", counts[i].name, counts[i].value);
	fprintf(out, "  \"adds_up\": %s,\n  \"orderly\": %s,\n",
		capture_adds_up(r->capture) && account_adds_up(a) ? "true" : "false",
		a->orderly ? "true" : "false");
	fprintf(out, "  \"instructions_compared\": %s,\n",
		capture_compares_copies(r->capture) ? "true" : "false");
	if (r->options->stats_only) {
		stats_from_tables(r, r->ended_ns);
		fputs("  \"table\": ", out);
		stats_print_json(r->stats, out, &(struct stats_options){ 0 }, NULL, NULL, 0, NULL);
		fputs("  ,\n", out);
	}
	if (r->flight)
		json_flight(out, r);
	killed_print_json(r, out);
	modes_json(r, out);
	overhead_json(r, out);
	collector_json(r, out);
	json_counters(out, r);
	includes_json(r, out);
	json_files(out, r);
	fputs("}\n", out);
}

static int summary_text(struct recording *r, const struct account *a, char **ret_text,
			size_t *ret_size)
{
	FILE *out = open_memstream(ret_text, ret_size);
	bool incomplete;

	if (!out)
		return -ENOMEM;
	print_summary(r, a, out);
	incomplete = ferror(out);
	return fclose(out) || incomplete ? -ENOMEM : 0;
}

int summary_prepare(struct recording *r, struct failure *f)
{
	const char *path = r->options->summary_json;
	struct sink *sink;
	ino_t inode;
	dev_t device;
	int error;

	if (!path)
		return 0;
	error = sink_open(path, SINK_PLAIN, &sink);
	if (error)
		return failure_set(f, error, "cannot write", path, sink_refusal(error));
	/* The reader of a pipe would take a closed pipe for the end. */
	if (!sink_identity(sink, &device, &inode))
		r->summary = sink;
	else
		sink_discard(sink);
	return 0;
}

int summary_json(struct recording *r, const struct account *a)
{
	const char *path = r->options->summary_json;
	struct failure f = { 0 };
	char *text = NULL;
	size_t size = 0;
	int error;

	if (!path)
		return 0;
	error = summary_text(r, a, &text, &size);
	if (!error && !r->summary)
		error = sink_open_later(path, SINK_PLAIN, &r->summary);
	if (!error) {
		sink_set_cancel(r->summary, recording_should_give_up, r);
		sink_write(r->summary, text, size);
		error = sink_close(r->summary);
	}
	free(text);
	if (error)
		failure_set(&f, error, "cannot write", path, NULL);
	else
		error = sink_displaced_failure(r->summary, path, &f);
	if (error)
		failure_print(&f, stderr);
	return error;
}
