/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The list of the batches of each thread. A thread has one for each executable and library in which
 * it marks, and those that it has left by longjmp(). All of them are read when the thread exits
 * (bpf/batch/batch_send.h), so none may be forgotten before.
 *
 * The first ones are in the thread's state. Those of a thread that has more are in a map. The key
 * contains the address, so that a known batch is found in constant time however many there are. The
 * entries of a thread form a list, each with the address of the entry before it, so that the exit
 * of the thread finds all of them. What a thread had before the recording began, the recorder finds
 * in the thread's memory and puts into a table that is shared with the kernel.
 */
#ifndef PROFTRACE_BPF_BATCH_LIST_H
#define PROFTRACE_BPF_BATCH_LIST_H

#include "bpf/state.h"

const volatile bool batching = false;

#define BATCH_EVENTS_UNKNOWN (~0ull)
#define BATCH_OWNERS_SEVERAL (~0ull)

/*
 * Sets a counter on the stack to 0 without the verifier's knowing it. If it knows where a counter begins, it may find that a
 * callback of bpf_loop() never gets to its limit, and remove the comparison: older kernels follow one call only, and 6.18
 * removed that of BATCH_HEADS.
 */
const volatile __u64 zero_unknown_to_verifier = 0;

static __always_inline void batch_count_from_zero(void *counter, __u32 size)
{
	bpf_probe_read_kernel(counter, size, (const void *)&zero_unknown_to_verifier);
}

struct batch_key {
	__u64 pid_tgid;
	__u64 address;
};

struct batch_more {
	__u64 site;   /* its flush site */
	__u64 before; /* address of the previous entry; 0: none */
	/* start time of the thread: tells a leftover entry from those of a later thread */
	__u64 birth;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* the broker sets the size in buffered mode */
	__type(key, struct batch_key);
	__type(value, struct batch_more);
} batches_more SEC(".maps");

/*
 * The batches that a forked child inherits. The child continues with a copy of each of its parent's
 * batches, because code in the child cannot learn of the fork without a system call. What is in a
 * copy up to `from` is the parent's. Keyed by the pid_tgid of the child's first thread, until that
 * exits or executes a program.
 */
struct batch_inherited {
	__u32 n;
	__u32 more;    /* there are others that are not listed */
	__u32 adopted; /* they are in the thread's state by now */
	__u32 sites[BATCHES];
	__u64 batches[BATCHES];
	__u64 from[BATCHES], from_events[BATCHES];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* the broker sets the size in buffered mode */
	__type(key, __u64);
	__type(value, struct batch_inherited);
} batches_inherited SEC(".maps");

/* If the deletion fails (see untrace()), nothing is listed all the same. */
static __always_inline void batches_forget_inherited(__u64 pid_tgid)
{
	struct batch_inherited *inherited = bpf_map_lookup_elem(&batches_inherited, &pid_tgid);

	if (!inherited)
		return;
	inherited->adopted = 1;
	inherited->n = inherited->more = 0;
	bpf_map_delete_elem(&batches_inherited, &pid_tgid);
}

/*
 * Batches that were handed over before their memory was unmapped, possibly by another thread than
 * their owner. When the owner exits, it cannot read them, but nothing is lost. Several threads may
 * have had one at an address, so an entry stays until there is a new batch. The key has the process
 * instead of the thread; the value is the start time of that process.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* the broker enlarges it for buffered mode */
	__type(key, struct batch_key);
	__type(value, __u64);
} batches_unloaded SEC(".maps");

/*
 * A batch_inherited is too large for the stack: it is put together here before it goes into the
 * map.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct batch_inherited);
} batches_forked SEC(".maps");

/* How many batches of a thread the map may hold. */
static __always_inline __u32 batches_mapped_limit(void)
{
	return (can_loop ? BATCHES_MOST : BATCHES_MOST_SHORT) - BATCHES;
}

/*
 * Where the batch is in the thread's state; BATCHES: it is not there. A global function, so that the verifier does not
 * follow its callers once for each place.
 */
__noinline int batch_place(struct thread_state *st, __u64 address)
{
	__u32 i, n;

	if (!st)
		return BATCHES;
	n = st->n_batches;
	for (i = 0; i < BATCHES; i++) {
		if (i < n && st->batches[i] == address)
			return i;
	}
	return BATCHES;
}

