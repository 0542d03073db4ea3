/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What holds now, told again to a handler that comes later: a file that begins in the middle of a
 * recording knows the processes, threads and tracks, what every counter was, and what is open.
 *
 * All of it is said with the time it had, never with the time of the file's begin: another thread's
 * mark that is a little late would otherwise be overruled by an older value.
 */
#include "timeline/state.h"

struct replay {
	struct timeline *timeline;
	struct handler *handler;
	struct arg continued; /* the argument that slices get */
};

static void tell_track(struct replay *r, const struct track *track)
{
	hand_to(r->handler, &(struct fact){ .kind = FACT_TRACK,
					    .process = track->process,
					    .thread = track->thread,
					    .tracks = &track,
					    .name = track->name });
}

static void tell_counter(struct replay *r, const struct counter *counter)
{
	const struct track *track = &counter->pub;

	static const struct memory unchanged = { .change = MEMORY_FREE };

	tell_track(r, track);
	if (!counter->last.type)
		return;
	hand_to(r->handler, &(struct fact){ .kind = FACT_COUNTER,
					    .ts_ns = counter->last_ns,
					    .process = track->process,
					    .thread = track->thread,
					    .tracks = &track,
					    .name = track->name,
					    .category = counter->last_category,
					    .n_args = 1,
					    .args = &counter->last,
					    .memory = counter->of_pool ? &unchanged : NULL,
					    .continued = true });
}

static void tell_slice(struct replay *r, const struct thread_state *thread, uint32_t i)
{
	const struct slice *slice = &thread->slices[i];
	uint64_t counters[EVENT_MAX_COUNTERS];
	unsigned k, n = thread->counters ? r->timeline->n_counters : 0;

	for (k = 0; k < n; k++)
		counters[k] = counter_at_begin(thread, i, k);
	hand_to(r->handler, &(struct fact){ .kind = FACT_BEGIN,
					    .ts_ns = slice->begin_ns,
					    .process = thread->pub.process,
					    .thread = &thread->pub,
					    .name = slice->name,
					    .category = slice->category,
					    .n_args = 1,
					    .args = &r->continued,
					    .continued = true,
					    .n_counters = n,
					    .counter_tracks = n ? thread->counters->list : NULL,
					    .counters = counters });
}

static void tell_thread(struct replay *r, const struct thread_state *thread)
{
	uint32_t i;

	hand_to(r->handler, &(struct fact){ .kind = FACT_THREAD,
					    .process = thread->pub.process,
					    .thread = &thread->pub,
					    .name = thread->pub.name });
	for (i = 0; thread->counters && i < r->timeline->n_counters; i++)
		tell_track(r, thread->counters->list[i]);
	for (i = 0; i < thread->n_slices; i++)
		tell_slice(r, thread, i);
}

static void tell_async(struct replay *r, const struct process_state *p, const struct async *async)
{
	const struct track *track = async->lanes->tracks[async->lane];
	const struct arg args[2] = {
		r->continued,
		{ .key = r->timeline->frame, .type = ARG_UINT, .u = async->frame },
	};

	hand_to(r->handler, &(struct fact){ .kind = FACT_ASYNC_BEGIN,
					    .ts_ns = async->begin_ns,
					    .process = process_of(p),
					    .tracks = &track,
					    .name = async->name,
					    .category = async->category,
					    .id = async_id(async),
					    .n_args = async->frame ? 2 : 1,
					    .args = args,
					    .continued = true });
}

static void tell_asyncs(struct replay *r, const struct process_state *p)
{
	const struct lanes *lanes;
	const struct async *async;
	uint32_t i;

	for (lanes = p->lanes; lanes; lanes = lanes->hh.next) {
		for (i = 0; i < lanes->n; i++)
			tell_track(r, lanes->tracks[i]);
	}
	if (!p->asyncs)
		return;
	/* The list is the latest first; the first one's `prev` is the last. */
	for (async = p->asyncs->prev;; async = async->prev) {
		tell_async(r, p, async);
		if (async == p->asyncs)
			break;
	}
}

static void tell_owned(struct replay *r, const struct process_state *p)
{
	const struct counter *counter;

	for (counter = p->counters; counter; counter = counter->hh.next)
		tell_counter(r, counter);
	tell_asyncs(r, p);
}

int timeline_replay(struct timeline *t, struct handler *handler)
{
	struct replay r = {
		.timeline = t,
		.handler = handler,
		.continued = { .key = t->continued, .type = ARG_BOOL, .u = 1 },
	};
	const struct thread_state *thread;
	const struct process_state *p;

	for (p = t->processes; p && !handler->error; p = p->hh.next) {
		hand_to(handler, &(struct fact){ .kind = FACT_PROCESS,
						 .process = &p->pub,
						 .name = p->pub.name });
		for (thread = p->threads; thread; thread = thread->next)
			tell_thread(&r, thread);
		tell_owned(&r, p);
	}
	tell_owned(&r, &t->machine);
	return handler->error;
}
