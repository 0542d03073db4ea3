/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who has which CPU, and what threads do: they run, wait for a CPU, or are blocked.
 *
 * Of each thread it is added up how long it did what until its latest change, so what it did in a slice
 * is the difference of two sums: it is as long as the slice, to the nanosecond, whatever is in between.
 * The kernel takes the time of a mark before it finds a place for it among the others; the thread may
 * lose its CPU in between, so that the mark comes after changes that were later. The last few of them
 * are remembered, each with its sums.
 *
 * A thread that makes a mark has a CPU, so nothing need be known of it before its first slice. Where
 * switches were lost it is not known what a thread did from its last change until the next thing that
 * is known of it: that time is unknown, and slices say so.
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
	struct task_name *task, *next;

	HASH_ITER (hh, t->task_names, task, next) {
		HASH_DEL(t->task_names, task);
		free(task);
	}
	free(t->cpus);
}

/* --- what a thread did --------------------------------------------------------------------------- */

static struct sched_step *latest(struct thread_sched *s)
{
	return &s->steps[s->at];
}

static struct thread_sched *sched_of(struct timeline *t, struct thread_state *thread,
				     uint64_t ts_ns, enum thread_does does)
{
	struct thread_sched *s = thread->sched;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->n = 1;
	s->steps[0] = (struct sched_step){ .ts_ns = ts_ns, .does = does };
	s->gap = t->sched_gap;
	thread->sched = s;
	return s;
}

/* Whether something may have been lost of it since its latest change. */
static bool is_uncertain(const struct timeline *t, const struct thread_sched *s)
{
	return t->sched_uncertain || s->gap != t->sched_gap;
}

static void step(struct timeline *t, struct thread_sched *s, uint64_t ts_ns, enum thread_does does,
		 bool unknown)
{
	const struct sched_step *last = latest(s);
	struct sched_step *next = &s->steps[(s->at + 1) & (SCHED_STEPS - 1)];

	if (ts_ns < last->ts_ns)
		ts_ns = last->ts_ns;
	memcpy(next->spent, last->spent, sizeof(next->spent));
	next->spent[unknown ? DOES_UNKNOWN : last->does] += ts_ns - last->ts_ns;
	next->ts_ns = ts_ns;
	next->does = does;
	s->at = (s->at + 1) & (SCHED_STEPS - 1);
	s->n += s->n < SCHED_STEPS;
	s->gap = t->sched_gap;
}

/* `unlikely`: it cannot have been in its last state until now, so something was not told. */
static void change(struct timeline *t, struct thread_sched *s, uint64_t ts_ns,
		   enum thread_does does, bool unlikely)
{
	step(t, s, ts_ns, does, unlikely || is_uncertain(t, s));
}

void sched_mark(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	struct thread_sched *s = sched_of(t, thread, ts_ns, DOES_RUN);
	const struct sched_step *last;

	if (!s)
		return;
	last = latest(s);
	if (is_uncertain(t, s) || (last->does != DOES_RUN && ts_ns > last->ts_ns))
		step(t, s, ts_ns, DOES_RUN, true);
}

static void sums_at(const struct thread_sched *s, uint64_t ts_ns, uint64_t sums[DOES_ALL])
{
	const struct sched_step *at = &s->steps[s->at];
	unsigned i;

	for (i = 1; i < s->n && at->ts_ns > ts_ns; i++)
		at = &s->steps[(s->at - i) & (SCHED_STEPS - 1)];
	memcpy(sums, at->spent, sizeof(at->spent));
	if (at->ts_ns < ts_ns)
		sums[at->does] += ts_ns - at->ts_ns;
}

static bool grow(struct thread_sched *s, const struct thread_state *thread)
{
	uint64_t(*grown)[DOES_ALL];

	if (thread->n_slices <= s->room)
		return true;
	grown = realloc(s->begins, thread->room * sizeof(*grown));
	if (!grown)
		return false;
	s->begins = grown;
	s->room = thread->room;
	return true;
}

