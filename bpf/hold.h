/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Holding a thread until the recorder has attached to what is new in its address space.
 *
 * The thread spins here, in a bounded loop, until the recorder writes its ticket into the slot.
 * Nothing is signalled and nobody else waits; when the recorder does not answer in time (or died) the
 * thread goes on, and the account says that files may have been attached late.
 */
#ifndef PROFTRACE_BPF_HOLD_H
#define PROFTRACE_BPF_HOLD_H

#include "state.h"

#define HOLD_STEPS (1 << 23) /* the most that bpf_loop allows */

struct hold_wait {
	__u64 ticket;
	__u64 deadline;
	bool released;
};

static long hold_step(__u32 i, struct hold_wait *w)
{
	volatile __u64 *slot = &hold_released[w->ticket & (HOLD_SLOTS - 1)];

	if (*slot == w->ticket) {
		w->released = true;
		return 1;
	}
	return bpf_ktime_get_ns() > w->deadline;
}

static __always_inline void hold(enum hold_reason reason)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct record_plain *r;
	struct hold_wait w = {};

	w.ticket = __sync_fetch_and_add(&hold_tickets, 1) + 1;
	w.deadline = bpf_ktime_get_ns() + hold_limit_ns;
	r = bpf_ringbuf_reserve(&holds, sizeof(*r), 0);
	if (!r) {
		account_add(ACCOUNT_HOLD_TIMEOUT);
		return;
	}
	head_of(&r->head, RECORD_HOLD, pid_tgid >> 32, (__u32)pid_tgid);
	r->ops.a = w.ticket;
	r->ops.b = reason;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		bpf_loop(HOLD_STEPS, hold_step, &w, 0);
	if (!w.released)
		account_add(ACCOUNT_HOLD_TIMEOUT);
}

#endif
