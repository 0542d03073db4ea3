/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of other people's files that are held back, those of each thread apart: chrome_order.c puts them
 * into the order of time, chrome_slices.c makes slices of them.
 */
#ifndef PROFTRACE_READERS_CHROME_ORDER_H
#define PROFTRACE_READERS_CHROME_ORDER_H

#include "readers/chrome_internal.h"

#define NEVER UINT64_MAX

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

/* One that is open on a thread. */
struct chrome_open {
	uint64_t
		end_ns; /* of a complete event; of a B: when its E comes, if that is known, or NEVER */
	uint64_t seen_ns;	 /* of a B: until here there is no E of it */
	const struct name *name; /* of a B */
	bool complete;
	unsigned below; /* the next one of its sort, counted from one; 0: none */
};

/* A thread, or with tid 0 what a process has beside its threads. */
struct chrome_thread {
	UT_hash_handle hh;
	struct thread_key key;
	uint64_t last_ns;
	unsigned n_open;
	unsigned room;
	struct chrome_open *open;
	unsigned top_complete; /* the uppermost one, counted from one; 0: none */
	unsigned top_begin;
	unsigned n_above;     /* Bs for which the stack has no room */
	unsigned n_abandoned; /* Bs that ended without an E, which may come yet */
	bool has_complete;
	unsigned n_held; /* in both of these */
	struct held_queue queue;
	unsigned n_heap;
	unsigned heap_room;
	unsigned n_heap_marks;		   /* Bs and Es in the heap: what comes next is not known */
	struct held_at *heap;		   /* the earliest first */
	struct chrome_thread *prev, *next; /* of those that hold about as many */
};

/* An event's copy; NULL: no memory. Of a complete one, its duration. */
struct chrome_held *held_new(const struct draft *draft, int64_t dur, uint64_t order);

/* Room for one more, wherever it will be. */
bool order_make_room(struct chrome_thread *thread);
void order_push(struct chrome *c, struct chrome_thread *thread, struct chrome_held *held);
/* The first of a thread that has any; it is the caller's. */
struct chrome_held *order_take(struct chrome *c, struct chrome_thread *thread);
/* No more will come: from here on one can look ahead at all of them. */
void order_finish(struct chrome_thread *thread);
/* One of those that hold the most. */
struct chrome_thread *order_fullest(const struct chrome *c);
/*
 * The time of the E that has no B among those that are held from place `i` of the queue on, if that is
 * before `limit` and not too far away; else NEVER.
 */
uint64_t order_find_end(const struct chrome_thread *thread, unsigned i, uint64_t limit);

#endif
