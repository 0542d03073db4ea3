/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measuring what marks cost the program, for each domain (--max-overhead).
 *
 * All marks are counted. For one mark in sixteen the time that the BPF program takes is measured,
 * from the point where the domain is known to the end. Which marks are measured is spread so that
 * it does not correlate with any rhythm of the marks. The time before that point, mainly the entry
 * into the kernel, has been measured once by the broker (user/privilege/loader/cost.c).
 *
 * The recorder switches off a domain that costs too much. First it sets the domain's bit. The bit
 * leaves out marks that come while the probes are being detached, and makes threads forget the open
 * slices of the domain, because no END will come for them.
 */
#ifndef PROFTRACE_BPF_GUARD_H
#define PROFTRACE_BPF_GUARD_H

#include "bpf/state.h"

struct guard_time {
	__u64 began; /* 0: this mark is not measured */
	__u64 switches;
};

static __always_inline __u8 cookie_guard(__u64 cookie)
{
	return cookie >> COOKIE_GUARD_SHIFT & (GUARD_DOMAINS - 1);
}

static __always_inline bool guard_is_switched_off(__u8 guard)
{
	guard &= GUARD_DOMAINS - 1;
	return *(volatile __u64 *)&guard_off[guard / 64] >> (guard & 63) & 1;
}

static __always_inline struct guard_count *guard_count_here(__u8 guard)
{
	return &guard_counts[bpf_get_smp_processor_id() & (GUARD_CPUS - 1)]
			    [guard & (GUARD_DOMAINS - 1)];
}

static __always_inline void guard_begin(const struct task_struct *task, __u8 guard,
					struct guard_time *t)
{
	__u64 n = __sync_fetch_and_add(&guard_count_here(guard)->marks, 1);

	/* Multiples of the golden ratio are spread evenly. */
	t->began = 0;
	if ((__u32)n * 0x9e3779b9u >> 28)
		return;
	t->switches = count_task_switches(task);
	t->began = bpf_ktime_get_ns();
}

/*
 * A mark is not measured if its thread lost the CPU meanwhile, or if the hypervisor or an interrupt
 * took long: one such outlier would outweigh thousands of marks.
 */
static __always_inline void guard_end(const struct task_struct *task, __u8 guard,
				      const struct guard_time *t)
{
	struct guard_count *count;
	__u64 took;

	if (!t->began)
		return;
	took = bpf_ktime_get_ns() - t->began;
	if (took > guard_longest || count_task_switches(task) != t->switches)
		return;
	count = guard_count_here(guard);
	__sync_fetch_and_add(&count->timed, 1);
	__sync_fetch_and_add(&count->ns, took);
}

/*
 * Gives the levels of switched-off domains a token that no END has. So they are not found, and they
 * do not hide the slice of another domain from its PROF_END. There is no branch in the loop, since
 * the verifier would follow both ways at each level.
 */
__noinline int forget_off_levels(struct thread_state *st)
{
	__u64 off, forgotten = 0;

	if (!st)
		return 0;
	for (int i = 0; i < MAX_NESTING; i++) {
		off = guard_is_switched_off(st->guard[i]);
		st->token[i] &= off - 1;
		forgotten |= off << i;
	}
	st->recorded &= ~forgotten;
	st->left_out &= ~forgotten;
	return 0;
}

#endif
