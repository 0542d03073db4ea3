/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who has a CPU and who leaves it: loaded only while there are counters that count for CPUs. */
#include "counters.h"
#include "threads.h"

SEC("?tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread_state *st;

	if (!recording)
		return 0;
	st = thread_find(prev, pid_tgid_of(prev));
	if (st && st->counting)
		settle(st);
	st = thread_find(next, pid_tgid_of(next));
	if (st && st->counting)
		resume(st);
	return 0;
}
