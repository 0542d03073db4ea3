/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters of threads, read at the begin and the end of every slice.
 *
 * What the kernel counts for each task is read from there. Perf events count for a CPU, whoever runs
 * on it: an event that counts for a thread would have to be opened for each, and a thread that has
 * just started makes marks before anybody could. So from its first slice on a thread has an account
 * of its own: what was counted on its CPUs while it was there. It is settled at every switch.
 */
#ifndef PROFTRACE_BPF_COUNTERS_H
#define PROFTRACE_BPF_COUNTERS_H

#include "state.h"

/* Set by the broker before the programs are loaded: with no counters, nothing of this is left. */
const volatile __u32 n_counters = 0;
const volatile __u8 counter_sources[MAX_COUNTERS] = {};
const volatile bool has_perf_counters = false;
const volatile bool has_task_clock = false;
const volatile bool multiplexed = false; /* the kernel lets perf events take turns */

/* Events by counter and CPU: counter * ACCOUNT_CPUS + cpu. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, MAX_COUNTERS *ACCOUNT_CPUS);
	__type(key, __u32);
	__type(value, __u32);
} counter_events SEC(".maps");

/* The state of a thread's account. */
enum counting {
	COUNTING_NOT,
	COUNTING_BEGINS, /* settled at switches already, but not right yet */
	COUNTING,
};

#define COUNTER_ATTEMPTS 4 /* a thread that is preempted more often in a row gets no value */

#define ONCE(place) (*(volatile typeof(place) *)&(place))

static __always_inline bool has_counters(__u8 kind)
{
	return n_counters && (kind == RECORD_BEGIN || kind == RECORD_END);
}

/* How many values one record ends with. */
static __always_inline __u32 counter_values(void)
{
	return multiplexed ? n_counters * COUNTER_PARTS : n_counters;
}

/*
 * The times only matter where events take turns: elsewhere an event counts always or not at all, and
 * the kernel need not look at its clock for them.
 */
static __always_inline long read_event(__u32 counter, struct bpf_perf_event_value *now)
{
	__u32 cpu = bpf_get_smp_processor_id();

	now->counter = now->enabled = now->running = 0;
	if (cpu >= ACCOUNT_CPUS)
		return -1;
	counter = counter * ACCOUNT_CPUS + cpu;
	if (multiplexed)
		return bpf_perf_event_read_value(&counter_events, counter, now, sizeof(*now));
	now->counter = bpf_perf_event_read(&counter_events, counter);
	return now->counter >= -4095ull ? -1 : 0; /* no event has counted so far: an error */
}

static __always_inline void begin_at(struct thread_state *st, __u32 i,
				     const struct bpf_perf_event_value *now)
{
	ONCE(st->since[PART_VALUE][i]) = now->counter;
	if (!multiplexed)
		return;
	ONCE(st->since[PART_ENABLED][i]) = now->enabled;
	ONCE(st->since[PART_RUNNING][i]) = now->running;
}

/* The thread leaves its CPU. A counter that cannot be read has lost its thread's account for good. */
static __always_inline void settle(struct thread_state *st)
{
	struct bpf_perf_event_value now;
	__u32 i;

	for (i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
		if (counter_sources[i] != COUNTER_PERF)
			continue;
		if (read_event(i, &now))
			st->unknown |= 1u << i;
		st->counted[PART_VALUE][i] += now.counter - st->since[PART_VALUE][i];
		if (!multiplexed)
			continue;
		st->counted[PART_ENABLED][i] += now.enabled - st->since[PART_ENABLED][i];
		st->counted[PART_RUNNING][i] += now.running - st->since[PART_RUNNING][i];
	}
	st->switches++;
}

/* The thread gets a CPU. */
static __always_inline void resume(struct thread_state *st)
{
	struct bpf_perf_event_value now;
	__u32 i;

	for (i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
		if (counter_sources[i] != COUNTER_PERF)
			continue;
		if (read_event(i, &now))
			st->unknown |= 1u << i;
		begin_at(st, i, &now);
	}
	st->switches++;
}

/*
 * Opens a thread's account. A switch in the midst of it settles an account that is not right yet;
 * then all is done again.
 */
