/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collects the statistics: a row for each category and name of slices, asynchronous slices and
 * instants, and for each series of a counter, over all processes and threads together or for each
 * of them.
 *
 * This runs for every fact of `top` and --stats, beside the trace writers. So rows are cached by
 * name, and rare cases are kept out of the functions of the common ones.
 */
#include "reports/table/stats_rows.h"

#include <stdlib.h>
#include <string.h>

/* --- rows -------------------------------------------------------------------------------------- */

static struct stats_row *stats_row_new(struct stats *stats, enum stats_part part,
				       const struct stats_key *key)
{
	struct stats_row *row;

	if (HASH_CNT(hh, stats->parts[part]) >= stats->limit_rows)
		return &stats->other[part];
	row = hash_add_new(hh, stats->parts[part], key, *key);
	return row ? row : &stats->other[part];
}

struct stats_row *stats_row_find(struct stats *stats, enum stats_part part,
				 const struct name *category, const struct name *name,
				 const struct name *series, uint64_t owner)
{
	const struct stats_key key = { category, name, series, owner };
	struct stats_row *row;

	HASH_FIND(hh, stats->parts[part], &key, sizeof(key), row);
	if (!row)
		row = stats_row_new(stats, part, &key);
	if (!row->other)
		*stats_recent(stats, part, category, name, series, owner) = row;
	return row;
}

static uint64_t stats_fact_owner(const struct fact *fact)
{
	return fact->thread ? fact->thread->uuid : fact->process ? fact->process->uuid : 0;
}

/* The row of the fact's thread, if each thread has its own. */
static inline struct stats_row *stats_thread_row(struct stats *stats, enum stats_part part,
						 const struct fact *fact)
{
	return stats_row_of(stats, part, fact->category, fact->name, NULL,
			    stats->per_thread ? stats_fact_owner(fact) : stats->group);
}

static inline struct stats_row *stats_process_row(struct stats *stats, enum stats_part part,
						  const struct fact *fact)
{
	return stats_row_of(stats, part, fact->category, fact->name, NULL,
			    stats_process(stats, fact));
}

static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* --- slices ------------------------------------------------------------------------------------ */

/* The index of a counter, which is the same for all traces. -1: there are too many. */
static int counter_column_of(struct stats *stats, const struct name *name, unsigned guess)
{
	unsigned i;

	if (guess < stats->n_counters && stats->counters[guess] == name)
		return (int)guess;
	for (i = 0; i < stats->n_counters; i++) {
		if (stats->counters[i] == name)
			return (int)i;
	}
	if (i == STATS_COUNTED)
		return -1;
	stats->counters[stats->n_counters++] = name;
	return (int)i;
}

static __attribute__((noinline)) void add_counted(struct stats *stats, struct stats_row *row,
						  const struct fact *fact)
{
	uint64_t duration = fact->nested_in_itself ? 0 : fact->ts_ns - fact->begin_ns;

	if (!row->counted)
		row->counted = calloc(STATS_COUNTED, sizeof(*row->counted));
	for (unsigned i = 0, n = row->counted ? fact->n_counters : 0; i < n; i++) {
		int column = counter_column_of(stats, fact->counter_tracks[i]->name, i);
		uint64_t delta = fact->counter_deltas[i], self = fact->counter_selves[i];
		struct stats_counted *c;

		if (column < 0 || delta == EVENT_NO_VALUE)
			continue;
		c = &row->counted[column];
		c->calls++;
		c->total_ns = add_saturated(c->total_ns, duration);
		if (self != EVENT_NO_VALUE)
			c->selves++;
		/* Most counters count nothing in most slices. */
		if (!delta)
			continue;
		c->sum = add_saturated(c->sum, delta);
		if (!fact->nested_in_itself)
			c->total = add_saturated(c->total, delta);
		if (self != EVENT_NO_VALUE)
			c->self = add_saturated(c->self, self);
	}
}

static void add_reasons(struct stats *stats, struct stats_row *row,
			const uint64_t blocked_in[WAIT_REASONS])
{
	stats->has_reasons = true;
	for (unsigned i = 0; i < WAIT_REASONS; i++)
		row->blocked_in[i] = add_saturated(row->blocked_in[i], blocked_in[i]);
}

