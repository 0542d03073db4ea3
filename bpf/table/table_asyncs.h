/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The open asynchronous slices of all threads and processes.
 *
 * The table consists of bundles of a few slots, each searched linearly. The key of a slice selects
 * one of a small number of near bundles; as long as these have free slots, the whole working set
 * stays in the first-level cache. A slice whose near bundle is full is stored far away. Its first
 * far bundle depends on the id, so that consecutive ids are spread over all bundles; its second one
 * depends on the hash. An END only searches far bundles while its near bundle counts slices there.
 */
#ifndef PROFTRACE_BPF_TABLE_ASYNCS_H
#define PROFTRACE_BPF_TABLE_ASYNCS_H

#include "bpf/table/table_rows.h"

__u32 asyncs_spilled[TABLE_NEAR]; /* per near bundle: number of slices in far bundles */
__u32 asyncs_spilled_twice;	  /* whether a first far bundle was ever full */

/*
 * The key of an asynchronous slice. Its low bits select the near bundle: consecutive ids use
 * neighbouring bundles, which are likely to be in the cache.
 */
static __always_inline __u64 async_key(const struct table_thread *t, __u64 id, __u64 text)
{
	__u64 key = hash_mix(hash_mix(text ^ table_secret, id), t->tgid) & ~(TABLE_NEAR - 1ull);

	key |= TABLE_NEAR_OF(text + (id ^ id >> 7 ^ id >> 17));
	return key > TABLE_ASYNC_BUSY ? key : key + 2;
}

static __always_inline struct table_bundle *bundle_at(__u32 index)
{
	return bpf_map_lookup_elem(&table_asyncs, &index);
}

static __always_inline struct table_bundle *far_bundle_at(__u32 hash)
{
	return bundle_at(TABLE_NEAR + (hash & (TABLE_BUNDLES - 1)));
}

/* As many consecutive ids as there are far bundles get one each. */
static __always_inline __u32 first_far_bundle(__u64 id, __u64 text)
{
	return text + (id ^ id >> 7 ^ id >> 17);
}

static __always_inline __u32 second_far_bundle(__u64 key)
{
	return key >> 32;
}

static __always_inline bool bundle_insert(struct table_bundle *b, const struct table_thread *t,
					  __u64 key)
{
	for (int i = 0; i < TABLE_BUNDLE; i++) {
		struct table_async *a = &b->asyncs[i];

		if (b->keys[i] || __sync_val_compare_and_swap(&b->keys[i], 0, TABLE_ASYNC_BUSY))
			continue;
		a->tgid = t->tgid;
		a->site = t->site;
		a->name = (__s32)t->id;
		a->what = t->what;
		b->begins[i] = bpf_ktime_get_ns();
		barrier();
		b->keys[i] = key;
		return true;
	}
	return false;
}

/* Stores a slice whose near bundle is full. Returns 0 if the far bundles are full, too. */
__noinline int insert_far_async(struct table_thread *t, __u64 key, __u32 first)
{
	__u32 *spilled = &asyncs_spilled[TABLE_NEAR_OF(key)];
	struct table_bundle *b = far_bundle_at(first);

	if (!t || !b)
		return 0;
	/* Counted before it is inserted, since its END may come from another thread. */
	__sync_fetch_and_add(spilled, 1);
	if (bundle_insert(b, t, key))
		return 1;
	asyncs_spilled_twice = 1;
	b = far_bundle_at(second_far_bundle(key));
	if (b && bundle_insert(b, t, key))
		return 1;
	__sync_fetch_and_add(spilled, -1);
	return 0;
}

/* Returns 0 if there is no free slot. */
__noinline int begin_async(struct table_thread *t, __u64 key, __u32 far)
{
	struct table_bundle *b = bundle_at(TABLE_NEAR_OF(key));

	if (!t || !b)
		return 0;
	return bundle_insert(b, t, key) || insert_far_async(t, key, far);
}

/*
 * The slot of the slice of a process with this key that began last, or of a frame that began first;
 * `found` is the best one of other bundles. The process is compared as well, since a key is a hash
 * of numbers that another process may choose.
 */
static __always_inline __u64 *bundle_find(struct table_bundle *b, __u64 key, __u32 tgid, bool first,
					  __u64 *found, __u64 *begin)
{
	for (int i = 0; i < TABLE_BUNDLE; i++) {
		if (b->keys[i] != key || b->asyncs[i].tgid != tgid ||
		    (found && (b->begins[i] < *begin) != first))
			continue;
		*begin = b->begins[i];
		found = &b->keys[i];
	}
	return found;
}

static __always_inline bool remove_async(__u64 *found, __u64 key)
{
	return found && __sync_val_compare_and_swap(found, key, 0) == key;
}

/* As end_async(), for a slice whose near bundle counts slices in far bundles. */
__noinline __u64 end_far_async(__u64 key, __u32 tgid, __u32 far, __u32 is_frame)
{
	__u32 near = TABLE_NEAR_OF(key);
	struct table_bundle *b = bundle_at(near);
	__u64 begin = 0, *nearest, *found;

	if (!b)
		return 0;
	nearest = bundle_find(b, key, tgid, is_frame, NULL, &begin);
	found = nearest;
	b = far_bundle_at(far);
	if (b)
		found = bundle_find(b, key, tgid, is_frame, found, &begin);
	if (asyncs_spilled_twice) {
		b = far_bundle_at(second_far_bundle(key));
		if (b)
			found = bundle_find(b, key, tgid, is_frame, found, &begin);
	}
	if (!remove_async(found, key))
		return 0;
	if (found != nearest)
		__sync_fetch_and_add(&asyncs_spilled[near], -1);
	return begin;
}

/*
 * Removes an asynchronous slice and returns when it began: the latest one that is open, or the
 * first one for frames. 0: there is none, or another END has just removed it.
 */
__noinline __u64 end_async(__u64 key, __u32 tgid, __u32 far, __u32 is_frame)
{
	__u32 near = TABLE_NEAR_OF(key);
	struct table_bundle *b;
	__u64 begin = 0;

	if (*(volatile __u32 *)&asyncs_spilled[near])
		return end_far_async(key, tgid, far, is_frame);
	b = bundle_at(near);
	if (!b || !remove_async(bundle_find(b, key, tgid, is_frame, NULL, &begin), key))
		return 0;
	return begin;
}

#endif
