/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A complete event ("X") is a slice with its duration. Producers write them when they end, so that
 * the inner ones come before the outer ones, or in no order at all; the timeline wants the begins and
 * ends of a thread in the order of time. From the first complete event on, events are therefore held
 * in a heap of limited size and leave it earliest first; the end of a complete event waits on its
 * thread's stack until something later happens there. Files without complete events pass straight
 * through.
 *
 * What still cannot be nested (it overlaps an open slice, or begins before one that was sent already)
 * becomes an asynchronous slice: nothing is lost, and nobody's own time is wrong.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "readers/chrome_internal.h"

#define FIRST_SPILLED_ID (1ull << 48) /* far from the small numbers that programs use */

struct chrome_held {
	uint64_t order;
	int64_t dur;
	size_t bytes;
	struct event event;
	struct arg args[]; /* then the strings' bytes */
};

struct thread_key {
	uint32_t pid;
	uint32_t tid;
};

struct chrome_thread {
	UT_hash_handle hh;
	struct thread_key key;
	uint64_t last_ns;
	unsigned n_open;
	unsigned room;
	uint64_t *ends;
};

/* --- open complete events ---------------------------------------------------------------------- */

static struct chrome_thread *thread_get(struct chrome *c, uint32_t pid, uint32_t tid, bool make)
{
	const struct thread_key key = { pid, tid };
	struct chrome_thread *thread;

	HASH_FIND(hh, c->threads, &key, sizeof(key), thread);
	if (thread || !make || HASH_COUNT(c->threads) >= MAX_THREADS)
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

/* Ends what ended until `ts_ns`. Leaves the draft's event as it was. */
static int end_until(struct draft *draft, struct chrome_thread *thread, uint64_t ts_ns)
{
	struct event event = draft->event;
	int error = 0;

	while (!error && thread->n_open && thread->ends[thread->n_open - 1] <= ts_ns) {
		draft_event(draft, EVENT_END, thread->ends[--thread->n_open], thread->key.pid,
			    thread->key.tid);
		error = draft_send_bare(draft);
	}
	draft->event = event;
	return error;
}

static bool push_end(struct chrome_thread *thread, uint64_t end_ns)
{
	if (thread->n_open == MAX_OPEN_COMPLETE)
		return false;
	if (thread->n_open == thread->room) {
		unsigned room = thread->room ? thread->room * 2 : 8;
		uint64_t *ends = realloc(thread->ends, room * sizeof(*ends));

		if (!ends)
			return false;
		thread->ends = ends;
		thread->room = room;
	}
	thread->ends[thread->n_open++] = end_ns;
	return true;
}

/* Without a thread: the times of a thread must not go back, nor forth beyond its next event. */
static int spill(struct chrome *c, struct draft *draft, uint64_t end_ns)
{
	struct event *event = &draft->event;
	const struct name *name = event->name, *category = event->category;
	uint64_t id = FIRST_SPILLED_ID + c->next_id++;
	uint32_t pid = event->pid;
	int error;

	event->kind = EVENT_ASYNC_BEGIN;
	event->tid = 0;
	event->id = id;
	error = draft_send(draft);
	if (error)
		return error;
	draft_event(draft, EVENT_ASYNC_END, end_ns, pid, 0);
	event->name = name;
	event->category = category;
	event->id = id;
	return draft_send_bare(draft);
}

static int deliver_complete(struct chrome *c, struct draft *draft, uint64_t dur)
{
	struct event *event = &draft->event;
	uint64_t end_ns = event->ts_ns + dur;
	struct chrome_thread *thread = thread_get(c, event->pid, event->tid, true);
	int error;

	if (!thread || event->ts_ns < thread->last_ns)
		return spill(c, draft, end_ns);
	error = end_until(draft, thread, event->ts_ns);
	if (error)
		return error;
	if ((thread->n_open && thread->ends[thread->n_open - 1] < end_ns) ||
	    !push_end(thread, end_ns))
		return spill(c, draft, end_ns);
	thread->last_ns = event->ts_ns;
	event->kind = EVENT_BEGIN;
	return draft_send(draft);
}

static int deliver(struct chrome *c, struct draft *draft, int64_t dur)
{
	struct chrome_thread *thread;
	int error = 0;

	if (dur != NOT_COMPLETE)
		return deliver_complete(c, draft, (uint64_t)dur);
	/* Threads are only followed once there are complete events. */
	thread = c->in_order ? thread_get(c, draft->event.pid, draft->event.tid, true) : NULL;
	if (thread) {
		error = end_until(draft, thread, draft->event.ts_ns);
		if (thread->last_ns < draft->event.ts_ns)
			thread->last_ns = draft->event.ts_ns;
	}
	return error ? error : draft_send(draft);
}

/* --- the heap ---------------------------------------------------------------------------------- */

static struct chrome_held *hold(const struct draft *draft, int64_t dur, uint64_t order)
{
	size_t bytes = sizeof(struct chrome_held) + draft->n_args * sizeof(struct arg);
	struct chrome_held *held;
	char *text;
	unsigned i;

