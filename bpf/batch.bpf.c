/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread hands its batch over: it has reached the one probe site that batches have, with the address
 * of the batch among the arguments. It goes on when this returns, and uses the batch again.
 */
#include "batch.h"
#include "registers.h"
#include "threads.h"

SEC("uprobe")
int flush(struct pt_regs *ctx)
{
	struct task_struct *task;
	struct thread_state *st;
	__u64 pid_tgid, address, reason;

	if (!recording)
		return 0;
	task = bpf_get_current_task_btf();
	pid_tgid = pid_tgid_of(task);
	address = ARG(ctx, 3);
	reason = ARG(ctx, 4);
	st = thread_find(task, pid_tgid);
	/* One that is new is told of even while the sites of its program are still being attached to. */
	if (!st && reason == BATCH_NEW && traced_flags(pid_tgid >> 32))
		st = thread_begin(task, pid_tgid);
	if (!st) {
		st = first_mark(pid_tgid);
		if (!st)
			return 0;
	}
	stay_on_stack_of_thread(ctx);
	if (reason > BATCH_ALONE)
		return 0;
	if (reason != BATCH_ALONE)
		batch_remember(st, pid_tgid, address, reason);
	batch_send(st, pid_tgid, address, (__u32)bpf_get_attach_cookie(ctx), reason);
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
