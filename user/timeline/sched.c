/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which task has which CPU, and what threads do: they run, wait for a CPU (runnable), or are
 * blocked.
 *
 * For each thread the time in each state is summed up until its latest change. What it did in a
 * slice is the difference of the sums at its end and at its begin, so the states add up to the
 * slice's duration to the nanosecond, whatever happened in between.
 *
 * Marks and context switches do not always come in the order of their times: the kernel takes the
 * time of a mark before it reserves space for it in the ring buffer, and the thread may lose its
 * CPU in between, so that changes with later times come first. So the last SCHED_STEPS changes are
 * remembered, each with its sums.
 *
 * A thread that makes a mark is on a CPU, so nothing has to be known about it before its first
 * slice. Where context switches were lost, the time from the thread's last known change to the next
 * thing that is known of it counts as unknown, and slices say so.
 */
#include "timeline/state.h"

#include <stdlib.h>
#include <string.h>

void timeline_states(struct timeline *t)
{
	t->states = true;
}

void sched_release(struct thread_state *thread)
{
	if (!thread->sched)
		return;
	free(thread->sched->begins);
	free(thread->sched);
	thread->sched = NULL;
}

void sched_free(struct timeline *t)
{
	hash_clear(hh, t->task_names, task);
	free(t->cpus);
}

/* --- what a thread did --------------------------------------------------------------------------- */

static struct sched_step *latest_step(struct thread_sched *s)
{
	return &s->steps[s->at];
}

static struct thread_sched *thread_sched_get(struct timeline *t, struct thread_state *thread,
					     uint64_t ts_ns, enum thread_activity activity)
{
	struct thread_sched *s = thread->sched;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->n = 1;
	s->steps[0] = (struct sched_step){ .ts_ns = ts_ns, .activity = activity };
	s->gap = t->sched_gap;
	thread->sched = s;
	return s;
}

/* Whether context switches of the thread may have been lost since its latest change. */
static bool sched_is_uncertain(const struct timeline *t, const struct thread_sched *s)
{
	return t->sched_uncertain || s->gap != t->sched_gap;
}

/* Adds the time from the step until `ts_ns`. */
static void sched_spend(uint64_t spent[THREAD_SUMS], const struct sched_step *step, uint64_t ts_ns)
{
	spent[step->activity] += ts_ns - step->ts_ns;
	if (step->activity == THREAD_BLOCKED)
		spent[THREAD_ACTIVITIES + step->reason] += ts_ns - step->ts_ns;
}

static void sched_add_step(struct timeline *t, struct thread_sched *s, uint64_t ts_ns,
			   enum thread_activity activity, bool unknown)
{
	const struct sched_step *last = latest_step(s);
	struct sched_step *next = &s->steps[(s->at + 1) & (SCHED_STEPS - 1)];

	if (ts_ns < last->ts_ns)
		ts_ns = last->ts_ns;
	memcpy(next->spent, last->spent, sizeof(next->spent));
	if (unknown)
		next->spent[THREAD_UNKNOWN] += ts_ns - last->ts_ns;
	else
		sched_spend(next->spent, last, ts_ns);
	next->ts_ns = ts_ns;
	next->activity = activity;
	next->reason = WAIT_UNKNOWN;
	s->at = (s->at + 1) & (SCHED_STEPS - 1);
	s->n += s->n < SCHED_STEPS;
	s->gap = t->sched_gap;
}

/* `unlikely`: the thread cannot have been in its last state until now, so a change was missed. */
static void sched_change_state(struct timeline *t, struct thread_sched *s, uint64_t ts_ns,
			       enum thread_activity activity, bool unlikely)
{
	sched_add_step(t, s, ts_ns, activity, unlikely || sched_is_uncertain(t, s));
}

void sched_mark(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	struct thread_sched *s = thread_sched_get(t, thread, ts_ns, THREAD_RUNNING);
	const struct sched_step *last;

	if (!s)
		return;
	last = latest_step(s);
	if (sched_is_uncertain(t, s) || (last->activity != THREAD_RUNNING && ts_ns > last->ts_ns))
		sched_add_step(t, s, ts_ns, THREAD_RUNNING, true);
}

