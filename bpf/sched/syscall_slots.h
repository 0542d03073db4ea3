/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the begin of a system call waits for its end, and whether the calls of the thread are recorded: as of the
 * last look-up, which takes 50 ns. It is repeated when `generation` has changed (bpf/control.h), when the thread
 * executes a program, and when the broker has removed a process from the map: the recorder, which may write
 * `generation`, must not see what it may not see any more.
 *
 * As in bpf/threads.h, this is in an array indexed by the thread's number, since the kernel's storage of a task takes
 * two calls of the kernel for each system call, 50 ns. A thread whose slot another thread has, and a thread that
 * executes a program, uses the storage of its task.
 */
#ifndef PROFTRACE_BPF_SYSCALL_SLOTS_H
#define PROFTRACE_BPF_SYSCALL_SLOTS_H

#include "bpf/threads.h"

#define SYSCALL_SLOTS 4096 /* a power of two */

/* Set by the broker before the programs are loaded. */
const volatile bool syscalls_followed = false;

struct syscall_begun {
	__u64 ts; /* 0: in no call */
	__s32 call;
	__s32 fd;
};

struct syscall_slot {
	__u64 owner; /* pid_tgid of the thread; 0: free */
	__u64 birth; /* start time of the thread */
	struct syscall_begun begun;
	__u32 generation; /* at the last look-up; the calls are recorded */
	__u32 removals;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SYSCALL_SLOTS);
	__type(key, __u32);
	__type(value, struct syscall_slot);
} syscall_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct syscall_begun);
} syscalls_begun SEC(".maps");

/* How many processes the broker has removed from the map of traced processes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} traced_removals SEC(".maps");

static __always_inline __u32 count_traced_removals(void)
{
	__u32 first = 0, *n = bpf_map_lookup_elem(&traced_removals, &first);

	return n ? *(volatile __u32 *)n : 0;
}

static __always_inline struct syscall_slot *syscall_slot_at(__u64 pid_tgid)
{
	__u32 place = pid_tgid & (SYSCALL_SLOTS - 1);

	return bpf_map_lookup_elem(&syscall_slots, &place);
}

static __always_inline bool syscall_slot_is_of(const struct syscall_slot *slot,
					       const struct task_struct *task)
{
	return slot->owner == pid_tgid_of(task) && slot->birth == task->start_time;
}

/* Makes the slot that of the current thread, unless another has it. */
static __always_inline bool syscall_slot_claim(struct syscall_slot *slot,
					       const struct task_struct *task)
{
	__u64 pid_tgid = pid_tgid_of(task),
	      owner = __sync_val_compare_and_swap(&slot->owner, 0, pid_tgid);

	if (owner && owner != pid_tgid)
		return false;
	slot->birth = task->start_time;
	slot->begun.ts = 0;
	return true;
}

static __always_inline void syscall_slot_end(__u64 pid_tgid)
{
	struct syscall_slot *slot = syscalls_followed ? syscall_slot_at(pid_tgid) : NULL;

	if (slot)
		__sync_val_compare_and_swap(&slot->owner, pid_tgid, 0);
}

/*
 * The thread, which had the number `old`, has just executed a program: it may have got another number, and whether
 * the new program is recorded must be found out. The call in which it is ends all the same.
 */
static __always_inline void syscall_slot_executed(struct task_struct *task, __u64 old)
{
	struct syscall_slot *slot = syscalls_followed ? syscall_slot_at(old) : NULL;
	struct syscall_begun *begun;

	if (!slot || slot->owner != old)
		return;
	if (slot->begun.ts) {
		begun = bpf_task_storage_get(&syscalls_begun, task, NULL,
					     BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (begun) {
			*begun = slot->begun;
			__sync_fetch_and_add(&syscalls_stored, 1);
		} else {
			account_add(ACCOUNT_SYSCALLS_LOST);
		}
	}
	syscall_slot_end(old);
}

#endif
