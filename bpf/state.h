/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps, the variables and the accounting that all programs share, and the state of a thread. */
#ifndef PROFTRACE_BPF_STATE_H
#define PROFTRACE_BPF_STATE_H

/* hold_turns.h has this type itself, because only types of new kernels include it. */
#define bpf_task_work bpf_task_work_of_vmlinux
#include "vmlinux.h"
#undef bpf_task_work
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/event.h"
#include "bpf/marks/schedule.h"
#include "bpf/stacks/stack.h"

#define MAPPED_EXECUTABLE 4 /* the kernel's VM_EXEC */

/*
 * All ones if value is not 0, else 0. There are no branches, since the verifier would follow each of them through all that comes
 * after; if it could see what the negation is for, or where the mask comes from, clang would make one of it.
 */
static __always_inline __u64 mask_of(__u64 value)
{
	__u64 negated = -value, mask;

	barrier_var(negated);
	mask = -((value | negated) >> 63);
	barrier_var(mask);
	return mask;
}

/* Set by the broker before the programs are loaded. */
const volatile __u64 hold_limit_ns = 500000000;
const volatile bool follow_children = true;
/* Each process has links of its own (privilege/broker/follow.c). */
const volatile bool each_links;
const volatile bool can_hold = true;
const volatile bool can_loop = false;	/* the kernel has bpf_loop() */
const volatile bool any_process = true; /* the invoker may trace all processes */
const volatile __u32 invoker = 0;	/* the user who records: tasks of other users are hidden */

const volatile bool guarded = false;	      /* bpf/marks/guard.h */
const volatile bool switches_off = false;     /* and domains may be switched off */
const volatile bool mark_stacks = false;      /* call stacks of some marks are wanted */
const volatile bool switch_has_state = false; /* the tracepoint sched_switch gives it, since 5.18 */

const volatile bool scheduled = false;
const volatile struct schedule schedule = {};

/* Shared with the recorder by mmap. */
__u32 recording;  /* 0: nothing is recorded. Turns all sites on and off at the same moment. */
__u32 generation; /* incremented when what is recorded changes (bpf/control.h) */
/* the last order to all processes: TRACED_PAUSED or 0, and above TRACED_ORDER_SHIFT its number */
__u32 pause_order;
/* under a schedule: the domains' probes are attached, and not only the control site */
__u32 data_attached;
__u32 detach_count; /* how often they were detached: slices that were open then are forgotten */
__u32 off_count;    /* how often a domain was switched off (bpf/marks/guard.h) */
__u32 sched_lost; /* bpf/sched/sched.bpf.c: records lost, and how many of them have been reported */
__u32 sched_lost_sent;
__u64 base_lost_ns;	/* bpf/batch/counters.bpf.c: when the last record was lost */
__u64 attached_ns;	/* when the first attaching was complete */
__u64 followed_late_ns; /* the longest time that a process had no links (privilege/broker/follow.c) */
__u32 bases_wanted;	/* bpf/batch/counters.bpf.c: some domain is in buffered mode */
__u32 counter_off_in; /* a process that may not read the processor's counter (bpf/batch/counter_off.bpf.c) */
__u64 buffers_left_ns; /* when all domains began to leave buffered mode (HOLD_COUNTER); 0: they have not */
/*
 * Odd while processes get links of their own in addition to those for all (user/capture/attach/each_process.c), and incremented
 * at the begin and the end of that.
 */
__u32 both_links;
/* Not 0: some file has links of each process, whose first thread they need. Set by the recorder. */
__u32 alone_links;
__u32 syscalls_stored; /* how many threads are in a call whose begin is in the task's storage, or were killed in it */
/* Aligned to keep the counters out of the cache lines above, which are read at every mark. */
__u64 account[ACCOUNT_CPUS][ACCOUNT_SLOTS] __attribute__((aligned(64)));
struct guard_count guard_counts[GUARD_CPUS][GUARD_DOMAINS];
__u64 guard_longest;		     /* ns: a program that took longer was interrupted */
__u64 guard_off[GUARD_DOMAINS / 64]; /* one bit for each domain */
struct batch_found batches_found[BATCHES_FOUND];
__u64 batch_losses_secret; /* set by the recorder before it records */
struct batch_loss batch_losses[BATCH_LOSSES];
__u64 stack_unwanted[STACK_UNWANTED];
__u64 hold_tickets;
__u64 hold_released[HOLD_SLOTS];
__u64 held_threads
	[HOLD_SLOTS]; /* pid_tgid of each, at its thread's number: one of two in the same place is missing */
