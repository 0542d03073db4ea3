/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What marks cost their program, by domain (--max-overhead).
 *
 * All marks are counted. Of one in sixteen the time that our program takes is measured, from where it
 * knows whose mark it is to its end; which ones is spread so that it fits no rhythm of the marks. What
 * comes before, the way into the kernel and here, the broker has measured once (user/broker/cost.c).
 *
 * A domain that costs too much is switched off by the recorder: first by its bit, which leaves out
 * what comes while its probes are taken away and makes threads forget what is open of it, since no END
 * of that will come.
 */
#ifndef PROFTRACE_BPF_GUARD_H
#define PROFTRACE_BPF_GUARD_H

#include "state.h"

struct guard_time {
	__u64 began; /* 0: this one is not measured */
	__u64 switches;
};

static __always_inline __u8 guard_of(__u64 cookie)
{
	return cookie >> COOKIE_GUARD_SHIFT & (GUARD_DOMAINS - 1);
}

static __always_inline bool is_off(__u8 guard)
{
	guard &= GUARD_DOMAINS - 1;
	return *(volatile __u64 *)&guard_off[guard / 64] >> (guard & 63) & 1;
}

static __always_inline struct guard_count *guard_count_of(__u8 guard)
{
	return &guard_counts[bpf_get_smp_processor_id() & (GUARD_CPUS - 1)]
			    [guard & (GUARD_DOMAINS - 1)];
}

static __always_inline __u64 guard_switches(const struct task_struct *task)
{
	return *(volatile unsigned long *)&task->nvcsw + *(volatile unsigned long *)&task->nivcsw;
}

static __always_inline void guard_begin(const struct task_struct *task, __u8 guard,
					struct guard_time *t)
{
	__u64 n = __sync_fetch_and_add(&guard_count_of(guard)->marks, 1);

	/* Multiples of the golden section are spread evenly. */
	t->began = 0;
	if ((__u32)n * 0x9e3779b9u >> 28)
		return;
	t->switches = guard_switches(task);
	t->began = bpf_ktime_get_ns();
}

/*
 * A thread that was not running all the while was not busy all the while, and what the hypervisor or an
 * interrupt took is not ours: those are not measured. One of them would outweigh thousands.
 */
static __always_inline void guard_end(const struct task_struct *task, __u8 guard,
				      const struct guard_time *t)
{
	struct guard_count *count;
	__u64 took;

	if (!t->began)
		return;
	took = bpf_ktime_get_ns() - t->began;
	if (took > guard_longest || guard_switches(task) != t->switches)
		return;
	count = guard_count_of(guard);
	__sync_fetch_and_add(&count->timed, 1);
	__sync_fetch_and_add(&count->ns, took);
}

/*
 * Levels of domains that are off get a token that nobody has: they are not found, and do not keep a
 * PROF_END of another domain from its slice. No branch, or the verifier would follow two at each.
 */
__noinline int forget_off(struct thread_state *st)
{
	__u64 off, gone = 0;
	int i;

	if (!st)
		return 0;
	for (i = 0; i < MAX_NESTING; i++) {
		off = is_off(st->guard[i]);
		st->token[i] &= off - 1;
		gone |= off << i;
	}
	st->recorded &= ~gone;
	st->left_out &= ~gone;
	return 0;
}

#endif
