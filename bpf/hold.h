/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Holding a thread until the recorder has attached to what is new in its address space.
 *
 * The thread spins here, in a bounded loop, until the recorder writes its ticket into the slot.
 * Nothing is signalled and nobody else waits; when the recorder does not answer in time (or died) the
 * thread goes on, and the account says that files may have been attached late.
 *
 * Only programs that run sleepable may hold: attaching waits for an RCU grace period, which does not
 * come while a plain uprobe or a tracepoint runs.
 *
 * Nor does it come, and on a single CPU the recorder does not run at all, where the kernel switches
 * threads only at places of its own choosing (preempt=voluntary, the rule up to 6.12). Waiting for a
 * lock is such a place even when the lock is free: hence the way to read memory that takes one.
 *
 * These programs keep little on their stack, and spread it over functions, on purpose: sleepable ones
 * cannot have the tail call of marks.bpf.c, so each frame has to stay below 64 bytes.
 */
#ifndef PROFTRACE_BPF_HOLD_H
#define PROFTRACE_BPF_HOLD_H

#include "state.h"

#define HOLD_STEPS (1 << 23) /* the most that bpf_loop allows */
#define HOLD_YIELD 16	     /* steps from one chance for other threads to the next */

struct hold_wait {
	__u64 ticket;
	__u64 deadline;
	__u64 ip;
};

static __always_inline bool released(const struct hold_wait *w)
{
	/* A later ticket in the slot: ours was released before it. */
	return *(volatile __u64 *)&hold_released[w->ticket & (HOLD_SLOTS - 1)] >= w->ticket;
}

static long hold_step(__u32 i, struct hold_wait *w)
{
	char nothing;

	if (released(w) || !*(volatile __u32 *)&recording)
		return 1;
	if (!(i & (HOLD_YIELD - 1)))
		bpf_copy_from_user_task(&nothing, 1, (void *)w->ip, bpf_get_current_task_btf(), 0);
	return bpf_ktime_get_ns() > w->deadline;
}

/* A request to be released, not sent yet; NULL: no room, the thread goes on. */
static __always_inline struct record_hold *hold_reserve(struct pt_regs *ctx, struct hold_wait *w,
							enum hold_reason reason)
{
	struct record_hold *r = bpf_ringbuf_reserve(&holds, sizeof(*r), 0);
	__u64 pid_tgid;

	if (!r) {
		account_add(ACCOUNT_HOLD_TIMEOUT);
		return NULL;
	}
	w->ticket = __sync_fetch_and_add(&hold_tickets, 1) + 1;
	w->deadline = bpf_ktime_get_ns() + hold_limit_ns;
	w->ip = PT_REGS_IP(ctx);
	pid_tgid = bpf_get_current_pid_tgid();
	head_of(&r->head, RECORD_HOLD, pid_tgid >> 32, (__u32)pid_tgid);
	r->ops.a = w->ticket;
	r->ops.b = reason;
	r->fd = -1;
	r->path[0] = '\0';
	return r;
}

static __noinline void hold(struct record_hold *r, struct hold_wait *w)
{
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	if (can_hold && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		/* One loop is over too soon on a fast machine. It returns early when all is said. */
		if (bpf_loop(HOLD_STEPS, hold_step, w, 0) == HOLD_STEPS &&
		    bpf_loop(HOLD_STEPS, hold_step, w, 0) == HOLD_STEPS &&
		    bpf_loop(HOLD_STEPS, hold_step, w, 0) == HOLD_STEPS)
			bpf_loop(HOLD_STEPS, hold_step, w, 0);
	}
	if (recording && !released(w))
		account_add(ACCOUNT_HOLD_TIMEOUT);
}

#endif
