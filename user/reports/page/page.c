/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collects what the page shows. The first reading counts everything and, as long as there is space, keeps every slice.
 * If there was space for all of them, the traces are not read again. Otherwise the second reading keeps what is within
 * the windows that page_windows.c has chosen.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "reports/flame/flame.h"
#include "reports/page/page_internal.h"
#include "reports/table/stats_rows.h"

enum {
	DETAIL_BYTES = 3000000, /* before they are packed to a third or less */
};

uint64_t page_time(struct page *page, uint64_t ts_ns)
{
	if (ts_ns >= page->first_ns && page->has_first)
		return ts_ns - page->first_ns < PAGE_TIME_MAX ? ts_ns - page->first_ns
							      : PAGE_TIME_MAX;
	page->before_first += !page->is_again;
	return 0;
}

/* What is beyond the limit of memory is left out, which the page says. */
static int page_counted(uint64_t *left_out, int error)
{
	if (error == -ENOSPC) {
		++*left_out;
		return 0;
	}
	return error;
}

static int page_cover(struct page *page, struct page_row *row, unsigned level,
		      const struct page_instance *i, struct page_kind *kind)
{
	int error;

	if (level >= row->n_levels)
		row->n_levels = level + 1;
	error = page_grid_slice(&page->scale, &row->levels[level], i->begin_ns,
				i->begin_ns + i->duration_ns, kind->index);
	return page_counted(&page->levels_left_out, error);
}

/* --- slices -------------------------------------------------------------------------------------- */

static int page_begin(struct page *page, struct page_row *row, const struct fact *fact)
{
	struct page_open *open;

	if (row->n_open++ >= PAGE_LEVELS)
		return 0; /* counted at its end */
	open = row->open[row->n_open - 1];
	if (!open) {
		open = row->open[row->n_open - 1] = calloc(1, sizeof(*open));
		if (!open)
			return -ENOMEM;
	}
	open->begin_ns = page_time(page, fact->ts_ns);
	open->name = fact->name;
	open->category = fact->category;
	open->n_args = 0;
	if (page->detail.active)
		page_keep_args(open, fact);
	return 0;
}

static int page_end_slice(struct page *page, struct page_row *row, unsigned level,
			  const struct fact *fact, const struct page_open *open)
{
	struct page_kind *kind = page_kind_of(page, fact->category, fact->name);
	struct page_instance instance = { .trace = page->trace, .row = row->index };

	if (!kind)
		return -ENOMEM;
	instance.begin_ns = page_time(page, fact->begin_ns);
	instance.duration_ns = page_time(page, fact->ts_ns) - instance.begin_ns;
	if (page->detail.active)
		page_detail_slice(page, row, level, fact, open);
	if (page->is_again)
		return 0;
	row->slices++;
	if (fact->end_reason == END_NORMAL && !fact->nested_in_itself)
		page_kind_instance(page, kind, &instance);
	return page_cover(page, row, level, &instance, kind);
}

static int page_end(struct page *page, struct page_row *row, const struct fact *fact)
{
	if (!row->n_open)
		return 0;
	if (row->n_open-- > PAGE_LEVELS) {
		page->levels_left_out += !page->is_again;
		return 0;
	}
	/* With conditions, slices that are not selected end like this. */
	if (page->is_selection && !page->is_again && fact->end_reason == END_UNFINISHED)
		return 0;
	return page_end_slice(page, row, row->n_open, fact, row->open[row->n_open]);
}

/* The slices that are open when a trace ends. */
static int page_end_open(struct page *page, struct page_row *row)
{
	int error = 0;

	row->n_open = row->n_open < PAGE_LEVELS ? row->n_open : PAGE_LEVELS;
	while (row->n_open && !error) {
		const struct page_open *open = row->open[--row->n_open];
		const struct fact fact = {
			.kind = FACT_END,
			.end_reason = END_UNFINISHED,
			.ts_ns = page->last_ns,
			.begin_ns = open->begin_ns + page->first_ns,
			.name = open->name,
			.category = open->category,
		};

		if (!page->is_selection)
			error = page_end_slice(page, row, row->n_open, &fact, open);
	}
	return error;
}

