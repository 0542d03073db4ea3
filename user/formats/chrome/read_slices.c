/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nests complete events ("X"), which are slices with a duration. Producers write them when they end, so that inner ones
 * come before outer ones, or thread by thread, or in any order, but the timeline needs the begins and ends of a thread in
 * the order of time. So the events of files that are not ours are queued and sorted for each thread (read_order.c). If
 * too many are queued, the earliest event of the thread with the most events is sent. The end of a complete event stays
 * on the stack of its thread until a later event of the thread. Events of our own files are sent at once.
 *
 * A complete event that cannot be nested, because it overlaps an open slice or begins before one that was sent already,
 * becomes an asynchronous slice. So nothing is lost, and no self time is wrong.
 *
 * A thread may also have slices with begins and ends ("B", "E"). These are on the stack as well, since the timeline ends
 * the innermost slice: an E belongs to the last B, never to a complete event. Whether a complete event inside a B
 * overlaps the E is searched among the queued events. A B without an E at the end of the complete event around it is
 * unfinished.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "formats/chrome/read_order.h"

#define FIRST_SPILLED_ID (1ull << 48) /* far from the small numbers that programs use */

/* --- open complete events ---------------------------------------------------------------------- */

static struct chrome_thread *chrome_thread_get(struct chrome *c, uint32_t pid, uint32_t tid)
{
	const struct thread_key key = { pid, tid };
	struct chrome_thread *thread = c->last_thread;

	if (thread && thread->key.pid == pid && thread->key.tid == tid)
		return thread;
	HASH_FIND(hh, c->threads, &key, sizeof(key), thread);
	if (thread)
		c->last_thread = thread;
	if (thread || HASH_COUNT(c->threads) >= MAX_THREADS)
		return thread;
	return hash_add_new(hh, c->threads, key, key);
}

static int slice_send_end(const struct chrome *c, const struct chrome_thread *thread,
			  uint64_t ts_ns, enum end_reason reason)
{
	const struct event end = {
		.kind = EVENT_END,
		.ts_ns = ts_ns,
		.pid = thread->key.pid,
		.tid = thread->key.tid,
		.end_reason = reason,
		.level = -1,
	};

	return reader_send(c->sink, &end);
}

static struct chrome_open *thread_push_open(struct chrome_thread *thread, bool complete)
{
	unsigned *top = complete ? &thread->top_complete : &thread->top_begin;
	struct chrome_open *open;

	if (thread->n_open == MAX_OPEN ||
	    !array_reserve(thread->open, thread->n_open, thread->capacity, 8))
		return NULL;
	open = &thread->open[thread->n_open++];
	*open = (struct chrome_open){ .end_ns = NEVER, .complete = complete, .below = *top };
	*top = thread->n_open;
	return open;
}

static void thread_pop_open(struct chrome_thread *thread)
{
	const struct chrome_open *open = &thread->open[--thread->n_open];

	*(open->complete ? &thread->top_complete : &thread->top_begin) = open->below;
}

/* Ends all open slices but the lowest `n` as unfinished. */
static int thread_abandon(const struct chrome *c, struct chrome_thread *thread, unsigned n,
			  uint64_t ts_ns)
{
	int error = 0;

	for (; !error && thread->n_above; thread->n_above--, thread->n_abandoned++)
		error = slice_send_end(c, thread, ts_ns, END_UNFINISHED);
	while (!error && thread->n_open > n) {
		thread->n_abandoned += !thread->open[thread->n_open - 1].complete;
		thread_pop_open(thread);
		error = slice_send_end(c, thread, ts_ns, END_UNFINISHED);
	}
	return error;
}

/*
 * Ends the complete events that end before or at `ts_ns`. With `may_wait`, one that ends at `ts_ns` and has an open B
 * inside stays open for an E of the same time.
 */
