/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps single slices, instants, states, values and arrows as the JSON that the page will contain, so that its size is
 * known. A window whose share is used up ends there.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "reports/page/page_internal.h"

/* Doubles of JavaScript hold larger integers inexactly; these are strings in the page. */
#define EXACT_INTEGER (1ull << 53)

static size_t detail_size(const struct page_detail *d)
{
	size_t size = 0;

	for (unsigned i = 0; i < PAGE_PARTS; i++)
		size += d->parts[i].size;
	return size;
}

static void detail_begin_window(struct page_detail *d, unsigned at)
{
	size_t size = detail_size(d);

	d->at = at;
	d->window_limit = size + (d->budget > size ? (d->budget - size) / (d->n_windows - at) : 0);
}

int page_detail_begin(struct page_detail *d, size_t budget)
{
	int error = 0;

	for (unsigned i = 0; i < PAGE_PARTS && !error; i++) {
		page_stream_free(&d->parts[i]);
		d->counts[i] = 0;
		error = page_stream_open(&d->parts[i]);
	}
	d->budget = budget;
	d->active = d->everything || d->n_windows;
	if (d->n_windows)
		detail_begin_window(d, 0);
	return error;
}

void page_detail_free(struct page_detail *d)
{
	for (unsigned i = 0; i < PAGE_PARTS; i++)
		page_stream_free(&d->parts[i]);
}

/* The windows are in the order of time, as the ends of what comes nearly are. */
static bool detail_wants(struct page *page, uint64_t begin, uint64_t end)
{
	struct page_detail *d = &page->detail;
	struct page_window *w;

	if (d->everything)
		return true;
	while (d->at + 1 < d->n_windows && (d->windows[d->at + 1].trace < page->trace ||
					    (d->windows[d->at + 1].trace == page->trace &&
					     d->windows[d->at + 1].begin_ns <= end)))
		detail_begin_window(d, d->at + 1);
	for (unsigned i = d->at + 1; i-- > 0;) {
		w = &d->windows[i];
		if (w->trace < page->trace || (w->trace == page->trace && w->end_ns < begin))
			return false;
		if (w->trace == page->trace && w->begin_ns <= end)
			return detail_size(d) <= d->budget + d->budget / 4;
	}
	return false;
}

/* After each record. */
static void detail_limit(struct page *page, uint64_t now)
{
	struct page_detail *d = &page->detail;
	struct page_window *w = &d->windows[d->at];

	if (d->everything) {
		if (detail_size(d) <= d->budget)
			return;
		d->everything = d->active = false;
		page_detail_free(d);
		page_forget_used(page);
		return;
	}
	if (detail_size(d) > d->window_limit && w->trace == page->trace && now >= w->begin_ns &&
	    now < w->end_ns) {
		w->end_ns = now;
		w->is_cut = true;
	}
}

static FILE *detail_record(struct page_detail *d, enum page_part part)
{
	FILE *out = d->parts[part].out;

	if (d->counts[part]++)
		fputs(",\n", out);
	return out;
}

/* --- arguments ----------------------------------------------------------------------------------- */

void page_keep_args(struct page_open *open, const struct fact *fact)
{
	uint32_t size = 0;
	unsigned i;

	for (i = 0; i < fact->n_args; i++)
		size += fact->args[i].type == ARG_STRING ? fact->args[i].length + 1 : 0;
	while (size > open->text_capacity) {
		if (!array_grow(&open->text, &open->text_capacity, 64, 1))
			return;
	}
	size = 0;
	for (i = 0; i < fact->n_args && i < EVENT_MAX_ARGS; i++) {
		struct arg *arg = &open->args[i];

		*arg = fact->args[i];
		if (arg->type != ARG_STRING)
			continue;
		memcpy(open->text + size, arg->s, arg->length);
		open->text[size + arg->length] = '\0';
		arg->s = open->text + size;
		size += arg->length + 1;
	}
	open->n_args = i;
}

