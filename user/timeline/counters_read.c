/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of threads as files have them: samples of their own, each before the begin or the end of
 * a slice with the same time on the same thread. They are kept until that mark comes and are then
 * given to it, as in a recording; so what slices counted is known from a file as well. A sample
 * that no slice follows is emitted as an ordinary counter.
 */
#include "timeline/state.h"

#include <string.h>

/*
 * The index of the timeline's counter of that name. A file declares them as it goes on. -1: too
 * many.
 */
static int counter_index_of(struct timeline *t, const struct name *name)
{
	const struct name *all[EVENT_MAX_COUNTERS];
	unsigned i, n = t->n_counters;

	for (i = 0; i < n; i++) {
		if (t->counters[i] == name)
			return (int)i;
	}
	if (n == EVENT_MAX_COUNTERS)
		return -1;
	memcpy(all, t->counters, n * sizeof(all[0]));
	all[n] = name;
	timeline_count(t, all, n + 1);
	return (int)n;
}

static void emit_read_counter(struct timeline *t, const struct thread_state *thread, unsigned i,
			      uint64_t value)
{
	const struct thread_counters *c = thread->counters;
	struct arg arg = { .type = ARG_UINT, .u = value };

	emit_fact(t, &(struct fact){ .kind = FACT_COUNTER,
				     .ts_ns = c->read_ns,
				     .process = thread->pub.process,
				     .thread = &thread->pub,
				     .tracks = &c->list[i],
				     .name = c->tracks[i].name,
				     .args = &arg,
				     .n_args = 1 });
}

void counters_read_alone(struct timeline *t, struct thread_state *thread)
{
	struct thread_counters *c = thread->counters;

	if (!c || !c->has_read)
		return;
	for (unsigned i = 0; i < c->n; i++) {
		if (c->read[i] != EVENT_NO_VALUE)
			emit_read_counter(t, thread, i, c->read[i]);
	}
	counters_read_done(c);
}

void counters_read_done(struct thread_counters *c)
{
	memset(c->read, 0xff, sizeof(c->read));
	c->has_read = false;
}

static uint64_t given_delta(const struct event *event, const struct name *counter)
{
	for (unsigned i = 0; i < event->n_deltas; i++) {
		if (event->delta_names[i] == counter)
			return event->deltas[i];
	}
	return EVENT_NO_VALUE;
}

/*
 * For a multiplexed counter the END itself has the share of the slice in which the counter was
 * running, and the estimate for it, if there is one. The samples are only what viewers show on the
 * track. Chrome JSON has few samples, but each END has its deltas, also when it is converted.
 */
uint64_t counters_read_delta(const struct timeline *t, unsigned i, const struct event *event,
			     const struct fact *end, uint64_t delta)
{
	const struct name *name = t->counters[i];
	uint64_t from_args = EVENT_NO_VALUE;
	bool takes_turns = false;

	if (event->has_deltas)
		return given_delta(event, name);
	for (unsigned a = 0; a < end->n_args; a++) {
		const struct arg *arg = &end->args[a];

		if (!arg->key)
			continue;
		if (arg->key == name && (arg->type == ARG_INT || arg->type == ARG_UINT))
			from_args = arg->u;
		if (arg->key->length == name->length + 6 &&
		    !memcmp(arg->key->text, name->text, name->length) &&
		    !strcmp(arg->key->text + name->length, "_share"))
			takes_turns = true;
	}
	if (delta == EVENT_NO_VALUE && event->deltas_in_args)
		return from_args;
	return takes_turns ? from_args : delta;
}

void counters_read_rest(struct timeline *t)
{
	struct thread_state *thread;

	for (thread = t->threads; thread; thread = thread->hh.next)
		counters_read_alone(t, thread);
}

bool counters_read(struct timeline *t, const struct mark *m)
{
	const struct event *e = m->event;
	struct thread_counters *c;
	uint64_t value;
	int i;

	if (!m->thread || e->n_args != 1 || e->args[0].key)
		return false;
	/* Counters of Perfetto are signed: values above INT64_MAX come as negative numbers. */
	if (e->args[0].type != ARG_INT && e->args[0].type != ARG_UINT)
		return false;
	value = e->args[0].u;
	i = value == EVENT_NO_VALUE ? -1 : counter_index_of(t, m->name);
	c = i < 0 ? NULL : counters_of_thread(t, m->thread, m->ts_ns);
	if (!c || (unsigned)i >= c->n)
		return false;
	if (e->unit && !c->tracks[i].unit)
		c->tracks[i].unit = e->unit;
	if (c->has_read && (c->read_ns != e->ts_ns || c->read[i] != EVENT_NO_VALUE))
		counters_read_alone(t, m->thread);
	c->read[i] = value;
	c->read_ns = e->ts_ns;
	c->has_read = true;
	return true;
}
