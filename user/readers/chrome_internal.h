/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of the Chrome JSON reader share: chrome_json.c finds the events in the JSON, and
 * chrome_plain.c where they need no yajl; chrome_fields.c understands their fields, chrome_events.c makes
 * events of them, chrome_order.c puts those of others into the order of time, chrome_slices.c makes slices
 * of what complete events ("X") say.
 */
#ifndef PROFTRACE_READERS_CHROME_INTERNAL_H
#define PROFTRACE_READERS_CHROME_INTERNAL_H

#include "readers/draft.h"
#include "timeline/hash.h"

/* Limits of what a file may make the reader remember. */
enum {
	MAX_THREADS = 1 << 16,	/* with complete events */
	MAX_INVENTED = 1 << 16, /* processes and threads the file calls by a word */
	MAX_OPEN = 2048,	/* slices of a thread nested in each other */
	MAX_HELD = 1 << 17,	/* events held back to be put in order */
	MAX_HELD_BYTES = 64 << 20,
	MAX_ID_TEXT = 64, /* of an id as part of a name; a longer one is told by its number */
};

/* Keys of an event, and of the object around the events, that mean something. */
enum chrome_field {
	FIELD_OTHER,
	FIELD_PHASE,
	FIELD_TS,
	FIELD_DUR,
	FIELD_PID,
	FIELD_TID,
	FIELD_NAME,
	FIELD_CATEGORY,
	FIELD_ID,
	FIELD_ID2,
	FIELD_SCOPE,
	FIELD_UNIT,
	FIELD_MEMORY,
	FIELD_ADDRESS,
	FIELD_SIZE,
	FIELD_CONTINUED,
	FIELD_ARGS,
	FIELD_BIND,
	FIELD_FLOW_IN,
	FIELD_FLOW_OUT,
	/* Around the events. */
	FIELD_EVENTS,
	FIELD_BASE_TIME,
	FIELD_DISTRIBUTED,
	FIELD_RANK,
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
	bool has_bind;
	bool flow_in; /* an arrow ends here, or begins, at the slice's beginning: its id is `bind` */
	bool flow_out;
	bool broken;	/* a time that is none */
	bool continued; /* our own files: it is repeated from an earlier one */
	int64_t ts;	/* ns after the file's base */
	int64_t dur;
	uint64_t id;
	size_t id_length; /* of the text it was, in id_text */
	uint64_t bind;
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
	const struct callstack *callstack; /* our own files: where it was */
};

/* A thread (or, tid_word's id, an invented one) to which complete events belong. */
struct chrome_thread;
struct chrome_held;
struct chrome_invented;
struct chrome_sched;
struct json_token;

struct chrome {
	const struct reader_sink *sink;
	struct draft *draft;
	struct chrome_fields fields;
	char id_text[MAX_ID_TEXT]; /* not among the fields, so that it need not be cleared */
	bool own;		   /* it begins with what proftrace says of itself */
	uint64_t base_ns;
	uint64_t n_objects;
	uint64_t n_refused;
	struct chrome_invented *invented;
	struct chrome_sched *sched; /* NULL: no states of threads so far */
	uint64_t skipped[128];	    /* by phase: what has no place here */

	/* chrome_slices.c */
	bool holds; /* something was held back already */
	struct chrome_thread *threads;
	struct chrome_thread *last_thread;
	uint64_t next_id;
	uint64_t n_pushed;
	size_t held_bytes;
	unsigned n_held;
	struct chrome_thread *holding[32]; /* 2^i events and more, below 2^(i+1) */
	uint32_t classes;		   /* bits: which of these lists are not empty */
};

/* chrome_fields.c: which key it is (word: json_word() of it), and its value: a string, or a number as it is written */
enum chrome_field chrome_find_field(uint64_t word, const char *key, size_t length);
enum chrome_field chrome_find_around(const char *key, size_t length);
void chrome_field(struct chrome *c, enum chrome_field field, const char *text, size_t length);
/* The same of a number that was taken apart already. */
void chrome_number(struct chrome *c, enum chrome_field field, const struct json_token *token);
void chrome_around(struct chrome *c, enum chrome_field field, const char *text, size_t length);

/* chrome_events.c: the object in `fields` and in the draft is complete. What the sink returns. */
int chrome_event(struct chrome *c);
void chrome_events_free(struct chrome *c);
int chrome_skip(struct chrome *c); /* it has no place here */

/* chrome_events.c: one more function of the stack of the object, called by what was told before */
void chrome_stack_frame(struct chrome *c, const char *text, size_t length);

/* chrome_sched.c: states of threads, of our own files */
int chrome_state(struct chrome *c);
int chrome_switches_lost(struct chrome *c);
bool chrome_task_name(struct chrome *c, const struct name *name); /* false: it is a thread's */
void chrome_states_free(struct chrome *c);

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
