/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters of threads, read at the beginning and the end of every slice.
 *
 * Counters that the kernel keeps for each task are read from the task. Perf events count for a CPU,
 * whichever thread runs on it. An event that counts for one thread would have to be opened for each
 * thread, and a new thread makes marks before anybody could do that. So from its first slice each
 * thread has an account: what the events counted while the thread had a CPU. The account is updated
 * at every context switch.
 */
#ifndef PROFTRACE_BPF_COUNTERS_H
#define PROFTRACE_BPF_COUNTERS_H

#include "bpf/state.h"

/*
 * Set by the broker before the programs are loaded. Without counters the verifier removes all of
 * this.
 */
const volatile __u32 n_counters = 0;
const volatile __u8 counter_sources[MAX_COUNTERS] = {};
const volatile bool has_perf_counters = false;
const volatile bool has_task_clock = false;
const volatile bool multiplexed = false; /* perf events take turns on the hardware */

/* The perf events, at index counter * ACCOUNT_CPUS + cpu. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, MAX_COUNTERS *ACCOUNT_CPUS);
	__type(key, __u32);
	__type(value, __u32);
} counter_events SEC(".maps");

/* The state of a thread's account. */
enum counting {
	COUNTING_NOT,
	COUNTING_BEGINS, /* updated at context switches already, but not valid yet */
	COUNTING,
};

#define COUNTER_ATTEMPTS 4 /* a thread that is preempted more often in a row gets no value */

static __always_inline bool has_counters(__u8 kind)
{
	return n_counters && (kind == RECORD_BEGIN || kind == RECORD_END);
}

/* The number of values at the end of a record. */
static __always_inline __u32 counter_values(void)
{
	return multiplexed ? n_counters * COUNTER_PARTS : n_counters;
}

/*
 * Reads a perf event of this CPU. The times are read only if events take turns: otherwise an event
 * counts always or never, and the kernel need not read its clock.
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
	return now->counter >= -4095ull ? -1 : 0; /* an error: the event has not counted yet */
}

static __always_inline void set_counter_start(struct thread_state *st, __u32 i,
					      const struct bpf_perf_event_value *now)
{
	ONCE(st->since[PART_VALUE][i]) = now->counter;
	if (!multiplexed)
		return;
	ONCE(st->since[PART_ENABLED][i]) = now->enabled;
	ONCE(st->since[PART_RUNNING][i]) = now->running;
}

/*
 * The thread leaves its CPU. If a counter cannot be read, the thread's account of it stays unknown
 * from then on.
 */