struct known_file known_files[KNOWN_FILES]; /* bpf/processes/new_libraries.h */

/*
 * Requests of held threads. They have a ring buffer of their own, because they cannot wait until a
 * million marks have been read.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} holds SEC(".maps");

/*
 * Which processes are traced: tgid -> enum traced_flags. All entries are made at the start of a recording: a process must not be
 * missed because memory is short when it is forked.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} traced SEC(".maps");

/*
 * A deletion can fail: from Linux 6.15 on, a lock whose owner the host does not run for a quarter of a second is given up.
 * What has no flags is not recorded.
 */
static __always_inline void untrace(__u32 tgid)
{
	__u32 *flags = bpf_map_lookup_elem(&traced, &tgid);

	if (!flags)
		return;
	*flags = 0;
	bpf_map_delete_elem(&traced, &tgid);
}

#define OWN_HITS 8 /* a power of two */

/*
 * The nesting of a thread and what else is kept for it. The state belongs to the thread alone, so
 * nothing here needs to be atomic. Each level keeps the token of its BEGIN, so that an END finds
 * its own slice, and whether the BEGIN was recorded, so that its END is recorded if and only if the
 * BEGIN was. bpf/threads.h creates it; the fields from `depth` to `token` are 0 at first.
 */
struct thread_state {
	__u64 owner;	 /* in a slot: pid_tgid of the thread; 0: free */
	__u64 birth;	 /* start time of the thread, since thread numbers are reused */
	__u64 execution; /* which of its executions has begun the program that the state is of */
	__u64 stored; /* in a slot: a thread that would use it may have its state in its task's storage */
	__u32 depth;
	__u32 too_deep;	 /* open levels beyond MAX_NESTING */
	__u64 recorded;	 /* one bit per level */
	__u64 left_out;	 /* one bit per level: not recorded because it was left out */
	__u64 skip_mask; /* marks with one of these bits in meta (or META_EVERY) are not recorded */
	__u32 generation;    /* of the look-up that skip_mask comes from (bpf/control.h) */
	__u32 left_out_slot; /* where a mark that is left out is counted */
	__u32 detach_count;  /* value of `detach_count` at the last look-up */
	__u32 table;	     /* number of its slot in the tables + 1 (bpf/table/table_rows.h) */
	__u64 lost;	     /* marks of this thread lost and not reported yet */
	__u64 lost_since;
	__u64 lost_last;

	/* bpf/counters/counters.h */
	__u32 switches;	 /* incremented whenever the thread gets or leaves a CPU */
	__u32 unknown;	 /* a bit for each counter that could not be read */
	__u8 counting;	 /* enum counting */
	__u8 whole;	 /* all slices of the thread are known from its beginning */
	__u32 off_count; /* value of `off_count` at the last look-up */

	/*
	 * bpf/batch/batch_list.h: the addresses of its batches; the number of those in the map, and the
	 * last of them
	 */
	__u32 n_batches;
	__u32 n_more;
	__u64 batches[BATCHES];
	__u32 batch_sites[BATCHES]; /* the flush site of each */
	__u64 batch_events
		[BATCHES]; /* how many events of each were handed over; BATCH_EVENTS_UNKNOWN */
	__u64 more;
	__u64 n_forgotten; /* batches that could not be registered */
	struct batch_head batch;
	__u64 batch_owner; /* the thread pointer in its batches; 0: not known; BATCH_OWNERS_SEVERAL */
	__u64 batch_from, batch_from_events; /* struct record_batch */
	/* The batch handed over last, whether it was sent or lost: it may come again when the thread exits. */
	__u64 handed_batch, handed_base, handed_events;
	__u32 lost_alone;	  /* marks without a batch that were lost and not reported yet */
	__u64 own_hits[OWN_HITS]; /* what links of this process have recorded: hit_is_recorded() */
	/* bpf/marks/usdt.bpf.c, at an existing USDT probe */
	__u64 registers[33]; /* the last one is always 0 */
	__u32 unreadable;    /* whether the last argument was unreadable */