void sched_begin(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	struct thread_sched *s = thread->sched;

	if (t->states && s && grow(s, thread))
		sums_at(s, ts_ns, s->begins[thread->n_slices - 1]);
}

static uint64_t take(uint64_t from, uint64_t to, uint64_t *rest)
{
	uint64_t delta = to - from;

	/* Where there were more changes than are remembered, a sum may have gone back. */
	if ((int64_t)delta < 0)
		delta = 0;
	if (delta > *rest)
		delta = *rest;
	*rest -= delta;
	return delta;
}

static void append(struct timeline *t, struct fact *fact, const struct name *key, uint64_t ns)
{
	append_arg(t, fact, (struct arg){ .key = key, .type = ARG_UINT, .u = ns });
}

static const struct arg *find(const struct fact *fact, const struct name *key)
{
	unsigned i;

	for (i = 0; i < fact->n_args; i++) {
		const struct arg *arg = &fact->args[i];

		if (arg->key == key &&
		    (arg->type == ARG_UINT || (arg->type == ARG_INT && arg->i >= 0)))
			return arg;
	}
	return NULL;
}

/* A file says it already, if it does: what adds up to the duration is no program's own. */
static bool told_by_file(struct timeline *t, struct fact *fact)
{
	uint64_t duration = fact->ts_ns - fact->begin_ns, rest = duration;
	const struct arg *running, *runnable, *blocked, *unknown;

	if (!fact->n_args)
		return false;
	running = find(fact, t->running_ns);
	if (!running)
		return false;
	runnable = find(fact, t->runnable_ns);
	blocked = find(fact, t->blocked_ns);
	unknown = find(fact, t->unknown_ns);
	if (!runnable || !blocked)
		return false;
	t->slice_states = (struct slice_states){
		.running = take(0, running->u, &rest),
		.runnable = take(0, runnable->u, &rest),
		.blocked = take(0, blocked->u, &rest),
		.unknown = unknown ? take(0, unknown->u, &rest) : 0,
	};
	if (rest || t->slice_states.running != running->u ||
	    t->slice_states.runnable != runnable->u || t->slice_states.blocked != blocked->u)
		return false;
	fact->states = &t->slice_states;
	return true;
}

/* Before the innermost slice is taken off. What is left over by rounding of none is not known. */
void sched_end(struct timeline *t, struct thread_state *thread, struct fact *fact)
{
	uint64_t rest = fact->ts_ns - fact->begin_ns, sums[DOES_ALL];
	struct slice_states *states = &t->slice_states;
	struct thread_sched *s = thread->sched;
	uint32_t top = thread->n_slices - 1;
	const uint64_t *begin;

	if (!t->states || !s || top >= s->room || thread->slices[top].level < 0) {
		told_by_file(t, fact);
		return;
	}
	sums_at(s, fact->ts_ns, sums);
	begin = s->begins[top];
	states->running = take(begin[DOES_RUN], sums[DOES_RUN], &rest);
	states->runnable = take(begin[DOES_WAIT], sums[DOES_WAIT], &rest);
	states->blocked = take(begin[DOES_BLOCK], sums[DOES_BLOCK], &rest);
	states->unknown = rest;
	fact->states = states;
	append(t, fact, t->running_ns, states->running);
	append(t, fact, t->runnable_ns, states->runnable);
	append(t, fact, t->blocked_ns, states->blocked);
	if (states->unknown)
		append(t, fact, t->unknown_ns, states->unknown);
}

/* --- who is who ---------------------------------------------------------------------------------- */

static const struct name *name_of(const struct timeline *t, uint32_t tid)
{
	const struct task_name *task;

	HASH_FIND(hh, t->task_names, &tid, sizeof(tid), task);
	return task ? task->comm : NULL;
}