/* --- other facts --------------------------------------------------------------------------------- */

static int page_instant(struct page *page, const struct fact *fact)
{
	struct page_row *row = fact->thread ? page_thread_row(page, fact->thread)
					    : page_process_row(page, fact->process);
	struct page_kind *kind = page_kind_of(page, fact->category, fact->name);
	uint64_t at = page_time(page, fact->ts_ns);

	if (!row || !kind)
		return 0;
	return page_counted(&page->levels_left_out,
			    page_grid_slice(&page->scale, &row->instants, at, at, kind->index));
}

static int page_values(struct page *page, const struct fact *fact)
{
	uint64_t at = page_time(page, fact->ts_ns);
	int error = 0;

	for (unsigned i = 0; i < fact->n_args && !error && !fact->continued; i++) {
		const struct track *track = fact->tracks[i];
		/* Readings of a thread's counters have these values, too. */
		struct page_counter *counter =
			track->is_counted ? NULL : page_counter_of(page, track);
		double value = (double)stats_number(&fact->args[i]);

		if (counter && value == value)
			error = page_counted(
				&page->counters_left_out,
				page_grid_value(&page->scale, &counter->values, at, value));
	}
	return error;
}

/* What a thread has counted so far. */
static int page_reading(struct page *page, const struct track *track, uint64_t at, uint64_t value)
{
	struct page_counter *counter =
		value != EVENT_NO_VALUE ? page_counter_of(page, track) : NULL;
	int error = 0;

	if (!counter)
		return 0;
	if (counter->has_reading && value > counter->reading) {
		uint64_t since = counter->read_ns < at ? counter->read_ns : at;

		error = page_counted(&page->counters_left_out,
				     page_grid_amount(&page->scale, &counter->values, since, at,
						      (double)(value - counter->reading)));
	}
	counter->has_reading = true;
	counter->read_ns = at;
	counter->reading = value;
	return error;
}

static int page_readings(struct page *page, const struct fact *fact)
{
	uint64_t at = page_time(page, fact->ts_ns);
	int error = 0;

	for (unsigned i = 0; i < fact->n_counters && !error; i++)
		error = page_reading(page, fact->counter_tracks[i], at, fact->counters[i]);
	return error;
}

static void page_lost(struct page *page, const struct fact *fact)
{
	struct page_row *row = fact->thread ? page_thread_row(page, fact->thread) : NULL;

	if (row)
		row->lost += fact->count;
	page->n_lost += fact->count;
	if (page->n_losses == PAGE_LOSSES)
		return;
	page->losses[page->n_losses++] = (struct page_loss){
		.row = row ? row->index : UINT32_MAX,
		.trace = page->trace,
		.at_ns = page_time(page, fact->ts_ns),
		.count = fact->count,
	};
}

/* A task was in a state from `since_ns` on. */
static int page_state(struct page *page, const struct sched_task *task, unsigned state,
		      uint64_t ts_ns)
{
	struct page_row *row =
		task->thread && task->since_ns ? page_thread_row(page, task->thread) : NULL;
	uint64_t begin, end;

	/* Times are those since the first mark. */
	if (!row || !page->has_first || task->since_ns > ts_ns || ts_ns < page->first_ns)
		return 0;
	end = page_time(page, ts_ns);
	begin = task->since_ns < page->first_ns ? 0 : page_time(page, task->since_ns);
	if (page->detail.active)
		page_detail_state(page, row, begin, end, state);
	if (page->is_again)
		return 0;
	return page_counted(&page->levels_left_out,
			    page_grid_state(&page->scale, &row->states, begin, end, state));
}