__noinline int start_counting(struct thread_state *st)
{
	struct bpf_perf_event_value now;
	__u32 i, attempt, switches;

	if (!st)
		return 0;
	ONCE(st->counting) = COUNTING_BEGINS;
	for (attempt = 0; attempt < COUNTER_ATTEMPTS; attempt++) {
		switches = ONCE(st->switches);
		for (i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
			if (counter_sources[i] != COUNTER_PERF)
				continue;
			if (read_event(i, &now))
				st->unknown |= 1u << i;
			ONCE(st->counted[PART_VALUE][i]) = 0;
			if (multiplexed) {
				ONCE(st->counted[PART_ENABLED][i]) = 0;
				ONCE(st->counted[PART_RUNNING][i]) = 0;
			}
			begin_at(st, i, &now);
		}
		if (ONCE(st->switches) == switches)
			break;
	}
	if (attempt == COUNTER_ATTEMPTS)
		st->unknown = ~0u;
	ONCE(st->counting) = COUNTING;
	return 0;
}

static __always_inline __u64 account_of(const struct thread_state *st, enum counter_part part,
					__u32 i, __u64 now)
{
	return ONCE(st->counted[part][i]) + (now - ONCE(st->since[part][i]));
}

/* Of an account that is open. Programs of uprobes can be preempted: then it is done again. */
__noinline int read_perf_account(struct thread_state *st)
{
	struct bpf_perf_event_value now;
	__u32 i, attempt, switches;
	__u64 value;

	if (!st)
		return 0;
	for (i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
		if (counter_sources[i] != COUNTER_PERF)
			continue;
		st->values[PART_VALUE][i] = COUNTER_UNKNOWN;
		for (attempt = 0; attempt < COUNTER_ATTEMPTS; attempt++) {
			long error;

			switches = ONCE(st->switches);
			error = read_event(i, &now);
			value = account_of(st, PART_VALUE, i, now.counter);
			if (multiplexed) {
				st->values[PART_ENABLED][i] =
					account_of(st, PART_ENABLED, i, now.enabled);
				st->values[PART_RUNNING][i] =
					account_of(st, PART_RUNNING, i, now.running);
			}
			if (ONCE(st->switches) != switches)
				continue;
			if (!error && !(st->unknown >> i & 1))
				st->values[PART_VALUE][i] = value;
			break;
		}
	}
	return 0;
}

/*
 * Reads the perf events' counters. The two one after the other, and not one within the other: the stacks
 * of all functions that are in each other at one time must not exceed 512 bytes, each rounded up to 32.
 */
static __always_inline void read_perf_counters(struct thread_state *st)
{
	if (!st->counting)
		start_counting(st);
	read_perf_account(st);
}

/*
 * The same where the thread cannot be preempted, straight to the end of a record. False: a mark of the
 * thread is just about to open its account.
 */
static __always_inline bool put_perf_counters(struct thread_state *st, __u64 *end)
{
	struct bpf_perf_event_value now;
	__u32 i;

	if (ONCE(st->counting) == COUNTING_BEGINS)
		return false;
	if (st->counting == COUNTING_NOT)
		start_counting(st);
	for (i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
		if (counter_sources[i] != COUNTER_PERF)
			continue;
		end[i] = COUNTER_UNKNOWN;
		if (!read_event(i, &now) && !(st->unknown >> i & 1))
			end[i] = account_of(st, PART_VALUE, i, now.counter);
		if (!multiplexed)
			continue;
		end[n_counters + i] = account_of(st, PART_ENABLED, i, now.enabled);
		end[2 * n_counters + i] = account_of(st, PART_RUNNING, i, now.running);
	}
	return true;
}

static __always_inline __u64 switches_of(const struct task_struct *task)
{
	return ONCE(task->nvcsw) + ONCE(task->nivcsw);
}

/*
 * The run queue of the task's CPU, NULL: the kernel does not tell. Followed as seldom as possible: at each of the two pointers the
 * verifier looks through the names of all types of the kernel, for a millisecond.
 */
static __always_inline const struct rq *rq_of(const struct task_struct *task)
{
	if (!bpf_core_field_exists(struct cfs_rq, rq))
		return NULL;
	return task->se.cfs_rq->rq;
}

