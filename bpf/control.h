/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is recorded at the moment: pauses, and phases of a schedule.
 *
 * It is the process that is paused, so its state lies in the map of traced processes. Looking there at
 * every mark would cost more than all the rest of what a paused thread does: each thread keeps what
 * it found, and looks again when somebody has changed anything, which one number tells.
 */
#ifndef PROFTRACE_BPF_CONTROL_H
#define PROFTRACE_BPF_CONTROL_H

#include "guard.h"

/* Bits of meta that decide whether a mark is recorded; the last one stands for all marks. */
#define META_EVERY	   (1ull << 63)
#define META_NOT_IN(phase) (1ull << (47 + (phase)))

#define CONTROL_ATTEMPTS 8 /* against other threads that change the same process's state */

static __always_inline bool is_paused(__u32 flags)
{
	__u32 everybody = *(volatile __u32 *)&said;

	if (flags & TRACED_STOPPED)
		return true;
	/* Whoever spoke last: the process itself, or the recorder to all. */
	if (flags >> TRACED_SAID_SHIFT == everybody >> TRACED_SAID_SHIFT)
		return flags & TRACED_PAUSED;
	return everybody & TRACED_PAUSED;
}

/* Finds out what is recorded of this thread from now on. */
static __noinline int look_again(struct thread_state *st, __u32 tgid)
{
	const struct step_state *s;
	__u32 phase;

	if (!st)
		return 0;
	/* First the number: what changes from here on is looked at the next time. */
	st->generation = *(volatile __u32 *)&generation;
	barrier();
	st->leave_out = 0;
	st->left_out_slot = scheduled ? ACCOUNT_UNSCHEDULED : ACCOUNT_PAUSED;
	if (scheduled && st->cut != cuts) {
		st->cut = cuts;
		st->depth = 0;
		st->too_deep = 0;
		st->recorded = 0;
		st->whole = 0;
	}
	if (guarded && st->offs != offs) {
		st->offs = offs;
		forget_off(st);
	}
	if (is_paused(traced_flags(tgid))) {
		st->leave_out = META_EVERY;
		st->left_out_slot = ACCOUNT_PAUSED;
	} else if (scheduled) {
		s = bpf_map_lookup_elem(&steps, &tgid);
		phase = s ? *(volatile __u32 *)&s->phase : PHASE_WAIT;
		st->leave_out = phase == PHASE_WAIT ? META_EVERY : META_NOT_IN(phase & 3);
	}
	return 0;
}

/* The process says so itself. When this returns it holds for all its threads. */
static __noinline int take_control(__u32 tgid, __u32 kind)
{
	__u32 *flags = bpf_map_lookup_elem(&traced, &tgid);
	__u32 old, new;
	int i;

	if (!flags || kind < RECORD_PAUSE || kind > RECORD_STOP || kind == RECORD_DUMP)
		return 0;
	for (i = 0; i < CONTROL_ATTEMPTS; i++) {
		old = *(volatile __u32 *)flags;
		new = old &TRACED_KEPT;
		new |= *(volatile __u32 *)&said & ~((1u << TRACED_SAID_SHIFT) - 1);
		if (kind == RECORD_PAUSE)
			new |= TRACED_PAUSED;
		if (kind == RECORD_STOP)
			new |= TRACED_STOPPED;
		if (__sync_val_compare_and_swap(flags, old, new) == old)
			break;
	}
	__sync_fetch_and_add(&generation, 1);
	return 0;
}

#endif
