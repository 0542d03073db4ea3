/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A complete event ("X") is a slice with its duration. Producers write them when they end, so that
 * the inner ones come before the outer ones, or thread after thread, or in no order at all; the
 * timeline wants the begins and ends of a thread in the order of time. So the events of other people's
 * files are held back, those of each thread apart, and leave earliest first when there are too many of
 * them: from the thread that has the most. Nearly all come in order or a few places late, and wait in a
 * queue; the others in a heap. The end of a complete event waits on
 * its thread's stack until something later happens there. Our own files pass straight through.
 *
 * What still cannot be nested (it overlaps an open slice, or begins before one that was sent already)
 * becomes an asynchronous slice: nothing is lost, and nobody's own time is wrong.
 *
 * The same thread may tell of slices by begins and ends ("B", "E"). Those are on the stack as well, since
 * the timeline ends what is innermost: an E belongs to the last B, never to a complete event. Whether a
 * complete event in a B will overlap its E is looked up among the events that are held. A B that has no
 * E when the complete event around it ends is unfinished.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "readers/chrome_order.h"

#define FIRST_SPILLED_ID (1ull << 48) /* far from the small numbers that programs use */

/* --- open complete events ---------------------------------------------------------------------- */

static struct chrome_thread *thread_get(struct chrome *c, uint32_t pid, uint32_t tid)
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
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->key = key;
	HASH_ADD(hh, c->threads, key, sizeof(thread->key), thread);
	if (!hash_added(hh, thread)) {
		free(thread);
		return NULL;
	}
	return thread;
}

static int send_end(const struct chrome *c, const struct chrome_thread *thread, uint64_t ts_ns,
		    enum end_reason reason)
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

static struct chrome_open *push_open(struct chrome_thread *thread, bool complete)
{
	unsigned *top = complete ? &thread->top_complete : &thread->top_begin;
	struct chrome_open *open;

	if (thread->n_open == MAX_OPEN)
		return NULL;
	if (thread->n_open == thread->room) {
		unsigned room = thread->room ? thread->room * 2 : 8;

		open = realloc(thread->open, room * sizeof(*open));
		if (!open)
			return NULL;
		thread->open = open;
		thread->room = room;
	}
	open = &thread->open[thread->n_open++];
	*open = (struct chrome_open){ .end_ns = NEVER, .complete = complete, .below = *top };
	*top = thread->n_open;
	return open;
}

static void pop_open(struct chrome_thread *thread)
{
	const struct chrome_open *open = &thread->open[--thread->n_open];

	*(open->complete ? &thread->top_complete : &thread->top_begin) = open->below;
}

/* Ends what is open above the lowest `n`, without an E of its own. */
static int abandon(const struct chrome *c, struct chrome_thread *thread, unsigned n, uint64_t ts_ns)
{
	int error = 0;

	for (; !error && thread->n_above; thread->n_above--, thread->n_abandoned++)
		error = send_end(c, thread, ts_ns, END_UNFINISHED);
	while (!error && thread->n_open > n) {
		thread->n_abandoned += !thread->open[thread->n_open - 1].complete;
		pop_open(thread);
		error = send_end(c, thread, ts_ns, END_UNFINISHED);
	}
	return error;
}

/*
 * Ends the complete events that ended until `ts_ns`. One that ends right then, with a B open inside,
 * may wait for the E that comes at the same time.
 */
static int end_until(const struct chrome *c, struct chrome_thread *thread, uint64_t ts_ns,
		     bool may_wait)
{
	int error = 0;

	while (!error && thread->top_complete) {
		unsigned top = thread->top_complete;
		uint64_t end_ns = thread->open[top - 1].end_ns;

		if (end_ns > ts_ns ||
		    (may_wait && end_ns == ts_ns && (thread->n_open > top || thread->n_above)))
			break;
		error = abandon(c, thread, top, end_ns);
		if (error)
			break;
		pop_open(thread);
		error = send_end(c, thread, end_ns, END_NORMAL);
	}
	return error;
}

/* Without a thread: the times of a thread must not go back, nor forth beyond its next event. */
static int spill(struct chrome *c, struct event *event, uint64_t end_ns)
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

/* Whether the uppermost B ends before the complete event that is to be put into it. */
static bool begin_ends_before(struct chrome_thread *thread, uint64_t end_ns)
{
	struct chrome_open *begin;

	/* Where a complete event is between them, that was asked of it. */
	if (thread->top_begin <= thread->top_complete)
		return false;
	begin = &thread->open[thread->top_begin - 1];
	if (begin->end_ns == NEVER && begin->seen_ns < end_ns) {
		begin->end_ns = order_find_end(thread, thread->queue.first, end_ns);
		begin->seen_ns = end_ns;
	}
	return begin->end_ns < end_ns;
}

static int deliver_complete(struct chrome *c, struct chrome_thread *thread, struct event *event,
			    uint64_t dur)
{
	uint64_t end_ns = event->ts_ns + dur;
	struct chrome_open *open;
	int error;

	if (event->ts_ns < thread->last_ns)
		return spill(c, event, end_ns);
	error = end_until(c, thread, event->ts_ns, false);
	if (error)
		return error;
	if ((thread->top_complete && thread->open[thread->top_complete - 1].end_ns < end_ns) ||
	    thread->n_above || begin_ends_before(thread, end_ns))
		return spill(c, event, end_ns);
	open = push_open(thread, true);
	if (!open)
		return spill(c, event, end_ns);
	open->end_ns = end_ns;
	thread->last_ns = event->ts_ns;
	event->kind = EVENT_BEGIN;
	return reader_send(c->sink, event);
}

