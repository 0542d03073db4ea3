/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of threads. BEGINs and ENDs carry the values that these had; here they become what was
 * counted since the thread's first mark, which is what a track shows, and what was counted in a slice,
 * with the slices inside and without them.
 *
 * What is not known stays unknown: a slice whose END was lost has no sum, and the one around it then
 * does not know what was its own.
 *
 * Counters that take turns on the hardware come with two times: for how long each was to be counted,
 * and for how long it was. What was counted in that share of a slice stands for all of it. Where the
 * share is nothing, nothing is known.
 */
#include "timeline/state.h"

#include <math.h>
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

void timeline_take_turns(struct timeline *t, const struct name *const *shares)
{
	memcpy(t->shares, shares, t->n_counters * sizeof(t->shares[0]));
}

double timeline_share(const struct timeline *t, unsigned i)
{
	const struct counted *total = &t->total[i];

	return total->enabled ? (double)total->running / (double)total->enabled : NAN;
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
		c->since[i].value = EVENT_NO_VALUE;
		c->list[i] = &c->tracks[i];
		c->tracks[i].kind = TRACK_COUNTER;
		c->tracks[i].name = t->counters[i];
		c->tracks[i].unit = counter_unit(t, t->counters[i]);
		c->tracks[i].thread = &thread->pub;
		c->tracks[i].is_counted = true;
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
		grown[i].n = 0;
	c->slices = grown;
	c->room = thread->room;
	return true;
}

/* The clocks of different CPUs may differ a little: nothing is less than nothing. */
static inline uint64_t difference(uint64_t a, uint64_t b)
{
	if (a == EVENT_NO_VALUE || b == EVENT_NO_VALUE)
		return EVENT_NO_VALUE;
	return (int64_t)(a - b) < 0 ? 0 : a - b;
}

static inline struct counted counted_between(struct counted a, struct counted b)
{
	return (struct counted){
		.value = difference(b.value, a.value),
		.enabled = difference(b.enabled, a.enabled),
		.running = difference(b.running, a.running),
	};
}

/* What was counted in a share of the time, as if it had been in all of it. */
static uint64_t estimate(const struct counted *c)
{
	unsigned __int128 whole;

	if (c->value == EVENT_NO_VALUE || c->running >= c->enabled)
		return c->value;
	if (!c->running)
		return EVENT_NO_VALUE;
	whole = ((unsigned __int128)c->value * c->enabled + c->running / 2) / c->running;
	return whole < EVENT_NO_VALUE ? (uint64_t)whole : EVENT_NO_VALUE - 1;
}

static bool is_read(const struct thread_counters *c, const struct event *e)
{
	return c->has_read && e && !e->n_counters && c->read_ns == e->ts_ns;
}

/* What is known with an event of its thread's counters. */
struct readings {
	unsigned n;
	bool from_file;
	const uint64_t *values;
	const uint64_t *enabled, *running; /* NULL: all of the time */
};

/* What an event says itself, or a file said just before it. */
static struct readings readings_of(const struct timeline *t, const struct thread_counters *c,
				   const struct event *e)
{
	if (is_read(c, e))
		return (struct readings){ .n = c->n, .from_file = true, .values = c->read };
	if (!e || !e->n_counters || e->n_counters != t->n_counters)
		return (struct readings){ 0 };
	return (struct readings){ .n = c->n,
				  .values = e->counters,
				  .enabled = e->counter_enabled,
				  .running = e->counter_running };
}

static inline struct counted reading(const struct readings *r, unsigned i)
{
	if (i >= r->n)
		return (struct counted){ .value = EVENT_NO_VALUE };
	if (!r->enabled)
		return (struct counted){ .value = r->values[i] };
	return (struct counted){ .value = r->values[i],
				 .enabled = r->enabled[i],
				 .running = r->running[i] };
}