static bool page_is_runnable(enum sched_state state)
{
	return state == SCHED_STATE_RUNNABLE || state == SCHED_STATE_PREEMPTED;
}

static int page_sched(struct page *page, const struct fact *fact)
{
	const struct sched *sched = fact->sched;
	const struct sched_task *before = &sched->other;
	int error;

	if (fact->kind == FACT_WAKING)
		return page_state(page, &sched->task, PAGE_BLOCKED, fact->ts_ns);
	error = page_state(page, &sched->task, PAGE_RUNNING, fact->ts_ns);
	return error
		       ?: page_state(page, before,
				     page_is_runnable(before->state) ? PAGE_RUNNABLE : PAGE_BLOCKED,
				     fact->ts_ns);
}

/* --- the consumer -------------------------------------------------------------------------------- */

static struct page *page_of(struct consumer *consumer)
{
	return (struct page *)consumer;
}

/* Rows of slices: both readings. */
static int page_slice_fact(struct page *page, const struct fact *fact)
{
	struct page_row *row;

	switch (fact->kind) {
	case FACT_BEGIN:
		row = page_thread_row(page, fact->thread);
		return row && !fact->continued ? page_begin(page, row, fact) : 0;
	case FACT_END:
		row = page_thread_row(page, fact->thread);
		return row ? page_end(page, row, fact) : 0;
	case FACT_ASYNC_BEGIN:
		row = page_lane_row(page, fact->tracks[0]);
		return row && !fact->continued ? page_begin(page, row, fact) : 0;
	default:
		row = page_lane_row(page, fact->tracks[0]);
		return row ? page_end(page, row, fact) : 0;
	}
}

static int page_other_fact(struct page *page, const struct fact *fact)
{
	switch (fact->kind) {
	case FACT_PROCESS:
		page_process_of(page, fact->process);
		return 0;
	case FACT_THREAD:
		page_name_thread(page, fact->thread);
		return 0;
	case FACT_INSTANT:
		return page_instant(page, fact);
	case FACT_COUNTER:
		return page_values(page, fact);
	case FACT_LOST:
		page_lost(page, fact);
		return 0;
	default:
		return 0;
	}
}

/* The reports beside the timeline. */
static int page_pass_on(struct page *page, const struct fact *fact)
{
	int error = 0;

	if (!page->is_again) {
		error = page->stats->ops->fact(page->stats, fact);
		page->n_samples += fact->kind == FACT_SAMPLE;
		/* With conditions, those that are selected come at the end. */
		if (fact->kind == FACT_SAMPLE && !page->is_selection)
			error = error ?: page->samples->ops->fact(page->samples, fact);
	}
	for (unsigned i = 0; i < page->n_slowest && !error; i++)
		error = page->slowest[i]->ops->fact(page->slowest[i], fact);
	return error;
}

static int page_fact(struct consumer *consumer, const struct fact *fact)
{
	struct page *page = page_of(consumer);
	int error;

	if (page->only_samples)
		return fact->kind == FACT_SAMPLE ? page->samples->ops->fact(page->samples, fact)
						 : 0;
	error = page_pass_on(page, fact);
	if (error)
		return error;
	/* Slices that begin before the first mark, and what is declared, are not times of this trace. */
	if (fact->kind >= FACT_BEGIN && fact->kind <= FACT_FLOW_IN && !fact->continued) {
		if (!page->has_first)
			page->first_ns = fact->ts_ns;
		page->has_first = true;
		if (fact->ts_ns > page->last_ns)
			page->last_ns = fact->ts_ns;
	}
	if (page->detail.active && fact->kind >= FACT_INSTANT && fact->kind <= FACT_FLOW_IN)
		page_detail_fact(page, fact);
	if (fact->n_counters && !page->is_again && !fact->continued)
		error = page_readings(page, fact);
	if (error)
		return error;
	switch (fact->kind) {
	case FACT_BEGIN:
	case FACT_END:
	case FACT_ASYNC_BEGIN:
	case FACT_ASYNC_END:
		return page_slice_fact(page, fact);
	case FACT_SWITCH:
	case FACT_WAKING:
		return page_sched(page, fact);
	default:
		return page->is_again ? 0 : page_other_fact(page, fact);
	}
}

