/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of the slices that are looked at: shared by what chooses them (slowest.c), what looks
 * at what happens in them (slowest_watch.c), what compares them (slowest_rows.c), and what prints.
 */
#ifndef PROFTRACE_HANDLERS_SLOWEST_INTERNAL_H
#define PROFTRACE_HANDLERS_SLOWEST_INTERNAL_H

#include "handlers/slowest.h"
#include "timeline/callstack.h"

enum {
	SLOWEST_ARGS = 2 * EVENT_MAX_ARGS, /* of the begin and of the end */
	SLOWEST_NODES = 1024,		   /* slices inside, of different names */
	SLOWEST_SEEN = 1 << 18,		   /* durations kept for the median */
	SLOWEST_FRAMES = 256,		   /* different ones that samples were in */
	SLOWEST_STACKS = 256,		   /* different call stacks of what began */
	SLOW_TEXT_MAX = 1024,
};

/* Which slice: what the first reading keeps of each. */
struct slow_identity {
	uint64_t duration_ns;
	uint64_t begin_ns;
	uint64_t thread; /* its uuid */
	const struct name *name;
	const struct name *category;
};

/*
 * All slices of one name in the same place: in the one that was looked at, or in slices in it. The
 * first node is the slice itself.
 */
struct slow_node {
	const struct name *category;
	const struct name *name;
	uint32_t parent;
	uint32_t child, next; /* the first one of it, the next one beside it; 0: none */
	uint32_t recent;      /* of its children */
	uint64_t count, total_ns, self_ns;
};

struct slow_tree {
	struct slow_node *nodes;
	uint32_t n, room;
};

struct slow_instance {
	struct slow_identity is;
	enum {
		SLOW_AWAITED,
		SLOW_OPEN,
		SLOW_SEEN,
	} state;
	/* Of the second reading. */
	unsigned trace; /* the how manyth */
	uint64_t at_ns; /* after the trace's first mark */
	uint32_t pid, tid;
	const struct name *process, *thread; /* may be NULL */
	uint64_t self_ns;
	bool has_states;
	struct slice_states states;
	unsigned n_counters; /* EVENT_NO_VALUE: not known */
	const struct name *counters[EVENT_MAX_COUNTERS];
	uint64_t deltas[EVENT_MAX_COUNTERS], selves[EVENT_MAX_COUNTERS];
	bool stepped;
	struct arg epoch, batch;
	unsigned n_args; /* strings are its own */
	struct arg args[SLOWEST_ARGS];
	uint64_t marks_lost;
	/* Samples of its call stacks, by their innermost frames: what these are called is known at the end. */
	uint64_t samples, samples_other; /* in all, and of frames that there was no room for */
	unsigned n_frames, frames_room;
	struct slow_frame {
		const struct code_frame *frame;
		uint64_t count;
	} * frames;
	/* Call stacks of the slices and instants that began in it, and its own. */
	unsigned n_stacks, stacks_room;
	uint64_t stacks_other; /* that there was no room for */
	struct slow_stack {
		const struct name *name; /* of what began */
		const struct callstack *callstack;
		uint64_t count;
	} * stacks;
	struct slow_tree tree;
	uint32_t *open; /* nodes, outermost first */
	uint32_t n_open, open_room;
	bool failed; /* out of memory */
};

struct slowest {
	struct handler handler;
	struct slowest_options options;
	bool again;
	/* By id of a name or a category: 0 not looked at, 1 unwanted, 2 wanted. */
	uint8_t *names, *categories;
	uint32_t n_names, n_categories;
	uint64_t count; /* of slices that fit */
	uint64_t random;
	struct slow_identity *seen; /* at most SLOWEST_SEEN of them, each as likely as any other */
	uint32_t n_seen, seen_room;
	unsigned n_longest;
	struct slow_identity longest[SLOWEST_MAX];
	/* The second reading: the median one, then the longest, the longest first. */
	unsigned n_instances, n_open;
	struct slow_instance *instances;
	unsigned n_traces; /* that were read, this time */
	uint64_t first_ns; /* the first mark of this trace */
};

