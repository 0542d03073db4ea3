/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of threads as files have them: samples of their own, each before the begin or the end of a
 * slice at the same time on the same thread. They are kept until that comes and go with it, as they do
 * in a recording; so what slices counted is known from a file as well. A sample that no slice comes
 * for is told as what it is.
 */
#include "timeline/state.h"

#include <string.h>

/* Which of the timeline's counters it is. A file tells their names as it goes on. -1: too many. */
static int counter_index(struct timeline *t, const struct name *name)
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

static void tell(struct timeline *t, const struct thread_state *thread, unsigned i, uint64_t value)
{
	const struct thread_counters *c = thread->counters;
	struct arg arg = { .type = ARG_UINT, .u = value };

	emit(t, &(struct fact){ .kind = FACT_COUNTER,
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
	unsigned i;

	if (!c || !c->has_read)
		return;
	for (i = 0; i < c->n; i++) {
		if (c->read[i] != EVENT_NO_VALUE)
			tell(t, thread, i, c->read[i]);
	}
	counters_read_done(c);
}

void counters_read_done(struct thread_counters *c)
{
	memset(c->read, 0xff, sizeof(c->read));
	c->has_read = false;
}

/*
 * Of a counter that took turns the END says in which share of the slice it was counted, and what that
 * stands for, if anything; the samples are for the viewer of the track.
 */
uint64_t counters_read_delta(const struct timeline *t, unsigned i, const struct fact *end,
			     uint64_t delta)
{
	const struct name *name = t->counters[i];
	uint64_t told = EVENT_NO_VALUE;
	bool takes_turns = false;
	unsigned a;

	for (a = 0; a < end->n_args; a++) {
		const struct arg *arg = &end->args[a];

		if (!arg->key)
			continue;
		if (arg->key == name && (arg->type == ARG_INT || arg->type == ARG_UINT))
			told = arg->u;
		if (arg->key->length == name->length + 6 &&
		    !memcmp(arg->key->text, name->text, name->length) &&
		    !strcmp(arg->key->text + name->length, "_share"))
			takes_turns = true;
	}
	return takes_turns ? told : delta;
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
	/* Perfetto's are signed: what is above that comes as a negative number. */
	if (e->args[0].type != ARG_INT && e->args[0].type != ARG_UINT)
		return false;
	value = e->args[0].u;
	i = value == EVENT_NO_VALUE ? -1 : counter_index(t, m->name);
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
