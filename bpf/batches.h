/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which batches a thread has: one for each executable and library in which it marks, and those that it
 * has left by longjmp. All are looked at when it ends (bpf/batch.h), so none may be forgotten before.
 *
 * The first ones are in the thread's state. Those of a thread that has more are in a map, each under
 * its address, so that one that is known is found at once however many there are; and each says which
 * one came before it, so that the end finds them all. What a thread had before the recording began, the
 * recorder finds in its memory and puts into a table that both share.
 */
#ifndef PROFTRACE_BPF_BATCHES_H
#define PROFTRACE_BPF_BATCHES_H

#include "state.h"

const volatile bool batching = false;
const volatile bool can_loop = false; /* as often as it takes: the kernel has bpf_loop() */

struct batch_key {
	__u64 pid_tgid;
	__u64 address;
};

struct batch_more {
	__u64 before; /* address of the one before it in the map; 0: there is none */
	__u64 birth;  /* of its thread: should one have been left here, it is not the next one's */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* the broker makes room where there are batches */
	__type(key, struct batch_key);
	__type(value, struct batch_more);
} batches_more SEC(".maps");

/*
 * What has been told of batches whose threads have ended: their memory goes to other threads, which first
 * hand over what is in there once more, so that nothing is lost with a thread of which nobody knew.
 */
struct batch_left_key {
	__u64 tgid;
	__u64 address;
};

struct batch_left {
	__u64 base;
	__u32 complete;
	__u32 lost; /* of its marks: all, or none */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* the broker makes room where there are batches */
	__type(key, struct batch_left_key);
	__type(value, struct batch_left);
} batches_left SEC(".maps");

/* Of a thread, past those in its state. */
static __always_inline __u32 batches_most(void)
{
	return (can_loop ? BATCHES_MOST : BATCHES_MOST_SHORT) - BATCHES;
}

static __always_inline bool batch_is_known(const struct thread_state *st, __u64 pid_tgid,
					   __u64 address)
{
	struct batch_key key = { pid_tgid, address };
	const struct batch_more *more;
	__u32 i, n = st->n_batches;

	for (i = 0; i < BATCHES; i++) {
		if (i < n && st->batches[i] == address)
			return true;
	}
	if (!st->n_more)
		return false;
	more = bpf_map_lookup_elem(&batches_more, &key);
	return more && more->birth == st->birth;
}

/*
 * Remembers where it is, for the thread's end. One that finds no place counts there: until then the
 * recorder reads it. Global: the verifier looks at it once.
 */
__noinline int batch_remember(struct thread_state *st, __u64 pid_tgid, __u64 address, __u32 reason)
{
	struct batch_key key = { pid_tgid, address };
	struct batch_more more = {};

	if (!batching || !st || !address || batch_is_known(st, pid_tgid, address))
		return 0;
	if (st->n_batches < BATCHES) {
		st->batches[st->n_batches & (BATCHES - 1)] = address;
		st->n_batches++;
		return 0;
	}
	more.before = st->more;
	more.birth = st->birth;
	if (st->n_more < batches_most() &&
	    !bpf_map_update_elem(&batches_more, &key, &more, BPF_ANY)) {
		st->more = address;
		st->n_more++;
		return 0;
	}
	/* A batch is new once, and handed over many times. */
	if (reason == BATCH_NEW || !st->n_forgotten)
		st->n_forgotten++;
	return 0;
}

/* Its thread has ended, and all in it was told, or counted as lost. */
static __always_inline void batch_leave(const struct thread_state *st, __u64 pid_tgid,
					__u64 address, __u32 lost)
{
	const struct batch_left_key key = { pid_tgid >> 32, address };
	const struct batch_left left = { st->batch.base, st->batch.complete, lost };

	bpf_map_update_elem(&batches_left, &key, &left, BPF_ANY);
}

/* Whether that is handed over once more. *ret_lost: how many marks of it were counted as lost. */
static __always_inline bool batch_take_left(const struct thread_state *st, __u64 pid_tgid,
					    __u64 address, __u32 *ret_lost)
{
	const struct batch_left_key key = { pid_tgid >> 32, address };
	const struct batch_left *left = bpf_map_lookup_elem(&batches_left, &key);
	bool same;

	if (!left)
		return false;
	same = left->base == st->batch.base && left->complete == st->batch.complete;
	*ret_lost = left->lost;
	bpf_map_delete_elem(&batches_left, &key);
	return same;
}

