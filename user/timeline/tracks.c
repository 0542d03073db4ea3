/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracks: every series of a counter and every lane of asynchronous slices has one, which is
 * declared before its first use and lives as long as its process.
 */
#include "timeline/state.h"

#include <stdlib.h>
#include <string.h>

void track_declare(struct timeline *t, const struct process_state *p, struct track *track,
		   uint64_t ts_ns)
{
	const struct track *tracks = track;

	track->uuid = ++t->last_uuid;
	track->process = public_process(p);
	t->n_tracks++;
	emit_fact(t, &(struct fact){ .kind = FACT_TRACK,
				     .ts_ns = ts_ns,
				     .process = track->process,
				     .thread = track->thread,
				     .tracks = &tracks,
				     .name = track->name });
}

struct track *lane_track_new(struct timeline *t, struct process_state *p, uint64_t ts_ns,
			     const struct track *lane)
{
	struct track *track;

	if (t->n_tracks >= t->limits.tracks)
		return NULL;
	track = malloc(sizeof(*track));
	if (!track)
		return NULL;
	*track = *lane;
	track->kind = TRACK_ASYNC;
	track_declare(t, p, track, ts_ns);
	return track;
}

/* The thread that owns the counter; NULL: the process does. */
static inline struct thread_state *counter_owner(const struct mark *m)
{
	return m->event->of_thread || m->event->on_thread ? m->thread : NULL;
}

static struct counter *counter_new(struct timeline *t, const struct mark *m,
				   const struct counter_key *key, const struct name *unit)
{
	struct thread_state *thread = counter_owner(m);
	struct process_state *p = m->process;
	struct counter *counter;

	if (t->n_tracks >= t->limits.tracks)
		return NULL;
	counter = hash_add_new(hh, p->counters, key, *key);
	if (!counter)
		return NULL;
	counter->pub.kind = TRACK_COUNTER;
	counter->pub.name = key->name;
	counter->pub.key = key->series;
	counter->pub.unit = unit;
	if (thread) {
		counter->pub.thread = &thread->pub;
		thread->counters_from_file = true;
	}
	track_declare(t, p, &counter->pub, m->ts_ns);
	return counter;
}

struct counter *counter_get(struct timeline *t, const struct mark *m, const struct name *name,
			    const struct name *series, const struct name *unit)
{
	const struct counter_key key = { .name = name,
					 .series = series,
					 .thread = counter_owner(m) };
	struct process_state *p = m->process;
	uint32_t hash = name->id + (series ? series->id * 5 : 0);
	struct counter **slot = &p->recent_counters[hash & (RECENT_COUNTERS - 1)], *counter = *slot;

	if (counter && counter->key.name == name && counter->key.series == series &&
	    counter->key.thread == key.thread)
		return counter;
	HASH_FIND(hh, p->counters, &key, sizeof(key), counter);
	if (!counter)
		counter = counter_new(t, m, &key, unit);
	if (counter)
		*slot = counter;
	return counter;
}

/* Remembers the value for files that begin later. */
void counter_keep(struct counter *counter, const struct arg *value, const struct fact *fact)
{
	counter->last = *value;
	counter->last_category = fact->category;
	counter->last_ns = fact->ts_ns;
}

/* Emits `n` series of one counter, given in t->args. */
static int emit_series(struct timeline *t, const struct mark *m, const struct name *name,
		       unsigned n)
{
	struct fact fact = fact_from_mark(m, FACT_COUNTER);
	const struct name *unit = m->event->unit;

	/* Files of formats without units still have the names of known counters. */
	if (m->event->of_thread && !unit)
		unit = counter_unit(t, name);

	for (unsigned i = 0; i < n; i++) {
		struct counter *counter = counter_get(t, m, name, t->args[i].key, unit);

		if (!counter)
			return LOST_LIMIT;
		counter_keep(counter, &t->args[i], &fact);
		t->tracks[i] = &counter->pub;
	}
	fact.name = name;
	fact.tracks = t->tracks;
	fact.args = t->args;
	fact.n_args = n;
	emit_fact(t, &fact);
	return MARK_WRITTEN;
}

/* Consumers get numbers only; other arguments can only come from a file. */
int counter_mark(struct timeline *t, const struct mark *m)
{
	const struct event *e = m->event;
	unsigned i, n = 0;

	if (e->of_thread && counters_read(t, m))
		return MARK_WRITTEN;
	for (i = 0; i < e->n_args && i < EVENT_MAX_ARGS; i++) {
		struct arg value = e->args[i];

		if (value.type == ARG_STRING || value.type == ARG_NULL)
			continue;
		if (value.type == ARG_BOOL || value.type == ARG_POINTER)
			value.type = ARG_UINT;
		t->args[n++] = value;
	}
	if (!n)
		return LOST_MALFORMED;
	return emit_series(t, m, m->name, n);
}

int step_mark(struct timeline *t, const struct mark *m)
{
	m->process->stepped = true;
	m->process->epoch = m->event->id;
	m->process->batch = m->event->size;
	t->stepped = true;
	t->step_epoch = m->event->id;
	t->step_batch = m->event->size;
	if (m->event->left_out)
		return MARK_LEFT_OUT;
	t->args[0] = (struct arg){ .key = t->epoch, .type = ARG_UINT, .u = m->event->id };
	t->args[1] = (struct arg){ .key = t->batch, .type = ARG_UINT, .u = m->event->size };
	return emit_series(t, m, t->step, 2);
}

void counters_release(struct timeline *t, struct process_state *p)
{
	memset(p->recent_counters, 0, sizeof(p->recent_counters));
	hash_clear(hh, p->counters, counter, t->n_tracks--);
}

void counters_release_thread(struct timeline *t, const struct thread_state *thread)
{
	struct process_state *p = thread->process;

	if (!thread->counters_from_file)
		return;
	memset(p->recent_counters, 0, sizeof(p->recent_counters));
	hash_each (p->counters, counter) {
		if (counter->key.thread != thread)
			continue;
		HASH_DEL(p->counters, counter);
		free(counter);
		t->n_tracks--;
	}
}
