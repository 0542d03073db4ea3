/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters in buffered mode. A mark in a batch has a time, but no counters. What the kernel counts for a task changes
 * at few moments, however: counts at context switches and page faults, and the CPU time grows with the clock as long as
 * the thread has a CPU. So the values are sent at these moments, each time as the base for the thread's next marks, and
 * user/capture/batch/counters.c computes the values of a mark from its time. A base is sent
 *
 * - when a thread gets or leaves a CPU;
 * - after each page fault;
 * - at clock ticks, when the scheduler leaves out the time of interrupts and what the hypervisor has taken;
 * - for threads that have a CPU while their process becomes traced: the broker runs the program on each CPU;
 * - when a thread exits (bpf/processes/processes.bpf.c), after which it is not seen to leave its CPU.
 *
 * Under --mode auto none is sent while all domains are in exact mode, where each mark has its own values.
 *
 * A base that is lost makes the counters of the thread unknown until the next one. The values are absolute, so nothing
 * else is lost with it.
 */
#include "bpf/batch/bases.h"

/* The task's exec_start at the last timer: it changes when the scheduler has brought the CPU time up to date. */
__u64 timer_starts[ACCOUNT_CPUS];

static __always_inline bool sends_bases(const struct task_struct *task)
{
	return needs_bases(task) && !(task->flags & TASK_IS_EXITING);
}

SEC("?watch/sched_switch")
int BPF_PROG(on_cpu_change, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (sends_bases(prev))
		send_base(prev, BASE_LEAVES_CPU);
	if (sends_bases(next))
		send_base(next, BASE_GETS_CPU);
	return 0;
}

SEC("?perf_event")
int on_fault(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (sends_bases(task))
		send_base(task, BASE_HAS_CPU);
	return 0;
}

/* The argument is the timer that has just expired, one of which is the tick, or 0 if the broker runs this. */
SEC("?raw_tp")
int on_timer(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id() & (ACCOUNT_CPUS - 1);

	if (!sends_bases(task) || (ctx->args[0] && task->se.exec_start == timer_starts[cpu]))
		return 0;
	timer_starts[cpu] = task->se.exec_start;
	send_base(task, BASE_HAS_CPU);
	return 0;
}
