/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collects what paths are made of. An interval of a thread's state is kept when it ends, so those of
 * one thread are in order even where context switches and slices come in the order of a file.
 */
#include "reports/critical/critical_internal.h"

#include "base/array.h"
#include "base/glob.h"
#include "reports/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The next element of an array of the trace; NULL with c->error set: out of memory or too many. */
#define NEW_ELEMENT(c, of, array)                                                                \
	(critical_may_keep(c) &&                                                                 \
			 array_reserve((of)->array, (of)->n_##array, (of)->array##_capacity, 64) \
		 ? &(of)->array[(of)->n_##array++]                                               \
		 : critical_fail(c))

static bool critical_may_keep(struct critical *c)
{
	if (c->kept < CRITICAL_MOST)
		return ++c->kept;
	c->error = -E2BIG;
	return false;
}

static void *critical_fail(struct critical *c)
{
	if (!c->error)
		c->error = -ENOMEM;
	return NULL;
}

struct critical_thread *critical_thread_find(struct critical *c, uint64_t uuid)
{
	struct critical_thread *thread;

	HASH_FIND(hh, c->threads, &uuid, sizeof(uuid), thread);
	return thread;
}

static struct critical_thread *critical_thread_get(struct critical *c, const struct thread *thread)
{
	struct critical_thread *own = thread ? critical_thread_find(c, thread->uuid) : NULL;

	if (!thread)
		return NULL;
	if (!own)
		own = hash_add_new(hh, c->threads, uuid, thread->uuid);
	if (!own)
		return critical_fail(c);
	own->tid = thread->tid;
	own->pid = thread->process ? thread->process->pid : 0;
	own->name = thread->name;
	return own;
}

/* --- states of threads --------------------------------------------------------------------------- */

static struct critical_interval *add_interval(struct critical *c, struct critical_thread *thread,
					      uint64_t from_ns, uint64_t to_ns,
					      enum critical_state state)
{
	struct critical_interval *last =
		thread->n_intervals ? &thread->intervals[thread->n_intervals - 1] : NULL;
	struct critical_interval *interval;

	/* A file may say anything: intervals of a thread do not overlap. */
	if (last && from_ns < last->to_ns)
		from_ns = last->to_ns;
	if (from_ns >= to_ns)
		return NULL;
	interval = NEW_ELEMENT(c, thread, intervals);
	if (interval)
		*interval = (struct critical_interval){ .from_ns = from_ns,
							.to_ns = to_ns,
							.state = state };
	return interval;
}

static enum critical_state waiting_state(enum sched_state state)
{
	return state == SCHED_STATE_RUNNABLE || state == SCHED_STATE_PREEMPTED ? CRITICAL_RUNNABLE
									       : CRITICAL_BLOCKED;
}

static void collect_switch(struct critical *c, const struct fact *fact)
{
	const struct sched *s = fact->sched;
	struct critical_thread *from = critical_thread_get(c, s->task.thread);
	struct critical_thread *to = critical_thread_get(c, s->other.thread);

	c->has_states = true;
	if (from && s->task.since_ns)
		add_interval(c, from, s->task.since_ns, fact->ts_ns, CRITICAL_RUNNING);
	else if (from && !from->n_intervals && from->n_places)
		/* A thread that makes its first mark is on a CPU. */
		add_interval(c, from, from->places[0].ns, fact->ts_ns, CRITICAL_RUNNING);
	if (to && s->other.since_ns)
		add_interval(c, to, s->other.since_ns, fact->ts_ns, waiting_state(s->other.state));
	if (s->cpu >= CRITICAL_CPUS)
		return;
	c->cpus[s->cpu].thread = to ? to->uuid : 0;
	c->cpus[s->cpu].since_ns = fact->ts_ns;
}

static void collect_waking(struct critical *c, const struct fact *fact)
{
	const struct sched *s = fact->sched;
	struct critical_thread *thread = critical_thread_get(c, s->task.thread);
	struct critical_interval *interval;

	c->has_states = true;
	if (!thread || !s->task.since_ns || waiting_state(s->task.state) != CRITICAL_BLOCKED)
		return;
	interval = add_interval(c, thread, s->task.since_ns, fact->ts_ns, CRITICAL_BLOCKED);
	if (!interval || !s->waker || s->waker->interrupt || !s->other.tid)
		return;
	interval->waker = s->other.thread ? s->other.thread->uuid : 0;
	interval->woken_by =
		s->other.thread && s->other.thread->name ? s->other.thread->name : s->other.comm;
}

static void collect_gap(struct critical *c, const struct fact *fact)
{
	for (unsigned i = 0; i < CRITICAL_CPUS; i++) {
		if (!fact->sched || fact->sched->cpu == i)
			c->cpus[i].thread = 0;
	}
}

static void collect_wait(struct critical *c, const struct fact *fact)
{
	struct critical_thread *thread = critical_thread_get(c, fact->thread);
	struct critical_wait *wait = thread ? NEW_ELEMENT(c, thread, waits) : NULL;
	struct wait_about about;

	if (!wait)
		return;
	wait_describe(fact, &about);
	*wait = (struct critical_wait){
		.from_ns = fact->begin_ns,
		.to_ns = fact->ts_ns,
		.reason = (enum wait_reason)fact->wait_reason,
		.on = about.on[0] ? names_intern_string(c->texts, about.on) : NULL,
	};
}

/* --- slices and arrows --------------------------------------------------------------------------- */

static void add_place(struct critical *c, struct critical_thread *thread, uint64_t ts_ns)
{
	struct critical_place *place = NEW_ELEMENT(c, thread, places);

	if (place)
		*place = (struct critical_place){ ts_ns,
						  thread->n_open ? thread->open[thread->n_open - 1]
								 : NULL,
						  thread->n_open };
}

static void collect_begin(struct critical *c, const struct fact *fact)
{
	struct critical_thread *thread = critical_thread_get(c, fact->thread);

	if (!thread)
		return;
	if (!array_reserve(thread->open, thread->n_open, thread->open_capacity, 16)) {
		critical_fail(c);
		return;
	}
	thread->open[thread->n_open++] = fact->name;
	add_place(c, thread, fact->ts_ns);
}

static void add_instance(struct critical *c, const struct fact *fact, bool is_async)
{
	struct critical_instance *in;

	if (fact->end_reason != END_NORMAL || fact->nested_in_itself ||
	    !globs_select(&c->name, 1, fact->name->text, false))
		return;
	in = NEW_ELEMENT(c, c, instances);
	if (in)
		*in = (struct critical_instance){
			.from_ns = fact->begin_ns,
			.to_ns = fact->ts_ns,
			.name = fact->name,
			.pid = fact->process ? fact->process->pid : 0,
			.thread = fact->thread ? fact->thread->uuid : 0,
			.id = fact->id,
			.is_async = is_async,
		};
}

static void collect_end(struct critical *c, const struct fact *fact)
{
	struct critical_thread *thread = critical_thread_get(c, fact->thread);

	if (thread && thread->n_open) {
		thread->n_open--;
		add_place(c, thread, fact->ts_ns);
	}
	add_instance(c, fact, false);
}

static void collect_flow(struct critical *c, const struct fact *fact)
{
	struct critical_thread *thread = critical_thread_get(c, fact->thread);
	struct critical_flow *flow;

	if (!thread)
		return;
	flow = fact->kind == FACT_FLOW_OUT ? NEW_ELEMENT(c, c, flows_out)
					   : NEW_ELEMENT(c, thread, flows_in);
	if (flow)
		*flow = (struct critical_flow){ fact->ts_ns, fact->id, thread->uuid };
}

static int critical_fact(struct consumer *consumer, const struct fact *fact)
{
	struct critical *c = (struct critical *)consumer;

	if (c->error || c->complete)
		return 0;
	if (fact->kind >= FACT_BEGIN && fact->kind <= FACT_FLOW_IN && fact->ts_ns &&
	    !fact->continued && (!c->first_ns || fact->ts_ns < c->first_ns))
		c->first_ns = fact->ts_ns;
	if (fact->kind != FACT_CLOCK && fact->ts_ns > c->last_ns)
		c->last_ns = fact->ts_ns;
	switch (fact->kind) {
	case FACT_BEGIN:
		collect_begin(c, fact);
		break;
	case FACT_END:
		collect_end(c, fact);
		break;
	case FACT_ASYNC_END:
		critical_thread_get(c, fact->thread);
		add_instance(c, fact, true);
		break;
	case FACT_FLOW_OUT:
	case FACT_FLOW_IN:
		collect_flow(c, fact);
		break;
	case FACT_SWITCH:
		collect_switch(c, fact);
		break;
	case FACT_WAKING:
		collect_waking(c, fact);
		break;
	case FACT_SCHED_GAP:
		collect_gap(c, fact);
		break;
	case FACT_WAIT:
		collect_wait(c, fact);
		break;
	default:
		break;
	}
	return 0; /* an error is reported with the paths */
}

/* --- a trace is complete ------------------------------------------------------------------------- */

static int compare_flows(const void *left, const void *right)
{
	const struct critical_flow *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

/* What runs at the end of the trace has run until then. */
static void close_intervals(struct critical *c)
{
	struct critical_thread *thread;

	for (unsigned i = 0; i < CRITICAL_CPUS; i++) {
		thread = c->cpus[i].thread ? critical_thread_find(c, c->cpus[i].thread) : NULL;
		if (thread)
			add_interval(c, thread, c->cpus[i].since_ns, c->last_ns, CRITICAL_RUNNING);
	}
	/* A thread without any context switch was on its CPU all the time. */
	for (thread = c->threads; thread && c->has_states; thread = thread->hh.next) {
		if (!thread->n_intervals && thread->n_places)
			add_interval(c, thread, thread->places[0].ns, c->last_ns, CRITICAL_RUNNING);
	}
}

static void critical_forget_trace(struct critical *c)
{
	hash_clear(hh, c->threads, thread, free(thread->intervals), free(thread->waits),
		   free(thread->places), free(thread->flows_in), free(thread->open));
	memset(c->cpus, 0, sizeof(c->cpus));
	c->n_flows_out = c->kept = 0;
	c->first_ns = c->last_ns = 0;
	c->had_states |= c->has_states;
	c->has_states = false;
}

void critical_next_trace(struct consumer *consumer)
{
	struct critical *c = (struct critical *)consumer;

	close_intervals(c);
	if (c->n_flows_out)
		qsort(c->flows_out, c->n_flows_out, sizeof(*c->flows_out), compare_flows);
	for (uint32_t i = c->n_walked; i < c->n_instances && !c->error; i++) {
		c->instances[i].offset_ns = c->instances[i].from_ns - c->first_ns;
		c->error = critical_walk(c, &c->instances[i]);
	}
	c->n_walked = c->n_instances;
	critical_forget_trace(c);
}

static void critical_free(struct consumer *consumer)
{
	struct critical *c = (struct critical *)consumer;

	critical_forget_trace(c);
	for (uint32_t i = 0; i < c->n_instances; i++)
		free(c->instances[i].parts);
	hash_clear(hh, c->rows, row);
	free(c->flows_out);
	free(c->instances);
	names_free(c->texts);
	free(c);
}

static const struct consumer_ops critical_ops = {
	.fact = critical_fact,
	.free = critical_free,
};

struct consumer *critical_new(const char *name)
{
	struct critical *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->consumer.ops = &critical_ops;
	c->name = name;
	c->texts = names_new(0);
	if (c->texts)
		return &c->consumer;
	free(c);
	return NULL;
}