	for (i = 0; i < draft->n_args; i++) {
		if (draft->args[i].type == ARG_STRING)
			bytes += draft->args[i].length + 1;
	}
	held = malloc(bytes);
	if (!held)
		return NULL;
	held->order = order;
	held->dur = dur;
	held->bytes = bytes;
	held->event = draft->event;
	held->event.n_args = draft->n_args;
	text = (char *)&held->args[draft->n_args];
	for (i = 0; i < draft->n_args; i++) {
		struct arg *arg = &held->args[i];

		*arg = draft->args[i];
		if (arg->type != ARG_STRING)
			continue;
		memcpy(text, arg->s, arg->length + 1);
		arg->s = text;
		text += arg->length + 1;
	}
	return held;
}

/* Of complete events that begin together, the longer holds the shorter. */
static bool before(const struct chrome_held *a, const struct chrome_held *b)
{
	if (a->event.ts_ns != b->event.ts_ns)
		return a->event.ts_ns < b->event.ts_ns;
	if (a->dur != NOT_COMPLETE && b->dur != NOT_COMPLETE && a->dur != b->dur)
		return a->dur > b->dur;
	return a->order < b->order;
}

static void heap_push(struct chrome *c, struct chrome_held *held)
{
	unsigned i = c->n_held++;

	for (; i && before(held, c->held[(i - 1) / 2]); i = (i - 1) / 2)
		c->held[i] = c->held[(i - 1) / 2];
	c->held[i] = held;
	c->held_bytes += held->bytes;
}

static struct chrome_held *heap_pop(struct chrome *c)
{
	struct chrome_held *first = c->held[0];
	struct chrome_held *last = c->held[--c->n_held];
	unsigned i = 0, child;

	while ((child = 2 * i + 1) < c->n_held) {
		if (child + 1 < c->n_held && before(c->held[child + 1], c->held[child]))
			child++;
		if (!before(c->held[child], last))
			break;
		c->held[i] = c->held[child];
		i = child;
	}
	c->held[i] = last;
	c->held_bytes -= first->bytes;
	return first;
}

static int pop(struct chrome *c)
{
	struct chrome_held *held = heap_pop(c);
	struct draft *draft = c->held_draft;
	int error;

	draft_clear(draft);
	draft->event = held->event;
	draft->n_args = held->event.n_args;
	memcpy(draft->args, held->args, draft->n_args * sizeof(held->args[0]));
	error = deliver(c, draft, held->dur);
	free(held);
	return error;
}

int chrome_send(struct chrome *c, int64_t dur)
{
	struct chrome_held *held;
	int error = 0;

	if (dur != NOT_COMPLETE && !c->in_order) {
		c->in_order = true;
		c->held = calloc(MAX_HELD, sizeof(struct chrome_held *));
		c->held_draft = calloc(1, sizeof(*c->held_draft));
		if (c->held_draft)
			c->held_draft->sink = c->sink;
		if (!c->held || !c->held_draft)
			return -ENOMEM;
	}
	if (!c->in_order)
		return deliver(c, c->draft, dur);
	held = hold(c->draft, dur, c->n_pushed++);
	if (!held)
		return -ENOMEM;
	if (c->draft->excess)
		c->sink->account->unreadable_args++;
	heap_push(c, held);
	while (!error && (c->n_held == MAX_HELD || c->held_bytes > MAX_HELD_BYTES))
		error = pop(c);
	return error;
}

int chrome_finish(struct chrome *c)
{
	struct chrome_thread *thread, *next;
	int error = 0;

	while (!error && c->n_held)
		error = pop(c);
	HASH_ITER (hh, c->threads, thread, next) {
		if (!error)
			error = end_until(c->draft, thread, UINT64_MAX);
	}
	return error;
}

void chrome_slices_free(struct chrome *c)
{
	struct chrome_thread *thread, *next;

	while (c->n_held)
		free(heap_pop(c));
	free(c->held);
	free(c->held_draft);
	HASH_ITER (hh, c->threads, thread, next) {
		HASH_DEL(c->threads, thread);
		free(thread->ends);
		free(thread);
	}
}
