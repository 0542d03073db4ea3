/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counting for threads with perf events that count for CPUs. The first program runs at each context
 * switch and accounts to each thread what the events counted while it had the CPU; it is loaded
 * only if there are such events. The second is a clock tick that reports the counters of the thread
 * that is running. A thread that has no CPU counts nothing, so it needs no report.
 */
#include "bpf/buffers.h"
#include "bpf/control.h"
#include "bpf/counters/counters.h"
#include "bpf/threads.h"

/*
 * Nothing that the recorder may write decides whether the account is updated: it would then contain what others did on the
 * CPU.
 */
SEC("?watch/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread_state *st;

	st = thread_state_find(prev, pid_tgid_of(prev));
	if (st && st->counting)
		counters_switch_out(st);
	st = thread_state_find(next, pid_tgid_of(next));
	if (st && st->counting)
		counters_switch_in(st);
	return 0;
}

/* Reserves a record for counter values and zeroes it, because not every event has times. */
static __always_inline struct record *reading_reserve(__u64 pid_tgid)
{
	struct record *r = record_reserve(sizeof(*r) + counter_values() * sizeof(__u64));
	__u64 *end;

	if (!r) {
		account_add(ACCOUNT_READINGS);
		return NULL;
	}
	init_record_head(r, RECORD_READING, pid_tgid >> 32, (__u32)pid_tgid);
	r->flags = RECORD_COUNTERS;
	end = (__u64 *)(r + 1);
	for (__u32 i = 0; i < MAX_COUNTERS * COUNTER_PARTS && i < counter_values(); i++)
		end[i] = 0;
	return r;
}

/*
 * This is an interrupt, possibly in the middle of a mark of the same thread, so it changes nothing
 * that marks use. It also must not create a state again for a thread whose exit has been reported.
 */
SEC("?perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 pid_tgid = pid_tgid_of(task);
	struct thread_state *st = NULL;
	struct clock_state before = {};
	struct record *r;
	__u32 flags;

	if (!recording || task->flags & TASK_IS_EXITING)
		return 0;
	flags = traced_flags(pid_tgid >> 32);
	if (!(flags & TRACED_MARKS) || process_is_paused(flags))
		return 0;
	if (has_perf_counters) {
		st = thread_state_find(task, pid_tgid);
		if (!st)
			st = thread_state_begin(task, pid_tgid);
		if (!st) {
			account_add(ACCOUNT_READINGS);
			return 0;
		}
	}
	r = reading_reserve(pid_tgid);
	if (!r)
		return 0;
	read_clock_state(&before, task);
	r->ts = bpf_ktime_get_ns();
	read_task_counters(task, (__u64 *)(r + 1), r->ts, &before);
	if (st && !store_perf_counters(st, (__u64 *)(r + 1)))
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
	else
		bpf_ringbuf_submit(r, wakeup_due());
	return 0;
}
