/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Training steps under a schedule. PROF_STEP is evaluated here, at once, so that exactly the steps
 * that the schedule names are recorded.
 *
 * Every change of the phase is reported to the recorder before it takes effect, so that what is
 * recorded in a phase comes after the report. Threads that have looked up the old phase just before
 * may record something after the report of the next phase. The recorder therefore waits until no
 * mark is on its way (ACCOUNT_ENTERED, ACCOUNT_LEFT).
 */
#ifndef PROFTRACE_BPF_STEPS_H
#define PROFTRACE_BPF_STEPS_H

#include "bpf/buffers.h"

/* A bit for each level below `depth`. */
static __always_inline __u64 levels_below(__u32 depth)
{
	return depth >= MAX_NESTING ? ~0ull : (1ull << depth) - 1;
}

/* Accounts for the recorded slices of a thread that will get no END from it. */
static __always_inline void account_open_slices(const struct thread_state *st)
{
	if (scheduled)
		account_add_n(ACCOUNT_LEFT,
			      __builtin_popcountll(st->recorded & levels_below(st->depth)));
}

static __always_inline void send_phase(struct step_state *s, __u64 pid_tgid, __u32 phase,
				       __u32 cycle, bool waits_on)
{
	__u32 news = phase | (__u32)waits_on << 2 | cycle << 3 | 1u << 31;
	struct record_plain *r;

	if (s->sent == news)
		return;
	r = record_reserve(sizeof(*r));
	if (!r)
		return; /* the next step reports it */
	init_record_head(&r->head, RECORD_PHASE, pid_tgid >> 32, (__u32)pid_tgid);
	r->head.types = phase;
	r->head.level = waits_on;
	r->head.site = cycle;
	r->ops.a = s->epoch;
	r->ops.b = s->batch;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	s->sent = news;
}

static __always_inline struct step_state *get_step_state(__u32 tgid)
{
	struct step_state *s = bpf_map_lookup_elem(&steps, &tgid);
	struct step_state fresh = {};

	if (s)
		return s;
	bpf_map_update_elem(&steps, &tgid, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&steps, &tgid);
}

/* Epoch and batch as one number that is not 0. Numbers of realistic size do not collide. */
static __always_inline __u64 step_key(__u64 epoch, __u64 batch)
{
	__u64 key = epoch * 0x9e3779b97f4a7c15ull + batch + 1;

	return key ? key : 1;
}

static __noinline int begin_step(__u64 pid_tgid, __u64 epoch, __u64 batch)
{
	struct step_state *s = get_step_state(pid_tgid >> 32);
	struct schedule_place place;
	struct schedule plan;
	__u64 key = step_key(epoch, batch), old;

	if (!s)
		return 0;
	/* Several threads may report the beginning of the same step; one of them succeeds. */
	old = *(volatile __u64 *)&s->key;
	if (old == key || __sync_val_compare_and_swap(&s->key, old, key) != old)
		return 0;
	s->n = old && s->epoch == epoch ? s->n + 1 : 0;
	s->epoch = epoch;
	s->batch = batch;
	plan.skip_first = schedule.skip_first;
	plan.wait = schedule.wait;
	plan.warmup = schedule.warmup;
	plan.active = schedule.active;
	plan.repeat = schedule.repeat;
	place = schedule_at(&plan, s->n);
	if (place.phase != PHASE_WAIT && !data_attached)
		account_add(ACCOUNT_LATE_STEPS);
	send_phase(s, pid_tgid, place.phase, place.cycle,
		   place.phase == PHASE_WAIT && schedule_waits_on(&plan, s->n));
	if (place.phase == s->phase)
		return 0;
	*(volatile __u32 *)&s->phase = place.phase;
	__sync_fetch_and_add(&generation, 1);
	return 0;
}

#endif
