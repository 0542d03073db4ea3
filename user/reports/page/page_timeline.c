/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The timeline as JSON: rows with the densities of their levels, counters, and what was kept in full detail.
 *
 * A level is one array of numbers. Each part of the time that is not empty has five: how many parts were skipped, the
 * number of the name of the longest slice, how much of the part is covered in 1/1000 (rounded up), how many slices
 * began in it, and the duration of the longest one. A negative number -n repeats n times what that longest slice, which
 * goes on, covers completely.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "reports/page/page_internal.h"

static uint64_t scale_used(const struct page_scale *scale)
{
	return (scale->end_ns >> scale->shift) + 1;
}

/* The share of a part in 1/1000, rounded up: what is there is not 0. */
static uint64_t scale_share(const struct page_scale *scale, uint64_t ns)
{
	uint64_t part = (uint64_t)1 << scale->shift;

	return scale->shift > 50 ? ns / (part / 1000) : (ns * 1000 + part - 1) >> scale->shift;
}

static bool cell_continues(const struct page_scale *scale, const struct page_cell *cell,
			   const struct page_cell *before)
{
	return cell->kind == before->kind && cell->longest_ns == before->longest_ns &&
	       !cell->count && cell->cover_ns == 1ull << scale->shift;
}

static void put_cells(struct page *page, const struct page_grid *grid, FILE *out)
{
	const struct page_scale *scale = &page->scale;
	uint64_t i, n = scale_used(scale), next = 0, repeated = 0;
	bool is_first = true;

	fputc('[', out);
	for (i = 0; i < n && grid->array; i++) {
		const struct page_cell *cell = &grid->cells[i];

		if (cell->kind && i && next == i && !is_first &&
		    cell_continues(scale, cell, cell - 1)) {
			repeated++;
			next++;
			continue;
		}
		if (repeated)
			fprintf(out, ",-%" PRIu64, repeated);
		repeated = 0;
		if (!cell->kind)
			continue;
		fprintf(out, "%s%" PRIu64 ",%" PRIu32 ",%" PRIu64 ",%" PRIu32 ",%" PRIu64,
			is_first ? "" : ",", i - next,
			page_use_kind(page, page->kind_list[cell->kind - 1]),
			scale_share(scale, cell->cover_ns), cell->count, cell->longest_ns);
		is_first = false;
		next = i + 1;
	}
	if (repeated)
		fprintf(out, ",-%" PRIu64, repeated);
	fputc(']', out);
}

/* Skipped parts, then the running, runnable and blocked time of the part in 1/1000. */
static void put_states(const struct page_scale *scale, const struct page_grid *grid, FILE *out)
{
	uint64_t i, n = scale_used(scale), next = 0;

	fputc('[', out);
	for (i = 0; i < n && grid->array; i++) {
		const uint64_t *ns = grid->states[i].ns;

		if (!ns[0] && !ns[1] && !ns[2])
			continue;
		fprintf(out, "%s%" PRIu64, next ? "," : "", i - next);
		for (unsigned s = 0; s < 3; s++)
			fprintf(out, ",%" PRIu64, scale_share(scale, ns[s]));
		next = i + 1;
	}
	fputc(']', out);
}

static void put_row(struct page *page, const struct page_row *row, bool has_space, FILE *out)
{
	fprintf(out, "{\"slices\":%" PRIu64 ",\"lost\":%" PRIu64, row->slices, row->lost);
	if (row->process)
		fprintf(out, ",\"trace\":%u,\"pid\":%" PRIu32, row->process->trace,
			row->process->pid);
	if (has_space && row->process)
		put_json_name(out, ",\"process\":", row->process->name);
	if (has_space)
		put_json_name(out, ",\"name\":", row->name);
	if (row->is_lane)
		fprintf(out, ",\"lane\":%u", row->lane);
	else
		fprintf(out, ",\"tid\":%" PRIu32, row->tid);
	if (has_space) {
		fputs(",\"levels\":[", out);
		for (unsigned i = 0; i < row->n_levels; i++) {
			fputs(i ? "," : "", out);
			put_cells(page, &row->levels[i], out);
		}
		fputs("],\"instants\":", out);
		put_cells(page, &row->instants, out);
		fputs(",\"states\":", out);
		put_states(&page->scale, &row->states, out);
	}
	fputs("}", out);
}

