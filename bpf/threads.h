/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finding the state of the thread that makes a mark.
 *
 * The state is in an array indexed by the thread's number, where a look-up takes a few
 * instructions; the kernel's storage of a task takes a call. If the slot is used by another thread,
 * whose number differs by a multiple of the array's size, the state is in the task's storage
 * instead, which is as good but slower.
 *
 * A slot belongs to a thread from its first mark to its exit. It is changed by programs that the thread
 * itself runs, by those at a context switch, when the thread is not running, and by those that a child
 * with the same memory (vfork) runs: thread_state_of_other().
 */
#ifndef PROFTRACE_BPF_THREADS_H
#define PROFTRACE_BPF_THREADS_H

#include "bpf/state.h"

/* A power of two; about 2000 bytes each, which the kernel clears at each start. */
#define THREAD_SLOTS 4096

/* In exact mode the broker makes fewer: in buffered mode, more of what other threads have must be found there. */
const volatile __u32 thread_slots_mask = THREAD_SLOTS - 1;

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

/* The same number as from bpf_get_current_pid_tgid(), for any task. */
static __always_inline __u64 pid_tgid_of(const struct task_struct *task)
{
	return (__u64)(__u32)task->tgid << 32 | (__u32)task->pid;
}

/* While it is held (bpf/processes/hold.bpf.c), what a thread does, and what it waits for, is the recorder's. */
static __always_inline bool thread_is_held(const struct task_struct *task)
{
	return held_threads[task->pid & (HOLD_SLOTS - 1)] == pid_tgid_of(task);
}

static __always_inline struct thread_state *thread_state_slot(__u64 pid_tgid)
{
	__u32 slot = pid_tgid & thread_slots_mask;

	return bpf_map_lookup_elem(&thread_slots, &slot);
}

/*
 * The state of a thread, which may be in the middle of an execution, where it still is that of the program from before.
 * NULL: it has none.
 */
static __always_inline struct thread_state *thread_state_find(struct task_struct *task,
							      __u64 pid_tgid)
{
	struct thread_state *st = thread_state_slot(pid_tgid);

	if (!st || (st->owner == pid_tgid && st->birth == task->start_time))
		return st;
	if (!st->stored)
		return NULL;
	st = bpf_task_storage_get(&threads, task, NULL, 0);
	return st && st->birth == task->start_time ? st : NULL;
}

/*
 * The state of a thread that marks, or whose memory is read. NULL: it has none of this program. A child that shared the
 * memory may just have made one for the program before, which on_exec() did not find: thread_state_of_other().
 */
static __always_inline struct thread_state *thread_state_lookup(struct task_struct *task,
								__u64 pid_tgid)
{
	struct thread_state *st = thread_state_find(task, pid_tgid);

	return st && st->execution == task->self_exec_id ? st : NULL;
}

/*
 * The state of a thread that has just executed a program under the old number `old`. A thread that
 * was not the first of its process has taken over the first one's number and start time.
 */
static __always_inline struct thread_state *thread_state_executed(struct task_struct *task,
								  __u64 old)
{
	struct thread_state *st = thread_state_slot(old);

	if (!st || st->owner == old)
		return st;
	if (!st->stored)
		return NULL;
	return bpf_task_storage_get(&threads, task, NULL, 0);
}

/* A global function, so that the verifier checks its many stores only once. */
__noinline int thread_state_clear(struct thread_state *st)
{
	if (!st)
		return 0;
	__builtin_memset(&st->depth, 0,
			 offsetof(struct thread_state, token) -
				 offsetof(struct thread_state, depth));
	return 0;
}

static __always_inline struct thread_state *slot_begin(struct thread_state *st, __u64 birth,
						       __u64 execution)
{
	st->birth = 0;
	barrier();
	thread_state_clear(st);
	st->execution = execution;
	barrier();
	st->birth = birth;
	return st;
}

/*
 * The state of a thread other than the current one. If it has none, it gets one in its slot, unless
 * it may have one in its task's storage. NULL: out of reach, since the storage of another task
 * cannot be looked up, or the thread has executed a program meanwhile. It may do so at any moment, also before the
 * state is made, which is then of no use.
 */
static __always_inline struct thread_state *thread_state_of_other(__u64 pid_tgid, __u64 birth,
								  __u64 execution)
{
	struct thread_state *st = thread_state_slot(pid_tgid);

	if (!st)
		return NULL;
	if (st->owner == pid_tgid && st->birth == birth)
		return st->execution == execution ? st : NULL;
	if (st->stored || __sync_val_compare_and_swap(&st->owner, 0, pid_tgid))
		return NULL;
	return slot_begin(st, birth, execution);
}

/* Creates the state of the current thread. NULL: no memory. */
static __always_inline struct thread_state *thread_state_begin(struct task_struct *task,
							       __u64 pid_tgid)
{
	struct thread_state *st = thread_state_slot(pid_tgid);
	__u64 owner;

	if (!st)
		return NULL;
	owner = __sync_val_compare_and_swap(&st->owner, 0, pid_tgid);
	if (owner && owner != pid_tgid) {
		st->stored = 1;
		st = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
		return st ? slot_begin(st, task->start_time, task->self_exec_id) : NULL;
	}
	return slot_begin(st, task->start_time, task->self_exec_id);
}

/*
 * The thread exits, or no longer has this number, or executes another program: a state that outlives an execution would
 * have the memory of the new program read. A thread that has changed its number by an execution may still have a state in its
 * task's storage, whatever its slot says. The deletion fails if a thread was interrupted in such a call on this CPU; a state
 * without a birth is none.
 */
static __always_inline void thread_state_end(struct task_struct *task, __u64 pid_tgid)
{
	struct thread_state *st = thread_state_slot(pid_tgid);

	if (st)
		__sync_val_compare_and_swap(&st->owner, pid_tgid, 0);
	st = bpf_task_storage_get(&threads, task, NULL, 0);
	if (!st)
		return;
	st->birth = 0;
	bpf_task_storage_delete(&threads, task);
}

#endif
