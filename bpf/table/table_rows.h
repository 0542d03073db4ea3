/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocating slots of the tables to threads, and finding the row of a mark.
 *
 * A row is found by a hash of its thread, site and name with open addressing. Another row of the
 * same text on the same thread is found by the thread's hash chains: the new row then refers to
 * that one as its target.
 */
#ifndef PROFTRACE_BPF_TABLE_ROWS_H
#define PROFTRACE_BPF_TABLE_ROWS_H

#include "bpf/state.h"
#include "bpf/table/table.h"

const volatile __u32 table_mask = 0; /* rows - 1 */
/*
 * Set by the broker before the programs are loaded, and part of what selects the slots of rows and of open asynchronous slices.
 * A recorded process chooses its names, ids and series. If it knew the hashes, it could take all slots in which what another
 * process adds is searched for.
 */
const volatile __u64 table_secret = 0;

/*
 * Free slots for threads, a ring that the recorder fills. It puts slots back when their threads
 * have exited.
 */
__u32 table_free[TABLE_THREADS];
__u32 table_free_head; /* next slot to allocate */
__u32 table_free_tail; /* next position to fill */
__u32 tables_over;     /* threads that have exited */
__u32 table_resets;    /* number of resets */

/* The broker sets the sizes. Without tables each map has one element. */
#define TABLE_MAP(map, struct_type)                \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);  \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, 1);            \
		__type(key, __u32);                \
		__type(value, struct struct_type); \
	} map SEC(".maps")

TABLE_MAP(table_threads, table_thread);
TABLE_MAP(table_rows, table_row);
TABLE_MAP(table_pages, table_page);
TABLE_MAP(table_asyncs, table_bundle);

static __always_inline struct table_row *row_at(__u32 index)
{
	return bpf_map_lookup_elem(&table_rows, &index);
}

static __always_inline struct table_page *page_at(__u32 index)
{
	return bpf_map_lookup_elem(&table_pages, &index);
}

static __always_inline __u64 hash_mix(__u64 a, __u64 b)
{
	a = (a ^ b) * 0x9e3779b97f4a7c15ull;
	return a ^ a >> 29;
}

/* Allocates a slot and returns its number + 1, or 0 if there is none. */
static __always_inline __u32 allocate_table_place(void)
{
	for (int attempt = 0; attempt < TABLE_PROBES; attempt++) {
		__u32 head = *(volatile __u32 *)&table_free_head, place;

		if (head == *(volatile __u32 *)&table_free_tail)
			return 0;
		place = table_free[head & (TABLE_THREADS - 1)];
		if (__sync_val_compare_and_swap(&table_free_head, head, head + 1) == head)
			return place + 1;
	}
	return 0;
}

static __always_inline struct table_thread *table_thread_at(__u32 owner)
{
	__u32 place = owner - 1;

	return owner ? bpf_map_lookup_elem(&table_threads, &place) : NULL;
}

/* Allocates the thread's slot at its first mark. All of it is 0 then. */
static __noinline int table_thread_begin(struct thread_state *st, __u64 pid_tgid)
{
	struct table_thread *t;

	if (!st)
		return 0;
	st->table = allocate_table_place();
	t = table_thread_at(st->table);
	if (!t)
		return 0;
	t->owner = st->table;
	t->tgid = pid_tgid >> 32;
	t->tid = (__u32)pid_tgid;
	bpf_get_current_comm(t->comm, sizeof(t->comm));
	__sync_lock_test_and_set(&t->state, TABLE_THREAD_LIVE);
	return 0;
}

#define TABLE_OVER 16 /* so many exited threads wake the recorder */

/*
 * Leaves the slot to the recorder, since the thread or its program has ended. Returns whether to
 * wake the recorder.
 */
static __always_inline bool table_thread_end(struct thread_state *st)
{
	struct table_thread *t = table_thread_at(st->table);

	st->table = 0;
	if (!t)
		return false;
	__sync_lock_test_and_set(&t->state, TABLE_THREAD_OVER);
	return !(__sync_fetch_and_add(&tables_over, 1) & (TABLE_OVER - 1));
}

/* Reads a string of at most MAX_NAME bytes and adds it to the hash in t->text. */
__noinline int read_name_string(struct table_thread *t, __u64 address, __u32 is_more)
{
	__u64 *to, hash;
	long n;

	if (!t)
		return -1;
	to = is_more ? t->more : t->bytes;
	/* One byte for the NUL, and one to recognise a longer string. */
	n = bpf_probe_read_user_str(to, MAX_NAME + 2, (void *)address);
	if (n <= 0)
		return -1;
	n--;
	if (n > MAX_NAME) {
		n = MAX_NAME;
		t->what |= TABLE_CUT;
	}
	hash = t->text;
	for (int i = 0; i < MAX_NAME / 8; i++) {
		__u32 left = n - 8 * i;

		if (8 * i >= n)
			break;
		if (left < 8)
			to[i] &= (1ull << (8 * left)) - 1;
		hash = hash_mix(hash, to[i]);
	}
	t->text = hash_mix(hash, n);
	return n;
}

