/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A complete event ("X") is a slice with its duration. Producers write them when they end, so that
 * the inner ones come before the outer ones, or thread after thread, or in no order at all; the
 * timeline wants the begins and ends of a thread in the order of time. So the events of other people's
 * files are held back, those of each thread in a heap of its own, and leave it earliest first when
 * there are too many of them: from the thread that has the most. The end of a complete event waits on
 * its thread's stack until something later happens there. Our own files pass straight through.
 *
 * What still cannot be nested (it overlaps an open slice, or begins before one that was sent already)
 * becomes an asynchronous slice: nothing is lost, and nobody's own time is wrong.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "readers/chrome_internal.h"

#define FIRST_SPILLED_ID (1ull << 48) /* far from the small numbers that programs use */

/* Of what happens at the same time on a thread: what is said of it, then what begins, then arrows. */
enum held_rank {
	RANK_FIRST,
	RANK_COMPLETE,
	RANK_FLOW,
};

struct chrome_held {
	uint64_t order;
	int64_t dur;
	size_t bytes;
	enum held_rank rank;
	struct event event;
	struct arg args[]; /* then the strings' bytes */
};

/* The time beside the pointer: most comparisons need no more. */
struct held_at {
	uint64_t ts_ns;
	struct chrome_held *held;
};

struct thread_key {
	uint32_t pid;
	uint32_t tid;
};

/* A thread, or with tid 0 what a process has beside its threads. */
struct chrome_thread {
	UT_hash_handle hh;
	struct thread_key key;
	uint64_t last_ns;
	unsigned n_open;
	unsigned room;
	uint64_t *ends;
	unsigned n_held;
	unsigned held_room;
	struct held_at *held;		   /* a heap, the earliest first */
	struct chrome_thread *prev, *next; /* of those that hold about as many */
};

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

static int deliver_complete(struct chrome *c, struct chrome_thread *thread, struct draft *draft,
			    uint64_t dur)
{
	struct event *event = &draft->event;
	uint64_t end_ns = event->ts_ns + dur;
	int error;

	if (event->ts_ns < thread->last_ns)
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

static int deliver(struct chrome *c, struct chrome_thread *thread, struct draft *draft, int64_t dur)
{
	int error;

	if (dur != NOT_COMPLETE)
		return deliver_complete(c, thread, draft, (uint64_t)dur);
	error = end_until(draft, thread, draft->event.ts_ns);
	if (thread->last_ns < draft->event.ts_ns)
		thread->last_ns = draft->event.ts_ns;
	return error ? error : draft_send(draft);
}

/* --- heaps ------------------------------------------------------------------------------------- */

static enum held_rank rank_of(const struct event *event, int64_t dur)
{
	if (dur != NOT_COMPLETE)
		return RANK_COMPLETE;
	return event->kind == EVENT_FLOW_OUT || event->kind == EVENT_FLOW_IN ? RANK_FLOW
									     : RANK_FIRST;
}

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
	held->rank = rank_of(&draft->event, dur);
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
static bool before_at_once(const struct chrome_held *a, const struct chrome_held *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->dur != b->dur)
		return a->dur > b->dur;
	return a->order < b->order;
}

static bool before(struct held_at a, struct held_at b)
{
	return a.ts_ns != b.ts_ns ? a.ts_ns < b.ts_ns : before_at_once(a.held, b.held);
}

static unsigned size_class(const struct chrome_thread *thread)
{
	return 31 - (unsigned)__builtin_clz(thread->n_held);
}

static void list_remove(struct chrome *c, struct chrome_thread *thread)
{
	unsigned class = size_class(thread);

	DL_DELETE(c->holding[class], thread);
	if (!c->holding[class])
		c->classes &= ~(1u << class);
}

static void list_add(struct chrome *c, struct chrome_thread *thread)
{
	unsigned class = size_class(thread);

	DL_APPEND(c->holding[class], thread);
	c->classes |= 1u << class;
}

static bool grow(struct chrome_thread *thread)
{
	unsigned room = thread->held_room ? thread->held_room * 2 : 16;
	struct held_at *held;

	if (thread->n_held < thread->held_room)
		return true;
	held = realloc(thread->held, room * sizeof(*held));
	if (!held)
		return false;
	thread->held = held;
	thread->held_room = room;
	return true;
}