void page_next_trace(struct consumer *consumer, const struct reading *reading)
{
	struct page *page = page_of(consumer);
	uint64_t first_ns, last_ns;

	if (page->only_samples)
		return;
	for (uint32_t i = 0; i < page->n_rows && !page->failed; i++)
		page->failed = page_end_open(page, page->row_list[i]);
	if (reading->selection && !page->is_again &&
	    select_span(reading->selection, &first_ns, &last_ns))
		stats_extend_span(page->stats, first_ns, last_ns);
	if (!page->is_again)
		stats_next_trace(page->stats);
	for (uint32_t i = 0; i < page->n_slowest; i++)
		slowest_next_trace(page->slowest[i]);
	if (!page->is_again && page->n_traces == page->trace &&
	    array_reserve(page->first_of, page->n_traces, page->traces_capacity, 4))
		page->first_of[page->n_traces++] = page->first_ns;
	page->trace++;
	page->has_first = false;
	page->first_ns = page->last_ns = 0;
}

int page_again(struct consumer *consumer)
{
	struct page *page = page_of(consumer);
	int error = page->failed;

	for (unsigned i = 0; i < page->n_slowest && !error; i++)
		error = slowest_again(page->slowest[i]);
	if (error)
		return error;
	page->is_again = true;
	page->trace = 0;
	error = page_choose_windows(page);
	if (error)
		return error;
	if (page->detail.active) { /* everything is there */
		page->detail.active = false;
		page->detail.n_windows = 0;
		return page->n_slowest ? 0 : READING_ENOUGH;
	}
	return page_detail_begin(&page->detail, DETAIL_BYTES);
}

bool page_wants_samples(struct consumer *consumer)
{
	struct page *page = page_of(consumer);

	page->only_samples = page->n_samples != 0;
	return page->only_samples;
}

static void page_free(struct consumer *consumer)
{
	struct page *page = page_of(consumer);

	for (unsigned i = 0; i < page->n_slowest; i++) {
		if (page->slowest[i])
			page->slowest[i]->ops->free(page->slowest[i]);
	}
	if (page->stats)
		page->stats->ops->free(page->stats);
	if (page->samples)
		page->samples->ops->free(page->samples);
	page_detail_free(&page->detail);
	page_rows_free(page);
	free(page);
}

static const struct consumer_ops page_ops = {
	.fact = page_fact,
	.free = page_free,
};

struct consumer *page_new(const struct page_options *options)
{
	struct page *page = calloc(1, sizeof(*page));
	bool complete;

	if (!page)
		return NULL;
	page->consumer.ops = &page_ops;
	page->options = *options;
	page->random = 0x9e3779b97f4a7c15ull;
	page->scale.n = PAGE_CELLS;
	page->stats = stats_new();
	page->samples = flame_samples_new(NULL);
	complete = page->stats && page->samples;
	if (page->samples)
		flame_samples_keep_slices(page->samples);
	page->n_slowest = options->n_slowest;
	for (unsigned i = 0; i < options->n_slowest; i++) {
		page->slowest[i] = slowest_new(&options->slowest[i]);
		complete &= page->slowest[i] != NULL;
	}
	page->detail.everything = true;
	/* The first of the names is the one of those that are too many. */
	if (!complete || !page_kind_of(page, NULL, NULL) ||
	    page_detail_begin(&page->detail, DETAIL_BYTES)) {
		page_free(&page->consumer);
		return NULL;
	}
	return &page->consumer;
}

void page_select(struct consumer *consumer)
{
	page_of(consumer)->is_selection = true;
}
