/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of threads: cycles, page faults and the like, whose values BEGINs and ENDs carry.
 *
 * The values of the kernel only grow. They become three kinds of numbers here: what was counted
 * since the thread's first mark, which is what a track shows; what was counted in a slice (delta),
 * which is the value at its END minus the value at its BEGIN; and what was counted in the slice
 * without the slices inside (self), which is the delta minus the deltas of its children.
 *
 * What is not known stays unknown: a slice whose END was lost has no delta, and then the slice
 * around it has no self.
 *
 * More counters than the hardware has registers for are multiplexed by the kernel. Such values come
 * with two times: how long the counter was enabled and how long it was running. A delta is scaled
 * by enabled / running, as perf does. A counter that was not running at all during a slice is not
 * known there.
 */
#include "timeline/state.h"
#include "base/rare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A modifier may follow the name: cycles:u. */
static bool counter_has_name(const struct name *name, const char *wanted, const char **ret_where)
{
	size_t n = strlen(wanted);

	if (strncmp(name->text, wanted, n) || (name->text[n] && name->text[n] != ':'))
		return false;
	*ret_where = name->text + n;
	return true;
}

/* Instructions per cycle make sense only if both have the same modifiers. */
static void find_ipc_counters(struct timeline *t)
{
	const char *a, *b;

	for (unsigned i = 0; i < t->n_counters; i++) {
		if (!counter_has_name(t->counters[i], "cycles", &a) &&
		    !counter_has_name(t->counters[i], "cpu_cycles", &a))
			continue;
		for (unsigned j = 0; j < t->n_counters; j++) {
			if (!counter_has_name(t->counters[j], "instructions", &b) || strcmp(a, b))
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
	find_ipc_counters(t);
}

void timeline_multiplex(struct timeline *t, const struct name *const *shares)
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

	return counter_has_name(name, "task_clock", &where) ||
			       counter_has_name(name, "cpu_clock", &where)
		       ? t->ns
		       : NULL;
}

static struct thread_counters *thread_counters_new(struct thread_state *thread)
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
		c = thread_counters_new(thread);
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

/* Makes space for the values at the begin of the innermost slice. */
static bool grow_slice_counters(struct thread_counters *c, const struct thread_state *thread)
{
	struct slice_counters *grown;

	if (thread->n_slices <= c->capacity)
		return true;
	grown = realloc(c->slices, thread->capacity * sizeof(*grown));
	if (!grown)
		return false;
	/* These slices were open before there were any counters. */
	for (uint32_t i = c->capacity; i < thread->capacity; i++)
		grown[i].n = 0;
	c->slices = grown;
	c->capacity = thread->capacity;
	return true;
}

/*
 * The clocks of different CPUs may differ a little, so a later time can be smaller: the difference
 * is then 0.
 */
static inline uint64_t counter_difference(uint64_t a, uint64_t b)
{
	if (a == EVENT_NO_VALUE || b == EVENT_NO_VALUE)
		return EVENT_NO_VALUE;
	return (int64_t)(a - b) < 0 ? 0 : a - b;
}

static inline struct counted subtract_counted(struct counted a, struct counted b)
{
	return (struct counted){
		.value = counter_difference(b.value, a.value),
		.enabled = counter_difference(b.enabled, a.enabled),
		.running = counter_difference(b.running, a.running),
	};
}

/* Scales what was counted while the counter was running to all of the time it was enabled. */
static uint64_t estimate_count(const struct counted *c)
{
	unsigned __int128 whole;

	if (c->value == EVENT_NO_VALUE || c->running >= c->enabled)
		return c->value;
	if (!c->running)
		return EVENT_NO_VALUE;
	whole = ((unsigned __int128)c->value * c->enabled + c->running / 2) / c->running;
	return whole < EVENT_NO_VALUE ? (uint64_t)whole : EVENT_NO_VALUE - 1;
}

static bool has_file_readings(const struct thread_counters *c, const struct event *e)
{
	return c->has_read && e && !e->n_counters && c->read_ns == e->ts_ns;
}

/* The values of its thread's counters that come with an event. */
struct readings {
	unsigned n;
	bool from_file;
	const uint64_t *values;
	const uint64_t *enabled, *running; /* NULL: all of the time */
};

/* The values in the event itself, or those that a file gave just before it. */
static struct readings event_readings(const struct timeline *t, const struct thread_counters *c,
				      const struct event *e)
{
	if (has_file_readings(c, e))
		return (struct readings){ .n = c->n, .from_file = true, .values = c->read };
	if (!e || !e->n_counters || e->n_counters != t->n_counters)
		return (struct readings){ 0 };
	return (struct readings){ .n = c->n,
				  .values = e->counters,
				  .enabled = e->counter_enabled,
				  .running = e->counter_running };
}

static inline struct counted counter_reading(const struct readings *r, unsigned i)
{
	if (i >= r->n)
		return (struct counted){ .value = EVENT_NO_VALUE };
	if (!r->enabled)
		return (struct counted){ .value = r->values[i] };
	return (struct counted){ .value = r->values[i],
				 .enabled = r->enabled[i],
				 .running = r->running[i] };
}

/* Adds an estimate for the time since the previous reading of a multiplexed counter to its sum. */
static uint64_t add_multiplexed(struct timeline *t, struct thread_counters *c, unsigned i,
				struct counted now)
{
	struct counted more = subtract_counted(c->since[i], now);
	uint64_t value = estimate_count(&more);

	/* This reading is older than the latest one, although it came later: it adds nothing. */
	if ((int64_t)(now.enabled - c->seen_ns[i]) < 0)
		return EVENT_NO_VALUE;
	t->total[i].enabled += counter_difference(now.enabled, c->seen_ns[i]);
	c->seen_ns[i] = now.enabled;
	if (value == EVENT_NO_VALUE)
		return value;
	t->total[i].running += more.running;
	c->since[i] = now;
	return c->sum[i] += value;
}

/* What was counted on the thread since its first mark. */
static uint64_t counter_sum(struct timeline *t, struct thread_counters *c, unsigned i,
			    struct counted now)
{
	if (now.value == EVENT_NO_VALUE)
		return now.value;
	if (c->since[i].value == EVENT_NO_VALUE) {
		c->since[i] = now;
		c->seen_ns[i] = now.enabled;
	}
	if (now.enabled)
		return add_multiplexed(t, c, i, now);
	return counter_difference(now.value, c->since[i].value);
}

static void fill_counter_values(struct timeline *t, struct thread_counters *c,
				const struct readings *r)
{
	/* Values from a file are already counted since the thread's first mark. */
	for (unsigned i = 0; i < c->n; i++)
		c->values[i] =
			r->from_file ? r->values[i] : counter_sum(t, c, i, counter_reading(r, i));
}

/*
 * --- the same for nearly all events of a recording, in a third of the instructions -----------------
 *
 * They have the values of all counters of their thread, and need neither times nor what a file says of them. The
 * functions for any event are the oracle: without_times() in tests/unit/test_timeline_counters.c.
 */

static inline bool counters_are_plain(const struct timeline *t, const struct thread_counters *c,
				      const struct event *e)
{
	return e && e->n_counters && e->n_counters == t->n_counters && c->n == e->n_counters &&
	       !e->counter_enabled && !e->has_deltas && !e->deltas_in_args;
}

static void begin_plain(struct thread_counters *c, struct slice_counters *slice,
			const uint64_t *now)
{
	for (unsigned i = 0, n = c->n; i < n; i++) {
		if (rare(c->since[i].value == EVENT_NO_VALUE))
			c->since[i].value = now[i];
		slice->begin[i] = (struct counted){ .value = now[i] };
		slice->children[i] = (struct counted){ 0 };
		slice->shown[i] = c->values[i] = counter_difference(now[i], c->since[i].value);
	}
}

/* The END has no other arguments, so none can have the name of a counter. */
static void end_plain(struct timeline *t, struct thread_counters *c,
		      const struct slice_counters *slice, struct slice_counters *around,
		      const uint64_t *now, struct fact *fact)
{
	unsigned n_args = 0;

	for (unsigned i = 0, n = c->n; i < n; i++) {
		uint64_t delta = counter_difference(now[i], slice->begin[i].value);

		if (rare(c->since[i].value == EVENT_NO_VALUE))
			c->since[i].value = now[i];
		c->values[i] = counter_difference(now[i], c->since[i].value);
		c->deltas[i] = delta;
		c->selves[i] = counter_difference(delta, slice->children[i].value);
		if (around && around->children[i].value != EVENT_NO_VALUE)
			around->children[i].value =
				delta == EVENT_NO_VALUE ? delta : around->children[i].value + delta;
		if (delta != EVENT_NO_VALUE)
			t->args[n_args++] =
				(struct arg){ .key = t->counters[i], .type = ARG_UINT, .u = delta };
	}
	fact->args = t->args;
	fact->n_args = n_args;
}

/* --- slices --------------------------------------------------------------------------------------- */

static void fact_set_counters(struct fact *fact, const struct thread_counters *c)
{
	fact->n_counters = c->n;
	fact->counter_tracks = c->list;
	fact->counters = c->values;
}

/* Not inlined: the frequent events would have to save the registers that these need. */
#define RARE static __attribute__((noinline)) void

RARE begin_any(struct timeline *t, struct thread_counters *c, struct slice_counters *slice,
	       const struct event *event)
{
	struct readings now = event_readings(t, c, event);

	for (unsigned i = 0; i < c->n; i++) {
		slice->begin[i] = counter_reading(&now, i);
		slice->children[i] = (struct counted){ 0 };
	}
	fill_counter_values(t, c, &now);
	for (unsigned i = 0; i < c->n; i++)
		slice->shown[i] = c->values[i];
	if (now.from_file)
		counters_read_done(c);
}

void counters_begin(struct timeline *t, const struct mark *m, struct fact *fact)
{
	struct thread_counters *c = m->thread->counters;
	struct slice_counters *slice;

	if (!c && m->event->n_counters)
		c = counters_of_thread(t, m->thread, m->ts_ns);
	if (!c || !grow_slice_counters(c, m->thread))
		return;
	slice = &c->slices[m->thread->n_slices - 1];
	slice->n = c->n; /* a file may declare one more before the slice ends */
	if (counters_are_plain(t, c, m->event))
		begin_plain(c, slice, m->event->counters);
	else
		begin_any(t, c, slice, m->event);
	fact_set_counters(fact, c);
}

/* The value on the counter's track when one of the thread's open slices began. */
uint64_t counter_at_begin(const struct thread_state *thread, uint32_t slice, unsigned i)
{
	const struct thread_counters *c = thread->counters;

	if (slice >= c->capacity || i >= c->slices[slice].n)
		return EVENT_NO_VALUE;
	return c->slices[slice].shown[i];
}

static bool fact_has_arg(const struct fact *fact, const struct name *key)
{
	for (unsigned i = 0; i < fact->n_args; i++) {
		if (fact->args[i].key == key)
			return true;
	}
	return false;
}

void append_arg(struct timeline *t, struct fact *fact, struct arg arg)
{
	if (fact->n_args >= EVENT_MAX_ARGS || fact_has_arg(fact, arg.key))
		return;
	if (fact->args != t->args && fact->n_args)
		memcpy(t->args, fact->args, fact->n_args * sizeof(*fact->args));
	fact->args = t->args;
	t->args[fact->n_args++] = arg;
}

/*
 * Rounding never makes it 0 or 1, which mean that the counter was never running, or all of the
 * time.
 */
static double running_share(const struct counted *c)
{
	double share = floor((double)c->running / (double)c->enabled * 10000) / 10000;

	return c->running && share < 0.0001 ? 0.0001 : share;
}

/*
 * Appends what was counted in the slice and, for a multiplexed counter, the share of the slice in
 * which it was running.
 */
static void append_counter_delta(struct timeline *t, const struct thread_counters *c, unsigned i,
				 const struct counted *delta, struct fact *fact)
{
	if (c->deltas[i] != EVENT_NO_VALUE)
		append_arg(
			t, fact,
			(struct arg){ .key = t->counters[i], .type = ARG_UINT, .u = c->deltas[i] });
	if (t->shares[i] && delta->value != EVENT_NO_VALUE && delta->running < delta->enabled)
		append_arg(t, fact,
			   (struct arg){ .key = t->shares[i],
					 .type = ARG_DOUBLE,
					 .d = running_share(delta) });
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

static void add_child_count(struct counted *children, const struct counted *child)
{
	if (child->value == EVENT_NO_VALUE || children->value == EVENT_NO_VALUE) {
		children->value = EVENT_NO_VALUE;
		return;
	}
	children->value += child->value;
	children->enabled += child->enabled;
	children->running += child->running;
}

RARE end_any(struct timeline *t, struct thread_counters *c, const struct slice_counters *slice,
	     struct slice_counters *around, const struct event *event, struct fact *fact)
{
	bool from_file = event && (event->has_deltas || event->deltas_in_args);
	struct readings now = event_readings(t, c, event);

	for (unsigned i = 0; i < c->n; i++) {
		struct counted delta = { .value = EVENT_NO_VALUE }, self = delta;

		if (i < slice->n)
			delta = subtract_counted(slice->begin[i], counter_reading(&now, i));
		if (now.from_file || from_file)
			delta.value = counters_read_delta(t, i, event, fact, delta.value);
		if (i < slice->n)
			self = subtract_counted(slice->children[i], delta);
		c->deltas[i] = estimate_count(&delta);
		c->selves[i] = estimate_count(&self);
		if (around && i < around->n)
			add_child_count(&around->children[i], &delta);
		append_counter_delta(t, c, i, &delta, fact);
	}
	fill_counter_values(t, c, &now);
	if (now.from_file)
		counters_read_done(c);
}

/* Called before the innermost slice is removed. */
void counters_end(struct timeline *t, struct thread_state *thread, const struct event *event,
		  struct fact *fact)
{
	struct thread_counters *c = thread->counters;
	uint32_t top = thread->n_slices - 1;
	struct slice_counters *slice, *around;

	if (!c || top >= c->capacity)
		return;
	slice = &c->slices[top];
	around = top ? slice - 1 : NULL;
	if (!fact->n_args && slice->n == c->n && (!around || around->n == c->n) &&
	    counters_are_plain(t, c, event))
		end_plain(t, c, slice, around, event->counters, fact);
	else
		end_any(t, c, slice, around, event, fact);
	append_ipc(t, c, fact);
	fact_set_counters(fact, c);
	fact->counter_deltas = c->deltas;
	fact->counter_selves = c->selves;
}

/*
 * A reading between marks. It does not advance the thread's latest time: an interrupt may have read
 * the counters in the middle of a mark that had taken its own time before.
 */
void counters_reading(struct timeline *t, const struct event *event)
{
	struct fact fact = { .kind = FACT_READING, .ts_ns = event->ts_ns };
	struct thread_state *thread = NULL;
	struct thread_counters *c = NULL;
	struct readings now;

	if (t->n_counters)
		thread = thread_state_get(t, event->pid, event->tid, event->ts_ns, NULL);
	if (thread)
		c = counters_of_thread(t, thread, event->ts_ns);
	if (!c) {
		t->account->samples_lost++;
		return;
	}
	fact.process = thread->pub.process;
	fact.thread = &thread->pub;
	fact.name = t->thread_counters;
	now = event_readings(t, c, event);
	fill_counter_values(t, c, &now);
	fact_set_counters(&fact, c);
	for (unsigned i = 0; i < t->n_counters; i++) {
		if (c->values[i] != EVENT_NO_VALUE)
			append_arg(t, &fact,
				   (struct arg){ .key = t->counters[i],
						 .type = ARG_UINT,
						 .u = c->values[i] });
	}
	t->account->samples++;
	if (fact.n_args)
		emit_fact(t, &fact);
}
