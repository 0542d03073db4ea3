/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of threads. BEGINs and ENDs carry the values that these had; here they become what was
 * counted since the thread's first mark, which is what a track shows, and what was counted in a slice,
 * with the slices inside and without them.
 *
 * What is not known stays unknown: a slice whose END was lost has no sum, and the one around it then
 * does not know what was its own.
 */
#include "timeline/state.h"

#include <stdlib.h>
#include <string.h>

/* Behind the name may stand where it is counted: cycles:u. */
static bool is_called(const struct name *name, const char *wanted, const char **ret_where)
{
	size_t n = strlen(wanted);

	if (strncmp(name->text, wanted, n) || (name->text[n] && name->text[n] != ':'))
		return false;
	*ret_where = name->text + n;
	return true;
}

/* Instructions per cycle make sense where both are counted in the same places. */
static void find_ipc(struct timeline *t)
{
	const char *a, *b;
	unsigned i, j;

	for (i = 0; i < t->n_counters; i++) {
		if (!is_called(t->counters[i], "cycles", &a) &&
		    !is_called(t->counters[i], "cpu_cycles", &a))
			continue;
		for (j = 0; j < t->n_counters; j++) {
			if (!is_called(t->counters[j], "instructions", &b) || strcmp(a, b))
				continue;
			t->cycles = (int)i;
			t->instructions = (int)j;
			return;
		}
	}
}

void timeline_count(struct timeline *t, const struct name *const *counters, unsigned n)
{
	t->n_counters = n < EVENT_MAX_COUNTERS ? n : EVENT_MAX_COUNTERS;
	memcpy(t->counters, counters, t->n_counters * sizeof(t->counters[0]));
	t->cycles = t->instructions = -1;
	find_ipc(t);
}

const struct name *counter_unit(const struct timeline *t, const struct name *name)
{
	const char *where;

	return is_called(name, "task_clock", &where) || is_called(name, "cpu_clock", &where) ? t->ns
											     : NULL;
}

static struct thread_counters *counters_new(struct thread_state *thread)
{
	struct thread_counters *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	counters_read_done(c);
	thread->counters = c;
	return c;
}

struct thread_counters *counters_of_thread(struct timeline *t, struct thread_state *thread,
					   uint64_t ts_ns)
{
	struct thread_counters *c = thread->counters;
	unsigned i, more = t->n_counters - (c ? c->n : 0);

	if (!more)
		return c;
	if (t->limits.tracks - t->n_tracks < more || t->n_tracks > t->limits.tracks)
		return c;
	if (!c)
		c = counters_new(thread);
	if (!c)
		return NULL;
	for (i = c->n; i < t->n_counters; i++) {
		c->first[i] = EVENT_NO_VALUE;
		c->list[i] = &c->tracks[i];
		c->tracks[i].kind = TRACK_COUNTER;
		c->tracks[i].name = t->counters[i];
		c->tracks[i].unit = counter_unit(t, t->counters[i]);
		c->tracks[i].thread = &thread->pub;
		track_declare(t, thread->process, &c->tracks[i], ts_ns);
	}
	c->n = t->n_counters;
	return c;
}

void counters_of_thread_release(struct timeline *t, struct thread_state *thread)
{
	if (!thread->counters)
		return;
	t->n_tracks -= thread->counters->n;
	free(thread->counters->slices);
	free(thread->counters);
	thread->counters = NULL;
}

/* Room for what the innermost slice began with. */
static bool grow(struct thread_counters *c, const struct thread_state *thread)
{
	struct slice_counters *grown;
	uint32_t i;

	if (thread->n_slices <= c->room)
		return true;
	grown = realloc(c->slices, thread->room * sizeof(*grown));
	if (!grown)
		return false;
	/* Slices that were open before there were any counters. */
	for (i = c->room; i < thread->room; i++)
		memset(&grown[i], 0xff, sizeof(grown[i]));
	c->slices = grown;
	c->room = thread->room;
	return true;
}

/* The clocks of different CPUs may differ a little: nothing is less than nothing. */
static uint64_t difference(uint64_t a, uint64_t b)
{
	if (a == EVENT_NO_VALUE || b == EVENT_NO_VALUE)
		return EVENT_NO_VALUE;
	return (int64_t)(a - b) < 0 ? 0 : a - b;
}