static void detail_put_arg(FILE *out, const struct arg *arg)
{
	switch (arg->type) {
	case ARG_STRING:
		put_json_string(out, "", arg->s);
		break;
	case ARG_BOOL:
		fputs(arg->u ? "true" : "false", out);
		break;
	case ARG_POINTER:
		fprintf(out, "\"0x%" PRIx64 "\"", arg->u);
		break;
	case ARG_NULL:
		fputs("null", out);
		break;
	case ARG_INT:
		if (arg->i > (int64_t)EXACT_INTEGER || arg->i < -(int64_t)EXACT_INTEGER)
			fprintf(out, "\"%" PRId64 "\"", arg->i);
		else
			fprintf(out, "%" PRId64, arg->i);
		break;
	case ARG_UINT:
		fprintf(out, arg->u > EXACT_INTEGER ? "\"%" PRIu64 "\"" : "%" PRIu64, arg->u);
		break;
	default:
		put_json_double(out, arg->d);
	}
}

static void detail_put_args(struct page *page, FILE *out, const struct arg *args, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		fprintf(out, ",%" PRIu32 ",",
			args[i].key ? page_use_name(page, NULL, args[i].key) : 0);
		detail_put_arg(out, &args[i]);
	}
}

/* --- records ------------------------------------------------------------------------------------- */

void page_detail_slice(struct page *page, const struct page_row *row, unsigned level,
		       const struct fact *fact, const struct page_open *open)
{
	uint64_t begin = page_time(page, fact->begin_ns), end = page_time(page, fact->ts_ns);
	FILE *out;

	if (!detail_wants(page, begin, end))
		return;
	out = detail_record(&page->detail, PART_SLICES);
	fprintf(out, "[%" PRIu32 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%d", row->index, level,
		begin, end - begin, page_use_name(page, fact->category, fact->name),
		(int)fact->end_reason);
	if (open && open->begin_ns == begin && open->name == fact->name)
		detail_put_args(page, out, open->args, open->n_args);
	detail_put_args(page, out, fact->args, fact->n_args);
	fputc(']', out);
	detail_limit(page, end);
}

void page_detail_state(struct page *page, const struct page_row *row, uint64_t begin, uint64_t end,
		       unsigned state)
{
	if (!detail_wants(page, begin, end))
		return;
	fprintf(detail_record(&page->detail, PART_STATES),
		"[%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%u]", row->index, begin, end - begin, state);
	detail_limit(page, end);
}

static void detail_instant(struct page *page, const struct fact *fact, uint64_t at)
{
	const struct page_row *row = fact->thread ? page_thread_row(page, fact->thread)
						  : page_process_row(page, fact->process);
	FILE *out;

	if (!row)
		return;
	out = detail_record(&page->detail, PART_INSTANTS);
	fprintf(out, "[%" PRIu32 ",%" PRIu64 ",%" PRIu32, row->index, at,
		page_use_name(page, fact->category, fact->name));
	detail_put_args(page, out, fact->args, fact->n_args);
	fputc(']', out);
}

static void detail_values(struct page *page, const struct fact *fact, uint64_t at)
{
	for (unsigned i = 0; i < fact->n_args && !fact->continued; i++) {
		const struct track *track = fact->tracks[i];
		const struct page_counter *counter =
			track->is_counted ? NULL : page_counter_of(page, track);
		FILE *out;

		if (!counter)
			continue;
		out = detail_record(&page->detail, PART_VALUES);
		fprintf(out, "[%" PRIu32 ",%" PRIu64 ",", counter->index, at);
		detail_put_arg(out, &fact->args[i]);
		fputc(']', out);
	}
}

static void detail_flow(struct page *page, const struct fact *fact, uint64_t at)
{
	const struct page_row *row = fact->thread ? page_thread_row(page, fact->thread) : NULL;

	if (row)
		fprintf(detail_record(&page->detail, PART_FLOWS),
			"[%" PRIu32 ",%" PRIu64 ",\"%" PRIx64 "\",%d]", row->index, at, fact->id,
			fact->kind == FACT_FLOW_IN);
}

void page_detail_fact(struct page *page, const struct fact *fact)
{
	uint64_t at;

	if (fact->kind != FACT_INSTANT && fact->kind != FACT_COUNTER &&
	    fact->kind != FACT_FLOW_OUT && fact->kind != FACT_FLOW_IN)
		return;
	at = page_time(page, fact->ts_ns);
	if (!detail_wants(page, at, at))
		return;
	if (fact->kind == FACT_INSTANT)
		detail_instant(page, fact, at);
	else if (fact->kind == FACT_COUNTER)
		detail_values(page, fact, at);
	else
		detail_flow(page, fact, at);
	detail_limit(page, at);
}
