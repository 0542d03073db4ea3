/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything but the timeline as JSON: the table and its histograms, the account, names, comparisons. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reports/page/page_internal.h"
#include "reports/table/stats_view.h"

enum {
	FIRST_ROWS = 512, /* of each part of the table, fewer if they do not fit */
};

/* Bucket numbers (base/histogram.h) and counts. */
static void put_histogram(const struct histogram *h, FILE *out)
{
	unsigned i, n = h->n * HISTOGRAM_GROUP;
	bool is_first = true;

	for (i = 0; i < n; i++) {
		if (!h->counts[i])
			continue;
		fprintf(out, "%s%u,%" PRIu64, is_first ? "" : ",", h->first * HISTOGRAM_GROUP + i,
			h->counts[i]);
		is_first = false;
	}
}

static int put_histograms(struct page *page, FILE *out, unsigned max_rows, struct failure *f)
{
	static const enum stats_part parts[] = { STATS_SLICES, STATS_ASYNCS, STATS_FRAMES };
	struct stats_options options = *page->options.table;
	struct stats_view view = { 0 };
	int error;

	options.max_rows = max_rows;
	error = stats_view_init(&view, page->stats, &options, f);
	for (unsigned p = 0; p < 3 && !error; p++) {
		error = stats_view_part(&view, parts[p]);
		fputs(p ? ",\n[" : "[", out);
		for (unsigned i = 0; i < view.n_rows && !error; i++) {
			fputs(i ? ",\n[" : "[", out);
			put_histogram(&view.rows[i].histogram, out);
			fputs("]", out);
		}
		fputs("]", out);
	}
	stats_view_free(&view);
	return error;
}

static int put_table(struct page *page, const struct reading *reading, struct page_stream *stream,
		     unsigned max_rows, struct failure *f)
{
	struct stats_options options = *page->options.table;
	int error = page_stream_open(stream);

	if (error)
		return failure_set(f, error, "cannot write", "the page", NULL);
	options.max_rows = max_rows;
	fputs("\"report\":", stream->out);
	error = stats_print_json(page->stats, stream->out, &options, &reading->account,
				 reading->files, reading->n_files, f);
	fprintf(stream->out, ",\"max_rows\":%u,\"histograms\":[", max_rows);
	error = error ?: put_histograms(page, stream->out, max_rows, f);
	fputs("],\n", stream->out);
	if (page_stream_close(stream) && !error)
		error = failure_set(f, -ENOMEM, "cannot write", "the page", NULL);
	return error;
}

/* Numbers that are a reason for concern: what, how many, which option helps. */
static void put_account(const struct account *account, FILE *out)
{
	unsigned i, n = 0;

	fprintf(out,
		"\"marked\":%" PRIu64 ",\"written\":%" PRIu64 ",\"lost\":%" PRIu64
		",\"orderly\":%s,\"account\":[",
		account->marked, account->written, account_lost(account),
		account->orderly ? "true" : "false");
	for (i = 0; i < LOST_REASONS; i++) {
		if (!account->lost[i])
			continue;
		put_json_string(out, n++ ? ",[" : "[", lost_reason_text((enum lost_reason)i));
		fprintf(out, ",%" PRIu64, account->lost[i]);
		put_json_string(out, ",", lost_reason_hint((enum lost_reason)i) ?: "");
		fputs(",1]", out);
	}
	for (i = 0; i < account_numbers(); i++) {
		if (!account_number_text(i) || !account_number(account, i) ||
		    !strncmp(account_number_name(i), "lost.", 5))
			continue;
		put_json_string(out, n++ ? ",[" : "[", account_number_text(i));
		fprintf(out, ",%" PRIu64 ",\"\",0]", account_number(account, i));
	}
	fputs("],\n", out);
}

int page_put_report(struct page *page, const struct reading *reading, FILE *out, size_t limit,
		    struct failure *f)
{
	struct page_stream stream = { 0 };
	unsigned rows = FIRST_ROWS;
	int error = put_table(page, reading, &stream, rows, f);

	while (!error && stream.size > limit && rows > 4) {
		page_stream_free(&stream);
		rows /= 2;
		error = put_table(page, reading, &stream, rows, f);
	}
	if (!error) {
		fwrite(stream.bytes, 1, stream.size, out);
		put_account(&reading->account, out);
	}
	page_stream_free(&stream);
	return error;
}

void page_put_names(struct page *page, FILE *out)
{
	fputs("\"names\":[", out);
	for (uint32_t i = 0; i < page->n_used; i++) {
		const struct page_kind *kind = page->kind_list[page->used[i]];

		put_json_name(out, i ? ",\n[" : "\n[", kind->key.category);
		put_json_name(out, ",", kind->key.name);
		fputs("]", out);
	}
	fputs("],\n", out);
}

/* --- comparisons --------------------------------------------------------------- */

int page_put_comparisons(struct page *page, const struct reading *reading, FILE *out, size_t limit)
{
	struct page_stream stream = { 0 };
	unsigned i, n = 0;
	size_t size = 0;
	int error = 0;

	page->comparisons_left_out = 0;
	fputs("\"slowest\":[", out);
	for (i = 0; i < page->n_slowest && !error; i++) {
		error = page_stream_open(&stream);
		if (error)
			break;
		error = slowest_print_cells(page->slowest[i], stream.out, reading->files,
					    reading->n_files);
		error = page_stream_close(&stream) ?: error;
		if (size + stream.size <= limit) {
			fputs(n++ ? ",\n" : "\n", out);
			fwrite(stream.bytes, 1, stream.size, out);
			size += stream.size;
		} else {
			page->comparisons_left_out++;
		}
		page_stream_free(&stream);
	}
	fprintf(out, "],\"comparisons_left_out\":%u,\n", page->comparisons_left_out);
	return error;
}
