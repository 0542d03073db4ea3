/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a selection, which is private to this folder: select_open.c follows what is open,
 * select_wants.c asks the condition and finds groups, and select.c passes facts on.
 */
#ifndef PROFTRACE_REPORTS_SELECT_SELECT_INTERNAL_H
#define PROFTRACE_REPORTS_SELECT_SELECT_INTERNAL_H

#include "base/hash.h"
#include "reports/select/select.h"

enum {
	SELECT_RECENT = 64,	    /* threads and lanes that are found at once; a power of two */
	SELECT_MAX_FLOWS = 1 << 20, /* arrows whose ends are followed */
	SELECT_GROUPS = 1024,	    /* values whose name is remembered: 2^10 */
};

/* A slice that is open. */
struct select_frame {
	uint64_t ordinal; /* among all BEGINs of the reading */
	uint64_t begin_ns;
	const struct name *name, *category;
	uint32_t in;	/* of the condition: with its own name */
	uint32_t bytes; /* of the stack, before its own */
	bool selected;
};

/* A thread, or a lane of asynchronous slices, on which one is open at a time. */
struct select_track {
	uint64_t uuid;
	const struct thread *thread; /* NULL: a lane */
	const struct process *process;
	struct select_frame *frames;
	uint32_t n_frames, capacity;
	struct arg *saved; /* for each frame, as many as the condition has keys */
	uint32_t saved_capacity;
	char *bytes;
	uint32_t n_bytes, bytes_capacity;
	uint32_t n_selected; /* of the open frames */
	UT_hash_handle hh;
};

/* Which ends of an arrow became a part of the trace. */
struct select_flow {
	uint64_t id;
	bool kept, left_out;
	UT_hash_handle hh;
};

struct select_group {
	enum arg_type type;
	uint64_t u;
	const struct name *name;
};

struct select {
	struct consumer consumer;
	const struct select_options *options;
	struct condition *where; /* NULL: none. Also without --where, for the key of --by */
	int by_key;		 /* the number of that key */
	bool is_conditional;	 /* --where is there */
	struct names *names;
	struct consumer *outs[SELECT_OUTS];
	unsigned n_outs;
	void (*set_group)(struct consumer *out, const struct name *group);
	enum select_mode mode;
	uint64_t first_ns;	 /* of the trace, for relative times */
	uint64_t from_ns, to_ns; /* of the trace's clock */
	const struct name *rank; /* of the trace; NULL: none */
	uint64_t span_first, span_last;
	unsigned n_keys;
	uint64_t next_ordinal;
	uint64_t *decided; /* a bit for each ordinal */
	uint64_t n_words;
	struct select_count count;
	struct select_track *tracks, *recent[SELECT_RECENT];
	struct select_flow *flows;
	struct select_group groups[SELECT_GROUPS];
	struct condition_subject subject;
};

/* select_open.c: the track of that uuid, a new one if there is none. NULL when out of memory. */
struct select_track *select_track_get(struct select *s, uint64_t uuid);
void select_track_free(struct select *s, struct select_track *track);
void select_forget_tracks(struct select *s);
/* A slice begins. Returns 0 or -ENOMEM. */
int select_push(struct select *s, struct select_track *track, const struct fact *fact);
void select_pop(struct select_track *track);
/* The arguments of the innermost BEGIN by number of key, NULL if the condition has no keys. */
const struct arg *select_saved_args(struct select *s, struct select_track *track);
/* Remembers that the slice is selected. Returns 0 or -ENOMEM. */
int select_decide(struct select *s, uint64_t ordinal);

/* select_wants.c */
bool select_in_range(const struct select *s, uint64_t begin_ns, uint64_t end_ns);
/* The innermost slice of the track ends, or (`fact` of kind BEGIN) stays open. */
bool select_wants_slice(struct select *s, struct select_track *track, const struct fact *fact);
/* An instant, or a sample of a counter. */
bool select_wants_moment(struct select *s, const struct fact *fact);
/* The value by which the table is split, after select_wants_*(). NULL: the fact has none. */
const struct name *select_group_of(struct select *s, const struct fact *fact);

#endif