static void sched_sums_at(const struct thread_sched *s, uint64_t ts_ns, uint64_t sums[THREAD_SUMS])
{
	const struct sched_step *at = &s->steps[s->at];

	for (unsigned i = 1; i < s->n && at->ts_ns > ts_ns; i++)
		at = &s->steps[(s->at - i) & (SCHED_STEPS - 1)];
	memcpy(sums, at->spent, sizeof(at->spent));
	if (at->ts_ns < ts_ns)
		sched_spend(sums, at, ts_ns);
}

static bool grow_slice_sums(struct thread_sched *s, const struct thread_state *thread)
{
	uint64_t(*grown)[THREAD_SUMS];

	if (thread->n_slices <= s->capacity)
		return true;
	grown = realloc(s->begins, thread->capacity * sizeof(*grown));
	if (!grown)
		return false;
	s->begins = grown;
	s->capacity = thread->capacity;
	return true;
}

void sched_begin(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	struct thread_sched *s = thread->sched;

	if (t->states && s && grow_slice_sums(s, thread))
		sched_sums_at(s, ts_ns, s->begins[thread->n_slices - 1]);
}

static uint64_t clamp_state_time(uint64_t from, uint64_t to, uint64_t *rest)
{
	uint64_t delta = to - from;

	/* When there were more changes than are remembered, the sum at the end may be smaller. */
	if ((int64_t)delta < 0)
		delta = 0;
	if (delta > *rest)
		delta = *rest;
	*rest -= delta;
	return delta;
}

static void append_state_arg(struct timeline *t, struct fact *fact, const struct name *key,
			     uint64_t ns)
{
	append_arg(t, fact, (struct arg){ .key = key, .type = ARG_UINT, .u = ns });
}

static const struct arg *find_state_arg(const struct fact *fact, const struct name *key)
{
	for (unsigned i = 0; i < fact->n_args; i++) {
		const struct arg *arg = &fact->args[i];

		if (arg->key == key &&
		    (arg->type == ARG_UINT || (arg->type == ARG_INT && arg->i >= 0)))
			return arg;
	}
	return NULL;
}

/* The reasons are believed if they add up to the time blocked. */
static void read_reasons_from_args(const struct timeline *t, const struct fact *fact,
				   struct slice_states *states)
{
	uint64_t rest = states->blocked;

	for (unsigned i = 0; i < fact->n_args; i++) {
		const struct arg *arg = &fact->args[i];

		for (unsigned reason = 0; reason < WAIT_REASONS; reason++) {
			if (arg->key != t->blocked_in_ns[reason])
				continue;
			if ((arg->type != ARG_UINT && arg->type != ARG_INT) || arg->u > rest)
				return;
			states->blocked_in[reason] = arg->u;
			rest -= arg->u;
		}
	}
	states->has_reasons = states->blocked && !rest;
}

/*
 * Files have the states among the arguments. They are believed if they add up to the duration: then
 * they are not arguments of the program's own that happen to have these names.
 */
static bool read_states_from_args(struct timeline *t, struct fact *fact)
{
	uint64_t duration = fact->ts_ns - fact->begin_ns, rest = duration;
	const struct arg *running, *runnable, *blocked, *unknown;

	if (!fact->n_args)
		return false;
	running = find_state_arg(fact, t->running_ns);
	if (!running)
		return false;
	runnable = find_state_arg(fact, t->runnable_ns);
	blocked = find_state_arg(fact, t->blocked_ns);
	unknown = find_state_arg(fact, t->unknown_ns);
	if (!runnable || !blocked)
		return false;
	t->slice_states = (struct slice_states){
		.running = clamp_state_time(0, running->u, &rest),
		.runnable = clamp_state_time(0, runnable->u, &rest),
		.blocked = clamp_state_time(0, blocked->u, &rest),
		.unknown = unknown ? clamp_state_time(0, unknown->u, &rest) : 0,
	};
	if (rest || t->slice_states.running != running->u ||
	    t->slice_states.runnable != runnable->u || t->slice_states.blocked != blocked->u)
		return false;
	read_reasons_from_args(t, fact, &t->slice_states);
	fact->states = &t->slice_states;
	return true;
}

