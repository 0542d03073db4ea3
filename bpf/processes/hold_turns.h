/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a thread waits in the kernel until it is released.
 *
 * Nothing here may sleep while a program runs. No uprobe of the machine can be detached until all sleepable programs that
 * run have ended, and the program that is held decides how long the kernel sleeps where it reads that program's memory: a
 * file system of its own (FUSE) answers when it likes. Nor may a program run for long, since on kernels that switch
 * threads only at certain points (preempt=none, preempt=voluntary) nothing else has its CPU meanwhile.
 *
 * So the thread waits in turns, since Linux 6.18. A turn is a short program that the kernel runs as a task work: before
 * the thread returns to user space, and, if there is another one by then, one after the other. Between two of them other
 * threads get the CPU, and neither a program runs nor a lock is held. Each turn first asks for the next one. That of the
 * same place can only be asked for when it has ended, so there are two places for each thread.
 *
 * Older kernels have no task works for programs. There hold.bpf.c waits in one program, and reads the thread's memory.
 */
#ifndef PROFTRACE_BPF_HOLD_TURNS_H
#define PROFTRACE_BPF_HOLD_TURNS_H

#include "bpf/state.h"

#define LEAVES_WITHIN_NS 200000000
#define TURN_STEPS	 2048		/* about 80 us */
#define QUEUED_STEPS	 (1 << 20)	/* an interrupt is not that late */
#define ABANDONED_NS	 10000000000ull /* a place whose thread ended in its turn */

struct hold_wait {
	__u64 ticket;
	__u64 deadline;
	__u64 ip;
	__u32 counter; /* HOLD_COUNTER */
	__u32 counts;  /* it is an error if it is not released */
};

/*
 * Whether all domains have left buffered mode. Detaching ends only when no sleepable program runs, so it would wait for
 * this one. But it turns the semaphores off first, which takes milliseconds.
 */
static __always_inline bool buffers_are_left(void)
{
	__u64 left_ns = *(volatile __u64 *)&buffers_left_ns;

	return left_ns && bpf_ktime_get_ns() > left_ns + LEAVES_WITHIN_NS;
}

static __always_inline bool hold_is_released(const struct hold_wait *w)
{
	if (w->counter && *(volatile __u64 *)&buffers_left_ns)
		return buffers_are_left();
	/* A later ticket in the slot means that this one was released before. */
	return *(volatile __u64 *)&hold_released[w->ticket & (HOLD_SLOTS - 1)] >= w->ticket;
}

/* A global function, so that the verifier checks it once and not in each state in which a hold may be over. */
__noinline int hold_is_over(const struct hold_wait *w)
{
	return !w || hold_is_released(w) || !*(volatile __u32 *)&recording ||
	       bpf_ktime_get_ns() > w->deadline;
}

/* While it is held, what the thread does is not sampled: thread_is_held(). */
static __always_inline void set_held(bool held)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	held_threads[pid_tgid & (HOLD_SLOTS - 1)] = held ? pid_tgid : 0;
}

/* A global function for the same reason. */
__noinline int hold_end(const struct hold_wait *w)
{
	set_held(false);
	/* Of a thread that cannot be held, the recorder finds out what it has missed (scans.c). */
	if (can_hold && recording && w && w->counts && !hold_is_released(w))
		account_add(ACCOUNT_HOLD_TIMEOUT);
	return 0;
}

/* The verifier recognises this field of a map by the name of its type. */
struct bpf_task_work {
	__u64 opaque;
} __attribute__((aligned(8)));

struct hold_turn {
	struct bpf_task_work work;
	struct hold_wait wait;
	__u64 taken_until; /* of the first place of a thread; 0: it is free */
};

/* HOLD_SLOTS first places, then the second ones. The broker keeps a descriptor, without which nothing can be asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hold_turn);
} hold_turns SEC(".maps");

typedef int (*hold_turn_function)(void *map, __u32 *place, struct hold_turn *turn);

/*
 * bpf_task_work_schedule_resume(). The loader writes the kernel's own number of the function here: libbpf would read all
 * types of the kernel for it.
 */
static int (*ask_for_turn)(struct task_struct *task, struct bpf_task_work *work, void *map,
			   hold_turn_function run, void *unused) = (void *)TURN_FUNCTION;

/*
 * First a turn, then until the next turn is queued, which an interrupt of this CPU does. A thread that returned before that
 * would not wait. One loop, since the verifier would follow two of them one after the other.
 *
 * The pointer is read by a call: wherever a program loads a pointer from a task, the verifier searches the names of all
 * types of the kernel several times, which takes a millisecond. It follows this function twice in each program.
 */
static long turn_step(__u32 i, struct hold_wait *w)
{
	return hold_is_over(w) ||
	       (i >= TURN_STEPS && BPF_CORE_READ(bpf_get_current_task_btf(), task_works));
}

static __always_inline void spend_turn(struct hold_wait *w)
{
	bpf_loop(TURN_STEPS + QUEUED_STEPS, turn_step, w, 0);
}

static int run_turn(void *map, __u32 *place, struct hold_turn *turn)
{
	__u32 first = *place & (HOLD_SLOTS - 1), other = *place ^ HOLD_SLOTS;
	struct hold_turn *owner = bpf_map_lookup_elem(&hold_turns, &first);
	struct hold_turn *next = bpf_map_lookup_elem(&hold_turns, &other);
	struct hold_wait w = turn->wait;

	if (!owner || !next)
		return 0;
	next->wait = w;
	if (hold_is_over(&w) ||
	    ask_for_turn(bpf_get_current_task_btf(), &next->work, &hold_turns, run_turn, NULL)) {
		hold_end(&w);
		owner->taken_until = 0;
		return 0;
	}
	spend_turn(&w);
	return 0;
}

/* Returns whether the thread will wait, by a place that no other thread has. */
static __always_inline bool hold_in_turns_begin(struct hold_wait *w)
{
	__u32 place = w->ticket & (HOLD_SLOTS - 1);
	struct hold_turn *turn = bpf_map_lookup_elem(&hold_turns, &place);
	__u64 until;

	if (!turn)
		return 0;
	until = *(volatile __u64 *)&turn->taken_until;
	if (until > bpf_ktime_get_ns() ||
	    __sync_val_compare_and_swap(&turn->taken_until, until, w->deadline + ABANDONED_NS) !=
		    until)
		return 0;
	turn->wait = *w;
	if (ask_for_turn(bpf_get_current_task_btf(), &turn->work, &hold_turns, run_turn, NULL)) {
		turn->taken_until = 0;
		return 0;
	}
	/*
	 * In the kernel (0), where seccomp_set_mode_strict() has interrupts off and a lock, no interrupt queues the next turn:
	 * that is done as soon as they are on, before the system call returns.
	 */
	if (w->ip)
		spend_turn(w);
	return 1;
}

#endif
