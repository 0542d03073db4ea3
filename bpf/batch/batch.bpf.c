/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entries of buffered mode. In buffered mode (--mode batch) a thread writes its marks into a buffer
 * in its own memory, a batch. When the batch is full, the thread calls the one probe site that
 * buffered mode has, with the address of the batch among the arguments. The program copies the
 * batch into the ring buffer; the thread empties it and continues as soon as the program returns.
 */
#include "bpf/batch/batch_send.h"
#include "bpf/batch/batch_shared.h"
#include "bpf/registers.h"
#include "bpf/threads.h"

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
	struct batch_owner owner = {};
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
	find_vfork_owner(&owner, reason);
	if (owner.pid_tgid != pid_tgid) {
		st = thread_state_of_other(owner.pid_tgid, owner.birth, owner.execution);
		reached = st;
		/* Earlier ones of its marks may have been handed over before it had links. */
		if (each_links && st && !batch_is_known(st, owner.pid_tgid, address))
			batches_find_shared(owner.pid_tgid, owner.birth, owner.execution);
	}
	if (!st)
		st = get_own_state(task, pid_tgid, reason);
	if (!st)
		return 0;
	stay_on_thread_stack(ctx);
	if (reason == BATCH_STRINGS) {
		struct batch_strings strings = { .address = address,
						 .where = ARG(ctx, 2),
						 .stub = ARG(ctx, 6) };

		batch_send_strings(st, owner.pid_tgid, (__u32)bpf_get_attach_cookie(ctx), &strings);
		return 0;
	}
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

	if (!recording)
		return 0;
	batches_leave_shared(task);
	if (!traced_flags(pid_tgid >> 32))
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
