/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who has a CPU and who leaves it: loaded only while there are counters that count for CPUs. And what
 * the one who has it has counted, at every tick of a clock: a thread that has no CPU counts nothing.
 */
#include "buffers.h"
#include "control.h"
#include "counters.h"
#include "threads.h"

SEC("?watch/sched_switch")
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

/* Reserves a record for what is counted, and clears its times. */
static __always_inline struct record *reading_reserve(__u64 pid_tgid)
{
	struct record *r = record_reserve(sizeof(*r) + counter_values() * sizeof(__u64));
	__u64 *end;
	__u32 i;

	if (!r) {
		account_add(ACCOUNT_READINGS);
		return NULL;
	}
	head_of(r, RECORD_READING, pid_tgid >> 32, (__u32)pid_tgid);
	r->flags = RECORD_COUNTERS;
	end = (__u64 *)(r + 1);
	for (i = 0; i < MAX_COUNTERS * COUNTER_PARTS && i < counter_values(); i++)
		end[i] = 0;
	return r;
}

/*
 * An interrupt, possibly in the midst of a mark of the same thread: what marks use is left alone. A
 * thread that has ended for the recorder must not come back.
 */
SEC("?perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 pid_tgid = pid_tgid_of(task);
	struct thread_state *st = NULL;
	struct before before = {};
	struct record *r;
	__u32 flags;

	if (!recording || task->flags & TASK_IS_EXITING)
		return 0;
	flags = traced_flags(pid_tgid >> 32);
	if (!(flags & TRACED_MARKS) || is_paused(flags))
		return 0;
	if (has_perf_counters) {
		st = thread_find(task, pid_tgid);
		if (!st)
			st = thread_begin(task, pid_tgid);
		if (!st) {
			account_add(ACCOUNT_READINGS);
			return 0;
		}
	}
	r = reading_reserve(pid_tgid);
	if (!r)
		return 0;
	look_before(&before);
	r->ts = bpf_ktime_get_ns();
	read_task_counters((__u64 *)(r + 1), r->ts, &before);
	if (st && !put_perf_counters(st, (__u64 *)(r + 1)))
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
	else
		bpf_ringbuf_submit(r, wakeup_due());
	return 0;
}
