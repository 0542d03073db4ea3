/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the state of a thread is found, at each of its marks.
 *
 * In a table, by its number: looking there is a few instructions, where the kernel's own storage of a
 * task is a call. A thread that finds its slot taken by another (its number differs by a multiple of
 * the table's size) has its state in the task's storage instead, which is as good and slower.
 *
 * A slot belongs to a thread from its first mark to its exit. Its own programs alone change what is in
 * it; those of a switch run for a thread that is not running.
 */
#ifndef PROFTRACE_BPF_THREADS_H
#define PROFTRACE_BPF_THREADS_H

#include "state.h"

#define THREAD_SLOTS 4096 /* a power of two; 1500 bytes each */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, THREAD_SLOTS);
	__type(key, __u32);
	__type(value, struct thread_state);
} thread_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

/* What bpf_get_current_pid_tgid() says of the current one. */
static __always_inline __u64 pid_tgid_of(const struct task_struct *task)
{
	return (__u64)(__u32)task->tgid << 32 | (__u32)task->pid;
}

static __always_inline struct thread_state *slot_of(__u64 pid_tgid)
{
	__u32 slot = pid_tgid & (THREAD_SLOTS - 1);

	return bpf_map_lookup_elem(&thread_slots, &slot);
}

/* The state of a thread, NULL when it has none. */
static __always_inline struct thread_state *thread_find(struct task_struct *task, __u64 pid_tgid)
{
	struct thread_state *st = slot_of(pid_tgid);

	if (st && st->owner == pid_tgid && st->birth == task->start_time)
		return st;
	if (!threads_stored)
		return NULL;
	return bpf_task_storage_get(&threads, task, NULL, 0);
}

/*
 * The state of a thread that has just executed a program, which it had as the number `old`. If it was not
 * the first of its process it has that one's number now, and is as old as that one was.
 */
static __always_inline struct thread_state *thread_executed(struct task_struct *task, __u64 old)
{
	struct thread_state *st = slot_of(old);

	if (st && st->owner == old)
		return st;
	if (!threads_stored)
		return NULL;
	return bpf_task_storage_get(&threads, task, NULL, 0);
}

static __always_inline struct thread_state *slot_begin(struct thread_state *st, __u64 birth)
{
	st->birth = 0;
	barrier();
	__builtin_memset(&st->depth, 0,
			 offsetof(struct thread_state, token) -
				 offsetof(struct thread_state, depth));
	barrier();
	st->birth = birth;
	return st;
}

/*
 * The state of a thread that is not the current one. It gets one in its slot where it cannot have one
 * elsewhere. NULL: out of reach, since only one's own storage can be looked at.
 */
static __always_inline struct thread_state *slot_of_other(__u64 pid_tgid, __u64 birth)
{
	struct thread_state *st = slot_of(pid_tgid);

	if (!st)
		return NULL;
	if (st->owner == pid_tgid && st->birth == birth)
		return st;
	if (threads_stored || __sync_val_compare_and_swap(&st->owner, 0, pid_tgid))
		return NULL;
	return slot_begin(st, birth);
}

/* Gives the current thread a state. NULL: no memory. */
static __always_inline struct thread_state *thread_begin(struct task_struct *task, __u64 pid_tgid)
{
	struct thread_state *st = slot_of(pid_tgid);
	__u64 owner;

	if (!st)
		return NULL;
	owner = __sync_val_compare_and_swap(&st->owner, 0, pid_tgid);
	if (owner && owner != pid_tgid) {
		threads_stored = 1;
		st = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (st)
			st->birth = task->start_time;
		return st;
	}
	return slot_begin(st, task->start_time);
}

/* The thread has ended, or has this number no longer. */
static __always_inline void thread_end(struct task_struct *task, __u64 pid_tgid)
{
	struct thread_state *st = slot_of(pid_tgid);

	if (st)
		__sync_val_compare_and_swap(&st->owner, pid_tgid, 0);
	if (threads_stored)
		bpf_task_storage_delete(&threads, task);
}

#endif
