/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call stacks, each of them once.
 *
 * A stack is its innermost frame and the stack of its caller, so that stacks share what they have in
 * common, and a stack is one pointer. A frame is a place in a file that was mapped, and not an address:
 * the same code is the same frame in every process. What it is called is found out at the end, if at all:
 * its lines may be known later than the frame.
 */
#ifndef PROFTRACE_TIMELINE_CALLSTACK_H
#define PROFTRACE_TIMELINE_CALLSTACK_H

#include "timeline/names.h"

enum code_kind {
	CODE_NATIVE,
	CODE_KERNEL,
	CODE_JIT, /* made by the program itself while it ran: in no file */
};

/* A file of code, known by its kind, path and build id; the rest is as it was seen first. */
struct code_mapping {
	const struct name *path;
	const struct name *build_id; /* in hex; NULL: none, or not known */
	uint64_t start, end;	     /* addresses; 0: not known */
	uint64_t offset;	     /* in the file, of `start` */
	uint64_t load_bias;	     /* how far the file's own addresses are ahead of its offsets */
	enum code_kind kind;
	uint32_t id; /* 1, 2, 3, ...: handlers intern by it */
};

struct code_line {
	const struct name *function;
	const struct name *file; /* NULL: not known */
	uint32_t line;		 /* 0: not known */
};

struct code_frame {
	const struct code_mapping *mapping; /* NULL: not known */
	uint64_t
		rel_pc; /* the file's own address, as its symbols have it; KERNEL, JIT: the address */
	uint32_t id;	/* 1, 2, 3, ... */
	uint32_t n_lines; /* 0: not known, or not yet */
	bool asked;	  /* what it is called was looked for: if it is not known, it stays so */
	const struct code_line *lines; /* innermost first: of what was inlined there */
};

struct callstack {
	const struct callstack *caller; /* NULL: this is the outermost frame */
	const struct code_frame *frame;
	uint32_t id; /* 1, 2, 3, ...; never less than its caller's */
	uint32_t depth;
};

struct callstacks;

enum {
	CALLSTACKS_MAX_LINES = 32,   /* of one frame */
	CALLSTACKS_MAX_DEPTH = 1024, /* frames of one stack: of a file; the kernel follows fewer */
};

/* names: borrowed. `max`: stacks that are kept, 0 = 524288. NULL when out of memory. */
struct callstacks *callstacks_new(struct names *names, uint32_t max);
void callstacks_free(struct callstacks *stacks);

/* The mapping of this kind, path and build id. NULL: too many, or out of memory. */
const struct code_mapping *callstacks_mapping(struct callstacks *stacks,
					      const struct code_mapping *like);
/*
 * A frame; never NULL. `function`: what it is called, where that is known from the beginning and may be
 * another thing at another time; NULL: not known.
 */
const struct code_frame *callstacks_frame(struct callstacks *stacks,
					  const struct code_mapping *mapping, uint64_t rel_pc,
					  const struct name *function);
/*
 * The stack of `frame` called from `caller` (NULL: from nowhere); never NULL. Beyond the limit, it is the
 * stack of the one frame `(too many stacks)`, and what is called from there is no other.
 */
const struct callstack *callstacks_push(struct callstacks *stacks, const struct callstack *caller,
					const struct code_frame *frame);

/* Says what a frame is called, unless that was said before: n = 0 that nobody knows. At most CALLSTACKS_MAX_LINES are kept. */
void callstacks_name(struct callstacks *stacks, const struct code_frame *frame,
		     const struct code_line *lines, unsigned n);

/* Every frame, in the order of their ids. */
void callstacks_each_frame(struct callstacks *stacks,
			   void (*each)(void *context, const struct code_frame *frame),
			   void *context);
uint32_t callstacks_frames(const struct callstacks *stacks);
/* How often a stack was beyond the limit. */
uint64_t callstacks_refused(const struct callstacks *stacks);

/* What its innermost function is called, for people; NULL: not known. */
const struct name *code_frame_function(const struct code_frame *frame);

#endif