/* Skipped parts, then what was counted in the next one. */
static void put_amounts(const struct page_scale *scale, const double *amounts, FILE *out)
{
	uint64_t i, n = scale_used(scale), next = 0;

	for (i = 0; i < n && amounts; i++) {
		if (amounts[i] <= 0)
			continue;
		fprintf(out, "%s%" PRIu64 ",%.6g", next ? "," : "", i - next, amounts[i]);
		next = i + 1;
	}
}

/* Skipped parts, then the least, the largest and the last value, and their number. */
static void put_counter(const struct page_scale *scale, const struct page_counter *counter,
			bool has_space, FILE *out)
{
	const struct page_values *values = counter->is_rate ? NULL : counter->values.values;
	uint64_t i, n = scale_used(scale), next = 0;

	if (!has_space) {
		fputs("{\"name\":\"(left out)\",\"values\":[]}", out);
		return;
	}
	put_json_name(out, "{\"name\":", counter->name);
	put_json_name(out, ",\"key\":", counter->key);
	put_json_name(out, ",\"unit\":", counter->unit);
	if (counter->process) {
		fprintf(out, ",\"trace\":%u,\"pid\":%" PRIu32, counter->process->trace,
			counter->process->pid);
		put_json_name(out, ",\"process\":", counter->process->name);
	}
	fprintf(out, ",\"tid\":%" PRIu32 ",\"rate\":%s,\"values\":[", counter->tid,
		counter->is_rate ? "true" : "false");
	if (counter->is_rate)
		put_amounts(scale, counter->values.amounts, out);
	for (i = 0; i < n && values; i++) {
		if (!values[i].count)
			continue;
		fprintf(out, "%s%" PRIu64 ",", next ? "," : "", i - next);
		put_json_double(out, values[i].min);
		fputc(',', out);
		put_json_double(out, values[i].max);
		fputc(',', out);
		put_json_double(out, values[i].last);
		fprintf(out, ",%" PRIu64, values[i].count);
		next = i + 1;
	}
	fputs("]}", out);
}

/* Returns how many rows there was no space for. */
static uint64_t put_grids(struct page *page, struct page_stream *stream, size_t limit)
{
	const struct page_counter *counter;
	uint64_t left_out = 0;
	FILE *out = stream->out;

	fprintf(out, "\"shift\":%u,\"parts\":%" PRIu64 ",\"end\":%" PRIu64 ",\n\"rows\":[",
		page->scale.shift, scale_used(&page->scale), page->scale.end_ns);
	for (uint32_t i = 0; i < page->n_rows; i++) {
		bool has_space = stream->size < limit;

		left_out += !has_space;
		fputs(i ? ",\n" : "\n", out);
		put_row(page, page->row_list[i], has_space, out);
	}
	fputs("],\n\"counters\":[", out);
	for (counter = page->counters; counter; counter = counter->hh.next) {
		bool has_space = stream->size <= limit + limit / 4;

		left_out += !has_space;
		fputs(counter->index ? ",\n" : "\n", out);
		put_counter(&page->scale, counter, has_space, out);
	}
	fputs("],\n", out);
	return left_out;
}

