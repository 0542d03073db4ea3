/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state behind the comparison of slow slices, which is private to this folder: slowest.c
 * chooses the slices, slowest_watch.c collects what happens in them, slowest_stacks.c joins their
 * call stacks, slowest_rows.c compares them, and slowest_print.c, slowest_csv.c and slowest_json.c
 * print.
 */
#ifndef PROFTRACE_REPORTS_SLOWEST_SLOWEST_INTERNAL_H
#define PROFTRACE_REPORTS_SLOWEST_SLOWEST_INTERNAL_H

#include "reports/slowest/slowest.h"
#include "reports/waits.h"
#include "timeline/callstack.h"

enum {
	SLOWEST_ARGS = 2 * EVENT_MAX_ARGS, /* of the BEGIN and of the END */
	SLOWEST_NODES = 1024,		   /* slices inside one, of different names */
	SLOWEST_SEEN = 1 << 18,		   /* durations kept for the median */
	SLOWEST_FRAMES = 256,		   /* different frames that samples were in */
	SLOWEST_STACKS = 256,		   /* different call stacks of what began */
	SLOW_TEXT_MAX = 1024,
};

/* Identifies a slice: the first reading keeps this of each. */
struct slow_identity {
	uint64_t duration_ns;
	uint64_t begin_ns;
	uint64_t track; /* uuid of its thread, or of its lane if it is asynchronous */
	const struct name *name;
	const struct name *category;
};

/*
 * All slices of one name in the same place inside a compared slice. The first node is that slice
 * itself.
 */
struct slow_node {
	const struct name *category;
	const struct name *name;
	uint32_t parent;
	uint32_t child, next; /* the first child and the next sibling; 0: none */
	uint32_t recent;      /* the child that was found last */
	uint64_t count, total_ns, self_ns;
};

struct slow_tree {
	struct slow_node *nodes;
	uint32_t n, capacity;
};

struct slow_instance {
	struct slow_identity identity;
	enum {
		SLOW_AWAITED,
		SLOW_OPEN,
		SLOW_SEEN,
	} state;
	/* From the second reading. */
	unsigned trace;	    /* its index */
	uint64_t offset_ns; /* after the trace's first mark */
	uint32_t pid, tid;
	const struct name *process, *thread; /* may be NULL */
	uint64_t self_ns;
	bool has_states;
	struct slice_states states;
	uint64_t wait_ns; /* its longest wait; 0: none, or not recorded */
	char wait[4 * WAIT_TEXT];
	unsigned n_counters; /* EVENT_NO_VALUE: not known */
	const struct name *counters[EVENT_MAX_COUNTERS];
	uint64_t deltas[EVENT_MAX_COUNTERS], selves[EVENT_MAX_COUNTERS];
	bool stepped;
	struct arg epoch, batch;
	unsigned n_args; /* strings are copies */
	struct arg args[SLOWEST_ARGS];
	uint64_t marks_lost;
	/*
	 * Samples of its call stacks by their innermost frame. The functions of frames are known at
	 * the end.
	 */
	uint64_t samples, samples_other; /* all of them, and those beyond SLOWEST_FRAMES */
	unsigned n_frames, frames_capacity;
	struct slow_frame {
		const struct code_frame *frame;
		uint64_t count;
	} * frames;
	/* Call stacks of the slices and instants that began in it, and its own. */
	unsigned n_stacks, stacks_capacity;
	uint64_t stacks_other; /* those beyond SLOWEST_STACKS */
	struct slow_stack {
		const struct name *name; /* of the slice or instant */
		const struct callstack *callstack;
		uint64_t count;
	} * stacks;
	struct slow_tree tree;
	uint32_t *open; /* indices of nodes, outermost first */
	uint32_t n_open, open_capacity;
	bool failed; /* out of memory */
};

struct slowest {
	struct consumer consumer;
	struct slowest_options options;
	bool again;
	/* By the id of a name or a category: 0 not matched yet, 1 does not match, 2 matches. */
	uint8_t *names, *categories;
	uint32_t n_names, n_categories;
	uint64_t count; /* of slices that match */
	uint64_t random;
	/* a reservoir: at most SLOWEST_SEEN slices, each with the same probability */
	struct slow_identity *seen;
	uint32_t n_seen, seen_capacity;
	unsigned n_longest;
	struct slow_identity longest[SLOWEST_MAX];
	/* For the second reading: the median slice, then the longest ones, the longest first. */
	unsigned n_instances;
	struct slow_instance *instances;
	unsigned n_traces; /* that this reading has read so far */
	uint64_t first_ns; /* of this trace's first mark */
};

/*
 * slowest.c: instead of a first reading. `instances`: the median slice, then the longest ones, the longest first; `count`:
 * of all. Returns 0 or negative errno.
 */