/* What no reason explains is unknown, so that the reasons always add up to the time blocked. */
static void sched_end_reasons(struct timeline *t, struct fact *fact, struct slice_states *states,
			      const uint64_t *begin, const uint64_t *sums)
{
	uint64_t rest = states->blocked;

	states->has_reasons = t->wait_reasons;
	memset(states->blocked_in, 0, sizeof(states->blocked_in));
	if (!t->wait_reasons)
		return;
	for (unsigned i = WAIT_UNKNOWN + 1; i < WAIT_REASONS; i++)
		states->blocked_in[i] = clamp_state_time(begin[THREAD_ACTIVITIES + i],
							 sums[THREAD_ACTIVITIES + i], &rest);
	states->blocked_in[WAIT_UNKNOWN] = rest;
	for (unsigned i = 0; i < WAIT_REASONS; i++) {
		if (states->blocked_in[i])
			append_state_arg(t, fact, t->blocked_in_ns[i], states->blocked_in[i]);
	}
}

/* Called before the innermost slice is removed. The rest of the duration is unknown. */
void sched_end(struct timeline *t, struct thread_state *thread, struct fact *fact)
{
	uint64_t rest = fact->ts_ns - fact->begin_ns, sums[THREAD_SUMS];
	struct slice_states *states = &t->slice_states;
	struct thread_sched *s = thread->sched;
	uint32_t top = thread->n_slices - 1;
	const uint64_t *begin;

	if (!t->states || !s || top >= s->capacity || thread->slices[top].level < 0) {
		read_states_from_args(t, fact);
		return;
	}
	sched_sums_at(s, fact->ts_ns, sums);
	begin = s->begins[top];
	states->running = clamp_state_time(begin[THREAD_RUNNING], sums[THREAD_RUNNING], &rest);
	states->runnable = clamp_state_time(begin[THREAD_RUNNABLE], sums[THREAD_RUNNABLE], &rest);
	states->blocked = clamp_state_time(begin[THREAD_BLOCKED], sums[THREAD_BLOCKED], &rest);
	states->unknown = rest;
	fact->states = states;
	append_state_arg(t, fact, t->running_ns, states->running);
	append_state_arg(t, fact, t->runnable_ns, states->runnable);
	append_state_arg(t, fact, t->blocked_ns, states->blocked);
	if (states->unknown)
		append_state_arg(t, fact, t->unknown_ns, states->unknown);
	sched_end_reasons(t, fact, states, begin, sums);
}

/* --- who is who ---------------------------------------------------------------------------------- */

static const struct name *task_comm(const struct timeline *t, uint32_t tid)
{
	const struct task_name *task;

	HASH_FIND(hh, t->task_names, &tid, sizeof(tid), task);
	return task ? task->comm : NULL;
}

static void remember_task_comm(struct timeline *t, uint32_t tid, const struct name *comm)
{
	struct task_name *task;

	HASH_FIND(hh, t->task_names, &tid, sizeof(tid), task);
	if (!task && HASH_COUNT(t->task_names) < LIMIT_TASKS)
		task = hash_add_new(hh, t->task_names, tid, tid);
	if (task)
		task->comm = comm;
}

/* A thread of a recorded process is known from its first event until its exit. */
static struct thread_state *sched_thread(struct timeline *t, uint32_t pid, uint32_t tid,
					 bool traced, bool exiting, uint64_t ts_ns)
{
	struct thread_state *thread = tid ? thread_with_tid(t, tid) : NULL;

	if (thread && pid && thread->key.pid != pid)
		thread = NULL; /* the TID was used again */
	if (thread || !traced || exiting)
		return thread;
	return thread_state_get(t, pid, tid, ts_ns, task_comm(t, tid));
}

static struct sched_task sched_task_of(const struct timeline *t, uint32_t pid, uint32_t tid,
				       uint8_t prio, const struct thread_state *thread)
{
	return (struct sched_task){
		.tid = tid,
		.pid = pid	? pid
		       : thread ? thread->key.pid
				: 0,
		.prio = prio,
		.comm = tid ? task_comm(t, tid) : NULL,
		.thread = thread ? &thread->pub : NULL,
	};
}