static void add_thread_states(struct stats *stats, struct stats_row *row,
			      const struct slice_states *states, uint64_t duration)
{
	stats->unknown_ns = add_saturated(stats->unknown_ns, states->unknown);
	stats->known_ns = add_saturated(stats->known_ns, duration - states->unknown);
	row->running_ns = add_saturated(row->running_ns, states->running);
	row->runnable_ns = add_saturated(row->runnable_ns, states->runnable);
	row->blocked_ns = add_saturated(row->blocked_ns, states->blocked);
	if (states->has_reasons)
		add_reasons(stats, row, states->blocked_in);
}

static inline void add_slice_duration(struct stats *stats, struct stats_row *row,
				      const struct fact *fact)
{
	uint64_t duration = fact->ts_ns - fact->begin_ns;

	if (!row->count || duration < row->min_ns)
		row->min_ns = duration;
	if (duration > row->max_ns)
		row->max_ns = duration;
	row->count++;
	row->sum_ns = add_saturated(row->sum_ns, duration);
	row->self_ns = add_saturated(row->self_ns, fact->self_ns);
	if (!fact->nested_in_itself)
		row->total_ns = add_saturated(row->total_ns, duration);
	histogram_add(&row->histogram, histogram_bucket(duration), 1);
	if (fact->n_counters && fact->counter_deltas)
		add_counted(stats, row, fact);
}

/* --- who is who -------------------------------------------------------------------------------- */

/* NULL when out of memory. */
static struct stats_owner *find_or_add_owner(struct stats *stats, uint64_t uuid)
{
	struct stats_owner *owner;

	HASH_FIND(hh, stats->owners, &uuid, sizeof(uuid), owner);
	return owner ? owner : hash_add_new(hh, stats->owners, uuid, uuid);
}

static void update_owner(struct stats *stats, const struct process *process,
			 const struct thread *thread)
{
	struct stats_owner *owner = find_or_add_owner(stats, thread ? thread->uuid : process->uuid);

	if (!owner)
		return;
	owner->pid = process ? process->pid : 0;
	owner->process = process ? process->name : NULL;
	owner->tid = thread ? thread->tid : 0;
	owner->thread = thread ? thread->name : NULL;
}

/* --- facts ------------------------------------------------------------------------------------- */

static inline void extend_span(struct stats *stats, uint64_t ts_ns)
{
	/* 0 means none; minus one, it becomes the largest number. */
	if (ts_ns - 1 < stats->first_ns - 1)
		stats->first_ns = ts_ns;
	if (ts_ns > stats->last_ns)
		stats->last_ns = ts_ns;
}

/* A trace lasts from its first mark to its last one; notices may come before and after these. */
static inline void count_stats_mark(struct stats *stats, const struct fact *fact)
{
	extend_span(stats, fact->ts_ns);
	stats->events++;
}

/*
 * Not inlined: otherwise stats_fact() would save the registers and reserve the stack that the
 * largest of these functions needs, for every fact.
 */
#define KIND static __attribute__((noinline)) int

KIND count_unended(struct stats *stats, const struct fact *fact)
{
	if (fact->end_reason == END_LOST)
		stats->ends_lost++;
	else
		stats->unfinished++;
	return 0;
}

KIND count_slice(struct stats *stats, const struct fact *fact)
{
	struct stats_row *row;

	count_stats_mark(stats, fact);
	if (fact->end_reason != END_NORMAL)
		return count_unended(stats, fact);
	row = stats_thread_row(stats, STATS_SLICES, fact);
	if (fact->nested_in_itself)
		; /* the slice around it counts these states */
	else if (fact->states)
		add_thread_states(stats, row, fact->states, fact->ts_ns - fact->begin_ns);
	else
		stats->unknown_ns = add_saturated(stats->unknown_ns, fact->ts_ns - fact->begin_ns);
	add_slice_duration(stats, row, fact);
	return 0;
}

KIND count_async(struct stats *stats, const struct fact *fact)
{
	enum stats_part part = fact->is_frame ? STATS_FRAMES : STATS_ASYNCS;

	count_stats_mark(stats, fact);
	if (fact->end_reason != END_NORMAL)
		return count_unended(stats, fact);
	add_slice_duration(stats, stats_process_row(stats, part, fact), fact);
	return 0;
}

KIND count_instant(struct stats *stats, const struct fact *fact)
{
	if (fact_is_change_of_mode(fact))
		return 0;
	count_stats_mark(stats, fact);
	stats_thread_row(stats, STATS_INSTANTS, fact)->count++;
	return 0;
}

