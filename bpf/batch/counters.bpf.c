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
 * - for threads that have a CPU while their process becomes traced: the broker runs the program on each CPU.
 *
 * Under --mode auto none is sent while all domains are in exact mode, where each mark has its own values.
 *
 * A base that is lost makes the counters of the thread unknown until the next one. The values are absolute, so nothing
 * else is lost with it.
 */
#include "bpf/buffers.h"
#include "bpf/counters/counters.h"

/*
 * The time of a mark in a batch comes from another clock, and may be a little too early. So a base holds from a little
 * earlier on: the thread has been in the kernel for longer than that.
 */
#define BASE_EARLIER_NS 200

/* The task's exec_start at the last timer: it changes when the scheduler has brought the CPU time up to date. */
__u64 timer_starts[ACCOUNT_CPUS];

static __always_inline bool needs_bases(const struct task_struct *task)
{
	return recording && bases_wanted && !(task->flags & (TASK_IS_EXITING | TASK_IS_KERNELS)) &&
	       traced_flags(task->tgid);
}

static __always_inline void send_base(struct task_struct *task, bool has_cpu)
{
	struct record *r = record_reserve(sizeof(*r) + n_counters * sizeof(__u64));
	struct clock_state before = {};

	if (!r) {
		base_lost_ns = bpf_ktime_get_ns();
		account_add(ACCOUNT_READINGS);
		return;
	}
	read_clock_state(&before, task);
	init_record_head(r, RECORD_BASE, task->tgid, task->pid);
	r->ts -= BASE_EARLIER_NS;
	r->level = has_cpu;
	r->flags = RECORD_COUNTERS;
	read_task_counters(task, (__u64 *)(r + 1), r->ts, &before);
	bpf_ringbuf_submit(r, r->ts >> 4 & query_mask ? BPF_RB_NO_WAKEUP : wakeup_due());
}

SEC("?watch/sched_switch")
int BPF_PROG(on_cpu_change, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (needs_bases(prev))
		send_base(prev, false);
	if (needs_bases(next))
		send_base(next, true);
	return 0;
}

SEC("?perf_event")
int on_fault(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (needs_bases(task))
		send_base(task, true);
	return 0;
}

/* The argument is the timer that has just expired, one of which is the tick, or 0 if the broker runs this. */
SEC("?raw_tp")
int on_timer(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id() & (ACCOUNT_CPUS - 1);

	if (!needs_bases(task) || (ctx->args[0] && task->se.exec_start == timer_starts[cpu]))
		return 0;
	timer_starts[cpu] = task->se.exec_start;
	send_base(task, true);
	return 0;
}
