/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The statistics: one row per category and name, for slices, asynchronous slices and instants, and
 * one per series for counters; over all processes and threads together, or for each.
 */
#include "handlers/stats_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- rows -------------------------------------------------------------------------------------- */

static struct stats_row *row_new(struct stats *stats, enum stats_part part,
				 const struct stats_key *key)
{
	struct stats_row *row;

	if (HASH_CNT(hh, stats->parts[part]) >= stats->limit_rows)
		return &stats->other[part];
	row = calloc(1, sizeof(*row));
	if (!row)
		return &stats->other[part];
	row->key = *key;
	HASH_ADD(hh, stats->parts[part], key, sizeof(*key), row);
	if (!hash_added(hh, row)) {
		free(row);
		return &stats->other[part];
	}
	return row;
}

static bool is_key(const struct stats_key *a, const struct stats_key *b)
{
	return a->name == b->name && a->category == b->category && a->series == b->series &&
	       a->owner == b->owner;
}

static unsigned id_of(const struct name *name)
{
	return name ? name->id : 0;
}

/* Facts come by the million, and most have the name of one that came just before. */
struct stats_row *stats_row_get(struct stats *stats, enum stats_part part,
				const struct stats_key *key)
{
	unsigned i = (id_of(key->name) ^ id_of(key->category) << 5 ^ id_of(key->series) << 7 ^
		      (unsigned)key->owner << 3) &
		     (STATS_RECENT - 1);
	struct stats_row *row = stats->recent[part][i];

	if (row && is_key(&row->key, key))
		return row;
	HASH_FIND(hh, stats->parts[part], key, sizeof(*key), row);
	if (!row)
		row = row_new(stats, part, key);
	if (!row->other)
		stats->recent[part][i] = row;
	return row;
}

static uint64_t owner_of(const struct stats *stats, const struct fact *fact)
{
	if (!stats->per_thread)
		return 0;
	return fact->thread ? fact->thread->uuid : fact->process ? fact->process->uuid : 0;
}

uint64_t stats_process(const struct stats *stats, const struct fact *fact)
{
	return stats->per_thread && fact->process ? fact->process->uuid : 0;
}