/* slowest_watch.c */
int slow_watch(struct slowest *slowest, const struct fact *fact);
void slow_forget(struct slow_instance *instance);
/* The child of that name, which is made if need be. Out of memory, or `max` nodes are there: 0. */
uint32_t slow_child(struct slow_tree *tree, uint32_t parent, const struct name *category,
		    const struct name *name, uint32_t max);

/*
 * How many samples were in a function; NULL: whose name is not known, or that there was no room for. The
 * functions of an instance, each once: returns how many.
 */
uint64_t slow_samples_in(const struct slow_instance *instance, const struct name *function);
unsigned slow_functions(const struct slow_instance *instance,
			const struct name *functions[SLOWEST_FRAMES + 1]);

/* slowest_stacks.c: the stack of what begins is noted; and all that are called alike are one. */
void slow_stack_note(struct slow_instance *instance, const struct fact *fact);
struct slow_comparison;
int slow_join_stacks(struct slow_comparison *c, unsigned max);
/* "NAME: innermost < its caller < ...", without the kernel's part where there is another. */
void slow_stack_text(const struct slow_stack *stack, char text[SLOW_TEXT_MAX]);

/* slowest_rows.c: what stands side by side. */
enum slow_part {
	SLOW_NAME,
	SLOW_FILE,
	SLOW_AT,
	SLOW_PROCESS,
	SLOW_THREAD,
	SLOW_STEP,
	SLOW_DURATION,
	SLOW_STATE,
	SLOW_SELF,
	SLOW_CHILD,
	SLOW_CHILD_SELF, /* of one that has children */
	SLOW_SAMPLE,
	SLOW_STACK,
	SLOW_COUNTER,
	SLOW_ARG,
	SLOW_LOST,
	SLOW_HEADING, /* of rows of the part `which` */
};

struct slow_row {
	enum slow_part part;
	unsigned depth; /* CHILD, CHILD_SELF: 0 = directly in the slice */
	unsigned which; /* STATE; CHILD, CHILD_SELF: node of the joined tree; STACK */
	const struct name *
		name; /* CHILD (NULL: several that there was no room for), SAMPLE (the same), COUNTER, ARG */
};

struct slow_value {
	enum {
		SLOW_NONE,
		SLOW_TIME,
		SLOW_NUMBER,
		SLOW_TEXT,
	} kind;
	uint64_t ns;	  /* TIME */
	uint64_t count;	  /* CHILD: how many */
	uint64_t self_ns; /* CHILD */
	struct arg arg;	  /* NUMBER, TEXT */
	bool differs;	  /* from the median one's */
};

struct slow_comparison {
	const struct slowest *slowest;
	const struct stats_file *files;
	unsigned n_files;
	unsigned n_rows, room;
	struct slow_row *rows;
	unsigned n_left_out; /* children */
	unsigned n_functions_left_out;
	unsigned n_stacks, n_stacks_left_out;
	struct slow_stacks {
		char *text;
		uint64_t most; /* in one of the slices */
		uint64_t counts[SLOWEST_MAX + 1];
	} * stacks;
	struct slow_tree joined; /* of all of them; total_ns is that of the one with most */
	uint32_t *order;	 /* scratch: nodes beside each other */
	uint32_t (*own)[SLOWEST_MAX +
			1];	     /* of each joined node: that of the instance plus 1, 0: none */
	char text[2][SLOW_TEXT_MAX]; /* of the latest value, and of the median one's */
};

/* max_children: 0 = all. Returns 0 or negative errno. */
int slow_compare(struct slow_comparison *c, const struct slowest *slowest,
		 const struct stats_file *files, unsigned n_files, unsigned max_children);
void slow_comparison_free(struct slow_comparison *c);
/* A text in it is valid until the next call. */
struct slow_value slow_value(struct slow_comparison *c, const struct slow_row *row,
			     unsigned instance);

#endif
