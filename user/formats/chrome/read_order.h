/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queued events of each thread, for files that are not ours. read_order.c sorts them by time, and read_slices.c
 * nests them.
 */
#ifndef PROFTRACE_FORMATS_CHROME_READ_ORDER_H
#define PROFTRACE_FORMATS_CHROME_READ_ORDER_H

#include "formats/chrome/reader.h"

#define NEVER UINT64_MAX

/* The order of events of one thread at the same time: complete events come after others, and flows last. */
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
	struct arg args[]; /* followed by the bytes of strings */
};

/* The time beside the pointer, since most comparisons need only this. */
struct held_at {
	uint64_t ts_ns;
	struct chrome_held *held;
};

struct held_queue {
	struct held_at *at;
	unsigned first, end, capacity;
};

struct thread_key {
	uint32_t pid;
	uint32_t tid;
};

/* An open slice of a thread. */
struct chrome_open {
	uint64_t
		end_ns; /* of a complete event; of a B, the time of its E if it is known, else NEVER */
	uint64_t seen_ns;	 /* of a B: it has no E before this time */
	const struct name *name; /* of a B */
	bool complete;
	unsigned below; /* the index + 1 of the next one of its sort; 0: none */
};

/* A thread; with tid 0 the events of a process that are not of a thread. */
struct chrome_thread {
	UT_hash_handle hh;
	struct thread_key key;
	uint64_t last_ns;
	unsigned n_open;
	unsigned capacity;
	struct chrome_open *open;
	unsigned top_complete; /* the index + 1 of the uppermost one; 0: none */
	unsigned top_begin;
	unsigned n_above;     /* Bs that did not fit on the stack */
	unsigned n_abandoned; /* Bs that were ended without an E, which may still come */
	bool has_complete;
	unsigned n_held; /* in the queue and the heap */
	struct held_queue queue;
	unsigned n_heap;
	unsigned heap_capacity;
	unsigned n_heap_marks;		   /* Bs and Es in the heap */
	struct held_at *heap;		   /* the earliest one is first */
	struct chrome_thread *prev, *next; /* of threads with about as many events */
};

/* Copies an event. `dur` is that of a complete event. NULL: out of memory. */
struct chrome_held *held_new(const struct draft *draft, int64_t dur, uint64_t order);

/* Reserves space for one more event in the queue and the heap. */
bool order_reserve(struct chrome_thread *thread);
void order_push(struct chrome *c, struct chrome_thread *thread, struct chrome_held *held);
/* Removes the first event of a thread that has any; the caller frees it. */
struct chrome_held *order_pop(struct chrome *c, struct chrome_thread *thread);
/* At the end of the file: moves all events into the queue. */
void order_finish(struct chrome_thread *thread);
/* A thread with about the most events. */
struct chrome_thread *order_fullest(const struct chrome *c);
/*
 * The time of the first E without a B among the queued events from index `i` on, if it is before `limit` and not too
 * far away; else NEVER.
 */
uint64_t order_find_end(const struct chrome_thread *thread, unsigned i, uint64_t limit);

#endif