static struct sched_cpu *sched_cpu_get(struct timeline *t, unsigned cpu)
{
	if (!t->cpus)
		t->cpus = calloc(SCHED_CPUS, sizeof(*t->cpus));
	return t->cpus && cpu < SCHED_CPUS ? &t->cpus[cpu] : NULL;
}

/* --- switches ------------------------------------------------------------------------------------ */

static void sched_off_cpu(struct timeline *t, struct thread_state *thread, uint64_t ts_ns,
			  enum sched_state state)
{
	struct thread_sched *s = thread_sched_get(t, thread, ts_ns, THREAD_RUNNING);
	bool waits = state == SCHED_STATE_RUNNABLE || state == SCHED_STATE_PREEMPTED;

	if (!s)
		return;
	/* It was woken while it was about to sleep, so it now waits for a CPU. */
	sched_change_state(t, s, ts_ns, waits || s->woken ? THREAD_RUNNABLE : THREAD_BLOCKED,
			   latest_step(s)->activity != THREAD_RUNNING);
	if (!s->woken)
		s->waker_known = false;
	s->state = state;
	s->since_ns = ts_ns;
	s->steps[s->at].reason = wait_reason_at(thread, ts_ns);
	if (s->woken && !waits)
		s->state = SCHED_STATE_RUNNABLE;
	s->woken = false;
}

/* The thread leaves the state in which it was, which may have been blocked, for another. */
static void sched_end_wait(struct timeline *t, struct thread_state *thread, uint64_t ts_ns,
			   const struct sched_task *waker)
{
	struct thread_sched *s = thread->sched;
	const struct sched_step *last = latest_step(s);

	if (t->wait_reasons && last->activity == THREAD_BLOCKED && s->since_ns &&
	    !sched_is_uncertain(t, s))
		wait_end(t, thread, last->ts_ns, ts_ns, waker);
}

static void sched_on_cpu(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	struct thread_sched *s = thread_sched_get(t, thread, ts_ns, THREAD_RUNNABLE);

	if (!s)
		return;
	sched_end_wait(t, thread, ts_ns, NULL);
	sched_change_state(t, s, ts_ns, THREAD_RUNNING,
			   latest_step(s)->activity == THREAD_RUNNING && s->n > 1);
	s->since_ns = 0;
	s->woken = false;
}

/* The state in which the thread was until it gets its CPU now. */
static void fill_previous_state(const struct thread_state *thread, struct sched *sched)
{
	const struct thread_sched *s = thread ? thread->sched : NULL;

	if (!s || !s->since_ns)
		return;
	sched->other.state = s->state;
	sched->other.since_ns = s->since_ns;
	if (s->waker_known)
		sched->waker = &s->waker;
}

/*
 * Another task leaves the CPU than the one that came to it, so a context switch in between was
 * missed. Some kernels hide the switches of the first process of a sandbox from BPF programs.
 */
static void emit_missed_switch(struct timeline *t, struct sched_cpu *cpu, const struct event *e)
{
	struct thread_state *thread = thread_with_tid(t, cpu->task.tid);
	struct sched sched = { .cpu = e->sched.cpu };

	t->account->sched_lost++;
	t->account->sched_unseen++;
	if (thread && thread->sched && latest_step(thread->sched)->activity == THREAD_RUNNING)
		thread->sched->gap--;
	cpu->known = false;
	emit_fact(t, &(struct fact){ .kind = FACT_SCHED_GAP, .ts_ns = e->ts_ns, .sched = &sched });
}

static void emit_sched(struct timeline *t, enum fact_kind kind, const struct event *e,
		       const struct sched *sched)
{
	t->account->sched_events++;
	emit_fact(t, &(struct fact){ .kind = kind,
				     .ts_ns = e->ts_ns,
				     .process = sched->task.thread ? sched->task.thread->process
								   : NULL,
				     .thread = sched->task.thread,
				     .sched = sched });
}

