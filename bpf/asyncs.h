/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Asynchronous slices that are open, of all threads and processes.
 *
 * They lie in bundles, each of which is looked through. Each slice has a bundle among a few that are
 * near, by its key: as long as no more are open than these hold, all of them stay in the first cache.
 * What finds its near bundle full goes far: into the bundle where ids that follow one another lie side
 * by side and all get room, or into another one that only its key tells. An END looks there only while
 * its near bundle has sent any away.
 */
#ifndef PROFTRACE_BPF_ASYNCS_H
#define PROFTRACE_BPF_ASYNCS_H

#include "rows.h"

__u32 asyncs_spilled[TABLE_NEAR]; /* of each near bundle: how many are far */
__u32 asyncs_spilled_twice;	  /* whether one ever found its first far bundle full */

/*
 * What tells this asynchronous slice from others. Its last bits say which bundle is near: ids that
 * follow one another lie side by side, and what was used just now is still in the cache.
 */
static __always_inline __u64 async_key(const struct table_thread *t, __u64 id, __u64 text)
{
	__u64 key = mix(mix(text, id), t->tgid) & ~(TABLE_NEAR - 1ull);

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

/* As many ids as there are far bundles have one each. */
static __always_inline __u32 first_far(__u64 id, __u64 text)
{
	return text + (id ^ id >> 7 ^ id >> 17);
}

static __always_inline __u32 other_far(__u64 key)
{
	return key >> 32;
}

static __always_inline bool begin_in(struct table_bundle *b, const struct table_thread *t,
				     __u64 key)
{
	int i;

	for (i = 0; i < TABLE_BUNDLE; i++) {
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

/* Its near bundle is full. 0: there is no room for it. */
__noinline int begin_far(struct table_thread *t, __u64 key, __u32 first)
{
	__u32 *spilled = &asyncs_spilled[TABLE_NEAR_OF(key)];
	struct table_bundle *b = far_bundle_at(first);

	if (!t || !b)
		return 0;
	/* Before it is there: its END may come from another thread. */
	__sync_fetch_and_add(spilled, 1);
	if (begin_in(b, t, key))
		return 1;
	asyncs_spilled_twice = 1;
	b = far_bundle_at(other_far(key));
	if (b && begin_in(b, t, key))
		return 1;
	__sync_fetch_and_add(spilled, -1);
	return 0;
}

/* 0: there is no room for it. */
__noinline int begin_async(struct table_thread *t, __u64 key, __u32 far)
{
	struct table_bundle *b = bundle_at(TABLE_NEAR_OF(key));

	if (!t || !b)
		return 0;
	return begin_in(b, t, key) || begin_far(t, key, far);
}

/* Where the key is of a bundle's slice, or `found`, that began last; of frames, first. */
static __always_inline __u64 *find_in(struct table_bundle *b, __u64 key, bool first, __u64 *found,
				      __u64 *begin)
{
	int i;

	for (i = 0; i < TABLE_BUNDLE; i++) {
		if (b->keys[i] != key || (found && (b->begins[i] < *begin) != first))
			continue;
		*begin = b->begins[i];
		found = &b->keys[i];
	}
	return found;
}

static __always_inline bool take_out(__u64 *found, __u64 key)
{
	return found && __sync_val_compare_and_swap(found, key, 0) == key;
}

/* As end_async(), of a slice whose near bundle has sent some away. */
__noinline __u64 end_far(__u64 key, __u32 far, __u32 is_frame)
{
	__u32 near = TABLE_NEAR_OF(key);
	struct table_bundle *b = bundle_at(near);
	__u64 begin = 0, *nearest, *found;

	if (!b)
		return 0;
	nearest = find_in(b, key, is_frame, NULL, &begin);
	found = nearest;
	b = far_bundle_at(far);
	if (b)
		found = find_in(b, key, is_frame, found, &begin);
	if (asyncs_spilled_twice) {
		b = far_bundle_at(other_far(key));
		if (b)
			found = find_in(b, key, is_frame, found, &begin);
	}
	if (!take_out(found, key))
		return 0;
	if (found != nearest)
		__sync_fetch_and_add(&asyncs_spilled[near], -1);
	return begin;
}

/*
 * When it began: the latest of those that are open, of frames the first. 0: none is, or another END
 * has just taken it.
 */
__noinline __u64 end_async(__u64 key, __u32 far, __u32 is_frame)
{
	__u32 near = TABLE_NEAR_OF(key);
	struct table_bundle *b;
	__u64 begin = 0;

	if (*(volatile __u32 *)&asyncs_spilled[near])
		return end_far(key, far, is_frame);
	b = bundle_at(near);
	if (!b || !take_out(find_in(b, key, is_frame, NULL, &begin), key))
		return 0;
	return begin;
}

#endif