/* With fewer parts until they fit. */
static int put_fitting_grids(struct page *page, FILE *out, size_t limit)
{
	struct page_stream stream = { 0 };
	int error = 0;

	for (;;) {
		uint64_t left_out;

		error = page_stream_open(&stream);
		if (error)
			break;
		left_out = put_grids(page, &stream, limit);
		error = page_stream_close(&stream);
		if (error)
			break;
		if (!left_out && stream.size <= limit + limit / 4)
			break;
		if (page->scale.n <= PAGE_CELLS_LEAST) {
			page->rows_without_levels = left_out;
			break;
		}
		page_scale_coarsen(&page->scale);
		page_stream_free(&stream);
	}
	if (!error)
		fwrite(stream.bytes, 1, stream.size, out);
	page_stream_free(&stream);
	return error;
}

static void put_windows(const struct page *page, bool with_detail, FILE *out)
{
	const struct page_detail *d = &page->detail;

	fprintf(out, "\"everything\":%s,\n\"windows\":[",
		d->everything && with_detail ? "true" : "false");
	for (unsigned i = 0; i < d->n_windows && with_detail; i++) {
		const struct page_window *w = &d->windows[i];

		fprintf(out, "%s[%u,%" PRIu64 ",%" PRIu64 ",%d]", i ? "," : "", w->trace,
			w->begin_ns, w->end_ns, w->is_cut);
	}
	fputs("],\n\"shown\":[", out);
	for (unsigned i = 0; i < page->n_shown; i++) {
		const struct page_shown *s = &page->shown[i];

		fprintf(out, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%d]", i ? "," : "",
			s->kind, s->instance.row, s->instance.begin_ns, s->instance.duration_ns,
			s->is_median);
	}
	fputs("],\n\"losses\":[", out);
	for (unsigned i = 0; i < page->n_losses; i++) {
		const struct page_loss *l = &page->losses[i];

		fprintf(out, "%s[%" PRId64 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
			l->row == UINT32_MAX ? -1 : (int64_t)l->row, l->at_ns, l->count);
	}
	fputs("],\n", out);
}

static int put_detail(struct page *page, bool with_detail, FILE *out)
{
	static const char *const keys[PAGE_PARTS] = {
		[PART_SLICES] = "slices", [PART_INSTANTS] = "points", [PART_STATES] = "states",
		[PART_VALUES] = "values", [PART_FLOWS] = "flows",
	};
	struct page_detail *d = &page->detail;
	int error = 0;

	for (unsigned i = 0; i < PAGE_PARTS && !error; i++) {
		struct page_stream *stream = &d->parts[i];

		if (stream->out)
			error = page_stream_close(stream);
		fprintf(out, "\"%s\":[", keys[i]);
		if (with_detail && stream->size)
			fwrite(stream->bytes, 1, stream->size, out);
		fputs("],\n", out);
	}
	return error;
}

static int put_whole_timeline(struct page *page, FILE *out, size_t limit, bool with_detail)
{
	int error;

	fputs("{", out);
	error = put_fitting_grids(page, out, limit);
	error = error ?: put_detail(page, with_detail, out);
	put_windows(page, with_detail, out);
	fprintf(out,
		"\"rows_left_out\":%" PRIu64 ",\"rows_without_levels\":%" PRIu64
		",\"names_left_out\":%" PRIu64 ",\"counters_left_out\":%" PRIu64
		",\"levels_left_out\":%" PRIu64 ",\"before_first\":%" PRIu64
		",\"marks_lost\":%" PRIu64 ",\"detail_left_out\":%s}",
		page->rows_left_out, page->rows_without_levels, page->names_left_out,
		page->counters_left_out, page->levels_left_out, page->before_first, page->n_lost,
		with_detail ? "false" : "true");
	return error;
}

int page_put_timeline(struct page *page, FILE *out, size_t limit, bool with_detail)
{
	struct page_stream stream = { 0 };
	int error = page_stream_open(&stream);

	if (error)
		return error;
	error = put_whole_timeline(page, stream.out, limit, with_detail);
	error = page_stream_close(&stream) ?: error;
	error = error ?: page_stream_put_packed(&stream, out);
	page_stream_free(&stream);
	return error;
}
