/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread hands its batch over: it has reached the one probe site that batches have, with the address
 * of the batch among the arguments. It goes on when this returns, and uses the batch again.
 */
#include "batch.h"
#include "registers.h"
#include "threads.h"

#define MOST_VFORKS 8 /* within one another */

struct batch_owner {
	__u64 pid_tgid;
	__u64 birth;
};

/* Where its thread-local variables are, of which one says where its batch is. */
static __always_inline __u64 thread_pointer(const struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.fsbase);
#else
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
}

/*
 * Whose batch it is that the task hands over. A child of vfork() and the like has its parent's memory,
 * and while it gets no thread-local variables of its own, its parent's batch: it marks there, fills it up
 * and may have been the first to need it. Its parent goes on with it after that: so it is the parent's, and
 * when the child ends, or executes a program, nothing in there is the child's to tell.
 */
static __always_inline void find_owner(const struct task_struct *task, __u64 reason,
				       struct batch_owner *owner)
{
	const struct task_struct *at = task, *parent;
	__u64 memory = (__u64)BPF_CORE_READ(task, mm), variables = thread_pointer(task);
	__u32 tgid, flags;
	int i;

	owner->pid_tgid = pid_tgid_of(task);
	owner->birth = 0;
	for (i = 0; i < MOST_VFORKS; i++) {
		parent = BPF_CORE_READ(at, real_parent);
		if (!parent || parent == at || (__u64)BPF_CORE_READ(parent, mm) != memory ||
		    thread_pointer(parent) != variables)
			return;
		tgid = BPF_CORE_READ(parent, tgid);
		flags = traced_flags(tgid);
		/* Nor is anything that of who is not recorded. */
		if (!(flags & TRACED_MARKS) && !(flags && reason == BATCH_NEW))
			return;
		owner->pid_tgid = (__u64)tgid << 32 | (__u32)BPF_CORE_READ(parent, pid);
		owner->birth = BPF_CORE_READ(parent, start_time);
		at = parent;
	}
}

/* NULL: it is none of ours, or there is no memory. */
static __always_inline struct thread_state *own_state(struct task_struct *task, __u64 pid_tgid,
						      __u64 reason)
{
	struct thread_state *st = thread_find(task, pid_tgid);

	/* One that is new is told of even while the sites of its program are still being attached to. */
	if (!st && reason == BATCH_NEW && traced_flags(pid_tgid >> 32))
		st = thread_begin(task, pid_tgid);
	return st ? st : first_mark(pid_tgid);
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
	find_owner(task, reason, &owner);
	if (owner.pid_tgid != pid_tgid) {
		st = slot_of_other(owner.pid_tgid, owner.birth);
		reached = st;
	}
	if (!st)
		st = own_state(task, pid_tgid, reason);
	if (!st)
		return 0;
	stay_on_stack_of_thread(ctx);
	if (reason > BATCH_ALONE)
		return 0;
	/* Where its state is out of reach, the owner remembers by itself what it has had before. */
	if (reached && reason != BATCH_ALONE)
		batch_remember(st, owner.pid_tgid, address, reason);
	else if (reason == BATCH_NEW)
		account_add(ACCOUNT_BATCH_UNREADABLE);
	batch_send(st, owner.pid_tgid, address, (__u32)bpf_get_attach_cookie(ctx), reason);
	return 0;
}

/* The memory of the program goes in a moment. */
SEC("watch/sched_prepare_exec")
int BPF_PROG(on_prepare_exec, struct task_struct *task, struct linux_binprm *bprm)
{
	__u64 pid_tgid = pid_tgid_of(task);
	struct thread_state *st;

	if (!recording || !traced_flags(pid_tgid >> 32))
		return 0;
	st = thread_find(task, pid_tgid);
	/* What it has marked may all be in a batch that it had before. */
	if (!st)
		st = thread_begin(task, pid_tgid);
	if (st)
		batch_send_rest(st, pid_tgid);
	else
		account_add(ACCOUNT_BATCH_UNREADABLE);
	return 0;
}