/*
 * How far the clock by which the scheduler counts CPU time is behind on a CPU: it stands still
 * during interrupts, and while the hypervisor runs something else. Read in this order it only looks too
 * large, and never too small, while another CPU moves the two.
 */
static __always_inline __u64 clock_lag(const struct rq *rq)
{
	__u64 clock_task;

	if (!rq)
		return 0;
	clock_task = ONCE(rq->clock_task);
	return ONCE(rq->clock) - clock_task;
}

/* Of the CPU that the thread has now. Global: see rq_of(). */
__noinline __u64 clock_lag_now(void)
{
	return clock_lag(rq_of(bpf_get_current_task_btf()));
}

/* What has to be looked at before the time of a mark is taken. */
struct before {
	__u64 switches;
	__u64 lag;
	const struct rq *rq;
};

static __always_inline void look_before(struct before *b)
{
	const struct task_struct *task;

	if (!has_task_clock)
		return;
	task = bpf_get_current_task_btf();
	b->switches = switches_of(task);
	b->rq = rq_of(task);
	b->lag = clock_lag(b->rq);
}

/*
 * The CPU time at the moment `ts`, plus a constant: what was added up to `exec_start`, and the time
 * since then. The constant is the distance between the scheduler's clock and ours, once its lag is
 * added. (The two do not run equally fast either: user/capture/clocks.c.)
 *
 * Interrupts and other CPUs may change all of these under our hands. Another CPU writes the start
 * first and then the sum: two that are read twice with the lag in between, and are the same, belong
 * together unless that CPU was stopped between its two writes. Where the thread has left its CPU since
 * `ts`, the time in between is not its own. The lag is the smaller of two, since it only looks too
 * large.
 *
 * What the scheduler has not noticed yet is in it: interrupts (where the kernel tells them from the
 * task's own time) and time stolen by the hypervisor since it last looked, at most a tick ago.
 */
static __always_inline __u64 task_clock(struct task_struct *task, __u64 ts, const struct before *b)
{
	__u64 sum = ONCE(task->se.sum_exec_runtime), start = ONCE(task->se.exec_start);
	__u64 lag = b->lag, lag_now = clock_lag(b->rq);

	/* Not a loop: what clang makes of it is none that kernel 6.1 takes. Nor is it ever so long. */
	if (ONCE(task->se.exec_start) != start || ONCE(task->se.sum_exec_runtime) != sum) {
		sum = ONCE(task->se.sum_exec_runtime);
		start = ONCE(task->se.exec_start);
		lag_now = clock_lag(b->rq);
	}
	/* It may have another CPU now. */
	if (switches_of(task) != b->switches) {
		lag_now = clock_lag_now();
		ts = bpf_ktime_get_ns();
		lag = lag_now;
	}
	if (lag_now < lag)
		lag = lag_now;
	return sum + (ts - start - lag);
}

/* Reads what the kernel keeps of each task. */
static __always_inline void read_task_counters(__u64 *values, __u64 ts, const struct before *before)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 i;

	for (i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
		switch (counter_sources[i]) {
		case COUNTER_TASK_CLOCK:
			values[i] = task_clock(task, ts, before);
			break;
		case COUNTER_PAGE_FAULTS:
			values[i] = task->maj_flt + task->min_flt;
			break;
		case COUNTER_MINOR_FAULTS:
			values[i] = task->min_flt;
			break;
		case COUNTER_MAJOR_FAULTS:
			values[i] = task->maj_flt;
			break;
		case COUNTER_CONTEXT_SWITCHES:
			values[i] = switches_of(task);
			break;
		case COUNTER_CPU_MIGRATIONS:
			values[i] = task->se.nr_migrations;
			break;
		}
	}
}

/* Copies the values to the end of a record, which is aligned. */
static __always_inline void put_counters(const struct thread_state *st, __u64 *end)
{
	__u32 i;

	for (i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
		bool turns = counter_sources[i] == COUNTER_PERF;

		end[i] = st->values[PART_VALUE][i];
		if (!multiplexed)
			continue;
		end[n_counters + i] = turns ? st->values[PART_ENABLED][i] : 0;
		end[2 * n_counters + i] = turns ? st->values[PART_RUNNING][i] : 0;
	}
}

#endif
