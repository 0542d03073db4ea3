/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sorts the events of each thread by time. Nearly all come in order or a few positions late, and are inserted into a
 * queue; the others are in a heap.
 */
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/array.h"

#include "formats/chrome/read_order.h"

enum {
	LATE = 32,    /* positions in the queue that an event may be late */
	AHEAD = 4,    /* positions in the queue that are prefetched */
	AT_ONCE = 32, /* events of one time among which a complete event is searched */
	FAR = 8192,   /* events among which an E is searched */
};

static enum held_rank held_rank_of(const struct event *event, int64_t dur)
{
	if (dur != NOT_COMPLETE)
		return RANK_COMPLETE;
	return event->kind == EVENT_FLOW_OUT || event->kind == EVENT_FLOW_IN ? RANK_FLOW
									     : RANK_FIRST;
}

static bool held_is_begin(const struct chrome_held *held)
{
	return held->dur == NOT_COMPLETE && held->event.kind == EVENT_BEGIN;
}

/* A B or an E. */
static bool held_is_mark(const struct chrome_held *held)
{
	return held_is_begin(held) || held->event.kind == EVENT_END;
}

struct chrome_held *held_new(const struct draft *draft, int64_t dur, uint64_t order)
{
	size_t bytes = sizeof(struct chrome_held) + draft->n_args * sizeof(struct arg);
	struct chrome_held *held;
	char *text;

	for (unsigned i = 0; i < draft->n_args; i++) {
		if (draft->args[i].type == ARG_STRING)
			bytes += draft->args[i].length + 1;
	}
	held = malloc(bytes);
	if (!held)
		return NULL;
	held->order = order;
	held->dur = dur;
	held->bytes = bytes;
	held->rank = held_rank_of(&draft->event, dur);
	held->event = draft->event;
	held->event.has_deltas = false; /* these are the reader's, but in the arguments, too */
	held->event.deltas_in_args = draft->event.has_deltas;
	held->event.n_args = draft->n_args;
	held->event.args = held->args;
	text = (char *)&held->args[draft->n_args];
	for (unsigned i = 0; i < draft->n_args; i++) {
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

/* Of two complete events that begin together, the longer one contains the shorter one. */
static bool held_before_at_once(const struct chrome_held *a, const struct chrome_held *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->dur != b->dur)
		return a->dur > b->dur;
	return a->order < b->order;
}

static bool held_before(struct held_at a, struct held_at b)
{
	return a.ts_ns != b.ts_ns ? a.ts_ns < b.ts_ns : held_before_at_once(a.held, b.held);
}

static unsigned thread_size_class(const struct chrome_thread *thread)
{
	return 31 - (unsigned)__builtin_clz(thread->n_held);
}

static void class_remove_thread(struct chrome *c, struct chrome_thread *thread)
{
	unsigned class = thread_size_class(thread);

	DL_DELETE(c->holding[class], thread);
	if (!c->holding[class])
		c->classes &= ~(1u << class);
}

static void class_add_thread(struct chrome *c, struct chrome_thread *thread)
{
	unsigned class = thread_size_class(thread);

	DL_APPEND(c->holding[class], thread);
	c->classes |= 1u << class;
}

bool order_reserve(struct chrome_thread *thread)
{
	struct held_queue *q = &thread->queue;

	if (!array_reserve(thread->heap, thread->n_heap, thread->heap_capacity, 16))
		return false;
	if (q->end < q->capacity)
		return true;
	/* Only moved if at least half of the queue is free, so that each event is moved once on average. */
	if (q->first <= q->capacity / 2)
		return array_grow(&q->at, &q->capacity, 16, sizeof(*q->at));
	memmove(q->at, q->at + q->first, (q->end - q->first) * sizeof(*q->at));
	q->end -= q->first;
	q->first = 0;
	return true;
}

/* False: the event is too late for the queue. */
static bool queue_push(struct held_queue *q, struct held_at at)
{
	unsigned i = q->end, least = i - q->first > LATE ? i - LATE : q->first;

	while (i > least && held_before(at, q->at[i - 1]))
		i--;
	if (i == least && i > q->first && held_before(at, q->at[i - 1]))
		return false;
	memmove(&q->at[i + 1], &q->at[i], (q->end - i) * sizeof(at));
	q->at[i] = at;
	q->end++;
	return true;
}

static void heap_push(struct chrome_thread *thread, struct held_at at)
{
	unsigned i = thread->n_heap++;

	for (; i && held_before(at, thread->heap[(i - 1) / 2]); i = (i - 1) / 2)
		thread->heap[i] = thread->heap[(i - 1) / 2];
	thread->heap[i] = at;
}

/* The thread changes its list when its number of events becomes a power of two. */
void order_push(struct chrome *c, struct chrome_thread *thread, struct chrome_held *held)
{
	const struct held_at at = { held->event.ts_ns, held };
	unsigned n = thread->n_held;

	if (n && !((n + 1) & n))
		class_remove_thread(c, thread);
	thread->n_held++;
	if (!(thread->n_held & (thread->n_held - 1)))
		class_add_thread(c, thread);
	thread->has_complete |= held->dur != NOT_COMPLETE;
	if (!queue_push(&thread->queue, at)) {
		heap_push(thread, at);
		thread->n_heap_marks += held_is_mark(held);
	}
	c->n_held++;
	c->held_bytes += held->bytes;
}

static struct chrome_held *heap_pop(struct chrome_thread *thread)
{
	struct chrome_held *first = thread->heap[0].held;
	struct held_at last = thread->heap[--thread->n_heap];
	unsigned i = 0, child;