/* Reads the name and the categories and hashes them. */
__noinline int read_mark_text(struct table_thread *t, __u64 address)
{
	__u32 kind;
	int n;

	if (!t)
		return 0;
	t->length = 0;
	t->more_length = 0;
	kind = t->kind == RECORD_ASYNC_END ? RECORD_ASYNC_BEGIN : t->kind;
	if (TABLE_CLASS(t->what) == TABLE_FRAME)
		kind |= TABLE_OBJECT(TABLE_FRAME);
	t->text = hash_mix(t->category, kind);
	n = read_name_string(t, address, 0);
	if (n < 0) {
		t->text = hash_mix(t->text, hash_mix(t->id, t->site));
		return 0;
	}
	t->length = n;
	if (!t->categories)
		return 0;
	n = read_name_string(t, t->categories, 1);
	if (n > 0)
		t->more_length = n;
	return 0;
}

static __always_inline __u32 other_row(__u32 kind)
{
	switch (kind) {
	case RECORD_BEGIN:
		return TABLE_OTHER_SLICES;
	case RECORD_COUNTER:
	case RECORD_STEP:
		return TABLE_OTHER_COUNTERS;
	case RECORD_INSTANT:
		return TABLE_OTHER_INSTANTS;
	}
	return TABLE_OTHER_ASYNCS;
}

static __always_inline __u32 row_hash(const struct table_thread *t)
{
	return hash_mix(hash_mix(t->id ^ table_secret, t->site),
			(__u64)t->owner << 32 | (t->what & TABLE_SERIES)) >>
	       32;
}

static __always_inline bool row_matches(const struct table_row *row, const struct table_thread *t)
{
	return row->owner == t->owner && row->id == t->id && row->site == t->site &&
	       !((row->what ^ t->what) & ~TABLE_CUT);
}

/*
 * Finds a row of the thread with the same text. One name may come from several places, such as
 * literals in two libraries. They share a row, else a slice would not be recognised as nested in
 * one of the same name.
 */
__noinline int find_same_text(struct table_thread *t)
{
	__u32 index;

	if (!t)
		return 0;
	index = t->chains[t->text & (TABLE_CHAINS - 1)];
	for (__u32 i = 0; i < 256; i++) {
		struct table_row *row = row_at(index);

		if (!index || !row)
			return 0;
		if (row->text == t->text && row->target == index)
			return index;
		index = row->next;
	}
	return 0;
}

__noinline int fill_row(struct table_thread *t, __u32 index, __u32 target)
{
	struct table_row *row = row_at(index);
	struct table_page *page = page_at(index);
	__u32 *chain;

	if (!t || !row || !page)
		return 0;
	chain = &t->chains[t->text & (TABLE_CHAINS - 1)];
	row->id = t->id;
	row->site = t->site;
	row->what = t->what;
	row->text = t->text;
	row->length = t->length;
	row->more_length = t->more_length;
	row->keys = t->keys;
	row->categories = t->categories_distance;
	row->resets = table_resets - 1;
	row->next = *chain;
	for (int i = 0; i < MAX_NAME / 8; i++)
		((__u64 *)page->name)[i] = t->bytes[i];
	for (int i = 0; t->more_length && i < MAX_NAME / 8; i++)
		((__u64 *)page->more)[i] = t->more[i];
	*chain = index;
	__sync_lock_test_and_set(&row->target, target);
	return target;
}

/*
 * Finds the row for the key in `t`, or adds one; for a new row the name is read unless it has been.
 * A global function, so that the verifier checks it only once.
 */
__noinline int find_or_add_row(struct table_thread *t, __u64 address)
{
	__u32 hash, target;

	if (!t)
		return 0;
	hash = row_hash(t);
	for (__u32 i = 0; i < TABLE_PROBES; i++) {
		struct table_row *row = row_at(TABLE_FIRST_ROW + ((hash + i) & table_mask));

		if (!row)
			return 0;
		if (row_matches(row, t))
			return row->target;
	}
	if (!(t->what & TABLE_DYNAMIC))
		read_mark_text(t, address);
	target = other_row(t->kind) == TABLE_OTHER_COUNTERS ? 0 : find_same_text(t);
	for (__u32 i = 0; i < TABLE_PROBES; i++) {
		__u32 index = TABLE_FIRST_ROW + ((hash + i) & table_mask);
		struct table_row *row = row_at(index);

		if (!row)
			return 0;
		if (!row->owner && !__sync_val_compare_and_swap(&row->owner, 0, t->owner))
			return fill_row(t, index, target ? target : index);
	}
	return other_row(t->kind);
}

/* The row of the current mark. It is usually in its first slot. */
static __always_inline __u32 get_row(struct table_thread *t, __u64 address)
{
	struct table_row *row = row_at(TABLE_FIRST_ROW + (row_hash(t) & table_mask));

	if (row && row_matches(row, t))
		return row->target;
	return find_or_add_row(t, address);
}

#endif