/* A sample of a memory pool. What was live before the trace began is live in it as well. */
static void count_pool_sample(struct stats *stats, const struct fact *fact)
{
	stats_memory(stats, fact);
	if (fact->continued)
		return;
	if (fact->memory->change == MEMORY_RESET)
		stats->events++; /* not a mark, but a consequence of the exit of a process */
	else
		count_stats_mark(stats, fact);
}

KIND count_counter(struct stats *stats, const struct fact *fact)
{
	/*
	 * Hardware counters of threads are shown with slices: as a row they would be one growing
	 * number.
	 */
	if (fact->n_args && fact->tracks[0]->is_counted)
		return 0;
	if (fact->memory) {
		count_pool_sample(stats, fact);
		return 0;
	}
	if (fact->continued)
		return 0;
	for (unsigned i = 0; i < fact->n_args; i++)
		stats_sample(stats, fact, i);
	count_stats_mark(stats, fact);
	return 0;
}

/* Facts that are not marks. */
KIND apply_stats_notice(struct stats *stats, const struct fact *fact)
{
	switch (fact->kind) {
	case FACT_LEAK:
		stats_memory_left(stats, fact);
		break;
	case FACT_WAIT:
		stats_wait(stats, fact);
		break;
	case FACT_LOST:
		stats->marks_lost = add_saturated(stats->marks_lost, fact->count);
		break;
	case FACT_PROCESS:
	case FACT_THREAD:
		if (stats->per_thread)
			update_owner(stats, fact->process, fact->thread);
		break;
	default:
		break;
	}
	return 0;
}

static int stats_fact(struct consumer *consumer, const struct fact *fact)
{
	struct stats *stats = (struct stats *)consumer;

	switch (fact->kind) {
	case FACT_BEGIN:
	case FACT_ASYNC_BEGIN:
	case FACT_FLOW_OUT:
	case FACT_FLOW_IN:
		count_stats_mark(stats, fact);
		return 0;
	case FACT_END:
		return count_slice(stats, fact);
	case FACT_ASYNC_END:
		return count_async(stats, fact);
	case FACT_INSTANT:
		return count_instant(stats, fact);
	case FACT_COUNTER:
		return count_counter(stats, fact);
	default:
		return apply_stats_notice(stats, fact);
	}
}

/* --- rows as a whole --------------------------------------------------------------------------- */

static void merge_counted(struct stats_row *to, const struct stats_row *from)
{
	if (!from->counted)
		return;
	if (!to->counted)
		to->counted = calloc(STATS_COUNTED, sizeof(*to->counted));
	for (unsigned i = 0; to->counted && i < STATS_COUNTED; i++) {
		struct stats_counted *a = &to->counted[i];
		const struct stats_counted *b = &from->counted[i];

		a->calls += b->calls;
		a->total = add_saturated(a->total, b->total);
		a->self = add_saturated(a->self, b->self);
		a->sum = add_saturated(a->sum, b->sum);
		a->total_ns = add_saturated(a->total_ns, b->total_ns);
		a->selves += b->selves;
	}
}

static void merge_pools(struct stats_row *to, const struct stats_row *from)
{
	to->frees += from->frees;
	to->live = stats_bytes_sum(to->live, from->live);
	to->peak = stats_bytes_sum(to->peak, from->peak);
	to->live_before = stats_bytes_sum(to->live_before, from->live_before);
	to->leaked = add_saturated(to->leaked, from->leaked);
	to->leaks += from->leaks;
}

void stats_row_merge(struct stats_row *to, const struct stats_row *from)
{
	if (!to->count || (from->count && from->min_ns < to->min_ns))
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	to->count += from->count;
	to->total_ns = add_saturated(to->total_ns, from->total_ns);
	to->self_ns = add_saturated(to->self_ns, from->self_ns);
	to->sum_ns = add_saturated(to->sum_ns, from->sum_ns);
	to->running_ns = add_saturated(to->running_ns, from->running_ns);
	to->runnable_ns = add_saturated(to->runnable_ns, from->runnable_ns);
	to->blocked_ns = add_saturated(to->blocked_ns, from->blocked_ns);
	for (unsigned i = 0; i < WAIT_REASONS; i++)
		to->blocked_in[i] = add_saturated(to->blocked_in[i], from->blocked_in[i]);
	histogram_merge(&to->histogram, &from->histogram);
	merge_counted(to, from);
	stats_samples_merge(to, from);
	merge_pools(to, from);
}

