/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Explains a change: the average time of a slice is its own time plus that of the slices inside it,
 * so the change of the average is the sum of their changes, exactly. The same time is also the sum
 * of what the thread did meanwhile: it ran, waited for a CPU, or was blocked.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/diff_internal.h"

/* How much more time a slice of this name takes on average on side B. */
static double average_change(uint64_t total_a, uint64_t count_a, uint64_t total_b, uint64_t count_b)
{
	double a = count_a ? (double)total_a / (double)count_a : 0;
	double b = count_b ? (double)total_b / (double)count_b : 0;

	return b - a;
}

#define AVERAGE_CHANGE(row, member)                                                        \
	average_change((row)->side[0].member, (row)->side[0].count, (row)->side[1].member, \
		       (row)->side[1].count)

static double edge_change(const struct diff_edge *edge)
{
	const struct diff_row *parent = edge->key.parent;

	return average_change(edge->total[0], parent->side[0].count, edge->total[1],
			      parent->side[1].count);
}

/* Keeps the largest changes, whatever their sign. */
static void keep_cause(struct diff_why *why, const struct diff_row *row, double change_ns)
{
	unsigned i = why->n_children < DIFF_CAUSES ? why->n_children++ : DIFF_CAUSES;

	for (; i && fabs(why->children[i - 1].change_ns) < fabs(change_ns); i--) {
		if (i < DIFF_CAUSES)
			why->children[i] = why->children[i - 1];
	}
	if (i < DIFF_CAUSES)
		why->children[i] = (struct diff_cause){ row, change_ns };
}

static void explain_states(const struct diff_row *row, struct diff_why *why)
{
	const struct diff_sums *a = &row->side[0], *b = &row->side[1];

	why->has_states = diff_knows_states(a) && diff_knows_states(b);
	if (!why->has_states)
		return;
	why->running_ns = average_change(a->running, a->states, b->running, b->states);
	why->runnable_ns = average_change(a->runnable, a->states, b->runnable, b->states);
	why->blocked_ns = average_change(a->blocked, a->states, b->blocked, b->states);
}

static void explain_counters(const struct diff *d, const struct diff_row *row, struct diff_why *why)
{
	const struct diff_sums *a = &row->side[0], *b = &row->side[1];

	for (unsigned i = 0; i < d->n_counters; i++) {
		if (!a->with_counter[i] || !b->with_counter[i])
			continue;
		why->counters[why->n_counters++] = (struct diff_counter_change){
			d->counters[i],
			(double)a->counted[i] / (double)a->with_counter[i],
			(double)b->counted[i] / (double)b->with_counter[i],
		};
	}
}

/* The child with the largest part of the change, if that is at least half of it; else NULL. */
static const struct diff_row *main_child(const struct diff *d, const struct diff_row *row,
					 double change_ns)
{
	const struct diff_edge *edge;
	const struct diff_row *found = NULL;
	double most = fabs(change_ns) / 2;

	for (edge = d->edges; edge; edge = edge->hh.next) {
		double part = edge_change(edge);

		if (edge->key.parent != row || edge->key.child == row ||
		    (part > 0) != (change_ns > 0) || fabs(part) < most)
			continue;
		most = fabs(part);
		found = edge->key.child;
	}
	return found;
}

static bool path_has(const struct diff_why *why, const struct diff_row *row)
{
	for (unsigned i = 0; i < why->n_path; i++) {
		if (why->path[i] == row)
			return true;
	}
	return false;
}

/* From the outermost slice around it down to where most of the change comes from. */
static void explain_path(const struct diff *d, const struct diff_row *row, struct diff_why *why)
{
	const struct diff_row *above[DIFF_CAUSES], *at;
	unsigned n = 0, i;

	for (at = row->parent; at && n < DIFF_CAUSES / 2; at = at->parent) {
		for (i = 0; i < n && above[i] != at; i++)
			;
		if (i < n || at == row)
			break;
		above[n++] = at;
	}
	while (n)
		why->path[why->n_path++] = above[--n];
	for (at = row; at && why->n_path < DIFF_CAUSES && !path_has(why, at);
	     at = main_child(d, at, AVERAGE_CHANGE(at, total)))
		why->path[why->n_path++] = at;
}

void diff_explain(const struct diff *d, const struct diff_row *row, struct diff_why *why)
{
	const struct diff_edge *edge;

	*why = (struct diff_why){ 0 };
	if (!row->side[0].count || !row->side[1].count)
		return;
	why->change_ns = AVERAGE_CHANGE(row, total);
	why->self_ns = AVERAGE_CHANGE(row, self);
	for (edge = d->edges; edge; edge = edge->hh.next) {
		if (edge->key.parent == row)
			keep_cause(why, edge->key.child, edge_change(edge));
	}
	explain_states(row, why);
	explain_counters(d, row, why);
	explain_path(d, row, why);
}

void diff_find_parents(struct diff *d)
{
	struct diff_edge *edge;
	struct diff_row *row;

	for (edge = d->edges; edge; edge = edge->hh.next) {
		row = edge->key.child;
		if (edge->key.parent != row && edge->total[1] + edge->total[0] > row->parent_ns) {
			row->parent_ns = edge->total[1] + edge->total[0];
			row->parent = edge->key.parent;
		}
	}
}