static void remember_name(struct timeline *t, uint32_t tid, const struct name *comm)
{
	struct task_name *task;

	HASH_FIND(hh, t->task_names, &tid, sizeof(tid), task);
	if (task) {
		task->comm = comm;
		return;
	}
	if (HASH_COUNT(t->task_names) >= LIMIT_TASKS)
		return;
	task = calloc(1, sizeof(*task));
	if (!task)
		return;
	task->tid = tid;
	task->comm = comm;
	HASH_ADD(hh, t->task_names, tid, sizeof(task->tid), task);
	if (!hash_added(hh, task))
		free(task);
}

/* A thread of a traced process is one of ours from the first that is told of it until its exit. */
static struct thread_state *thread_of(struct timeline *t, uint32_t pid, uint32_t tid, bool traced,
				      bool exiting, uint64_t ts_ns)
{
	struct thread_state *thread = tid ? thread_with_tid(t, tid) : NULL;

	if (thread && pid && thread->key.pid != pid)
		thread = NULL; /* a number that is used again */
	if (thread || !traced || exiting)
		return thread;
	return thread_get(t, pid, tid, ts_ns, name_of(t, tid));
}

static struct sched_task task_of(const struct timeline *t, uint32_t pid, uint32_t tid, uint8_t prio,
				 const struct thread_state *thread)
{
	return (struct sched_task){
		.tid = tid,
		.pid = pid	? pid
		       : thread ? thread->key.pid
				: 0,
		.prio = prio,
		.comm = tid ? name_of(t, tid) : NULL,
		.thread = thread ? &thread->pub : NULL,
	};
}

static struct sched_cpu *cpu_of(struct timeline *t, unsigned cpu)
{
	if (!t->cpus)
		t->cpus = calloc(SCHED_CPUS, sizeof(*t->cpus));
	return t->cpus && cpu < SCHED_CPUS ? &t->cpus[cpu] : NULL;
}

/* --- switches ------------------------------------------------------------------------------------ */

static void leave(struct timeline *t, struct thread_state *thread, uint64_t ts_ns,
		  enum sched_state state)
{
	struct thread_sched *s = sched_of(t, thread, ts_ns, DOES_RUN);
	bool waits = state == SCHED_STATE_RUNNABLE || state == SCHED_STATE_PREEMPTED;

	if (!s)
		return;
	/* It was woken on its way to sleep, so what it waits for is a CPU. */
	change(t, s, ts_ns, waits || s->woken ? DOES_WAIT : DOES_BLOCK,
	       latest(s)->does != DOES_RUN);
	if (!s->woken)
		s->waker_known = false;
	s->state = state;
	s->since_ns = ts_ns;
	if (s->woken && !waits)
		s->state = SCHED_STATE_RUNNABLE;
	s->woken = false;
}

static void arrive(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	struct thread_sched *s = sched_of(t, thread, ts_ns, DOES_WAIT);

	if (!s)
		return;
	change(t, s, ts_ns, DOES_RUN, latest(s)->does == DOES_RUN && s->n > 1);
	s->since_ns = 0;
	s->woken = false;
}

/* What it was until now, before it gets its CPU. */
static void was(const struct thread_state *thread, struct sched *sched)
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
 * Somebody else leaves the CPU than came to it: a switch in between was not told. There are kernels that
 * let no program look at what the first process of a sandbox does.
 */
static void missed(struct timeline *t, struct sched_cpu *cpu, const struct event *e)
{
	struct thread_state *thread = thread_with_tid(t, cpu->task.tid);
	struct sched sched = { .cpu = e->sched.cpu };

	t->account->sched_lost++;
	if (thread && thread->sched && latest(thread->sched)->does == DOES_RUN)
		thread->sched->gap--;
	cpu->known = false;
	emit(t, &(struct fact){ .kind = FACT_SCHED_GAP, .ts_ns = e->ts_ns, .sched = &sched });
}

static void tell(struct timeline *t, enum fact_kind kind, const struct event *e,
		 const struct sched *sched)
{
	t->account->sched_events++;
	emit(t, &(struct fact){ .kind = kind,
				.ts_ns = e->ts_ns,
				.process = sched->task.thread ? sched->task.thread->process : NULL,
				.thread = sched->task.thread,
				.sched = sched });
}

