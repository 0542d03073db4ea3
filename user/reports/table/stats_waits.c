/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What slices waited for: the times in which their threads were blocked, by the innermost slice,
 * the reason, the file or lock, and who ended them. Waits outside of slices delay nothing that is
 * measured and are left out.
 */
#include "reports/table/stats_rows.h"

#include <stdlib.h>
#include <string.h>

static struct stats_wait *stats_wait_find(struct stats *stats, const struct stats_wait_key *key)
{
	struct stats_wait *wait;

	HASH_FIND(hh, stats->waits, key, sizeof(*key), wait);
	if (wait)
		return wait;
	if (HASH_COUNT(stats->waits) < STATS_LIMIT_WAITS) {
		wait = hash_add_new(hh, stats->waits, key, *key);
		if (wait)
			return wait;
	}
	return &stats->other_waits;
}

void stats_wait(struct stats *stats, const struct fact *fact)
{
	uint64_t ns = fact->ts_ns - fact->begin_ns;
	struct wait_about about;
	struct stats_wait_key key;
	struct stats_wait *wait;

	if (!fact->inside)
		return;
	wait_describe(fact, &about);
	memset(&key, 0, sizeof(key));
	key.slice = fact->inside;
	key.category = fact->inside_category;
	key.reason = fact->wait_reason;
	memcpy(key.on, about.on, sizeof(key.on));
	memcpy(key.by, about.by, sizeof(key.by));
	memcpy(key.by_slice, about.by_slice, sizeof(key.by_slice));
	wait = stats_wait_find(stats, &key);
	wait->count++;
	if (__builtin_add_overflow(wait->total_ns, ns, &wait->total_ns))
		wait->total_ns = UINT64_MAX;
	if (ns > wait->max_ns)
		wait->max_ns = ns;
}

/* The longest come first. The order of equal ones must not depend on that of the events. */
static int compare_waits(const void *left, const void *right)
{
	const struct stats_wait *a = *(const struct stats_wait *const *)left;
	const struct stats_wait *b = *(const struct stats_wait *const *)right;

	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	if (a->key.slice != b->key.slice)
		return a->key.slice->id < b->key.slice->id ? -1 : 1;
	return memcmp(a->key.on, b->key.on, sizeof(a->key) - offsetof(struct stats_wait_key, on));
}

const struct stats_wait **stats_waits_sorted(const struct stats *stats,
					     bool (*wanted)(const void *context,
							    const struct stats_wait_key *key),
					     const void *context, size_t *ret_n)
{
	size_t n = 0, most = HASH_COUNT(stats->waits) + 1;
	const struct stats_wait **list = calloc(most, sizeof(*list)), *wait;

	*ret_n = 0;
	if (!list)
		return NULL;
	for (wait = stats->waits; wait; wait = wait->hh.next) {
		if (wanted(context, &wait->key))
			list[n++] = wait;
	}
	qsort(list, n, sizeof(*list), compare_waits);
	if (stats->other_waits.count)
		list[n++] = &stats->other_waits;
	*ret_n = n;
	return list;
}

void stats_waits_clear(struct stats *stats)
{
	hash_clear(hh, stats->waits, wait);
	stats->other_waits = (struct stats_wait){ 0 };
}