/* The list is of those with about as many: it changes where their number becomes a power of two. */
static void push(struct chrome *c, struct chrome_thread *thread, struct chrome_held *held)
{
	const struct held_at at = { held->event.ts_ns, held };
	unsigned i = thread->n_held;

	if (i && !((i + 1) & i))
		list_remove(c, thread);
	thread->n_held++;
	if (!(thread->n_held & (thread->n_held - 1)))
		list_add(c, thread);
	for (; i && before(at, thread->held[(i - 1) / 2]); i = (i - 1) / 2)
		thread->held[i] = thread->held[(i - 1) / 2];
	thread->held[i] = at;
	c->n_held++;
	c->held_bytes += held->bytes;
}

static struct chrome_held *take_first(struct chrome *c, struct chrome_thread *thread)
{
	bool power = !(thread->n_held & (thread->n_held - 1));
	struct chrome_held *first = thread->held[0].held;
	struct held_at last;
	unsigned i = 0, child;

	if (power)
		list_remove(c, thread);
	last = thread->held[--thread->n_held];
	if (power && thread->n_held)
		list_add(c, thread);
	while ((child = 2 * i + 1) < thread->n_held) {
		if (child + 1 < thread->n_held &&
		    before(thread->held[child + 1], thread->held[child]))
			child++;
		if (!before(thread->held[child], last))
			break;
		thread->held[i] = thread->held[child];
		i = child;
	}
	thread->held[i] = last;
	c->n_held--;
	c->held_bytes -= first->bytes;
	return first;
}

static int pop(struct chrome *c, struct chrome_thread *thread)
{
	struct chrome_held *held = take_first(c, thread);
	struct draft *draft = c->held_draft;
	int error;

	draft_clear(draft);
	draft->event = held->event;
	draft->n_args = held->event.n_args;
	memcpy(draft->args, held->args, draft->n_args * sizeof(held->args[0]));
	error = deliver(c, thread, draft, held->dur);
	free(held);
	return error;
}

/* One of those that hold the most. */
static struct chrome_thread *fullest(const struct chrome *c)
{
	return c->holding[31 - (unsigned)__builtin_clz(c->classes)];
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

static int start_holding(struct chrome *c)
{
	c->held_draft = calloc(1, sizeof(*c->held_draft));
	if (!c->held_draft)
		return -ENOMEM;
	c->held_draft->sink = c->sink;
	return 0;
}

static int send_complete(struct chrome *c, int64_t dur)
{
	struct event *event = &c->draft->event;

	return spill(c, c->draft, event->ts_ns + (uint64_t)dur);
}

int chrome_send(struct chrome *c, int64_t dur)
{
	struct event *event = &c->draft->event;
	struct chrome_thread *thread;
	struct chrome_held *held;
	int error = 0;

	/* One of our own that others added to is theirs. */
	if (c->own && !c->held_draft && dur == NOT_COMPLETE)
		return draft_send(c->draft);
	if (!c->held_draft && start_holding(c))
		return -ENOMEM;
	/* What is no thread's must not wait for one, nor be moved to its time. */
	if (!of_thread(event))
		event->tid = 0;
	thread = thread_get(c, event->pid, event->tid);
	if (!thread)
		return dur == NOT_COMPLETE ? draft_send(c->draft) : send_complete(c, dur);
	held = grow(thread) ? hold(c->draft, dur, c->n_pushed++) : NULL;
	if (!held)
		return -ENOMEM;
	if (c->draft->excess)
		c->sink->account->unreadable_args++;
	push(c, thread, held);
	while (!error && (c->n_held >= MAX_HELD || c->held_bytes > MAX_HELD_BYTES))
		error = pop(c, fullest(c));
	return error;
}

int chrome_finish(struct chrome *c)
{
	struct chrome_thread *thread, *next;
	int error = 0;

	HASH_ITER (hh, c->threads, thread, next) {
		while (!error && thread->n_held)
			error = pop(c, thread);
		if (!error)
			error = end_until(c->draft, thread, UINT64_MAX);
	}
	return error;
}

void chrome_slices_free(struct chrome *c)
{
	struct chrome_thread *thread, *next;

	HASH_ITER (hh, c->threads, thread, next) {
		while (thread->n_held)
			free(take_first(c, thread));
		HASH_DEL(c->threads, thread);
		free(thread->held);
		free(thread->ends);
		free(thread);
	}
	free(c->held_draft);
}