/* Where a counter takes turns, each share of it is taken for the time since the one before. */
static uint64_t take_turn(struct timeline *t, struct thread_counters *c, unsigned i,
			  struct counted now)
{
	struct counted more = counted_between(c->since[i], now);
	uint64_t value = estimate(&more);

	/* One that was read before the latest, and came after it, tells nothing new. */
	if ((int64_t)(now.enabled - c->seen_ns[i]) < 0)
		return EVENT_NO_VALUE;
	t->total[i].enabled += difference(now.enabled, c->seen_ns[i]);
	c->seen_ns[i] = now.enabled;
	if (value == EVENT_NO_VALUE)
		return value;
	t->total[i].running += more.running;
	c->since[i] = now;
	return c->sum[i] += value;
}

/* What the thread has counted until now. */
static uint64_t sum_of(struct timeline *t, struct thread_counters *c, unsigned i,
		       struct counted now)
{
	if (now.value == EVENT_NO_VALUE)
		return now.value;
	if (c->since[i].value == EVENT_NO_VALUE) {
		c->since[i] = now;
		c->seen_ns[i] = now.enabled;
	}
	if (now.enabled)
		return take_turn(t, c, i, now);
	return difference(now.value, c->since[i].value);
}

static void fill_values(struct timeline *t, struct thread_counters *c, const struct readings *r,
			struct fact *fact)
{
	unsigned i;

	/* What a file says is since the thread's first mark already. */
	for (i = 0; i < c->n; i++)
		c->values[i] = r->from_file ? r->values[i] : sum_of(t, c, i, reading(r, i));
	fact->n_counters = c->n;
	fact->counter_tracks = c->list;
	fact->counters = c->values;
}

void counters_begin(struct timeline *t, const struct mark *m, struct fact *fact)
{
	struct thread_counters *c = m->thread->counters;
	struct slice_counters *slice;
	struct readings now;
	unsigned i;

	if (!c && m->event->n_counters)
		c = counters_of_thread(t, m->thread, m->ts_ns);
	if (!c || !grow(c, m->thread))
		return;
	now = readings_of(t, c, m->event);
	slice = &c->slices[m->thread->n_slices - 1];
	slice->n = c->n; /* a file may come with one more before the slice ends */
	for (i = 0; i < c->n; i++) {
		slice->begin[i] = reading(&now, i);
		slice->children[i] = (struct counted){ 0 };
	}
	fill_values(t, c, &now, fact);
	for (i = 0; i < c->n; i++)
		slice->shown[i] = c->values[i];
	if (now.from_file)
		counters_read_done(c);
}

