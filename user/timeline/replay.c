/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Repeats the present state for a consumer that comes later: a file that begins in the middle of a
 * recording (--max-size, --flight-recorder, `ctl dump`) thus knows the processes, threads and
 * tracks, the latest value of every counter, and what is open.
 *
 * Everything is repeated with the time it had, never with the time at which the file begins:
 * otherwise a mark of another thread that comes a little late would be overruled by an older value.
 */
#include "timeline/given/given.h"

struct replay {
	struct timeline *timeline;
	struct consumer *consumer;
	struct arg continued; /* the argument that repeated slices get */
};

static void replay_track(struct replay *r, const struct track *track)
{
	consumer_emit(r->consumer, &(struct fact){ .kind = FACT_TRACK,
						   .process = track->process,
						   .thread = track->thread,
						   .tracks = &track,
						   .name = track->name });
}

static void replay_counter(struct replay *r, const struct counter *counter)
{
	const struct track *track = &counter->pub;

	static const struct memory unchanged = { .change = MEMORY_FREE };

	replay_track(r, track);
	if (!counter->last.type)
		return;
	consumer_emit(r->consumer, &(struct fact){ .kind = FACT_COUNTER,
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

static void replay_slice(struct replay *r, const struct thread_state *thread, uint32_t i)
{
	const struct slice *slice = &thread->slices[i];
	uint64_t counters[EVENT_MAX_COUNTERS];
	unsigned k, n = thread->counters ? r->timeline->n_counters : 0;

	for (k = 0; k < n; k++)
		counters[k] = counter_at_begin(thread, i, k);
	consumer_emit(r->consumer,
		      &(struct fact){ .kind = FACT_BEGIN,
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

static void replay_thread(struct replay *r, const struct thread_state *thread)
{
	consumer_emit(r->consumer, &(struct fact){ .kind = FACT_THREAD,
						   .process = thread->pub.process,
						   .thread = &thread->pub,
						   .name = thread->pub.name });
	for (uint32_t i = 0; thread->counters && i < r->timeline->n_counters; i++)
		replay_track(r, thread->counters->list[i]);
	if (thread->wait && thread->wait->track.uuid)
		replay_track(r, &thread->wait->track);
	for (uint32_t i = 0; i < thread->n_slices; i++)
		replay_slice(r, thread, i);
}

static void replay_async(struct replay *r, const struct process_state *p, const struct async *async)
{
	const struct track *track = async->lanes->tracks[async->lane];
	const struct arg args[2] = {
		r->continued,
		{ .key = r->timeline->frame, .type = ARG_UINT, .u = async->frame },
	};

	consumer_emit(r->consumer, &(struct fact){ .kind = FACT_ASYNC_BEGIN,
						   .ts_ns = async->begin_ns,
						   .process = public_process(p),
						   .tracks = &track,
						   .name = async->name,
						   .category = async->category,
						   .id = async_id(async),
						   .n_args = async->frame ? 2 : 1,
						   .args = args,
						   .continued = true });
}

static void replay_given_track(void *context, const struct track *track)
{
	replay_track(context, track);
}

static void replay_asyncs(struct replay *r, const struct process_state *p)
{
	const struct lanes *lanes;
	const struct async *async;

	given_each_track(p, replay_given_track, r);
	for (lanes = p->lanes; lanes; lanes = lanes->hh.next) {
		for (uint32_t i = 0; i < lanes->n; i++)
			replay_track(r, lanes->tracks[i]);
	}
	if (!p->asyncs)
		return;
	/* The list has the latest first; `prev` of the first one is the last. */
	for (async = p->asyncs->prev;; async = async->prev) {
		replay_async(r, p, async);
		if (async == p->asyncs)
			break;
	}
}

static void replay_owned(struct replay *r, const struct process_state *p)
{
	const struct counter *counter;

	for (counter = p->counters; counter; counter = counter->hh.next)
		replay_counter(r, counter);
	replay_asyncs(r, p);
}

int timeline_replay(struct timeline *t, struct consumer *consumer)
{
	struct replay r = {
		.timeline = t,
		.consumer = consumer,
		.continued = { .key = t->continued, .type = ARG_BOOL, .u = 1 },
	};
	const struct thread_state *thread;
	const struct process_state *p;

	for (p = t->processes; p && !consumer->error; p = p->hh.next) {
		consumer_emit(consumer, &(struct fact){ .kind = FACT_PROCESS,
							.process = &p->pub,
							.name = p->pub.name });
		if (p->pub.labels)
			consumer_emit(consumer,
				      &(struct fact){ .kind = FACT_LABELS, .process = &p->pub });
		for (thread = p->threads; thread; thread = thread->next)
			replay_thread(&r, thread);
		replay_owned(&r, p);
	}
	replay_owned(&r, &t->machine);
	return consumer->error;
}