struct batch_walk {
	struct thread_state *st;
	__u64 pid_tgid;
	__u64 found;
};

/*
 * Takes out of the map what came last. Returns its address, or 0: there is none, or the kernel has lost
 * it, in which case those before it stay counted in n_more.
 */
static __always_inline __u64 batch_take_more(const struct batch_walk *w)
{
	struct batch_key key = { w->pid_tgid, w->st->more };
	const struct batch_more *more;

	if (!w->st->n_more)
		return 0;
	more = bpf_map_lookup_elem(&batches_more, &key);
	if (!more)
		return 0;
	w->st->more = more->before;
	w->st->n_more--;
	bpf_map_delete_elem(&batches_more, &key);
	return key.address;
}

/*
 * What the recorder has put at the i-th place that it could be at. 0: nothing of this thread. *ret_last:
 * nor is there further on.
 */
static __always_inline __u64 batch_take_found(const struct batch_walk *w, __u32 i, bool *ret_last)
{
	__u32 place = BATCH_FOUND_PLACE((__u32)w->pid_tgid) + i;
	volatile struct batch_found *found = &batches_found[place & (BATCHES_FOUND - 1)];
	__u64 address;

	if (found->pid_tgid != w->pid_tgid) {
		*ret_last = !found->address;
		return 0;
	}
	address = found->address;
	found->pid_tgid = 0;
	*ret_last = false;
	return address;
}

static __noinline long batch_look_found(__u32 i, struct batch_walk *w)
{
	__u32 place = BATCH_FOUND_PLACE((__u32)w->pid_tgid) + i;
	volatile struct batch_found *found = &batches_found[place & (BATCHES_FOUND - 1)];

	if (found->pid_tgid == w->pid_tgid) {
		w->found = true;
		return 1;
	}
	return !found->address;
}

/* Whether the recorder has found batches of the thread. Global: the verifier looks at it once. */
__noinline int batches_were_found(__u64 pid_tgid)
{
	struct batch_walk w = { .pid_tgid = pid_tgid };
	__u32 i;

	if (!batching)
		return 0;
	if (can_loop) {
		bpf_loop(BATCHES_FOUND_ON, batch_look_found, &w, 0);
	} else {
		for (i = 0; i < BATCHES_FOUND_ON_SHORT && !batch_look_found(i, &w); i++)
			;
	}
	return w.found;
}

static __always_inline void batches_none(struct thread_state *st)
{
	st->n_batches = 0;
	st->n_more = 0;
	st->n_forgotten = 0;
}

static __noinline long batch_drop_found(__u32 i, struct batch_walk *w)
{
	bool last;

	if (batch_take_found(w, i, &last))
		w->st->n_forgotten++;
	return last;
}

static __noinline long batch_drop_more(__u32 i, struct batch_walk *w)
{
	if (!batch_take_more(w))
		return 1;
	w->st->n_forgotten++;
	return 0;
}

/* The memory is another program's now, and nobody could look before (Linux before 6.10). */
__noinline int batches_gone(struct thread_state *st, __u64 pid_tgid)
{
	struct batch_walk w = { .st = st, .pid_tgid = pid_tgid };
	__u32 i;

	if (!batching || !st)
		return 0;
	if (can_loop) {
		bpf_loop(BATCHES_FOUND_ON, batch_drop_found, &w, 0);
		bpf_loop(BATCHES_MOST, batch_drop_more, &w, 0);
	} else {
		for (i = 0; i < BATCHES_FOUND_ON_SHORT && !batch_drop_found(i, &w); i++)
			;
		for (i = 0; i < BATCHES_MOST_SHORT && !batch_drop_more(i, &w); i++)
			;
	}
	account_add_n(ACCOUNT_BATCH_UNREADABLE, st->n_batches + st->n_more + st->n_forgotten);
	batches_none(st);
	return 0;
}

#endif