void sched_switch(struct timeline *t, const struct event *e)
{
	const struct event_sched *es = &e->sched;
	struct sched_cpu *cpu = cpu_of(t, es->cpu);
	struct thread_state *thread, *other;
	struct sched sched = { .cpu = es->cpu };

	if (!cpu) {
		t->account->sched_lost++;
		return;
	}
	if (cpu->known && cpu->task.tid != e->tid)
		missed(t, cpu, e);
	if (e->name && es->tid)
		remember_name(t, es->tid, e->name);
	thread = thread_of(t, e->pid, e->tid, es->traced, es->exiting, e->ts_ns);
	other = thread_of(t, es->pid, es->tid, es->other_traced, es->other_exiting, e->ts_ns);
	sched.task = task_of(t, e->pid, e->tid, es->prio, thread);
	sched.other = task_of(t, es->pid, es->tid, es->other_prio, other);
	sched.task.state = (enum sched_state)es->state;
	if (cpu->known && cpu->task.tid == e->tid && cpu->task.since_ns <= e->ts_ns)
		sched.task.since_ns = cpu->task.since_ns;
	was(other, &sched);
	tell(t, FACT_SWITCH, e, &sched);
	if (thread)
		leave(t, thread, e->ts_ns, sched.task.state);
	if (other)
		arrive(t, other, e->ts_ns);
	cpu->known = true;
	cpu->task = sched.other;
	cpu->task.since_ns = e->ts_ns;
}

void sched_waking(struct timeline *t, const struct event *e)
{
	const struct event_sched *es = &e->sched;
	struct thread_state *thread =
		thread_of(t, e->pid, e->tid, es->traced, es->exiting, e->ts_ns);
	struct thread_state *other = thread_of(t, es->pid, es->tid, false, false, e->ts_ns);
	struct sched_waker waker = { e->ts_ns, es->tid,	       es->pid,
				     es->cpu,  es->target_cpu, es->interrupt };
	struct sched sched = { .cpu = es->cpu, .waker = &waker };
	struct thread_sched *s;

	sched.task = task_of(t, e->pid, e->tid, es->prio, thread);
	sched.other = task_of(t, es->pid, es->tid, 0, other);
	s = thread ? sched_of(t, thread, e->ts_ns, DOES_BLOCK) : NULL;
	if (s && s->since_ns && latest(s)->does == DOES_BLOCK) {
		sched.task.state = s->state;
		sched.task.since_ns = s->since_ns;
	}
	tell(t, FACT_WAKING, e, &sched);
	if (!s)
		return;
	/* One that has its CPU still, and is not to keep it, will not sleep: it waits for the next. */
	if (latest(s)->does == DOES_RUN) {
		s->woken = !es->on_queue;
		s->waker_known |= s->woken;
		if (s->woken)
			s->waker = waker;
		return;
	}
	if (latest(s)->does == DOES_WAIT)
		return;
	change(t, s, e->ts_ns, DOES_WAIT, false);
	s->waker = waker;
	s->waker_known = true;
	s->state = SCHED_STATE_RUNNABLE;
	s->since_ns = e->ts_ns;
}

void sched_gap(struct timeline *t, const struct event *e)
{
	struct sched sched = { .cpu = e->sched.cpu };
	unsigned i;

	t->sched_uncertain = e->id;
	t->sched_gap++;
	for (i = 0; t->cpus && i < SCHED_CPUS; i++) {
		if (e->sched.cpu == SCHED_EVERY_CPU || e->sched.cpu == i)
			t->cpus[i].known = false;
	}
	if (!e->id)
		emit(t, &(struct fact){ .kind = FACT_SCHED_GAP,
					.ts_ns = e->ts_ns,
					.sched = e->sched.cpu == SCHED_EVERY_CPU ? NULL : &sched });
}
