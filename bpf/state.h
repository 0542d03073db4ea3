/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps and the account that all programs share. */
#ifndef PROFTRACE_BPF_STATE_H
#define PROFTRACE_BPF_STATE_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "event.h"
#include "schedule.h"
#include "stack.h"

/* Set by the broker before the programs are loaded. */
const volatile __u64 hold_limit_ns = 500000000;
const volatile bool follow_children = true;
const volatile bool can_hold = true;
const volatile bool any_process = true; /* the invoker may trace whatever runs */
const volatile __u32 invoker = 0; /* who records: other users' tasks are nobody's to look into */

const volatile bool guarded = false;	 /* bpf/guard.h */
const volatile bool mark_stacks = false; /* call stacks are asked for of some marks */

const volatile bool scheduled = false;
const volatile struct schedule schedule = {};

/* Shared with the recorder by mmap. */
__u32 recording;  /* nothing is recorded while it is 0: opens and closes all sites at one moment */
__u32 generation; /* another number whenever something changes in what is recorded (bpf/control.h) */
__u32 said; /* to all processes: TRACED_PAUSED or not, and how often, above TRACED_SAID_SHIFT */
__u32 data_attached; /* under a schedule: the domains' probes are, and not only the control site's */
__u32 cuts;	  /* how often they were not: what threads had open before is not open any more */
__u32 offs;	  /* how often a domain was switched off: bpf/guard.h */
__u32 sched_lost; /* bpf/sched.bpf.c: records of its that found no room, and how many were told */
__u32 sched_lost_told;
__u64 attached_ns;    /* when all that was to be attached to at first had been */
__u32 threads_stored; /* bpf/threads.h: whether the state of any is in its task's storage */
/* In cache lines of its own: what is above is read at every mark. */
__u64 account[ACCOUNT_CPUS][ACCOUNT_SLOTS] __attribute__((aligned(64)));
struct guard_count guard_counts[GUARD_CPUS][GUARD_DOMAINS];
__u64 guard_longest;		     /* ns: a program that takes longer was interrupted */
__u64 guard_off[GUARD_DOMAINS / 64]; /* a bit for each domain that is switched off */
struct batch_found batches_found[BATCHES_FOUND];
__u64 stack_unwanted[STACK_UNWANTED];
__u64 hold_tickets;
__u64 hold_released[HOLD_SLOTS];

/* Threads that are held: a way of their own, since they cannot wait behind a million marks. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} holds SEC(".maps");

/* Which processes are traced: tgid -> enum traced_flags. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} traced SEC(".maps");

/*
 * What is open on a thread. It belongs to the thread alone, so nothing here needs to be atomic. Each
 * level remembers the token its BEGIN came with, so that an END finds its own slice, and whether the
 * BEGIN was recorded, so that its END is recorded if and only if it was. bpf/threads.h keeps them;
 * from `depth` to `token` all is 0 at first.
 */
struct thread_state {
	__u64 owner; /* in a slot: tgid and tid as pid_tgid_of() has them; 0: nobody's */
	__u64 birth; /* when that thread started: numbers are used again */
	__u32 depth;
	__u32 too_deep;	 /* open levels beyond MAX_NESTING */
	__u64 recorded;	 /* one bit per level */
	__u64 left_out;	 /* one bit per level: why not, where it was not recorded */
	__u64 leave_out; /* marks with one of these bits in meta (or META_EVERY) are not recorded */
	__u32 generation;    /* that these are of (bpf/control.h) */
	__u32 left_out_slot; /* of the account */
	__u32 cut;	     /* as `cuts` was when it looked last */
	__u32 table;	     /* bpf/rows.h: its place in the tables + 1 */
	__u64 lost;	     /* marks of this thread lost and not told yet */
	__u64 lost_since;
	__u64 lost_last;

	/* bpf/counters.h */
	__u32 switches; /* a new number whenever the thread gets a CPU or leaves it */
	__u32 unknown;	/* a bit for each counter that could not be read */
	__u8 counting;	/* enum counting */
	__u8 whole;	/* nothing was open on it that is not known */
	__u32 offs;	/* as `offs` was when it looked last */

	/* bpf/batches.h: addresses of its batches; of those in the map, how many and the last one */
	__u32 n_batches;
	__u32 n_more;
	__u64 batches[BATCHES];
	__u64 more;
	__u64 n_forgotten; /* that found no place */
	struct batch_head batch;
	/* The last one that was lost, and the last one sent: at their thread's end they may come again. */
	__u64 lost_batch, lost_base, lost_marks;
	__u64 sent_batch, sent_base, sent_complete;
	__u32 lost_alone; /* marks past all batches, which the recorder has not been told of */
	/* bpf/usdt.bpf.c, at a probe of others */
	__u64 registers[33]; /* the last one is always 0 */
	__u32 unreadable;    /* whether its last argument was */

	__u64 token[MAX_NESTING];
	__u8 guard[MAX_NESTING]; /* bpf/guard.h: whose level it is */
	/* Of its counters, read for the mark that is being recorded. */
	__u64 values[COUNTER_PARTS][MAX_COUNTERS];

	/* What perf events have counted for this thread up to `since`. */
	__u64 counted[COUNTER_PARTS][MAX_COUNTERS];
	__u64 since[COUNTER_PARTS][MAX_COUNTERS];
};

/*
 * Where a record with strings is put together: per thread, since a program run by a uprobe can be
 * preempted by another on the same CPU.
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

/* Where a process is in its schedule, by tgid. None before its first step. */
struct step_state {
	__u64 key; /* of the step: epoch and batch in one */
	__u64 epoch;
	__u64 batch;
	__u64 n; /* steps of this epoch before this one */
	__u32 phase;
	__u32 told; /* to the recorder */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct step_state);
} steps SEC(".maps");

#define TASK_IS_EXITING 0x4 /* PF_EXITING */

/* Adds one and returns what was there before. */
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

static __always_inline void head_of(struct record *head, __u8 kind, __u32 tgid, __u32 tid)
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