static __always_inline bool batch_is_known(struct thread_state *st, __u64 pid_tgid, __u64 address)
{
	struct batch_key key = { pid_tgid, address };
	const struct batch_more *more;

	if (batch_place(st, address) != BATCHES)
		return true;
	if (!st->n_more)
		return false;
	more = bpf_map_lookup_elem(&batches_more, &key);
	return more && more->birth == st->birth;
}

/*
 * Registers a batch, so that it is read when the thread exits. A batch for which there is no space
 * counts as unreadable at that time; until then the recorder reads it. A global function, so that
 * the verifier checks it only once.
 */
__noinline int batch_register(struct thread_state *st, __u64 pid_tgid, __u64 address, __u32 site,
			      __u32 reason)
{
	struct batch_key key = { pid_tgid, address };
	struct batch_more more = {};

	if (!batching || !st || !address || batch_is_known(st, pid_tgid, address))
		return 0;
	if (st->n_batches < BATCHES) {
		st->batches[st->n_batches & (BATCHES - 1)] = address;
		st->batch_sites[st->n_batches & (BATCHES - 1)] = site;
		st->batch_events[st->n_batches & (BATCHES - 1)] = BATCH_EVENTS_UNKNOWN;
		st->n_batches++;
		return 0;
	}
	more.site = site;
	more.before = st->more;
	more.birth = st->birth;
	if (st->n_more < batches_mapped_limit() &&
	    !bpf_map_update_elem(&batches_more, &key, &more, BPF_ANY)) {
		st->more = address;
		st->n_more++;
		return 0;
	}
	/* A batch is new only once, but handed over many times: it is counted once. */
	if (reason == BATCH_NEW || !st->n_forgotten)
		st->n_forgotten++;
	return 0;
}

struct batch_walk {
	struct thread_state *st;
	__u64 pid_tgid;
	__u64 found;
	__u64 cost; /* of those sent */
	__u32 site;
	__u32 n; /* adopted */
};

/*
 * Removes the entry of the thread that was added last from the map. Returns its address, or 0 if
 * there is none. If the kernel has lost the entry, those before it stay counted in n_more.
 */
static __always_inline __u64 batch_pop_mapped(struct batch_walk *w)
{
	struct batch_key key = { w->pid_tgid, w->st->more };
	const struct batch_more *more;

	if (!w->st->n_more)
		return 0;
	more = bpf_map_lookup_elem(&batches_more, &key);
	if (!more)
		return 0;
	w->site = more->site;
	w->st->more = more->before;
	w->st->n_more--;
	bpf_map_delete_elem(&batches_more, &key);
	return key.address;
}

static __always_inline bool batch_found_is_unused(volatile struct batch_found *found)
{
	return !found->pid_tgid && !found->address;
}

/*
 * Removes what the recorder has put into the i-th slot where a batch of the thread can be, and
 * returns its address; 0: the slot is another thread's. *ret_last: there are none after it.
 */
static __always_inline __u64 batch_pop_found(struct batch_walk *w, __u32 i, bool *ret_last)
{
	__u32 place = BATCH_FOUND_PLACE((__u32)w->pid_tgid) + i;
	volatile struct batch_found *found = &batches_found[place & (BATCHES_FOUND - 1)];
	__u64 address;

	if (found->pid_tgid != w->pid_tgid) {
		*ret_last = batch_found_is_unused(found);
		return 0;
	}
	address = found->address;
	w->site = found->site;
	found->pid_tgid = 0;
	*ret_last = false;
	return address;
}

static __noinline long batch_check_found(__u32 i, struct batch_walk *w)
{
	__u32 place = BATCH_FOUND_PLACE((__u32)w->pid_tgid) + i;
	volatile struct batch_found *found = &batches_found[place & (BATCHES_FOUND - 1)];

	if (found->pid_tgid == w->pid_tgid) {
		w->found = true;
		return 1;
	}
	return batch_found_is_unused(found);
}

/*
 * Whether the recorder has found batches of the thread. A global function, so that the verifier
 * checks it only once.
 */
