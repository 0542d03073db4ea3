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
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "readers/chrome_internal.h"

enum {
	LATE = 32, /* places in the queue that one may come too late */
	AHEAD = 4, /* places in the queue that are looked ahead */
};

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

/* In their order. */
struct held_queue {
	struct held_at *at;
	unsigned first, end, room;
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
	unsigned n_held; /* in both of these */
	struct held_queue queue;
	unsigned n_heap;
	unsigned heap_room;
	struct held_at *heap;		   /* the earliest first */
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

/* Ends what ended until `ts_ns`. */
static int end_until(const struct chrome *c, struct chrome_thread *thread, uint64_t ts_ns)
{
	int error = 0;

	while (!error && thread->n_open && thread->ends[thread->n_open - 1] <= ts_ns) {
		const struct event end = {
			.kind = EVENT_END,
			.ts_ns = thread->ends[--thread->n_open],
			.pid = thread->key.pid,
			.tid = thread->key.tid,
			.level = -1,
		};

		error = reader_send(c->sink, &end);
	}
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

static int deliver_complete(struct chrome *c, struct chrome_thread *thread, struct event *event,
			    uint64_t dur)
{
	uint64_t end_ns = event->ts_ns + dur;
	int error;

	if (event->ts_ns < thread->last_ns)
		return spill(c, event, end_ns);
	error = end_until(c, thread, event->ts_ns);
	if (error)
		return error;
	if ((thread->n_open && thread->ends[thread->n_open - 1] < end_ns) ||
	    !push_end(thread, end_ns))
		return spill(c, event, end_ns);
	thread->last_ns = event->ts_ns;
	event->kind = EVENT_BEGIN;
	return reader_send(c->sink, event);
}

static int deliver(struct chrome *c, struct chrome_thread *thread, struct chrome_held *held)
{
	struct event *event = &held->event;
	int error;

	if (held->dur != NOT_COMPLETE)
		return deliver_complete(c, thread, event, (uint64_t)held->dur);
	error = end_until(c, thread, event->ts_ns);
	if (thread->last_ns < event->ts_ns)
		thread->last_ns = event->ts_ns;
	if (event->kind == EVENT_END || event->kind == EVENT_ASYNC_END)
		draft_take_end_reason(event, held->args);
	return error ? error : reader_send(c->sink, event);
}

/* --- queues and heaps ---------------------------------------------------------------------------- */

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
	held->event.args = held->args;
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

static bool grow(struct held_at **list, unsigned *room)
{
	unsigned more = *room ? *room * 2 : 16;
	struct held_at *grown = realloc(*list, more * sizeof(*grown));

	if (!grown)
		return false;
	*list = grown;
	*room = more;
	return true;
}

/* Room for one more, wherever it will be. */
static bool make_room(struct chrome_thread *thread)
{
	struct held_queue *q = &thread->queue;

	if (thread->n_heap == thread->heap_room && !grow(&thread->heap, &thread->heap_room))
		return false;
	if (q->end < q->room)
		return true;
	/* So that they are moved no more often than they come, there is to be much to gain. */
	if (q->first <= q->room / 2)
		return grow(&q->at, &q->room);
	memmove(q->at, q->at + q->first, (q->end - q->first) * sizeof(*q->at));
	q->end -= q->first;
	q->first = 0;
	return true;
}

/* False: it would go before too many of them. */
static bool queue_push(struct held_queue *q, struct held_at at)
{
	unsigned i = q->end, least = i - q->first > LATE ? i - LATE : q->first;

	while (i > least && before(at, q->at[i - 1]))
		i--;
	if (i == least && i > q->first && before(at, q->at[i - 1]))
		return false;
	memmove(&q->at[i + 1], &q->at[i], (q->end - i) * sizeof(at));
	q->at[i] = at;
	q->end++;
	return true;
}

static void heap_push(struct chrome_thread *thread, struct held_at at)
{
	unsigned i = thread->n_heap++;

	for (; i && before(at, thread->heap[(i - 1) / 2]); i = (i - 1) / 2)
		thread->heap[i] = thread->heap[(i - 1) / 2];
	thread->heap[i] = at;
}

/* The list is of those with about as many: it changes where their number becomes a power of two. */
static void push(struct chrome *c, struct chrome_thread *thread, struct chrome_held *held)
{
	const struct held_at at = { held->event.ts_ns, held };
	unsigned n = thread->n_held;

	if (n && !((n + 1) & n))
		list_remove(c, thread);
	thread->n_held++;
	if (!(thread->n_held & (thread->n_held - 1)))
		list_add(c, thread);
	if (!queue_push(&thread->queue, at))
		heap_push(thread, at);
	c->n_held++;
	c->held_bytes += held->bytes;
}

static struct chrome_held *heap_take(struct chrome_thread *thread)
{
	struct chrome_held *first = thread->heap[0].held;
	struct held_at last = thread->heap[--thread->n_heap];
	unsigned i = 0, child;

	while ((child = 2 * i + 1) < thread->n_heap) {
		if (child + 1 < thread->n_heap &&
		    before(thread->heap[child + 1], thread->heap[child]))
			child++;
		if (!before(thread->heap[child], last))
			break;
		thread->heap[i] = thread->heap[child];
		i = child;
	}
	thread->heap[i] = last;
	return first;
}

/* Those that are next were not touched for long. */
static struct chrome_held *queue_take(struct held_queue *q)
{
	struct chrome_held *first = q->at[q->first++].held;

	if (q->end - q->first > AHEAD) {
		const char *soon = (const char *)q->at[q->first + AHEAD].held;

		__builtin_prefetch(soon);
		__builtin_prefetch(soon + 64);
		__builtin_prefetch(soon + 128);
		__builtin_prefetch(soon + 192);
		__builtin_prefetch(soon + 256);
	}
	return first;
}

static struct chrome_held *take_first(struct chrome *c, struct chrome_thread *thread)
{
	bool power = !(thread->n_held & (thread->n_held - 1));
	const struct held_queue *q = &thread->queue;
	struct chrome_held *first;

	if (power)
		list_remove(c, thread);
	thread->n_held--;
	if (power && thread->n_held)
		list_add(c, thread);
	if (q->first < q->end && (!thread->n_heap || before(q->at[q->first], thread->heap[0])))
		first = queue_take(&thread->queue);
	else
		first = heap_take(thread);
	c->n_held--;
	c->held_bytes -= first->bytes;
	return first;
}

static int pop(struct chrome *c, struct chrome_thread *thread)
{
	struct chrome_held *held = take_first(c, thread);
	int error = deliver(c, thread, held);

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

static int send_complete(struct chrome *c, int64_t dur)
{
	struct event *event = &c->draft->event;

	event->args = c->draft->args;
	event->n_args = c->draft->n_args;
	if (c->draft->excess)
		c->sink->account->unreadable_args++;
	return spill(c, event, event->ts_ns + (uint64_t)dur);
}

int chrome_send(struct chrome *c, int64_t dur)
{
	struct event *event = &c->draft->event;
	struct chrome_thread *thread;
	struct chrome_held *held;
	int error = 0;

	/* One of our own that others added to is theirs. */
	if (c->own && !c->holds && dur == NOT_COMPLETE)
		return draft_send(c->draft);
	c->holds = true;
	/* What is no thread's must not wait for one, nor be moved to its time. */
	if (!of_thread(event))
		event->tid = 0;
	thread = thread_get(c, event->pid, event->tid);
	if (!thread)
		return dur == NOT_COMPLETE ? draft_send(c->draft) : send_complete(c, dur);
	held = make_room(thread) ? hold(c->draft, dur, c->n_pushed++) : NULL;
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
			error = end_until(c, thread, UINT64_MAX);
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
		free(thread->queue.at);
		free(thread->heap);
		free(thread->ends);
		free(thread);
	}
}