static struct stats_row *named_row(struct stats *stats, enum stats_part part,
				   const struct fact *fact)
{
	const struct stats_key key = {
		.category = fact->category,
		.name = fact->name,
		.owner = part == STATS_SLICES || part == STATS_INSTANTS
				 ? owner_of(stats, fact)
				 : stats_process(stats, fact),
	};

	return stats_row_get(stats, part, &key);
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* --- slices ------------------------------------------------------------------------------------ */

/* Which column a counter has: the same over all traces. -1: there are too many. */
static int counter_column(struct stats *stats, const struct name *name, unsigned guess)
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

static void counted(struct stats *stats, struct stats_row *row, const struct fact *fact)
{
	uint64_t duration = fact->ts_ns - fact->begin_ns;
	unsigned i;

	if (!row->counted)
		row->counted = calloc(STATS_COUNTED, sizeof(*row->counted));
	for (i = 0; i < fact->n_counters; i++) {
		int column = counter_column(stats, fact->counter_tracks[i]->name, i);
		uint64_t delta = fact->counter_deltas[i], self = fact->counter_selves[i];
		struct stats_counted *c;

		if (!row->counted || column < 0 || delta == EVENT_NO_VALUE)
			continue;
		c = &row->counted[column];
		c->calls++;
		c->sum = add_up(c->sum, delta);
		if (!fact->nested_in_itself) {
			c->total = add_up(c->total, delta);
			c->total_ns = add_up(c->total_ns, duration);
		}
		if (self == EVENT_NO_VALUE)
			continue;
		c->self = add_up(c->self, self);
		c->selves++;
	}
}

static void states(struct stats *stats, struct stats_row *row, const struct slice_states *states,
		   uint64_t duration)
{
	uint64_t unknown = states ? states->unknown : duration;

	stats->unknown_ns = add_up(stats->unknown_ns, unknown);
	if (!states)
		return;
	stats->known_ns = add_up(stats->known_ns, duration - unknown);
	row->running_ns = add_up(row->running_ns, states->running);
	row->runnable_ns = add_up(row->runnable_ns, states->runnable);
	row->blocked_ns = add_up(row->blocked_ns, states->blocked);
}

static void ended(struct stats *stats, struct stats_row *row, const struct fact *fact)
{
	uint64_t duration = fact->ts_ns - fact->begin_ns;

	if (!row->count || duration < row->min_ns)
		row->min_ns = duration;
	if (duration > row->max_ns)
		row->max_ns = duration;
	row->count++;
	row->sum_ns = add_up(row->sum_ns, duration);
	row->self_ns = add_up(row->self_ns, fact->self_ns);
	if (!fact->nested_in_itself) {
		row->total_ns = add_up(row->total_ns, duration);
		if (fact->kind == FACT_END)
			states(stats, row, fact->states, duration);
	}
	histogram_add(&row->histogram, histogram_bucket(duration), 1);
	if (fact->n_counters && fact->counter_deltas)
		counted(stats, row, fact);
}

/* --- counters ---------------------------------------------------------------------------------- */

/* Wide enough for 64-bit integers and doubles alike, so that they can be compared exactly. */
long double stats_number(const struct arg *value)
{
	switch (value->type) {
	case ARG_INT:
		return value->i;
	case ARG_DOUBLE:
		return value->d;
	case ARG_UINT:
	case ARG_BOOL:
	case ARG_POINTER:
		return value->u;
	default:
		return NAN;
	}
}

static void sample(struct stats *stats, const struct fact *fact, unsigned i)
{
	const struct track *track = fact->tracks[i];
	const struct arg *value = &fact->args[i];
	const struct stats_key key = {
		.category = fact->category,
		.name = track->name,
		.series = track->key,
		.owner = stats_process(stats, fact),
	};
	struct stats_row *row = stats_row_get(stats, STATS_COUNTERS, &key);
	long double n = stats_number(value);

	row->count++;
	row->last = *value;
	row->last_order = stats->events;
	if (track->unit)
		row->unit = track->unit;
	if (isnan(n))
		return;
	if (!row->numbers || n < stats_number(&row->min))
		row->min = *value;
	if (!row->numbers || n > stats_number(&row->max))
		row->max = *value;
	row->numbers++;
	row->sum += n;
}

/* What a thread's hardware counted is told by its slices: here it would be one number ever growing. */
static bool is_reading(const struct fact *fact)
{
	return fact->kind == FACT_READING ||
	       (fact->kind == FACT_COUNTER && fact->n_args && fact->tracks[0]->thread);
}

/* --- who is who -------------------------------------------------------------------------------- */

static void owner_note(struct stats *stats, const struct process *process,
		       const struct thread *thread)
{
	uint64_t uuid = thread ? thread->uuid : process->uuid;
	struct stats_owner *owner;

	HASH_FIND(hh, stats->owners, &uuid, sizeof(uuid), owner);
	if (!owner) {
		owner = calloc(1, sizeof(*owner));
		if (!owner)
			return;
		owner->uuid = uuid;
		HASH_ADD(hh, stats->owners, uuid, sizeof(owner->uuid), owner);
		if (!hash_added(hh, owner)) {
			free(owner);
			return;
		}
	}
	owner->pid = process ? process->pid : 0;
	owner->process = process ? process->name : NULL;
	owner->tid = thread ? thread->tid : 0;
	owner->thread = thread ? thread->name : NULL;
}

/* --- facts ------------------------------------------------------------------------------------- */

static void see_time(struct stats *stats, uint64_t ts_ns)
{
	if (!ts_ns)
		return;
	if (!stats->first_ns || ts_ns < stats->first_ns)
		stats->first_ns = ts_ns;
	if (ts_ns > stats->last_ns)
		stats->last_ns = ts_ns;
}

/* No mark, but what follows of a process's end. */
static bool is_gone(const struct fact *fact)
{
	return fact->memory && fact->memory->change == MEMORY_GONE;
}

static int stats_fact(struct handler *handler, const struct fact *fact)
{
	struct stats *stats = (struct stats *)handler;
	unsigned i;

	if (is_reading(fact))
		return 0;
	if (fact->kind == FACT_COUNTER && fact->continued) {
		if (fact->memory) /* what was live before is live in this one */
			stats_memory(stats, fact);
		return 0;
	}
	/* From the first mark to the last: what else is told begins before and ends after them. */
	if (fact->kind >= FACT_BEGIN && fact->kind <= FACT_FLOW_IN && !is_gone(fact))
		see_time(stats, fact->ts_ns);
	switch (fact->kind) {
	case FACT_END:
	case FACT_ASYNC_END:
		if (fact->end_reason == END_LOST)
			stats->ends_lost++;
		else if (fact->end_reason != END_NORMAL)
			stats->unfinished++;
		else if (fact->kind == FACT_END)
			ended(stats, named_row(stats, STATS_SLICES, fact), fact);
		else if (fact->is_frame)
			ended(stats, named_row(stats, STATS_FRAMES, fact), fact);
		else
			ended(stats, named_row(stats, STATS_ASYNCS, fact), fact);
		break;
	case FACT_INSTANT:
		named_row(stats, STATS_INSTANTS, fact)->count++;
		break;
	case FACT_COUNTER:
		if (fact->memory)
			stats_memory(stats, fact);
		for (i = 0; !fact->memory && i < fact->n_args; i++)
			sample(stats, fact, i);
		break;
	case FACT_BEGIN:
	case FACT_ASYNC_BEGIN:
	case FACT_FLOW_OUT:
	case FACT_FLOW_IN:
		break;
	case FACT_LEFT:
		stats_memory_left(stats, fact);
		return 0;
	case FACT_LOST:
		stats->marks_lost = add_up(stats->marks_lost, fact->count);
		return 0;
	case FACT_PROCESS:
	case FACT_THREAD:
		if (stats->per_thread)
			owner_note(stats, fact->process, fact->thread);
		return 0;
	default:
		return 0;
	}
	stats->events++;
	return 0;
}

static int stats_flush(struct handler *handler)
{
	(void)handler;
	return 0;
}

static int stats_close(struct handler *handler, const struct account *account)
{
	(void)handler, (void)account;
	return 0;
}

/* --- rows as a whole --------------------------------------------------------------------------- */

static void counted_merge(struct stats_row *to, const struct stats_row *from)
{
	unsigned i;

	if (!from->counted)
		return;
	if (!to->counted)
		to->counted = calloc(STATS_COUNTED, sizeof(*to->counted));
	for (i = 0; to->counted && i < STATS_COUNTED; i++) {
		struct stats_counted *a = &to->counted[i];
		const struct stats_counted *b = &from->counted[i];

		a->calls += b->calls;
		a->total = add_up(a->total, b->total);
		a->self = add_up(a->self, b->self);
		a->sum = add_up(a->sum, b->sum);
		a->total_ns = add_up(a->total_ns, b->total_ns);
		a->selves += b->selves;
	}
}

static void samples_merge(struct stats_row *to, const struct stats_row *from)
{
	if (from->numbers) {
		if (!to->numbers || stats_number(&from->min) < stats_number(&to->min))
			to->min = from->min;
		if (!to->numbers || stats_number(&from->max) > stats_number(&to->max))
			to->max = from->max;
	}
	if (from->last_order >= to->last_order) {
		to->last = from->last;
		to->last_order = from->last_order;
	}
	to->frees += from->frees;
	to->live = stats_bytes_sum(to->live, from->live);
	to->peak = stats_bytes_sum(to->peak, from->peak);
	to->live_before = stats_bytes_sum(to->live_before, from->live_before);
	to->leaked = add_up(to->leaked, from->leaked);
	to->leaks += from->leaks;
	to->numbers += from->numbers;
	to->sum += from->sum;
	if (from->unit)
		to->unit = from->unit;
}

void stats_row_merge(struct stats_row *to, const struct stats_row *from)
{
	if (!to->count || (from->count && from->min_ns < to->min_ns))
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	to->count += from->count;
	to->total_ns = add_up(to->total_ns, from->total_ns);
	to->self_ns = add_up(to->self_ns, from->self_ns);
	to->sum_ns = add_up(to->sum_ns, from->sum_ns);
	to->running_ns = add_up(to->running_ns, from->running_ns);
	to->runnable_ns = add_up(to->runnable_ns, from->runnable_ns);
	to->blocked_ns = add_up(to->blocked_ns, from->blocked_ns);
	histogram_merge(&to->histogram, &from->histogram);
	counted_merge(to, from);
	samples_merge(to, from);
}

void stats_row_clear(struct stats_row *row)
{
	histogram_free(&row->histogram);
	free(row->counted);
	row->counted = NULL;
}

void stats_add(struct handler *handler, enum stats_part part, const struct stats_finished *f)
{
	struct stats *stats = (struct stats *)handler;
	const struct stats_key key = {
		.category = f->category,
		.name = f->name,
		.series = f->series,
		.owner = stats->per_thread && f->thread ? f->thread->uuid : 0,
	};
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
	if (key.owner)
		owner_note(stats, f->thread->process, f->thread);
	row = f->name ? stats_row_get(stats, part, &key) : &stats->other[part];
	stats_row_merge(row, &finished);
	stats->events += f->count;
}

void stats_add_time(struct handler *handler, uint64_t wall_ns)
{
	struct stats *stats = (struct stats *)handler;

	stats->wall_ns = add_up(stats->wall_ns, wall_ns);
}

uint64_t stats_wall_ns(const struct stats *stats)
{
	return add_up(stats->wall_ns, stats->last_ns - stats->first_ns);
}

void stats_next_trace(struct handler *handler)
{
	struct stats *stats = (struct stats *)handler;

	stats->wall_ns = stats_wall_ns(stats);
	stats->first_ns = stats->last_ns = 0;
	stats_pools_next_trace(stats);
}

void stats_clear(struct handler *handler)
{
	struct stats *stats = (struct stats *)handler;
	struct stats_row *row, *next;
	int part;

	for (part = 0; part < STATS_PARTS; part++) {
		HASH_ITER (hh, stats->parts[part], row, next) {
			HASH_DEL(stats->parts[part], row);
			stats_row_clear(row);
			free(row);
		}
		stats_row_clear(&stats->other[part]);
		stats->other[part] = (struct stats_row){ .other = true };
	}
	memset(stats->recent, 0, sizeof(stats->recent));
	stats->n_leaks = 0;
	stats->events = stats->unfinished = stats->ends_lost = stats->marks_lost = 0;
	stats->first_ns = stats->last_ns = stats->wall_ns = 0;
	stats->known_ns = stats->unknown_ns = 0;
}

static void stats_free(struct handler *handler)
{
	struct stats *stats = (struct stats *)handler;
	struct stats_owner *owner, *next;

	stats_clear(handler);
	HASH_ITER (hh, stats->owners, owner, next) {
		HASH_DEL(stats->owners, owner);
		free(owner);
	}
	free(stats);
}

static const struct handler_ops stats_ops = {
	.name = "stats",
	.fact = stats_fact,
	.flush = stats_flush,
	.close = stats_close,
	.free = stats_free,
};

struct handler *stats_handler_new(void)
{
	struct stats *stats = calloc(1, sizeof(*stats));
	int part;

	if (!stats)
		return NULL;
	stats->handler.ops = &stats_ops;
	stats->limit_rows = STATS_LIMIT_ROWS;
	for (part = 0; part < STATS_PARTS; part++)
		stats->other[part].other = true;
	return &stats->handler;
}

void stats_per_thread(struct handler *handler)
{
	((struct stats *)handler)->per_thread = true;
}

uint64_t stats_events(const struct handler *handler)
{
	return ((const struct stats *)handler)->events;
}