static __always_inline void counters_switch_out(struct thread_state *st)
{
	struct bpf_perf_event_value now;

	for (__u32 i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
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
static __always_inline void counters_switch_in(struct thread_state *st)
{
	struct bpf_perf_event_value now;

	for (__u32 i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
		if (counter_sources[i] != COUNTER_PERF)
			continue;
		if (read_event(i, &now))
			st->unknown |= 1u << i;
		set_counter_start(st, i, &now);
	}
	st->switches++;
}

/*
 * Opens a thread's account. If a context switch comes in between, it updates an account that is not
 * valid yet, and all is done again.
 */
__noinline int start_counting(struct thread_state *st)
{
	struct bpf_perf_event_value now;
	__u32 attempt, switches;

	if (!st)
		return 0;
	ONCE(st->counting) = COUNTING_BEGINS;
	for (attempt = 0; attempt < COUNTER_ATTEMPTS; attempt++) {
		switches = ONCE(st->switches);
		for (__u32 i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
			if (counter_sources[i] != COUNTER_PERF)
				continue;
			if (read_event(i, &now))
				st->unknown |= 1u << i;
			ONCE(st->counted[PART_VALUE][i]) = 0;
			if (multiplexed) {
				ONCE(st->counted[PART_ENABLED][i]) = 0;
				ONCE(st->counted[PART_RUNNING][i]) = 0;
			}
			set_counter_start(st, i, &now);
		}
		if (ONCE(st->switches) == switches)
			break;
	}
	if (attempt == COUNTER_ATTEMPTS)
		st->unknown = ~0u;
	ONCE(st->counting) = COUNTING;
	return 0;
}

static __always_inline __u64 counter_total(const struct thread_state *st, enum counter_part part,
					   __u32 i, __u64 now)
{
	return ONCE(st->counted[part][i]) + (now - ONCE(st->since[part][i]));
}

/* Reads an open account. A program of a uprobe can be preempted; then it reads again. */
__noinline int read_perf_account(struct thread_state *st)
{
	struct bpf_perf_event_value now;
	__u32 switches;
	__u64 value;

	if (!st)
		return 0;
	for (__u32 i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
		if (counter_sources[i] != COUNTER_PERF)
			continue;
		st->values[PART_VALUE][i] = COUNTER_UNKNOWN;
		for (__u32 attempt = 0; attempt < COUNTER_ATTEMPTS; attempt++) {
			long error;

			switches = ONCE(st->switches);
			error = read_event(i, &now);
			value = counter_total(st, PART_VALUE, i, now.counter);
			if (multiplexed) {
				st->values[PART_ENABLED][i] =
					counter_total(st, PART_ENABLED, i, now.enabled);
				st->values[PART_RUNNING][i] =
					counter_total(st, PART_RUNNING, i, now.running);
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
 * Opens the account if necessary and reads it. The two functions are called one after the other,
 * because the stack frames of nested functions, each rounded up to 32 bytes, must not exceed 512
 * bytes together.
 */
static __always_inline void read_perf_counters(struct thread_state *st)
{
	if (!st->counting)
		start_counting(st);
	read_perf_account(st);
}

/*
 * As read_perf_counters(), but for an interrupt, which cannot be preempted: writes straight to the
 * end of a record. False: a mark of the thread is just opening its account.
 */
static __always_inline bool store_perf_counters(struct thread_state *st, __u64 *end)
{
	struct bpf_perf_event_value now;

	if (ONCE(st->counting) == COUNTING_BEGINS)
		return false;
	if (st->counting == COUNTING_NOT)
		start_counting(st);
	for (__u32 i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
		if (counter_sources[i] != COUNTER_PERF)
			continue;
		end[i] = COUNTER_UNKNOWN;
		if (!read_event(i, &now) && !(st->unknown >> i & 1))
			end[i] = counter_total(st, PART_VALUE, i, now.counter);
		if (!multiplexed)
			continue;
		end[n_counters + i] = counter_total(st, PART_ENABLED, i, now.enabled);
		end[2 * n_counters + i] = counter_total(st, PART_RUNNING, i, now.running);
	}
	return true;
}

/*
 * The run queue of the task's CPU; NULL: the kernel's types do not lead there. Called as rarely as
 * possible: for each of the two pointers the verifier searches the names of all types of the
 * kernel, which takes a millisecond.
 */
static __always_inline const struct rq *task_rq(const struct task_struct *task)
{
	if (!bpf_core_field_exists(struct cfs_rq, rq))
		return NULL;
	return task->se.cfs_rq->rq;
}

/*
 * How far the clock with which the scheduler counts CPU time is behind on a CPU. That clock stands
 * still during interrupts and while the hypervisor runs something else. Read in this order the lag
 * may look too large, but never too small, while another CPU advances the two.
 */
static __always_inline __u64 clock_lag(const struct rq *rq)
{
	__u64 clock_task;

	if (!rq)
		return 0;
	clock_task = ONCE(rq->clock_task);
	return ONCE(rq->clock) - clock_task;
}

/* The lag on the thread's present CPU. Rarely needed, so it reads by calls for which the verifier looks up no types. */
__noinline __u64 clock_lag_now(void)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct rq *rq;
	__u64 clock_task;

	if (!bpf_core_field_exists(struct cfs_rq, rq))
		return 0;
	rq = BPF_CORE_READ(task, se.cfs_rq, rq);
	clock_task = BPF_CORE_READ(rq, clock_task);
	barrier();
	return BPF_CORE_READ(rq, clock) - clock_task;
}

/* What must be read before the time of a mark is taken. */
struct clock_state {
	__u64 switches;
	__u64 lag;
	const struct rq *rq; /* NULL: the lag is not read again */
};

static __always_inline void read_clock_state(struct clock_state *b, const struct task_struct *task)
{
	if (!has_task_clock)
		return;
	b->switches = count_task_switches(task);
	b->rq = task_rq(task);
	b->lag = clock_lag(b->rq);
}

/* The same of the current thread, where it is rare: by calls for which the verifier looks up no types. */
static __always_inline void read_clock_state_by_calls(struct clock_state *b,
						      const struct task_struct *task)
{
	if (!has_task_clock)
		return;
	b->switches = count_task_switches(task);
	b->lag = clock_lag_now();
}

/*
 * The CPU time at `ts` plus a constant: the sum up to `exec_start`, and the time since then. The
 * constant is the difference between the scheduler's clock and CLOCK_MONOTONIC, after the lag has
 * been subtracted. (The rates of the two differ slightly as well: user/capture/clocks.c.)
 *
 * Interrupts and other CPUs may change all of these values while they are read. Another CPU writes
 * the start first and then the sum. If both are the same when read a second time, with the lag read
 * in between, they belong together, unless that CPU was stopped between its two writes. If the
 * thread has left its CPU since `ts`, the time in between is not its own. The smaller one of two
 * lags is used, since a lag can only look too large.
 *
 * The result includes what the scheduler has not noticed yet, at most one tick: interrupts, on
 * kernels that account for them separately, and time stolen by the hypervisor.
 */
static __always_inline __u64 task_clock(struct task_struct *task, __u64 ts,
					const struct clock_state *b)
{
	__u64 sum = ONCE(task->se.sum_exec_runtime), start = ONCE(task->se.exec_start);
	__u64 lag = b->lag, lag_now = b->rq ? clock_lag(b->rq) : lag;

	/*
	 * Not a loop, because clang makes a loop of it that kernel 6.1 refuses. One repetition is
	 * enough.
	 */
	if (ONCE(task->se.exec_start) != start || ONCE(task->se.sum_exec_runtime) != sum) {
		sum = ONCE(task->se.sum_exec_runtime);
		start = ONCE(task->se.exec_start);
		lag_now = b->rq ? clock_lag(b->rq) : lag;
	}
	/* The thread may have another CPU now. */
	if (count_task_switches(task) != b->switches) {
		lag_now = clock_lag_now();
		ts = bpf_ktime_get_ns();
		lag = lag_now;
	}
	if (lag_now < lag)
		lag = lag_now;
	return sum + (ts - start - lag);
}

/*
 * Reads the counters that the kernel keeps for each task: of the current one or, at a context switch, of the one that
 * gets the CPU.
 */
static __always_inline void read_task_counters(struct task_struct *task, __u64 *values, __u64 ts,
					       const struct clock_state *before)
{
	for (__u32 i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
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
			values[i] = count_task_switches(task);
			break;
		case COUNTER_CPU_MIGRATIONS:
			values[i] = task->se.nr_migrations;
			break;
		}
	}
}

/* Copies the values to the end of a record, which is aligned. */
static __always_inline void store_counters(const struct thread_state *st, __u64 *end)
{
	for (__u32 i = 0; i < MAX_COUNTERS && i < n_counters; i++) {
		bool turns = counter_sources[i] == COUNTER_PERF;

		end[i] = st->values[PART_VALUE][i];
		if (!multiplexed)
			continue;
		end[n_counters + i] = turns ? st->values[PART_ENABLED][i] : 0;
		end[2 * n_counters + i] = turns ? st->values[PART_RUNNING][i] : 0;
	}
}

#endif
