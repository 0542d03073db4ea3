/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A base: the values of a thread's counters, from which those of its marks in buffered mode are computed (counters.bpf.c). */
#ifndef PROFTRACE_BPF_BATCH_BASES_H
#define PROFTRACE_BPF_BATCH_BASES_H

#include "bpf/buffers.h"
#include "bpf/counters/counters.h"

/*
 * The time of a mark in a batch comes from another clock, and may be a little too early. So a base holds from a little
 * earlier on: the thread has been in the kernel for longer than that.
 */
#define BASE_EARLIER_NS 200

static __always_inline bool needs_bases(const struct task_struct *task)
{
	return recording && bases_wanted && !(task->flags & TASK_IS_KERNELS) &&
	       traced_flags(task->tgid);
}

static __always_inline void send_base_read(struct task_struct *task, enum base_moment moment,
					   const struct clock_state *before)
{
	struct record *r = record_reserve(sizeof(*r) + n_counters * sizeof(__u64));

	if (!r) {
		base_lost_ns = bpf_ktime_get_ns();
		account_add(ACCOUNT_READINGS);
		return;
	}
	init_record_head(r, RECORD_BASE, task->tgid, task->pid);
	r->ts -= BASE_EARLIER_NS;
	r->level = moment;
	r->flags = RECORD_COUNTERS;
	read_task_counters(task, (__u64 *)(r + 1), r->ts, before);
	bpf_ringbuf_submit(r, r->ts >> 4 & query_mask ? BPF_RB_NO_WAKEUP : wakeup_due());
}

static __always_inline void send_base(struct task_struct *task, enum base_moment moment)
{
	struct clock_state before = {};

	read_clock_state(&before, task);
	send_base_read(task, moment, &before);
}

/* The same of the current thread, at its exit. A global function, so that the verifier checks it only once. */
__noinline int send_last_base(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct clock_state before = {};

	read_clock_state_by_calls(&before, task);
	send_base_read(task, BASE_HAS_CPU, &before);
	return 0;
}

#endif
