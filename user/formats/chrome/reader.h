/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of the Chrome JSON reader and the functions that its files call from one another:
 *
 *	reader.c		finds the objects of events in the JSON, with yajl
 *	json_filter.c		limits the strings and numbers that yajl gets
 *	json_object.c, read_plain.c	the same for objects in a plain form, without yajl
 *	read_fields.c		the fields of an object
 *	read_list.c		lists among its arguments
 *	read_events.c		converts objects to events
 *	read_deltas.c		restores what was counted in slices
 *	read_sched.c		restores context switches and wakings
 *	read_order.c		sorts the events of files that are not ours
 *	read_slices.c		nests complete events ("X")
 */
#ifndef PROFTRACE_FORMATS_CHROME_READER_H
#define PROFTRACE_FORMATS_CHROME_READER_H

#include "base/hash.h"
#include "formats/draft.h"

/* Limits of the memory that a file can make the reader use. */
enum {
	MAX_THREADS = 1 << 16,	    /* with complete events */
	MAX_INVENTED_IDS = 1 << 16, /* processes and threads that the file identifies by words */
	MAX_OPEN = 2048,	    /* nested slices of a thread */
	MAX_HELD = 1 << 17,	    /* events that wait to be sorted */
	MAX_HELD_BYTES = 64 << 20,
	MAX_ID_TEXT = 64, /* bytes of an id as part of a name; a longer id becomes a number */
};

/* Known keys of an event and of the object around the events. */
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
	FIELD_RECORDER,
	FIELD_TRACK,
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

/* The fields of one object; its "args" are in the draft. */
struct chrome_fields {
	char phase;
	char scope;
	bool any; /* the object is not empty */
	bool has_ts;
	bool has_dur;
	bool has_id;
	bool has_tid;
	bool has_bind;
	bool flow_in; /* a flow ends or (flow_out) begins at the start of the slice; its id is `bind` */
	bool flow_out;
	bool broken;	/* a time is malformed */
	bool continued; /* our own files: repeated from an earlier file */
	bool recorder;	/* our own files: no program has made it */
	int64_t ts;	/* ns since the base of the file */
	int64_t dur;
	uint64_t id;
	size_t id_length; /* of its text, in id_text */
	uint64_t bind;
	uint32_t pid;
	uint32_t tid;
	const struct name *pid_word; /* if it is not a number */
	const struct name *tid_word;
	const struct name *name;
	const struct name *category;
	const struct name *unit;  /* of a counter, in our own files */
	const struct name *track; /* the same, with times of its own; may be empty */
	char memory;		  /* of a memory pool: the first letter of alloc, free, gone */
	uint64_t address;
	uint64_t size;
	const struct callstack *callstack; /* in our own files */
};

struct chrome_thread;
struct chrome_held;
struct chrome_invented;
struct chrome_sched;
struct json_token;

struct chrome {
	const struct reader_sink *sink;
	struct draft *draft;
	struct chrome_fields fields;
	char id_text[MAX_ID_TEXT]; /* not in `fields`, so that it need not be cleared */
	bool own;		   /* the file begins with metadata of proftrace */
	bool zeros_left_out;	   /* and leaves out deltas of counters that are 0 */
	unsigned n_counted;	   /* counters of threads */
	const struct name *counted[EVENT_MAX_COUNTERS];
	uint64_t deltas[EVENT_MAX_COUNTERS]; /* of the E that is being read */
	uint64_t base_ns;
	uint64_t n_objects;
	uint64_t events_said; /* how many were written, as the file says at its end */
	uint64_t n_refused;
	struct chrome_invented *invented;
	struct chrome_sched *sched; /* NULL: no thread states so far */
	uint64_t skipped[128];	    /* events that are not represented, by phase */

	/* read_slices.c */
	bool holds; /* events have been queued */
	struct chrome_thread *threads;
	struct chrome_thread *last_thread;
	uint64_t next_id;
	uint64_t n_pushed;
	size_t held_bytes;
	unsigned n_held;
	struct chrome_thread *holding[32]; /* threads with 2^i to 2^(i+1) - 1 queued events */
	uint32_t classes;		   /* bits: the lists that are not empty */
};

/* read_fields.c: finds a key (`word` is its json_word()), and sets its value, a string or a number as text. */
enum chrome_field chrome_find_field(uint64_t word, const char *key, size_t length);
enum chrome_field chrome_find_around(const char *key, size_t length);
void chrome_field(struct chrome *c, enum chrome_field field, const char *text, size_t length);
/* Sets a number that is parsed already. */
void chrome_number(struct chrome *c, enum chrome_field field, const struct json_token *token);
void chrome_around(struct chrome *c, enum chrome_field field, const char *text, size_t length);

/* read_events.c: handles a complete object in `fields` and the draft. Returns what the sink returns. */
int chrome_event(struct chrome *c);
void chrome_events_free(struct chrome *c);
int chrome_skip(struct chrome *c); /* counts an event that is not represented */

/* read_events.c: an object that makes no sense, and what is found in the draft */
int chrome_refuse(struct chrome *c);
struct arg *chrome_find_arg(const struct chrome *c, const char *key);
bool chrome_arg_uint(const struct arg *arg, uint64_t *ret_value);
bool chrome_is_named(const struct chrome *c, const char *name);
int chrome_send_name(struct chrome *c, enum event_kind kind, uint32_t pid, uint32_t tid,
		     const struct name *name);

/* read_metadata.c: an event of phase M */
int chrome_read_metadata(struct chrome *c);

/* read_events.c: adds a function to the call stack of the object, a callee of the previous one */
void chrome_stack_frame(struct chrome *c, const char *text, size_t length);

/* read_deltas.c: a counter of threads in our own files, and what an E says of all of them */
void chrome_add_counted(struct chrome *c, const struct name *name);
void chrome_read_deltas(struct chrome *c);

/* read_sched.c: thread states of our own files */
int chrome_state(struct chrome *c);
int chrome_switches_lost(struct chrome *c);
bool chrome_task_name(struct chrome *c,
		      const struct name *name); /* false: the name of a recorded thread */
void chrome_states_free(struct chrome *c);

/* read_slices.c */
enum {
	NOT_COMPLETE = -1, /* instead of a duration */
};

/* Sends the event of the draft or queues it. `dur`: of a complete event, else NOT_COMPLETE. */
int chrome_send(struct chrome *c, int64_t dur);
/* At the end of the file: sends queued events and ends open slices. */
int chrome_finish(struct chrome *c);
void chrome_slices_free(struct chrome *c);

#endif