void stats_row_clear(struct stats_row *row)
{
	histogram_free(&row->histogram);
	free(row->counted);
	row->counted = NULL;
}

void stats_add(struct consumer *consumer, enum stats_part part, const struct stats_finished *f)
{
	struct stats *stats = (struct stats *)consumer;
	uint64_t owner = stats->per_thread && f->thread ? f->thread->uuid : stats->group;
	struct stats_row finished = {
		.count = f->count,
		.total_ns = f->total_ns,
		.self_ns = f->self_ns,
		.sum_ns = f->sum_ns,
		.min_ns = f->min_ns,
		.max_ns = f->max_ns,
		.numbers = f->numbers,
		.min = f->min,
		.max = f->max,
		.sum = f->sum,
		.last = f->last,
		.last_order = f->last_ns,
	};
	struct stats_row *row;

	if (!f->count)
		return;
	if (f->histogram)
		finished.histogram = *f->histogram; /* borrowed */
	if (owner != stats->group)
		update_owner(stats, f->thread->process, f->thread);
	row = &stats->other[part];
	if (f->name)
		row = stats_row_of(stats, part, f->category, f->name, f->series, owner);
	stats_row_merge(row, &finished);
	stats->events += f->count;
}

void stats_add_time(struct consumer *consumer, uint64_t wall_ns)
{
	struct stats *stats = (struct stats *)consumer;

	stats->wall_ns = add_saturated(stats->wall_ns, wall_ns);
}

uint64_t stats_wall_ns(const struct stats *stats)
{
	return add_saturated(stats->wall_ns, stats->last_ns - stats->first_ns);
}

void stats_next_trace(struct consumer *consumer)
{
	struct stats *stats = (struct stats *)consumer;

	stats->wall_ns = stats_wall_ns(stats);
	stats->first_ns = stats->last_ns = 0;
	stats_pools_next_trace(stats);
}

void stats_clear(struct consumer *consumer)
{
	struct stats *stats = (struct stats *)consumer;

	for (int part = 0; part < STATS_PARTS; part++) {
		hash_clear(hh, stats->parts[part], row, stats_row_clear(row));
		stats_row_clear(&stats->other[part]);
		stats->other[part] = (struct stats_row){ .other = true };
	}
	memset(stats->recent, 0, sizeof(stats->recent));
	stats_waits_clear(stats);
	stats->n_leaks = 0;
	stats->events = stats->unfinished = stats->ends_lost = stats->marks_lost = 0;
	stats->first_ns = stats->last_ns = stats->wall_ns = 0;
	stats->known_ns = stats->unknown_ns = 0;
	stats->has_reasons = false;
}

static void stats_free(struct consumer *consumer)
{
	struct stats *stats = (struct stats *)consumer;

	stats_clear(consumer);
	hash_clear(hh, stats->owners, owner);
	free(stats);
}

static const struct consumer_ops stats_ops = {
	.fact = stats_fact,
	.free = stats_free,
};

struct consumer *stats_new(void)
{
	struct stats *stats = calloc(1, sizeof(*stats));

	if (!stats)
		return NULL;
	stats->consumer.ops = &stats_ops;
	stats->limit_rows = STATS_LIMIT_ROWS;
	for (int part = 0; part < STATS_PARTS; part++)
		stats->other[part].other = true;
	return &stats->consumer;
}

void stats_by(struct consumer *consumer, const char *by)
{
	((struct stats *)consumer)->by = by;
}

void stats_set_group(struct consumer *consumer, const struct name *group)
{
	struct stats *stats = (struct stats *)consumer;
	struct stats_owner *owner;

	if (group && group->id != stats->group) {
		owner = find_or_add_owner(stats, group->id);
		if (owner)
			owner->group = group;
	}
	stats->group = group ? group->id : 0;
}

void stats_extend_span(struct consumer *consumer, uint64_t first_ns, uint64_t last_ns)
{
	extend_span((struct stats *)consumer, first_ns);
	extend_span((struct stats *)consumer, last_ns);
}

void stats_per_thread(struct consumer *consumer)
{
	((struct stats *)consumer)->per_thread = true;
}

uint64_t stats_events(const struct consumer *consumer)
{
	return ((const struct stats *)consumer)->events;
}
