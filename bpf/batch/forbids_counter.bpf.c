/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Holds a thread that forbids itself the processor's counter, under --mode auto, at the place in the kernel where that is
 * done: however the thread makes the system call. (hold.bpf.c holds it in prctl() of the C library, where the kernel does
 * not let programs run there.)
 *
 * The thread waits in turns (hold_turns.h), which Linux has since 6.18: when it returns from the system call. The functions are
 * those that change the processor, which are called for nothing else, so no other call of any process meets a program here.
 *
 * A thread of a broker that finds out by a trial which flag the kernel sets (user/privilege/loader/counter_off.c) is not
 * held, nor does it end the buffered mode of another recording. It is known by an argument that the kernel ignores. Another
 * program that has this argument is not held either, and its next mark in buffered mode ends it.
 */
#include "bpf/processes/target_match.h"

__u32 counter_trial_seen; /* the broker's own */

/* The third argument of the system call that the thread makes: that of int $0x80 is in the same register. */
static __always_inline bool is_trial(void)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(regs, dx) == COUNTER_TRIAL;
#else
	return BPF_CORE_READ((struct user_pt_regs *)regs, regs[2]) == COUNTER_TRIAL;
#endif
}

/*
 * Whether a mark of the process may be in buffered mode: that of any process if a link is for all. Else, that of a recorded
 * one, and of a child that has its breakpoints still.
 */
static __always_inline bool can_be_buffered(bool is_traced)
{
	if (!each_links || is_traced)
		return true;
	return !follow_children && (any_process || belongs_to_invoker(bpf_get_current_task_btf()));
}

/* `ip`: 0 where interrupts are off (hold_turns.h). */
static __always_inline void hold_for_counter(__u64 ip)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	bool counts = traced_flags(pid_tgid >> 32);
	struct record_hold *r;

	if (is_trial()) {
		counter_trial_seen = 1;
		return;
	}
	/* It is held already where one of the functions calls the other. */
	if (!recording || buffers_are_left() ||
	    held_threads[pid_tgid & (HOLD_SLOTS - 1)] == pid_tgid)
		return;
	if (!can_be_buffered(counts))
		return;
	r = hold_reserve(HOLD_COUNTER, counts);
	if (r)
		hold(ip, r, HOLD_COUNTER, counts, true);
}

SEC("?watch/fentry_set_tsc_mode")
int BPF_PROG(on_counter_set, unsigned int mode)
{
	if (mode == PR_TSC_SIGSEGV)
		hold_for_counter(1);
	return 0;
}

/* SECCOMP_MODE_STRICT calls this one, with interrupts off. */
SEC("?watch/fentry_disable_TSC")
int BPF_PROG(on_counter_disabled)
{
	hold_for_counter(0);
	return 0;
}
