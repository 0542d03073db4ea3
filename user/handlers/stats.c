/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The statistics: one row per category and name, for slices, asynchronous slices and instants, and
 * one per series for counters; over all processes and threads together.
 */
#include "handlers/stats_rows.h"

#include <math.h>
#include <stdlib.h>

static struct stats_row *row_get(struct stats *stats, enum stats_part part,
				 const struct name *group, const struct name *name)
{
	struct stats_key key = { .group = group, .name = name };
	struct stats_row *row;

	HASH_FIND(hh, stats->parts[part], &key, sizeof(key), row);
	if (row)
		return row;
	if (HASH_CNT(hh, stats->parts[part]) >= stats->limit_rows)
		return &stats->other[part];
	row = calloc(1, sizeof(*row));
	if (!row)
		return &stats->other[part];
	row->key = key;
	HASH_ADD(hh, stats->parts[part], key, sizeof(key), row);
	if (!hash_added(hh, row)) {
		free(row);
		return &stats->other[part];
	}
	return row;
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void counted(struct stats *stats, struct stats_row *row, const struct fact *fact)
{
	unsigned i;

	stats->n_counters = fact->n_counters;
	for (i = 0; i < fact->n_counters; i++) {
		stats->counters[i] = fact->counter_tracks[i]->name;
		if (!fact->nested_in_itself && fact->counter_deltas[i] != EVENT_NO_VALUE)
			row->counters[i] = add_up(row->counters[i], fact->counter_deltas[i]);
	}
}

static void slice(struct stats *stats, enum stats_part part, const struct fact *fact)
{
	uint64_t duration = fact->ts_ns - fact->begin_ns;
	struct stats_row *row;

	if (fact->end_reason != END_NORMAL) {
		stats->without_end++;
		return;
	}
	row = row_get(stats, part, fact->category, fact->name);
	if (!row->count || duration < row->min_ns)
		row->min_ns = duration;
	if (duration > row->max_ns)
		row->max_ns = duration;
	row->count++;
	row->sum_ns = add_up(row->sum_ns, duration);
	row->self_ns = add_up(row->self_ns, fact->self_ns);
	if (!fact->nested_in_itself)
		row->total_ns = add_up(row->total_ns, duration);
	if (fact->kind == FACT_END && fact->n_counters)
		counted(stats, row, fact);
}

/* Wide enough for 64-bit integers and doubles alike, so that they can be compared exactly. */
static long double number(const struct arg *value)
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

static void sample(struct stats *stats, const struct track *track, const struct arg *value)
{
	struct stats_row *row = row_get(stats, STATS_COUNTERS, track->name, track->key);
	long double n = number(value);

	row->count++;
	row->last = *value;
	if (track->unit)
		row->unit = track->unit;
	if (isnan(n))
		return;
	if (!row->numbers || n < number(&row->min))
		row->min = *value;
	if (!row->numbers || n > number(&row->max))
		row->max = *value;
	row->numbers++;
	row->sum += n;
}

static void see_time(struct stats *stats, uint64_t ts_ns)
{
	if (!ts_ns)
		return;
	if (!stats->first_ns || ts_ns < stats->first_ns)
		stats->first_ns = ts_ns;
	if (ts_ns > stats->last_ns)
		stats->last_ns = ts_ns;
}

static int stats_fact(struct handler *handler, const struct fact *fact)
{
	struct stats *stats = (struct stats *)handler;
	unsigned i;

	/* From the first mark to the last: what else is told begins before and ends after them. */
	if (fact->kind >= FACT_BEGIN && fact->kind <= FACT_FLOW_IN)
		see_time(stats, fact->ts_ns);
	switch (fact->kind) {
	case FACT_END:
		slice(stats, STATS_SLICES, fact);
		break;
	case FACT_ASYNC_END:
		slice(stats, STATS_ASYNCS, fact);
		break;
	case FACT_INSTANT:
		row_get(stats, STATS_INSTANTS, fact->category, fact->name)->count++;
		break;
	case FACT_COUNTER:
		for (i = 0; i < fact->n_args; i++)
			sample(stats, fact->tracks[i], &fact->args[i]);
		break;
	case FACT_BEGIN:
	case FACT_ASYNC_BEGIN:
	case FACT_FLOW_OUT:
	case FACT_FLOW_IN:
		break;
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

static void stats_free(struct handler *handler)
{
	struct stats *stats = (struct stats *)handler;
	struct stats_row *row, *next;
	int part;

	for (part = 0; part < STATS_PARTS; part++) {
		HASH_ITER (hh, stats->parts[part], row, next) {
			HASH_DEL(stats->parts[part], row);
			free(row);
		}
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

uint64_t stats_events(const struct handler *handler)
{
	return ((const struct stats *)handler)->events;
}
