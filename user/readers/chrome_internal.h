/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of the Chrome JSON reader share: chrome_json.c finds the events in the JSON and
 * collects their fields, chrome_events.c makes events of them, chrome_slices.c puts what complete
 * events ("X") say into the order of time.
 */
#ifndef PROFTRACE_READERS_CHROME_INTERNAL_H
#define PROFTRACE_READERS_CHROME_INTERNAL_H

#include "readers/draft.h"
#include "timeline/hash.h"

/* Limits of what a file may make the reader remember. */
enum {
	MAX_THREADS = 1 << 16,	  /* with complete events */
	MAX_INVENTED = 1 << 16,	  /* processes and threads the file calls by a word */
	MAX_OPEN_COMPLETE = 2048, /* complete events nested in each other */
	MAX_HELD = 1 << 16,	  /* events held back to be put in order */
	MAX_HELD_BYTES = 64 << 20,
};

/* What one object of the file says; its "args" are in the draft. */
struct chrome_fields {
	char phase;
	char scope;
	bool any; /* the object is not empty */
	bool has_ts;
	bool has_dur;
	bool has_id;
	bool has_tid;
	bool broken;	/* a time that is none */
	bool continued; /* our own files: it is repeated from an earlier one */
	int64_t ts;	/* ns after the file's base */
	int64_t dur;
	uint64_t id;
	uint32_t pid;
	uint32_t tid;
	const struct name *pid_word; /* where it is no number */
	const struct name *tid_word;
	const struct name *name;
	const struct name *category;
	const struct name *unit; /* of a counter: our own files say it */
	char memory;		 /* of a memory pool: 'a' alloc, 'f' free, 'g' gone */
	uint64_t address;
	uint64_t size;
};

/* A thread (or, tid_word's id, an invented one) to which complete events belong. */
struct chrome_thread;
struct chrome_held;
struct chrome_invented;

struct chrome {
	const struct reader_sink *sink;
	struct draft *draft;
	struct chrome_fields fields;
	uint64_t base_ns;
	uint64_t n_objects;
	uint64_t n_refused;
	struct chrome_invented *invented;

	/* chrome_slices.c */
	bool in_order; /* a complete event was seen: from there on all is put in order */
	struct draft *held_draft;
	struct chrome_thread *threads;
	uint64_t next_id;
	uint64_t n_pushed;
	size_t held_bytes;
	unsigned n_held;
	struct chrome_held **held; /* a heap, the earliest first */
};

/* chrome_events.c: the object in `fields` and in the draft is complete. What the sink returns. */
int chrome_event(struct chrome *c);
void chrome_events_free(struct chrome *c);

/* chrome_slices.c */
enum {
	NOT_COMPLETE = -1, /* in place of a duration */
};

/* Sends the draft's event, now or later; `dur`: of a complete event, else NOT_COMPLETE. */
int chrome_send(struct chrome *c, int64_t dur);
/* The file is over: sends what is held and ends what is open. */
int chrome_finish(struct chrome *c);
void chrome_slices_free(struct chrome *c);

#endif