__noinline int batches_have_found(__u64 pid_tgid)
{
	struct batch_walk w = { .pid_tgid = pid_tgid };

	if (!batching)
		return 0;
	if (can_loop) {
		bpf_loop(BATCHES_FOUND_ON, batch_check_found, &w, 0);
	} else {
		for (__u32 i = 0; i < BATCHES_FOUND_ON_SHORT && !batch_check_found(i, &w); i++)
			;
	}
	return w.found;
}

static __always_inline void batches_clear(struct thread_state *st, __u64 pid_tgid)
{
	bpf_map_delete_elem(&batches_inherited, &pid_tgid);
	st->n_batches = 0;
	st->n_more = 0;
	st->n_forgotten = 0;
	st->batch_owner = 0;
}

static __noinline long batch_adopt_found(__u32 i, struct batch_walk *w)
{
	bool last;
	__u64 address = batch_pop_found(w, i, &last);

	if (address) {
		batch_register(w->st, w->pid_tgid, address, w->site, BATCH_FULL);
		last = ++w->n == BATCHES_ADOPTED;
	}
	return last;
}

/*
 * Adds to the thread's state the batches that the recorder has found, and those inherited by a
 * fork; of very many, the next call adds more, and what is left when the thread ends is counted. A global function, so that
 * the verifier checks it only once.
 */
__noinline int batches_adopt(struct thread_state *st, __u64 pid_tgid)
{
	struct batch_walk w = { .st = st, .pid_tgid = pid_tgid };
	struct batch_inherited *inherited;

	if (!batching || !st)
		return 0;
	batch_count_from_zero(&w.n, sizeof(w.n));
	inherited = bpf_map_lookup_elem(&batches_inherited, &pid_tgid);
	if (inherited && !inherited->adopted) {
		inherited->adopted = 1;
		for (__u32 i = 0; i < BATCHES; i++) {
			if (i < inherited->n)
				batch_register(st, pid_tgid, inherited->batches[i],
					       inherited->sites[i], BATCH_FULL);
		}
		st->n_forgotten += inherited->more;
	}
	if (can_loop) {
		bpf_loop(BATCHES_FOUND_ON, batch_adopt_found, &w, 0);
	} else {
		for (__u32 i = 0; i < BATCHES_FOUND_ON_SHORT && !batch_adopt_found(i, &w); i++)
			;
	}
	return 0;
}

static __noinline long batch_drop_found(__u32 i, struct batch_walk *w)
{
	bool last;

	if (batch_pop_found(w, i, &last))
		w->st->n_forgotten++;
	return last;
}

static __noinline long batch_drop_mapped(__u32 i, struct batch_walk *w)
{
	if (!batch_pop_mapped(w))
		return 1;
	w->st->n_forgotten++;
	return 0;
}

/*
 * Forgets all batches of a thread that ends, or whose memory has been replaced by exec without being read, which is so on
 * Linux before 6.10. Those that were not read are counted; at an exit also those that a forked child has not handed over yet.
 * (At an execution, on_exec() has forgotten these.)
 */
__noinline int batches_drop_all(struct thread_state *st, __u64 pid_tgid)
{
	struct batch_walk w = { .st = st, .pid_tgid = pid_tgid };
	const struct batch_inherited *inherited;

	if (!batching || !st)
		return 0;
	inherited = bpf_map_lookup_elem(&batches_inherited, &pid_tgid);
	if (inherited && !inherited->adopted)
		st->n_forgotten += inherited->n + inherited->more;
	if (can_loop) {
		bpf_loop(BATCHES_FOUND_ON, batch_drop_found, &w, 0);
		bpf_loop(BATCHES_MOST, batch_drop_mapped, &w, 0);
	} else {
		for (__u32 i = 0; i < BATCHES_FOUND_ON_SHORT && !batch_drop_found(i, &w); i++)
			;
		for (__u32 i = 0; i < BATCHES_MOST_SHORT && !batch_drop_mapped(i, &w); i++)
			;
	}
	account_add_n(ACCOUNT_BATCH_UNREADABLE, st->n_batches + st->n_more + st->n_forgotten);
	batches_clear(st, pid_tgid);
	return 0;
}

#endif
