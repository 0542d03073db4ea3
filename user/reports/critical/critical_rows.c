/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums the paths of all slices up: of all, of those around the median, and of the slowest. */
#include "reports/critical/critical_internal.h"

#include <stdlib.h>
#include <string.h>

struct critical_row *critical_row_get(struct critical *c, const struct critical_row_key *key)
{
	struct critical_row_key own;
	struct critical_row *row;

	/* The padding is part of the hash. */
	memset(&own, 0, sizeof(own));
	own.thread = key->thread;
	own.slice = key->slice;
	own.on = key->on;
	own.woken_by = key->woken_by;
	own.state = key->state;
	own.reason = key->reason;
	HASH_FIND(hh, c->rows, &own, sizeof(own), row);
	if (!row && HASH_COUNT(c->rows) < CRITICAL_MOST_ROWS)
		row = hash_add_new(hh, c->rows, key, own);
	return row ? row : &c->other;
}

static uint64_t instance_ns(const struct critical_instance *in)
{
	return in->to_ns - in->from_ns;
}

static int compare_instances(const void *left, const void *right)
{
	const struct critical_instance *a = left, *b = right;

	if (instance_ns(a) != instance_ns(b))
		return instance_ns(a) < instance_ns(b) ? -1 : 1;
	return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

static int compare_begins(const void *left, const void *right)
{
	const struct critical_instance *a = left, *b = right;

	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return a->to_ns < b->to_ns ? -1 : a->to_ns > b->to_ns;
}

void critical_sort_by_begin(struct critical *c)
{
	if (c->n_instances)
		qsort(c->instances, c->n_instances, sizeof(*c->instances), compare_begins);
}

static void sum_up_instance(struct critical *c, const struct critical_instance *in, bool median,
			    bool slowest)
{
	c->total_ns += instance_ns(in);
	c->median_ns += median ? instance_ns(in) : 0;
	c->slowest_ns += slowest ? instance_ns(in) : 0;
	for (uint32_t i = 0; i < in->n_parts; i++) {
		const struct critical_part *part = &in->parts[i];
		uint64_t ns = part->to_ns - part->from_ns;

		part->row->count++;
		part->row->total_ns += ns;
		part->row->median_ns += median ? ns : 0;
		part->row->slowest_ns += slowest ? ns : 0;
	}
}

void critical_sum_up(struct critical *c)
{
	uint32_t n = c->n_instances, i, first;

	if (!n)
		return;
	qsort(c->instances, n, sizeof(*c->instances), compare_instances);
	c->n_median = n < 10 ? 1 : n / 10;
	c->n_slowest = n < 100 ? 1 : n / 100;
	first = (n - 1) / 2 - (c->n_median - 1) / 2;
	for (i = 0; i < n; i++)
		sum_up_instance(c, &c->instances[i], i >= first && i < first + c->n_median,
				i >= n - c->n_slowest);
}

static int compare_rows(const void *left, const void *right)
{
	const struct critical_row *a = *(const struct critical_row *const *)left;
	const struct critical_row *b = *(const struct critical_row *const *)right;

	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	if (a->key.state != b->key.state)
		return a->key.state < b->key.state ? -1 : 1;
	return a->count > b->count ? -1 : a->count < b->count;
}

const struct critical_row **critical_rows_sorted(const struct critical *c, size_t *ret_n)
{
	const struct critical_row **list = calloc(HASH_COUNT(c->rows) + 1, sizeof(*list)), *row;
	size_t n = 0;

	if (!list)
		return NULL;
	for (row = c->rows; row; row = row->hh.next) {
		if (row->total_ns)
			list[n++] = row;
	}
	if (c->other.total_ns)
		list[n++] = &c->other;
	qsort(list, n, sizeof(*list), compare_rows);
	*ret_n = n;
	return list;
}