	while ((child = 2 * i + 1) < thread->n_heap) {
		if (child + 1 < thread->n_heap &&
		    held_before(thread->heap[child + 1], thread->heap[child]))
			child++;
		if (!held_before(thread->heap[child], last))
			break;
		thread->heap[i] = thread->heap[child];
		i = child;
	}
	thread->heap[i] = last;
	thread->n_heap_marks -= held_is_mark(first);
	return first;
}

/* Those that are next were not touched for long. */
static struct chrome_held *queue_pop(struct held_queue *q)
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

uint64_t order_find_end(const struct chrome_thread *thread, unsigned i, uint64_t limit)
{
	const struct held_queue *q = &thread->queue;
	unsigned depth = 0, last = q->end - i < FAR ? q->end : i + FAR;

	/* Rare: more than a few places too late. */
	if (thread->n_heap_marks)
		return NEVER;
	for (; i < last && q->at[i].ts_ns < limit; i++) {
		if (!held_is_mark(q->at[i].held))
			continue;
		if (held_is_begin(q->at[i].held))
			depth++;
		else if (!depth--)
			return q->at[i].ts_ns;
	}
	return NEVER;
}

/*
 * Of a B and a complete event at the same time that which ends later is the outer one. True: that is
 * such an event, and its place in the queue, or the B's own if it is the first of the heap.
 */
static bool queue_find_enclosing(const struct chrome_thread *thread, unsigned *ret_place)
{
	const struct held_queue *q = &thread->queue;
	unsigned i, last = q->end - q->first < AT_ONCE ? q->end : q->first + AT_ONCE, depth = 1;
	uint64_t ts_ns = q->at[q->first].ts_ns;
	const struct chrome_held *complete = NULL;

	for (i = q->first + 1; i < last && q->at[i].ts_ns == ts_ns && !complete; i++) {
		const struct chrome_held *held = q->at[i].held;

		if (held->dur != NOT_COMPLETE) {
			complete = held;
			*ret_place = i;
		} else if (held_is_begin(held)) {
			depth++;
		} else if (held_is_mark(held) && !depth--) {
			return false; /* the slice around both ends here */
		}
	}
	if (thread->n_heap && thread->heap[0].ts_ns == ts_ns &&
	    thread->heap[0].held->dur != NOT_COMPLETE &&
	    (!complete || thread->heap[0].held->dur > complete->dur)) {
		complete = thread->heap[0].held;
		*ret_place = q->first;
	}
	return complete &&
	       order_find_end(thread, q->first + 1, ts_ns + (uint64_t)complete->dur) != NEVER;
}

static struct chrome_held *thread_pop_held(struct chrome_thread *thread)
{
	struct held_queue *q = &thread->queue;
	struct held_at at;
	unsigned place = 0; /* gcc 14 does not see that it is set where it is used */

	if (q->first == q->end || (thread->n_heap && held_before(thread->heap[0], q->at[q->first])))
		return heap_pop(thread);
	/* With a full stack, slices are not nested anyway. */
	if (!thread->has_complete || thread->n_open == MAX_OPEN ||
	    !held_is_begin(q->at[q->first].held) || !queue_find_enclosing(thread, &place))
		return queue_pop(q);
	if (place == q->first)
		return heap_pop(thread);
	at = q->at[place];
	memmove(&q->at[q->first + 1], &q->at[q->first], (place - q->first) * sizeof(at));
	q->at[q->first] = at;
	return queue_pop(q);
}

struct chrome_held *order_pop(struct chrome *c, struct chrome_thread *thread)
{
	bool power = !(thread->n_held & (thread->n_held - 1));
	struct chrome_held *first;

	if (power)
		class_remove_thread(c, thread);
	thread->n_held--;
	if (power && thread->n_held)
		class_add_thread(c, thread);
	first = thread_pop_held(thread);
	c->n_held--;
	c->held_bytes -= first->bytes;
	return first;
}

struct chrome_thread *order_fullest(const struct chrome *c)
{
	return c->holding[31 - (unsigned)__builtin_clz(c->classes)];
}

static int compare_held(const void *a, const void *b)
{
	return held_before(*(const struct held_at *)a, *(const struct held_at *)b) ? -1 : 1;
}

void order_finish(struct chrome_thread *thread)
{
	struct held_queue *q = &thread->queue;
	unsigned n = q->end - q->first;

	if (!thread->n_heap_marks)
		return;
	memmove(q->at, q->at + q->first, n * sizeof(*q->at));
	q->first = 0;
	q->end = n;
	while (q->capacity - q->end < thread->n_heap) {
		if (!array_grow(&q->at, &q->capacity, 16, sizeof(*q->at)))
			return;
	}
	memcpy(q->at + n, thread->heap, thread->n_heap * sizeof(*q->at));
	q->end += thread->n_heap;
	thread->n_heap = thread->n_heap_marks = 0;
	qsort(q->at, q->end, sizeof(*q->at), compare_held);
}