/* What an event says itself, or a file said just before it. */
static const uint64_t *values_of(const struct timeline *t, const struct thread_counters *c,
				 const struct event *e)
{
	if (!e)
		return NULL;
	if (e->n_counters)
		return e->n_counters == t->n_counters ? e->counters : NULL;
	return c->has_read && c->read_ns == e->ts_ns ? c->read : NULL;
}

static void fill_values(struct thread_counters *c, const uint64_t *values, struct fact *fact)
{
	unsigned i;

	for (i = 0; i < c->n; i++) {
		uint64_t value = values ? values[i] : EVENT_NO_VALUE;

		if (c->first[i] == EVENT_NO_VALUE)
			c->first[i] = value;
		c->values[i] = difference(value, c->first[i]);
	}
	fact->n_counters = c->n;
	fact->counter_tracks = c->list;
	fact->counters = c->values;
}

void counters_begin(struct timeline *t, const struct mark *m, struct fact *fact)
{
	struct thread_counters *c = m->thread->counters;
	struct slice_counters *slice;
	const uint64_t *values;
	unsigned i;

	if (!c && m->event->n_counters)
		c = counters_of_thread(t, m->thread, m->ts_ns);
	if (!c || !grow(c, m->thread))
		return;
	values = values_of(t, c, m->event);
	slice = &c->slices[m->thread->n_slices - 1];
	for (i = 0; i < EVENT_MAX_COUNTERS; i++) {
		slice->begin[i] = values && i < c->n ? values[i] : EVENT_NO_VALUE;
		slice->children[i] = 0;
	}
	fill_values(c, values, fact);
	if (values == c->read)
		counters_read_done(c);
}

static bool has_arg(const struct fact *fact, const struct name *key)
{
	unsigned i;

	for (i = 0; i < fact->n_args; i++) {
		if (fact->args[i].key == key)
			return true;
	}
	return false;
}

/* What the program says itself stands. */
static void append(struct timeline *t, struct fact *fact, struct arg arg)
{
	if (fact->n_args >= EVENT_MAX_ARGS || has_arg(fact, arg.key))
		return;
	if (fact->args != t->args && fact->n_args)
		memcpy(t->args, fact->args, fact->n_args * sizeof(*fact->args));
	fact->args = t->args;
	t->args[fact->n_args++] = arg;
}

static void append_deltas(struct timeline *t, const struct thread_counters *c, struct fact *fact)
{
	uint64_t cycles, instructions;
	unsigned i;

	for (i = 0; i < c->n; i++) {
		if (c->deltas[i] != EVENT_NO_VALUE)
			append(t, fact,
			       (struct arg){ .key = t->counters[i],
					     .type = ARG_UINT,
					     .u = c->deltas[i] });
	}
	if (t->cycles < 0 || (unsigned)t->cycles >= c->n || (unsigned)t->instructions >= c->n)
		return;
	cycles = c->deltas[t->cycles];
	instructions = c->deltas[t->instructions];
	if (cycles && cycles != EVENT_NO_VALUE && instructions != EVENT_NO_VALUE)
		append(t, fact,
		       (struct arg){ .key = t->ipc,
				     .type = ARG_DOUBLE,
				     .d = (double)instructions / (double)cycles });
}

/* Before the innermost slice is taken off. */
void counters_end(struct timeline *t, struct thread_state *thread, const struct event *event,
		  struct fact *fact)
{
	struct thread_counters *c = thread->counters;
	uint32_t top = thread->n_slices - 1;
	const uint64_t *values;
	unsigned i;

	if (!c || top >= c->room)
		return;
	values = values_of(t, c, event);
	for (i = 0; i < c->n; i++) {
		uint64_t delta =
			difference(values ? values[i] : EVENT_NO_VALUE, c->slices[top].begin[i]);
		uint64_t *around = top ? &c->slices[top - 1].children[i] : NULL;

		c->deltas[i] = delta;
		c->selves[i] = difference(delta, c->slices[top].children[i]);
		if (around && delta == EVENT_NO_VALUE)
			*around = EVENT_NO_VALUE;
		else if (around && *around != EVENT_NO_VALUE)
			*around += delta;
	}
	fill_values(c, values, fact);
	fact->counter_deltas = c->deltas;
	fact->counter_selves = c->selves;
	append_deltas(t, c, fact);
	if (values == c->read)
		counters_read_done(c);
}