static int thread_end_until(const struct chrome *c, struct chrome_thread *thread, uint64_t ts_ns,
			    bool may_wait)
{
	int error = 0;

	while (!error && thread->top_complete) {
		unsigned top = thread->top_complete;
		uint64_t end_ns = thread->open[top - 1].end_ns;

		if (end_ns > ts_ns ||
		    (may_wait && end_ns == ts_ns && (thread->n_open > top || thread->n_above)))
			break;
		error = thread_abandon(c, thread, top, end_ns);
		if (error)
			break;
		thread_pop_open(thread);
		error = slice_send_end(c, thread, end_ns, END_NORMAL);
	}
	return error;
}

/* Sends a complete event as an asynchronous slice of the process, whose times need no order. */
static int slice_send_async(struct chrome *c, struct event *event, uint64_t end_ns)
{
	const struct event end = {
		.kind = EVENT_ASYNC_END,
		.ts_ns = end_ns,
		.pid = event->pid,
		.level = -1,
		.name = event->name,
		.category = event->category,
		.id = FIRST_SPILLED_ID + c->next_id++,
	};
	int error;

	event->kind = EVENT_ASYNC_BEGIN;
	event->tid = 0;
	event->id = end.id;
	error = reader_send(c->sink, event);
	return error ? error : reader_send(c->sink, &end);
}

/* --- events -------------------------------------------------------------------------------------- */

/* Whether the uppermost B ends before the complete event that begins inside it. */
static bool thread_begin_ends_before(struct chrome_thread *thread, uint64_t end_ns)
{
	struct chrome_open *begin;

	/* If a complete event is between them, that event has been checked. */
	if (thread->top_begin <= thread->top_complete)
		return false;
	begin = &thread->open[thread->top_begin - 1];
	if (begin->end_ns == NEVER && begin->seen_ns < end_ns) {
		begin->end_ns = order_find_end(thread, thread->queue.first, end_ns);
		begin->seen_ns = end_ns;
	}
	return begin->end_ns < end_ns;
}

static int slice_deliver_complete(struct chrome *c, struct chrome_thread *thread,
				  struct event *event, uint64_t dur)
{
	uint64_t end_ns = event->ts_ns + dur;
	struct chrome_open *open;
	int error;

	if (event->ts_ns < thread->last_ns)
		return slice_send_async(c, event, end_ns);
	error = thread_end_until(c, thread, event->ts_ns, false);
	if (error)
		return error;
	if ((thread->top_complete && thread->open[thread->top_complete - 1].end_ns < end_ns) ||
	    thread->n_above || thread_begin_ends_before(thread, end_ns))
		return slice_send_async(c, event, end_ns);
	open = thread_push_open(thread, true);
	if (!open)
		return slice_send_async(c, event, end_ns);
	open->end_ns = end_ns;
	thread->last_ns = event->ts_ns;
	event->kind = EVENT_BEGIN;
	return reader_send(c->sink, event);
}

static int slice_deliver_begin(struct chrome *c, struct chrome_thread *thread,
			       const struct event *event)
{
	struct chrome_open *open = thread->n_above ? NULL : thread_push_open(thread, false);

	if (open)
		open->name = event->name;
	else
		thread->n_above++;
	return reader_send(c->sink, event);
}

/* Whether the E is of a B that was ended without it. */
static bool slice_is_late_end(const struct chrome_thread *thread, const struct name *name)
{
	return thread->n_abandoned && name && !thread->n_above &&
	       thread->open[thread->top_begin - 1].name != name;
}

static int slice_deliver_end(struct chrome *c, struct chrome_thread *thread, struct event *event)
{
	const struct name *name = event->name;
	int error;

	event->name = NULL;
	/* If others appended to our own file, not all Bs are on the stack. */
	if (!thread->n_above && !thread->top_begin && (c->own || !thread->n_open)) {
		error = thread_abandon(c, thread, 0, event->ts_ns);
		return error ? error : reader_send(c->sink, event);
	}
	if ((!thread->n_above && !thread->top_begin) || slice_is_late_end(thread, name)) {
		thread->n_abandoned -= thread->n_abandoned > 0;
		reader_lost(c->sink, LOST_UNMATCHED);
		return 0;
	}
	if (thread->n_above) {
		thread->n_above--;
		return reader_send(c->sink, event);
	}
	/* Complete events overlap the E, which was too far away to be found. */
	error = thread_abandon(c, thread, thread->top_begin, event->ts_ns);
	if (error)
		return error;
	thread_pop_open(thread);
	return reader_send(c->sink, event);
}

