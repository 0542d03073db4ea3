/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls as slices. Loaded only with --syscalls. Each call is one record, which is sent when the
 * call ends.
 *
 * While a tracepoint of system calls is in use, the kernel takes the slow path into every system call
 * of every process. Of the programs, those that are not recorded run a few instructions.
 */
#include "bpf/buffers.h"
#include "bpf/control.h"
#include "bpf/sched/describe_wait.h"
#include "bpf/sched/sched_records.h"
#include "bpf/sched/syscall_slots.h"
#include "bpf/state.h"

/* NULL: the calls of the thread are not recorded, or there is no memory, which is accounted for. */
static __noinline struct syscall_begun *syscall_find_begun(struct task_struct *task)
{
	struct syscall_slot *slot = syscall_slot_at(pid_tgid_of(task));
	__u32 now = *(volatile __u32 *)&generation, removals = count_traced_removals();
	struct syscall_begun *begun;

	/* These are read first, so that a later change is seen the next time. */
	barrier();
	if (!is_sampled(task->tgid))
		return NULL;
	if (slot && syscall_slot_claim(slot, task)) {
		slot->generation = now;
		slot->removals = removals;
		return &slot->begun;
	}
	begun = bpf_task_storage_get(&syscalls_begun, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!begun)
		account_add(ACCOUNT_SYSCALLS_LOST);
	else if (!begun->ts)
		__sync_fetch_and_add(&syscalls_stored, 1);
	return begun;
}

SEC("?watch/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long call)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct syscall_begun *begun;
	struct syscall_slot *slot;
	__u64 first, second;

	if (!recording || is_compat_call(task))
		return 0;
	slot = syscall_slot_at(pid_tgid_of(task));
	if (slot && syscall_slot_is_of(slot, task) && slot->generation == generation &&
	    slot->removals == count_traced_removals())
		begun = &slot->begun;
	else
		begun = syscall_find_begun(task);
	if (!begun)
		return 0;
	begun->call = (__s32)call;
	begun->fd = -1;
	if (call >= 0 && call < WAIT_CALLS && wait_calls[call & (WAIT_CALLS - 1)] & WAIT_OF_FILE) {
		current_call(task, regs, &first, &second);
		begun->fd = (__s32)first;
	}
	begun->ts = bpf_ktime_get_ns();
	return 0;
}

SEC("?watch/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct syscall_begun *begun;
	struct record_syscall *r;
	struct syscall_slot *slot;
	bool wanted;
	__u64 ts;

	if (!recording)
		return 0;
	slot = syscall_slot_at(pid_tgid_of(task));
	if (slot && syscall_slot_is_of(slot, task)) {
		begun = &slot->begun;
		if (!begun->ts)
			return 0;
		wanted = slot->removals == count_traced_removals() || traced_flags(task->tgid);
	} else {
		if (!syscalls_stored)
			return 0;
		begun = bpf_task_storage_get(&syscalls_begun, task, NULL, 0);
		if (!begun || !begun->ts)
			return 0;
		__sync_fetch_and_sub(&syscalls_stored, 1);
		/* Of an execution, the results of the new program's calls may not be the user's to see. */
		wanted = traced_flags(task->tgid);
	}
	if (!wanted) {
		begun->ts = 0;
		return 0;
	}
	ts = bpf_ktime_get_ns();
	r = record_reserve(sizeof(*r));
	if (!r) {
		begun->ts = 0;
		account_add(ACCOUNT_SYSCALLS_LOST);
		return 0;
	}
	r->ts = ts;
	r->tgid = task->tgid;
	r->tid = task->pid;
	r->call = begun->call;
	r->fd = begun->fd;
	r->unused = 0;
	r->kind = RECORD_SYSCALL;
	r->class = 0;
	if (begun->call >= 0 && begun->call < WAIT_CALLS)
		r->class = wait_calls[begun->call & (WAIT_CALLS - 1)];
	r->unused2 = 0;
	r->begin = begun->ts;
	r->result = result;
	begun->ts = 0;
	bpf_ringbuf_submit(r, account_add(ACCOUNT_SYSCALLS) & query_mask ? BPF_RB_NO_WAKEUP
									 : wakeup_due());
	return 0;
}