	__u64 token[MAX_NESTING];
	__u8 guard[MAX_NESTING]; /* number of each level's domain (bpf/marks/guard.h) */
	/* The values of the counters for the mark that is being recorded. */
	__u64 values[COUNTER_PARTS][MAX_COUNTERS];

	/* What the perf events counted for this thread up to `since`. */
	__u64 counted[COUNTER_PARTS][MAX_COUNTERS];
	__u64 since[COUNTER_PARTS][MAX_COUNTERS];
};

/*
 * A record with strings is put together here. The memory belongs to the thread, because a program
 * run by a uprobe can be preempted by another one on the same CPU.
 */
#define STRING_AREA 2048 /* a power of two, more than MAX_NAME + MAX_ARGS * MAX_STRING */

struct string_record {
	struct record_full rec;
	char bytes[STRING_AREA + MAX_STRING + 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct string_record);
} string_records SEC(".maps");

/* The position of a process in its schedule, by tgid. It is created by the first step. */
struct step_state {
	__u64 key; /* identifies epoch and batch */
	__u64 epoch;
	__u64 batch;
	__u64 n; /* steps of this epoch before this one */
	__u32 phase;
	__u32 sent; /* what was last sent to the recorder */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct step_state);
} steps SEC(".maps");

#define TASK_IS_EXITING 0x4	   /* the kernel's PF_EXITING */
#define TASK_IS_KERNELS 0x00200000 /* the kernel's PF_KTHREAD */

/* Reads or writes a variable exactly once while others change it. */
#define ONCE(place) (*(volatile typeof(place) *)&(place))

#define TASK_SLEEPS   0x1   /* the kernel's TASK_INTERRUPTIBLE */
#define TASK_IS_WOKEN 0x200 /* the kernel's TASK_WAKING */

/*
 * The state in which a task leaves its CPU, from the context of sched_switch. Before 5.18 only the task has it, and
 * another CPU may be waking the task already: which kind of sleep it was is then lost.
 */
static __always_inline __u32 state_at_switch(const unsigned long long *ctx,
					     const struct task_struct *prev)
{
	__u32 state;

	if (switch_has_state)
		return (__u32)ctx[3];
	state = ONCE(prev->__state);
	return state == TASK_IS_WOKEN ? TASK_SLEEPS : state;
}

/* The number of context switches of a task. If it has not changed, the task has kept its CPU. */
static __always_inline __u64 count_task_switches(const struct task_struct *task)
{
	return ONCE(task->nvcsw) + ONCE(task->nivcsw);
}

/* Adds one and returns the value before. */
static __always_inline __u64 account_add(enum account_slot slot)
{
	__u32 cpu = bpf_get_smp_processor_id() & (ACCOUNT_CPUS - 1);

	return __sync_fetch_and_add(&account[cpu][slot], 1);
}

static __always_inline void account_add_n(enum account_slot slot, __u64 n)
{
	__u32 cpu = bpf_get_smp_processor_id() & (ACCOUNT_CPUS - 1);

	__sync_fetch_and_add(&account[cpu][slot], n);
}

static __always_inline __u32 traced_flags(__u32 tgid)
{
	__u32 *flags = bpf_map_lookup_elem(&traced, &tgid);

	return flags ? *flags : 0;
}

/* Tells the current process from others that had its number before. */
static __always_inline __u64 birth_of_process(void)
{
	return BPF_CORE_READ(bpf_get_current_task_btf(), group_leader, start_time);
}

static __always_inline void init_record_head(struct record *head, __u8 kind, __u32 tgid, __u32 tid)
{
	head->ts = bpf_ktime_get_ns();
	head->tgid = tgid;
	head->tid = tid;
	head->site = 0;
	head->name = NAME_NONE;
	head->types = 0;
	head->kind = kind;
	head->flags = 0;
	head->level = 0;
}

#endif
