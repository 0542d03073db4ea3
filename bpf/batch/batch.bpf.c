/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entries of buffered mode. In buffered mode (--mode batch) a thread writes its marks into a buffer
 * in its own memory, a batch. When the batch is full, the thread calls the one probe site that
 * buffered mode has, with the address of the batch among the arguments. The program copies the
 * batch into the ring buffer; the thread empties it and continues as soon as the program returns.
 */
#include "bpf/batch/batch_send.h"
#include "bpf/registers.h"
#include "bpf/threads.h"

#define MAX_VFORKS 8 /* that are nested */

struct batch_owner {
	__u64 pid_tgid;
	__u64 birth;
};

/*
 * The thread pointer: thread-local variables are at fixed distances from it, also the one that
 * holds the address of the batch.
 */
static __always_inline __u64 read_thread_pointer(const struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.fsbase);
#else
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
}

/*
 * Finds the thread that owns the batch. A child of vfork() shares its parent's memory and, as long
 * as it has no thread-local variables of its own, also the parent's batch. The child writes its
 * marks there, may fill it and may be the first to need one. The parent continues with the same
 * batch afterwards. So the batch belongs to the parent, and nothing in it is sent when the child
 * exits or executes a program.
 */
static __always_inline void find_vfork_owner(const struct task_struct *task, __u64 reason,
					     struct batch_owner *owner)
{
	const struct task_struct *at = task, *parent;
	__u64 memory = (__u64)BPF_CORE_READ(task, mm), variables = read_thread_pointer(task);
	__u32 tgid, flags;
	int i;

	owner->pid_tgid = pid_tgid_of(task);
	owner->birth = 0;
	for (i = 0; i < MAX_VFORKS; i++) {
		parent = BPF_CORE_READ(at, real_parent);
		if (!parent || parent == at || (__u64)BPF_CORE_READ(parent, mm) != memory ||
		    read_thread_pointer(parent) != variables)
			return;
		tgid = BPF_CORE_READ(parent, tgid);
		flags = traced_flags(tgid);
		at = parent;
		/*
		 * A process that is not recorded owns nothing. It may itself be a vfork() child
		 * whose own children mark.
		 */
		if (!(flags & TRACED_MARKS) && !(flags && reason == BATCH_NEW))
			continue;
		owner->pid_tgid = (__u64)tgid << 32 | (__u32)BPF_CORE_READ(parent, pid);
		owner->birth = BPF_CORE_READ(parent, start_time);
	}
}

/* NULL: the process is not recorded, or there is no memory. */
static __always_inline struct thread_state *get_own_state(struct task_struct *task, __u64 pid_tgid,
							  __u64 reason)
{
	struct thread_state *st = thread_state_lookup(task, pid_tgid);

	/*
	 * A new batch is registered even while the sites of its program are still being attached. A thread that unloads
	 * a library may never have marked.
	 */
	if (!st && (reason == BATCH_NEW || reason == BATCH_UNLOADED) &&
	    traced_flags(pid_tgid >> 32))
		st = thread_state_begin(task, pid_tgid);
	return st ? st : begin_marking_thread(pid_tgid);
}

SEC("uprobe")
int flush(struct pt_regs *ctx)
{
	struct thread_state *st = NULL;
	struct batch_owner owner;
	struct task_struct *task;
	__u64 pid_tgid, address, reason;
	bool reached = true;

	if (!recording)
		return 0;
	task = bpf_get_current_task_btf();
	pid_tgid = pid_tgid_of(task);
	address = ARG(ctx, 3);
	reason = ARG(ctx, 4);
	if (reason == BATCH_UNLOADED) {
		st = get_own_state(task, pid_tgid, reason);
		batch_send_unloaded(st, pid_tgid, address, (__u32)bpf_get_attach_cookie(ctx));
		return 0;
	}
	find_vfork_owner(task, reason, &owner);
	if (owner.pid_tgid != pid_tgid) {
		st = thread_state_of_other(owner.pid_tgid, owner.birth);
		reached = st;
	}
	if (!st)
		st = get_own_state(task, pid_tgid, reason);
	if (!st)
		return 0;
	stay_on_thread_stack(ctx);
	if (reason > BATCH_ALONE)
		return 0;
	/*
	 * If the state of the owner cannot be reached, its earlier batches are registered when it
	 * hands them over itself.
	 */
	if (reached && reason != BATCH_ALONE)
		batch_register(st, owner.pid_tgid, address, (__u32)bpf_get_attach_cookie(ctx),
			       reason);
	else if (reason == BATCH_NEW)
		account_add(ACCOUNT_BATCH_UNREADABLE);
	batch_send(st, owner.pid_tgid, address, (__u32)bpf_get_attach_cookie(ctx), reason);
	return 0;
}

/* The program's memory is about to be replaced, and this is the last moment to read it. */
SEC("watch/sched_prepare_exec")
int BPF_PROG(on_prepare_exec, struct task_struct *task, struct linux_binprm *bprm)
{
	__u64 pid_tgid = pid_tgid_of(task);
	struct thread_state *st;

	if (!recording || !traced_flags(pid_tgid >> 32))
		return 0;
	st = thread_state_lookup(task, pid_tgid);
	/* All its marks may be in a batch that it had before the recording began. */
	if (!st)
		st = thread_state_begin(task, pid_tgid);
	if (st)
		batches_send_pending(st, pid_tgid);
	else
		account_add(ACCOUNT_BATCH_UNREADABLE);
	return 0;
}