static int slice_deliver(struct chrome *c, struct chrome_thread *thread, struct chrome_held *held)
{
	struct event *event = &held->event;
	int error;

	if (held->dur != NOT_COMPLETE)
		return slice_deliver_complete(c, thread, event, (uint64_t)held->dur);
	error = thread_end_until(c, thread, event->ts_ns, event->kind != EVENT_BEGIN);
	if (error)
		return error;
	if (thread->last_ns < event->ts_ns)
		thread->last_ns = event->ts_ns;
	if (event->kind == EVENT_END || event->kind == EVENT_ASYNC_END)
		draft_read_end_reason(event, held->args);
	if (event->kind == EVENT_BEGIN)
		return slice_deliver_begin(c, thread, event);
	if (event->kind == EVENT_END)
		return slice_deliver_end(c, thread, event);
	return reader_send(c->sink, event);
}

static int slice_deliver_first(struct chrome *c, struct chrome_thread *thread)
{
	struct chrome_held *held = order_pop(c, thread);
	int error = slice_deliver(c, thread, held);

	free(held);
	return error;
}

static bool event_is_of_thread(const struct event *event)
{
	switch (event->kind) {
	case EVENT_ASYNC_BEGIN:
	case EVENT_ASYNC_END:
	case EVENT_SLICE_AT:
	case EVENT_INSTANT_AT:
		return false;
	case EVENT_COUNTER:
		return event->of_thread;
	case EVENT_INSTANT:
		return event->scope == SCOPE_THREAD;
	default:
		return true;
	}
}

static int slice_send_complete(struct chrome *c, int64_t dur)
{
	struct event *event = &c->draft->event;

	event->args = c->draft->args;
	event->n_args = c->draft->n_args;
	if (c->draft->excess)
		c->sink->account->unreadable_args++;
	return slice_send_async(c, event, event->ts_ns + (uint64_t)dur);
}

/* An END has no name, since it closes the innermost slice. */
static int slice_send_now(struct chrome *c)
{
	if (c->draft->event.kind == EVENT_END)
		c->draft->event.name = NULL;
	return draft_send(c->draft);
}

int chrome_send(struct chrome *c, int64_t dur)
{
	struct event *event = &c->draft->event;
	struct chrome_thread *thread;
	struct chrome_held *held;
	int error = 0;

	/* If others appended to our own file, it is sorted from there on. */
	if (c->own && !c->holds && dur == NOT_COMPLETE)
		return slice_send_now(c);
	c->holds = true;
	/* Other events of the process are sorted apart from those of its threads. */
	if (!event_is_of_thread(event))
		event->tid = 0;
	thread = chrome_thread_get(c, event->pid, event->tid);
	if (!thread)
		return dur == NOT_COMPLETE ? slice_send_now(c) : slice_send_complete(c, dur);
	held = order_reserve(thread) ? held_new(c->draft, dur, c->n_pushed++) : NULL;
	if (!held)
		return -ENOMEM;
	if (c->draft->excess)
		c->sink->account->unreadable_args++;
	order_push(c, thread, held);
	while (!error && (c->n_held >= MAX_HELD || c->held_bytes > MAX_HELD_BYTES))
		error = slice_deliver_first(c, order_fullest(c));
	return error;
}

int chrome_finish(struct chrome *c)
{
	int error = 0;

	hash_each (c->threads, thread) {
		order_finish(thread);
		while (!error && thread->n_held)
			error = slice_deliver_first(c, thread);
		error = error ?: thread_end_until(c, thread, NEVER, false);
	}
	return error;
}

void chrome_slices_free(struct chrome *c)
{
	hash_each (c->threads, thread) {
		while (thread->n_held)
			free(order_pop(c, thread));
		HASH_DEL(c->threads, thread);
		free(thread->queue.at);
		free(thread->heap);
		free(thread->open);
		free(thread);
	}
}
