/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is recorded at the moment: pauses, and the phases of a schedule.
 *
 * A pause applies to a process, so its state is in the map of traced processes. A look-up there at
 * every mark would cost more than all other work for a paused thread. Instead each thread keeps the
 * result of its last look-up, and repeats it when `generation` shows that anything has changed.
 */
#ifndef PROFTRACE_BPF_CONTROL_H
#define PROFTRACE_BPF_CONTROL_H

#include "bpf/marks/guard.h"

#define META_EVERY (1ull << 63) /* stands for all marks beside the bits META_NOT_IN() of `meta` */

#define CONTROL_ATTEMPTS 8 /* if other threads change the same process's state */

static __always_inline bool process_is_paused(__u32 flags)
{
	__u32 everybody = *(volatile __u32 *)&pause_order;

	if (flags & TRACED_STOPPED)
		return true;
	/*
	 * The latest word counts: that of the process itself, or of the recorder to all processes.
	 */
	if (flags >> TRACED_ORDER_SHIFT == everybody >> TRACED_ORDER_SHIFT)
		return flags & TRACED_PAUSED;
	return everybody & TRACED_PAUSED;
}

/* Looks up which marks of this thread are recorded from now on. */
static __noinline int refresh_selection(struct thread_state *st, __u32 tgid)
{
	const struct step_state *s;
	__u32 phase;

	if (!st)
		return 0;
	/* The generation is read first, so that a later change is seen the next time. */
	st->generation = *(volatile __u32 *)&generation;
	barrier();
	st->skip_mask = 0;
	st->left_out_slot = scheduled ? ACCOUNT_UNSCHEDULED : ACCOUNT_PAUSED;
	if (scheduled && st->detach_count != detach_count) {
		st->detach_count = detach_count;
		st->depth = 0;
		st->too_deep = 0;
		st->recorded = 0;
		st->whole = 0;
	}
	if (switches_off && st->off_count != off_count) {
		st->off_count = off_count;
		forget_off_levels(st);
	}
	if (process_is_paused(traced_flags(tgid))) {
		st->skip_mask = META_EVERY;
		st->left_out_slot = ACCOUNT_PAUSED;
	} else if (scheduled) {
		s = bpf_map_lookup_elem(&steps, &tgid);
		phase = s ? *(volatile __u32 *)&s->phase : PHASE_WAIT;
		st->skip_mask = phase == PHASE_WAIT ? META_EVERY : META_NOT_IN(phase & 3);
	}
	return 0;
}

/*
 * The process pauses, resumes or stops its own recording. This holds for all its threads once the
 * function has returned. A global function, so that the verifier checks it once and not for each way that leads here.
 */
__noinline int apply_control(__u32 tgid, __u32 kind)
{
	__u32 *flags = bpf_map_lookup_elem(&traced, &tgid);
	/* Without branches, which the verifier would follow through all attempts. */
	__u32 own = (TRACED_PAUSED & ~(__u32)mask_of(kind ^ RECORD_PAUSE)) |
		    (TRACED_STOPPED & ~(__u32)mask_of(kind ^ RECORD_STOP));
	__u32 old, new;

	if (!flags || kind < RECORD_PAUSE || kind > RECORD_STOP || kind == RECORD_DUMP)
		return 0;
	for (int i = 0; i < CONTROL_ATTEMPTS; i++) {
		old = *(volatile __u32 *)flags;
		new = old &TRACED_KEPT;
		new |= *(volatile __u32 *)&pause_order & ~((1u << TRACED_ORDER_SHIFT) - 1);
		new |= own;
		if (__sync_val_compare_and_swap(flags, old, new) == old)
			break;
	}
	__sync_fetch_and_add(&generation, 1);
	return 0;
}

#endif
