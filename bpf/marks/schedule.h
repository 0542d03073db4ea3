/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Schedules: which training steps of a program are recorded. Each epoch starts the schedule again:
 * some steps are skipped, then cycles follow, each of steps to wait, to warm up and to record. Both
 * sides include this file, so that the kernel and the recorder compute the same phase.
 */
#ifndef PROFTRACE_BPF_SCHEDULE_H
#define PROFTRACE_BPF_SCHEDULE_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#include <stdbool.h>
#endif

struct schedule {
	__u32 skip_first;
	__u32 wait;
	__u32 warmup;
	__u32 active; /* 0: there is no schedule */
	__u32 repeat; /* cycles in an epoch; 0: until the epoch ends */
};

/*
 * A mark can be excluded from each phase after the first by a bit of `meta` (META_NOT_IN in abi.h).
 */
enum phase {
	PHASE_WAIT,
	PHASE_WARMUP,
	PHASE_ACTIVE,
	PHASE_SAVE, /* the last active step of a cycle */
};

struct schedule_place {
	__u32 phase;
	__u32 cycle; /* within the epoch, from 0 */
};

/* The phase and the cycle of the nth step of an epoch, from 0. */
static inline __attribute__((always_inline)) struct schedule_place
schedule_at(const struct schedule *s, __u64 n)
{
	__u64 length = (__u64)s->wait + s->warmup + s->active;
	struct schedule_place place = { PHASE_WAIT, 0 };
	__u64 at, cycle;

	if (n < s->skip_first || !length)
		return place;
	cycle = (n - s->skip_first) / length;
	at = (n - s->skip_first) % length;
	if (s->repeat && cycle >= s->repeat) {
		place.cycle = s->repeat;
		return place;
	}
	place.cycle = cycle;
	if (at < s->wait)
		place.phase = PHASE_WAIT;
	else if (at < s->wait + s->warmup)
		place.phase = PHASE_WARMUP;
	else
		place.phase = at == length - 1 ? PHASE_SAVE : PHASE_ACTIVE;
	return place;
}

/*
 * Whether the step after a waiting one also waits, so that the probes may be detached. The next
 * step may always be the first one of a new epoch; if an epoch begins with waiting, that step
 * leaves time to attach again.
 */
static inline __attribute__((always_inline)) bool schedule_waits_on(const struct schedule *s,
								    __u64 n)
{
	return s->skip_first + s->wait && schedule_at(s, n + 1).phase == PHASE_WAIT;
}

#endif