static int deliver_begin(struct chrome *c, struct chrome_thread *thread, const struct event *event)
{
	struct chrome_open *open = thread->n_above ? NULL : push_open(thread, false);

	if (open)
		open->name = event->name;
	else
		thread->n_above++;
	return reader_send(c->sink, event);
}

/* Whether it is of a B that ended without it. */
static bool is_late_end(const struct chrome_thread *thread, const struct name *name)
{
	return thread->n_abandoned && name && !thread->n_above &&
	       thread->open[thread->top_begin - 1].name != name;
}

static int deliver_end(struct chrome *c, struct chrome_thread *thread, struct event *event)
{
	const struct name *name = event->name;
	int error;

	event->name = NULL;
	/* Of our own files that others added to, not all Bs went by here. */
	if (!thread->n_above && !thread->top_begin && (c->own || !thread->n_open)) {
		error = abandon(c, thread, 0, event->ts_ns);
		return error ? error : reader_send(c->sink, event);
	}
	if ((!thread->n_above && !thread->top_begin) || is_late_end(thread, name)) {
		thread->n_abandoned -= thread->n_abandoned > 0;
		reader_lost(c->sink, LOST_UNMATCHED);
		return 0;
	}
	if (thread->n_above) {
		thread->n_above--;
		return reader_send(c->sink, event);
	}
	/* Complete events that overlap it after all: it was too far away to be seen. */
	error = abandon(c, thread, thread->top_begin, event->ts_ns);
	if (error)
		return error;
	pop_open(thread);
	return reader_send(c->sink, event);
}

static int deliver(struct chrome *c, struct chrome_thread *thread, struct chrome_held *held)
{
	struct event *event = &held->event;
	int error;

	if (held->dur != NOT_COMPLETE)
		return deliver_complete(c, thread, event, (uint64_t)held->dur);
	error = end_until(c, thread, event->ts_ns, event->kind != EVENT_BEGIN);
	if (error)
		return error;
	if (thread->last_ns < event->ts_ns)
		thread->last_ns = event->ts_ns;
	if (event->kind == EVENT_END || event->kind == EVENT_ASYNC_END)
		draft_take_end_reason(event, held->args);
	if (event->kind == EVENT_BEGIN)
		return deliver_begin(c, thread, event);
	if (event->kind == EVENT_END)
		return deliver_end(c, thread, event);
	return reader_send(c->sink, event);
}

static int pop(struct chrome *c, struct chrome_thread *thread)
{
	struct chrome_held *held = order_take(c, thread);
	int error = deliver(c, thread, held);

	free(held);
	return error;
}

static bool of_thread(const struct event *event)
{
	switch (event->kind) {
	case EVENT_ASYNC_BEGIN:
	case EVENT_ASYNC_END:
		return false;
	case EVENT_COUNTER:
		return event->of_thread;
	case EVENT_INSTANT:
		return event->scope == SCOPE_THREAD;
	default:
		return true;
	}
}

static int send_complete(struct chrome *c, int64_t dur)
{
	struct event *event = &c->draft->event;

	event->args = c->draft->args;
	event->n_args = c->draft->n_args;
	if (c->draft->excess)
		c->sink->account->unreadable_args++;
	return spill(c, event, event->ts_ns + (uint64_t)dur);
}

/* An END closes the innermost, whatever it is called. */
static int send_now(struct chrome *c)
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

	/* One of our own that others added to is theirs. */
	if (c->own && !c->holds && dur == NOT_COMPLETE)
		return send_now(c);
	c->holds = true;
	/* What is no thread's must not wait for one, nor be moved to its time. */
	if (!of_thread(event))
		event->tid = 0;
	thread = thread_get(c, event->pid, event->tid);
	if (!thread)
		return dur == NOT_COMPLETE ? send_now(c) : send_complete(c, dur);
	held = order_make_room(thread) ? held_new(c->draft, dur, c->n_pushed++) : NULL;
	if (!held)
		return -ENOMEM;
	if (c->draft->excess)
		c->sink->account->unreadable_args++;
	order_push(c, thread, held);
	while (!error && (c->n_held >= MAX_HELD || c->held_bytes > MAX_HELD_BYTES))
		error = pop(c, order_fullest(c));
	return error;
}

int chrome_finish(struct chrome *c)
{
	struct chrome_thread *thread, *next;
	int error = 0;

	HASH_ITER (hh, c->threads, thread, next) {
		order_finish(thread);
		while (!error && thread->n_held)
			error = pop(c, thread);
		if (!error)
			error = end_until(c, thread, NEVER, false);
	}
	return error;
}

void chrome_slices_free(struct chrome *c)
{
	struct chrome_thread *thread, *next;

	HASH_ITER (hh, c->threads, thread, next) {
		while (thread->n_held)
			free(order_take(c, thread));
		HASH_DEL(c->threads, thread);
		free(thread->queue.at);
		free(thread->heap);
		free(thread->open);
		free(thread);
	}
}
