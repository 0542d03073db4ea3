// SPDX-License-Identifier: BSD-2-Clause
/*
 * Samples of counters: minimum, maximum, last value and sum of what may be 64-bit integers, signed
 * or not, and doubles, in any order.
 */
#include "reports/table/stats_rows.h"

#include <math.h>

/* A long double holds 64-bit integers and doubles exactly, so that they can be compared. */
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

long double stats_sum(const struct stats_row *row)
{
	return row->sum + (long double)row->whole;
}

/* The first sample, or one that is not an integer of the same type as all before it. */
static __attribute__((noinline)) void add_mixed_sample(struct stats_row *row,
						       const struct arg *value)
{
	long double n = stats_number(value);

	if (isnan(n))
		return;
	if (!row->numbers || n < stats_number(&row->min))
		row->min = *value;
	if (!row->numbers || n > stats_number(&row->max))
		row->max = *value;
	row->sum = stats_sum(row);
	row->whole = 0;
	row->integers = 0;
	if (!row->numbers++ && (value->type == ARG_INT || value->type == ARG_UINT)) {
		row->integers = value->type;
		row->whole = value->type == ARG_INT ? (__int128)value->i : (__int128)value->u;
	} else {
		row->sum += n;
	}
}

/*
 * The common case: all samples are integers of one type. A long double would cost as much as all
 * the rest.
 */
static inline void add_integer_sample(struct stats_row *row, const struct arg *value)
{
	bool is_signed = value->type == ARG_INT;

	if (is_signed ? value->i < row->min.i : value->u < row->min.u)
		row->min = *value;
	if (is_signed ? value->i > row->max.i : value->u > row->max.u)
		row->max = *value;
	row->whole += is_signed ? (__int128)value->i : (__int128)value->u;
	row->numbers++;
}

/* The owner of the row, if each has its own. */
static inline uint64_t sample_owner(const struct stats *stats, const struct fact *fact,
				    const struct track *track)
{
	if (stats->per_thread && track->thread)
		return track->thread->uuid;
	return stats_process(stats, fact);
}

void stats_sample(struct stats *stats, const struct fact *fact, unsigned i)
{
	const struct track *track = fact->tracks[i];
	const struct arg *value = &fact->args[i];
	struct stats_row *row = stats_row_of(stats, STATS_COUNTERS, fact->category, track->name,
					     track->key, sample_owner(stats, fact, track));

	row->count++;
	row->last = *value;
	row->last_order = stats->events;
	if (track->unit)
		row->unit = track->unit;
	if (row->integers == value->type)
		add_integer_sample(row, value);
	else
		add_mixed_sample(row, value);
}

void stats_samples_merge(struct stats_row *to, const struct stats_row *from)
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
	to->numbers += from->numbers;
	to->sum = stats_sum(to) + stats_sum(from);
	to->whole = 0;
	to->integers = 0;
	if (from->unit)
		to->unit = from->unit;
}
