/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of `proftrace merge`: whose the numbers of a file are, and how its clock stands to the others. */
#ifndef PROFTRACE_CMD_MERGE_H
#define PROFTRACE_CMD_MERGE_H

#include "cmd/rewrite.h"

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
	struct part *next;  /* the file of the same recording that comes after this one */
	unsigned recording; /* the part that begins the same recording */
	bool goes_on;	    /* with what the part before it, of the same recording, has begun */
	int64_t offset_ns;  /* from its times to those of the merge */
	int64_t moved_ns;   /* of these, by --offset */
	bool is_reference;
	bool same_boot; /* as the reference */
	char how[160];	/* it was aligned, for people */
};

/* merge_align.c: fills in offsets and `how`; may read traces once more. */
int align_by_clocks(const struct part *reference, struct part *part, enum align align,
		    struct failure *f);
int merge_align(struct part *parts, unsigned n, enum align align, struct failure *f);
/*
 * After that: the time of the earliest mark of all, 0 without any. No format has times below zero: where that
 * one is from before the reference had booted, all are moved by `ret_shift_ns`.
 */
int merge_first(struct part *parts, unsigned n, int64_t *ret_shift_ns, uint64_t *ret_first_ns,
		struct failure *f);

/* merge_owners.c: numbers of processes and threads, unique over all files */
struct owners;

/* `join`: the processes are those of the timeline already, only their threads are others. */
struct owners *owners_new(struct names *names, bool join);
void owners_free(struct owners *owners);
/* From here on events are of this part. */
void owners_begin(struct owners *owners, const struct part *part);
/* Gives the event's process and thread their numbers, and the names of both what tells them apart. */
void owners_map(struct owners *owners, struct event *event);
/* What a task is called by now, if it is a thread of the part's own; others keep their numbers. */
void owners_find(struct owners *owners, uint32_t *pid, uint32_t *tid);
/*
 * The part is over: names those that had no name, by their old numbers. Not before, since the first
 * name of a process is the one that loaders keep.
 */
int owners_end(struct owners *owners, int (*each)(void *context, const struct event *event),
	       void *context);

#endif