/* What a thread's counter showed when one of its open slices began. */
uint64_t counter_at_begin(const struct thread_state *thread, uint32_t slice, unsigned i)
{
	const struct thread_counters *c = thread->counters;

	if (slice >= c->room || i >= c->slices[slice].n)
		return EVENT_NO_VALUE;
	return c->slices[slice].shown[i];
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

void append_arg(struct timeline *t, struct fact *fact, struct arg arg)
{
	if (fact->n_args >= EVENT_MAX_ARGS || has_arg(fact, arg.key))
		return;
	if (fact->args != t->args && fact->n_args)
		memcpy(t->args, fact->args, fact->n_args * sizeof(*fact->args));
	fact->args = t->args;
	t->args[fact->n_args++] = arg;
}

/* Never 0 nor 1 by rounding: these say that it was not counted at all, or all of the time. */
static double share_of(const struct counted *c)
{
	double share = floor((double)c->running / (double)c->enabled * 10000) / 10000;

	return c->running && share < 0.0001 ? 0.0001 : share;
}

/* What was counted in the slice; or, where it was not, that it was in no share of it. */
static void append_delta(struct timeline *t, const struct thread_counters *c, unsigned i,
			 const struct counted *delta, struct fact *fact)
{
	if (c->deltas[i] != EVENT_NO_VALUE)
		append_arg(
			t, fact,
			(struct arg){ .key = t->counters[i], .type = ARG_UINT, .u = c->deltas[i] });
	if (t->shares[i] && delta->value != EVENT_NO_VALUE && delta->running < delta->enabled)
		append_arg(t, fact,
			   (struct arg){
				   .key = t->shares[i], .type = ARG_DOUBLE, .d = share_of(delta) });
}

static void append_ipc(struct timeline *t, const struct thread_counters *c, struct fact *fact)
{
	uint64_t cycles, instructions;

	if (t->cycles < 0 || (unsigned)t->cycles >= c->n || (unsigned)t->instructions >= c->n)
		return;
	cycles = c->deltas[t->cycles];
	instructions = c->deltas[t->instructions];
	if (cycles && cycles != EVENT_NO_VALUE && instructions != EVENT_NO_VALUE)
		append_arg(t, fact,
			   (struct arg){ .key = t->ipc,
					 .type = ARG_DOUBLE,
					 .d = (double)instructions / (double)cycles });
}

static void add_child(struct counted *children, const struct counted *child)
{
	if (child->value == EVENT_NO_VALUE || children->value == EVENT_NO_VALUE) {
		children->value = EVENT_NO_VALUE;
		return;
	}
	children->value += child->value;
	children->enabled += child->enabled;
	children->running += child->running;
}

/* Before the innermost slice is taken off. */
void counters_end(struct timeline *t, struct thread_state *thread, const struct event *event,
		  struct fact *fact)
{
	struct thread_counters *c = thread->counters;
	uint32_t top = thread->n_slices - 1;
	struct slice_counters *slice, *around;
	struct readings now;
	unsigned i;

	if (!c || top >= c->room)
		return;
	slice = &c->slices[top];
	around = top ? slice - 1 : NULL;
	now = readings_of(t, c, event);
	for (i = 0; i < c->n; i++) {
		struct counted delta = { .value = EVENT_NO_VALUE }, self = delta;

		if (i < slice->n)
			delta = counted_between(slice->begin[i], reading(&now, i));
		if (now.from_file)
			delta.value = counters_read_delta(t, i, fact, delta.value);
		if (i < slice->n)
			self = counted_between(slice->children[i], delta);
		c->deltas[i] = estimate(&delta);
		c->selves[i] = estimate(&self);
		if (around && i < around->n)
			add_child(&around->children[i], &delta);
		append_delta(t, c, i, &delta, fact);
	}
	append_ipc(t, c, fact);
	fill_values(t, c, &now, fact);
	fact->counter_deltas = c->deltas;
	fact->counter_selves = c->selves;
	if (now.from_file)
		counters_read_done(c);
}

/*
 * Between marks. Its time is not the thread's latest: an interrupt may have read them in the midst of
 * a mark that had taken its own time before.
 */
void counters_reading(struct timeline *t, const struct event *event)
{
	struct fact fact = { .kind = FACT_READING, .ts_ns = event->ts_ns };
	struct thread_state *thread = NULL;
	struct thread_counters *c = NULL;
	struct readings now;
	unsigned i;

	if (t->n_counters)
		thread = thread_get(t, event->pid, event->tid, event->ts_ns, NULL);
	if (thread)
		c = counters_of_thread(t, thread, event->ts_ns);
	if (!c) {
		t->account->samples_lost++;
		return;
	}
	fact.process = thread->pub.process;
	fact.thread = &thread->pub;
	fact.name = t->thread_counters;
	now = readings_of(t, c, event);
	fill_values(t, c, &now, &fact);
	for (i = 0; i < t->n_counters; i++) {
		if (c->values[i] != EVENT_NO_VALUE)
			append_arg(t, &fact,
				   (struct arg){ .key = t->counters[i],
						 .type = ARG_UINT,
						 .u = c->values[i] });
	}
	t->account->samples++;
	if (fact.n_args)
		emit(t, &fact);
}