void sched_switch(struct timeline *t, const struct event *e)
{
	const struct event_sched *es = &e->sched;
	struct sched_cpu *cpu = sched_cpu_get(t, es->cpu);
	struct thread_state *thread, *other;
	struct sched sched = { .cpu = es->cpu };

	if (!cpu) {
		t->account->sched_lost++;
		return;
	}
	if (cpu->known && cpu->task.tid != e->tid)
		emit_missed_switch(t, cpu, e);
	if (e->name && es->tid)
		remember_task_comm(t, es->tid, e->name);
	thread = sched_thread(t, e->pid, e->tid, es->traced, es->exiting, e->ts_ns);
	other = sched_thread(t, es->pid, es->tid, es->other_traced, es->other_exiting, e->ts_ns);
	sched.task = sched_task_of(t, e->pid, e->tid, es->prio, thread);
	sched.other = sched_task_of(t, es->pid, es->tid, es->other_prio, other);
	sched.task.state = (enum sched_state)es->state;
	if (cpu->known && cpu->task.tid == e->tid && cpu->task.since_ns <= e->ts_ns)
		sched.task.since_ns = cpu->task.since_ns;
	fill_previous_state(other, &sched);
	emit_sched(t, FACT_SWITCH, e, &sched);
	if (thread)
		sched_off_cpu(t, thread, e->ts_ns, sched.task.state);
	if (other)
		sched_on_cpu(t, other, e->ts_ns);
	cpu->known = true;
	cpu->task = sched.other;
	cpu->task.since_ns = e->ts_ns;
}

void sched_waking(struct timeline *t, const struct event *e)
{
	const struct event_sched *es = &e->sched;
	struct thread_state *thread =
		sched_thread(t, e->pid, e->tid, es->traced, es->exiting, e->ts_ns);
	struct thread_state *other = sched_thread(t, es->pid, es->tid, false, false, e->ts_ns);
	struct sched_waker waker = { e->ts_ns, es->tid,	       es->pid,
				     es->cpu,  es->target_cpu, es->interrupt };
	struct sched sched = { .cpu = es->cpu, .waker = &waker };
	struct thread_sched *s;

	sched.task = sched_task_of(t, e->pid, e->tid, es->prio, thread);
	sched.other = sched_task_of(t, es->pid, es->tid, 0, other);
	s = thread ? thread_sched_get(t, thread, e->ts_ns, THREAD_BLOCKED) : NULL;
	if (s && s->since_ns && latest_step(s)->activity == THREAD_BLOCKED) {
		sched.task.state = s->state;
		sched.task.since_ns = s->since_ns;
	}
	emit_sched(t, FACT_WAKING, e, &sched);
	if (!s)
		return;
	/*
	 * A thread that is still on its CPU and is woken will not sleep: after its next switch it
	 * is runnable.
	 */
	if (latest_step(s)->activity == THREAD_RUNNING) {
		s->woken = !es->on_queue;
		s->waker_known |= s->woken;
		if (s->woken)
			s->waker = waker;
		return;
	}
	if (latest_step(s)->activity == THREAD_RUNNABLE)
		return;
	sched_end_wait(t, thread, e->ts_ns, waker.interrupt ? NULL : &sched.other);
	sched_change_state(t, s, e->ts_ns, THREAD_RUNNABLE, false);
	s->waker = waker;
	s->waker_known = true;
	s->state = SCHED_STATE_RUNNABLE;
	s->since_ns = e->ts_ns;
}

void sched_gap(struct timeline *t, const struct event *e)
{
	struct sched sched = { .cpu = e->sched.cpu };

	t->sched_uncertain = e->id;
	t->sched_gap++;
	for (unsigned i = 0; t->cpus && i < SCHED_CPUS; i++) {
		if (e->sched.cpu == SCHED_EVERY_CPU || e->sched.cpu == i)
			t->cpus[i].known = false;
	}
	if (!e->id)
		emit_fact(t, &(struct fact){ .kind = FACT_SCHED_GAP,
					     .ts_ns = e->ts_ns,
					     .sched = e->sched.cpu == SCHED_EVERY_CPU ? NULL
										      : &sched });
}
