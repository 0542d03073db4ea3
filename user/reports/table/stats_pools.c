/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory pools: how much is live in all processes together, the peak, and what was not freed when
 * its process ended. A program may leak by the million, so only the STATS_LEAKS_KEPT largest leaks
 * are kept one by one.
 */
#include "reports/table/stats_rows.h"

int64_t stats_bytes_sum(int64_t a, int64_t b)
{
	int64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return b < 0 ? INT64_MIN : INT64_MAX;
}

static struct stats_row *stats_pool_row(struct stats *stats, const struct fact *fact)
{
	return stats_row_of(stats, STATS_POOLS, fact->category, fact->name, NULL,
			    stats_process(stats, fact));
}

void stats_memory(struct stats *stats, const struct fact *fact)
{
	const struct memory *memory = fact->memory;
	struct stats_row *row = stats_pool_row(stats, fact);

	row->count += memory->change == MEMORY_ALLOC && memory->address;
	row->frees += memory->change == MEMORY_FREE && memory->address;
	row->live = stats_bytes_sum(row->live, memory->growth);
	if (row->live > row->peak)
		row->peak = row->live;
}

/* Larger leaks come first; the order of equal ones must not depend on the order of events. */
static bool leak_is_larger(const struct stats_leak *a, const struct stats_leak *b)
{
	if (a->size != b->size)
		return a->size > b->size;
	if (a->pid != b->pid)
		return a->pid < b->pid;
	return a->address < b->address;
}

static void insert_leak(struct stats *stats, const struct stats_leak *leak)
{
	unsigned i = stats->n_leaks;

	if (i == STATS_LEAKS_KEPT) {
		if (!leak_is_larger(leak, &stats->leaks[i - 1]))
			return;
		i--;
	} else {
		stats->n_leaks++;
	}
	for (; i && leak_is_larger(leak, &stats->leaks[i - 1]); i--)
		stats->leaks[i] = stats->leaks[i - 1];
	stats->leaks[i] = *leak;
}

void stats_memory_left(struct stats *stats, const struct fact *fact)
{
	const struct memory *memory = fact->memory;
	struct stats_row *row = stats_pool_row(stats, fact);
	const struct stats_leak leak = {
		.category = fact->category,
		.pool = fact->name,
		.slice = memory->slice,
		.address = memory->address,
		.size = memory->size,
		.pid = fact->process ? fact->process->pid : 0,
		.tid = memory->tid,
	};

	row->leaks++;
	if (__builtin_add_overflow(row->leaked, memory->size, &row->leaked))
		row->leaked = UINT64_MAX;
	insert_leak(stats, &leak);
}

/* What is live at the end of a trace is independent of the next trace. */
void stats_pools_next_trace(struct stats *stats)
{
	struct stats_row *row;

	for (row = stats->parts[STATS_POOLS]; row; row = row->hh.next) {
		row->live_before = stats_bytes_sum(row->live_before, row->live);
		row->live = 0;
	}
	row = &stats->other[STATS_POOLS];
	row->live_before = stats_bytes_sum(row->live_before, row->live);
	row->live = 0;
}
