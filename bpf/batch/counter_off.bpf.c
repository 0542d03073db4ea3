/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds a thread that has forbidden itself the processor's counter (PR_SET_TSC): in buffered mode its next mark would
 * end its process. Nothing in /proc shows it. The bit of the flags of a thread differs between kernels;
 * user/privilege/loader/counter_off.c finds it by a trial on its own thread. Of other users' processes a caller without root
 * learns nothing, and needs to learn nothing, because it records none.
 */
#include "bpf/processes/target_match.h"
#include "bpf/state.h"

__u64 counter_off_flag;	 /* 0: not known yet */
__u32 counter_off_trial; /* the thread of the trial, and its flags */
__u64 counter_off_flags;

SEC("?watch/bpf_iter_task")
int find_counter_off(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	if (!counter_off_flag && task->pid == counter_off_trial)
		counter_off_flags = task->thread_info.flags;
	else if (task->thread_info.flags & counter_off_flag &&
		 (any_process || belongs_to_invoker(task)))
		counter_off_in = task->tgid;
	return 0;
}
