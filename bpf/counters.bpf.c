/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who has a CPU and who leaves it: loaded only while there are counters that count for CPUs. */
#include "counters.h"

SEC("?tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread_state *st;

	if (!recording)
		return 0;
	st = bpf_task_storage_get(&threads, prev, NULL, 0);
	if (st && st->counting)
		settle(st);
	st = bpf_task_storage_get(&threads, next, NULL, 0);
	if (st && st->counting)
		resume(st);
	return 0;
}
