/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of `proftrace merge`: the PIDs and TIDs of each file, the alignment of their clocks,
 * and context switches that several files have.
 */
#ifndef PROFTRACE_MERGE_MERGE_H
#define PROFTRACE_MERGE_MERGE_H

#include "merge/rewrite.h"

enum align {
	ALIGN_AUTO,
	ALIGN_STEP,
	ALIGN_REALTIME,
	ALIGN_MONOTONIC,
	ALIGN_NONE,
};

/* A trace among those that are merged. */
struct part {
	struct source source;
	struct reader_error end;
	char label[96];
	struct part *next;  /* the next file of the same recording */
	unsigned recording; /* the index of the part that begins the same recording */
	bool goes_on;	    /* it continues the previous part of the same recording */
	int64_t offset_ns;  /* added to its times */
	int64_t moved_ns;   /* the part of that which --offset requested */
	bool is_reference;
	bool same_boot;		/* the same boot as the reference */
	bool by_realtime;	/* its wall clock was used to align it */
	bool by_messages;	/* its programs' messages were */
	uint64_t pair_error_ns; /* the most that offset_ns is wrong then; UINT64_MAX: not known */
	uint64_t
		error_ns; /* the most that its wall clock was wrong, after the alignment; UINT64_MAX: not known */
	char how[224]; /* how it was aligned, for people */
};

/*
 * merge_align.c: sets offsets and `how`; may read traces once more. `messages`: arrows between the traces are messages.
 */
int align_by_clocks(const struct part *reference, struct part *part, enum align align,
		    struct failure *f);
int merge_align(struct part *parts, unsigned n, enum align align, bool messages, struct failure *f);
/*
 * Call it after merge_align(): the time of the earliest mark of all parts, 0 if there is none. No
 * format has negative times: if that mark is older than the boot of the reference, all parts are
 * moved by `ret_shift_ns`.
 */
int merge_first(struct part *parts, unsigned n, int64_t *ret_shift_ns, uint64_t *ret_first_ns,
		struct failure *f);

/* --- merge_messages.c --- */

/* Between which offsets one trace's clock is, for messages in both directions. */
struct message_limits {
	uint64_t n_sent, n_received; /* from the reference's point of view */
	int64_t least_ns, most_ns;
};

void message_limits_add(struct message_limits *l, uint64_t sent_ns, uint64_t received_ns,
			bool by_reference);
void align_by_messages(const struct message_limits *l, struct part *part);
/* All parts of other boots. Reads each of them once more. */
int merge_align_messages(struct part *reference, struct part *parts, unsigned n, struct failure *f);

/* merge_owners.c: PIDs and TIDs that are unique over all files */
struct owners;

/* `join`: the processes are already in the timeline, and only their threads are new. */
struct owners *owners_new(struct names *names, bool join);
void owners_free(struct owners *owners);
/* The next events belong to this part. */
void owners_begin(struct owners *owners, const struct part *part);
/* This part speaks for one process only: other numbers become processes of their own, and nothing belongs to the machine. */
void owners_restrict(struct owners *owners, uint32_t pid);
/*
 * Replaces the PID and TID of the event, and extends names so that processes and threads of
 * different files can be told apart.
 */
void owners_map(struct owners *owners, struct event *event);
/* Replaces the PID and TID of a task, if it is a thread of this part; others keep their numbers. */
void owners_find(struct owners *owners, uint32_t *pid, uint32_t *tid);
/*
 * The part has ended: processes and threads without a name get one with their old numbers. Not
 * earlier, since the first name of a process is the one that loaders keep.
 */
int owners_end(struct owners *owners, int (*each)(void *context, const struct event *event),
	       void *context);

/*
 * merge_ids.c: mixes `mix` into the id of an asynchronous slice and, with `flows`, of an arrow. Arguments
 * that change are copied into `args`.
 */
void merge_mix_ids(struct event *event, uint64_t mix, bool flows, struct arg args[EVENT_MAX_ARGS]);

/* --- merge_sched.c: whose switches and wakings a merge has --- */

struct merge_sched; /* freed with free() */

struct merge_sched *merge_sched_new(void); /* NULL when out of memory */
/*
 * Whether the event belongs into the merge: false if an earlier recording of the same machine has
 * it already. The recordings are read one after the other. Times are those of the merge.
 */
bool merge_sched_accept(struct merge_sched *s, unsigned recording, const struct event *e);

#endif