int slowest_choose(struct consumer *slowest, const struct slow_identity *instances, unsigned n,
		   uint64_t count);

/* The uuid of the thread of a fact, or of the lane of an asynchronous slice; 0: neither. */
static inline uint64_t slow_track(const struct fact *fact)
{
	if (fact->kind == FACT_ASYNC_BEGIN || fact->kind == FACT_ASYNC_END)
		return fact->tracks[0]->uuid;
	return fact->thread ? fact->thread->uuid : 0;
}

/* slowest_watch.c */
int slow_watch(struct slowest *slowest, const struct fact *fact);
void slow_instance_clear(struct slow_instance *instance);
/* The child of that name, a new one if there is none. Out of memory, or with `max` nodes: 0. */
uint32_t slow_child(struct slow_tree *tree, uint32_t parent, const struct name *category,
		    const struct name *name, uint32_t max);

/*
 * How many samples were in a function; NULL: in functions without a known name, or beyond
 * SLOWEST_FRAMES. slow_functions() lists the functions of an instance, each once, and returns how
 * many.
 */
uint64_t slow_samples_in(const struct slow_instance *instance, const struct name *function);
unsigned slow_functions(const struct slow_instance *instance,
			const struct name *functions[SLOWEST_FRAMES + 1]);

/* slowest_stacks.c: adds the stack of what begins; joins stacks with the same text. */
void slow_add_stack(struct slow_instance *instance, const struct fact *fact);
struct slow_comparison;
int slow_join_stacks(struct slow_comparison *c, unsigned max);
/* "NAME: innermost < its caller < ...", without the kernel's frames if there are others. */
void slow_stack_text(const struct slow_stack *stack, char text[SLOW_TEXT_MAX]);

/* slowest_rows.c: the rows of the comparison. */
enum slow_part {
	SLOW_NAME,
	SLOW_FILE,
	SLOW_AT,
	SLOW_PROCESS,
	SLOW_THREAD,
	SLOW_STEP,
	SLOW_DURATION,
	SLOW_STATE, /* `which`: running, runnable, blocked, unknown, then the reasons of waits */
	SLOW_WAIT,
	SLOW_SELF,
	SLOW_CHILD,
	SLOW_CHILD_SELF, /* of a slice that has children */
	SLOW_SAMPLE,
	SLOW_STACK,
	SLOW_COUNTER,
	SLOW_ARG,
	SLOW_LOST,
	SLOW_HEADING, /* of the rows of part `which` */
};

#define SLOW_REASONS 4 /* `which` of the first reason */

struct slow_row {
	enum slow_part part;
	unsigned depth; /* CHILD, CHILD_SELF: 0 = directly in the slice */
	unsigned which; /* STATE; CHILD, CHILD_SELF: node of the merged tree; STACK */
	/* CHILD (NULL: several beyond a limit), SAMPLE (the same), COUNTER, ARG */
	const struct name *name;
};

struct slow_value {
	enum {
		SLOW_NONE,
		SLOW_TIME,
		SLOW_NUMBER,
		SLOW_TEXT,
	} kind;
	uint64_t ns;	  /* TIME */
	uint64_t count;	  /* CHILD: the number of slices */
	uint64_t self_ns; /* CHILD */
	struct arg arg;	  /* NUMBER, TEXT */
	bool differs;	  /* from the value of the median slice */
};

struct slow_comparison {
	const struct slowest *slowest;
	const struct stats_file *files;
	unsigned n_files;
	unsigned n_rows, capacity;
	struct slow_row *rows;
	unsigned n_left_out; /* children */
	unsigned n_functions_left_out;
	unsigned n_stacks, n_stacks_left_out;
	struct slow_stacks {
		char *text;
		uint64_t most; /* the largest of `counts` */
		uint64_t counts[SLOWEST_MAX + 1];
	} * stacks;
	struct slow_tree merged; /* of all slices; total_ns is the largest one */
	uint32_t *order;	 /* scratch: nodes to be sorted */
	/* For each merged node, the node in each instance plus 1; 0: none. */
	uint32_t (*own_node)[SLOWEST_MAX + 1];
	char text[2][SLOW_TEXT_MAX]; /* of the latest value, and of the median slice's */
};

/* max_children: 0 = all. Returns 0 or negative errno. */
int slow_compare(struct slow_comparison *c, const struct slowest *slowest,
		 const struct stats_file *files, unsigned n_files, unsigned max_children);
void slow_comparison_free(struct slow_comparison *c);
/* A text in it is valid until the next call. */
struct slow_value slow_value(struct slow_comparison *c, const struct slow_row *row,
			     unsigned instance);

#endif
