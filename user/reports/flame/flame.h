/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flame graphs: call stacks, each as wide as its share of the samples. As a picture, an SVG file
 * that needs nothing else, and as folded text, one line per stack, which other tools read.
 *
 * This is the header to include from outside. It calls timeline/, formats/sink.h and base/.
 */
#ifndef PROFTRACE_REPORTS_FLAME_FLAME_H
#define PROFTRACE_REPORTS_FLAME_FLAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/failure.h"
#include "timeline/consumer.h"

enum flame_kind {
	FLAME_NATIVE,
	FLAME_INLINED,
	FLAME_JIT,
	FLAME_PYTHON,
	FLAME_KERNEL,
	FLAME_OTHER, /* not code: a process */
};

enum {
	FLAME_MAX_FRAMES = 1 << 20, /* of all stacks; shared frames count once */
	FLAME_MAX_DEPTH = 2048,
};

struct flame_frame {
	const struct name *name;
	enum flame_kind kind;
};

struct flame_text {
	const char *title;
	const char *subtitle; /* may be NULL */
	const char *unit;     /* "samples" */
};

struct flame;

/* NULL when out of memory. */
struct flame *flame_new(void);
void flame_free(struct flame *flame);
/* Adds a stack, the outermost frame first. Beyond a limit the stack is cut, which is counted. */
void flame_add(struct flame *flame, const struct flame_frame *frames, unsigned n, uint64_t weight);
/*
 * For a differential graph: adds to what is compared (`is_after`), whose weights are the widths, or
 * to what it is compared with, which gives the colours. flame_compare() says how many times more
 * units of work there were after; without it the graph has one side.
 */
void flame_add_side(struct flame *flame, const struct flame_frame *frames, unsigned n,
		    uint64_t weight, bool is_after);
void flame_compare(struct flame *flame, double ratio);
/* What flame_add() adds from now on is of that side. */
void flame_add_to(struct flame *flame, bool is_after);
uint64_t flame_cut(const struct flame *flame); /* weight of the stacks that were cut */
void flame_weights(const struct flame *flame,
		   uint64_t ret[2]); /* of all stacks, before and after */

/* Errors of writing are those of `out`. Returns 0 or -ENOMEM. */
int flame_write_folded(struct flame *flame, FILE *out);
void flame_write_svg(struct flame *flame, const struct flame_text *text, FILE *out);
/*
 * Frames as [name, class of flame.css, depth, begin, weight], without those that are narrower than this share of
 * everything.
 */
void flame_write_json(struct flame *flame, double least_share, FILE *out);

/* --- flame_functions.c: the functions of a differential graph --- */

/* Samples before and after ([0] and [1]). */
struct flame_function {
	const struct name *name;
	const struct name *caller; /* in which `self` changed most; NULL: the outermost frame */
	uint64_t self[2];	   /* in the function itself */
	uint64_t total[2];	   /* and in what it calls */
};

/* In no order. Returns 0 or -ENOMEM; in both cases the caller frees `*ret`. */
int flame_functions(const struct flame *flame, struct flame_function **ret, unsigned *ret_n);

/* --- flame_samples.c: from the samples of traces to a flame graph --- */

/*
 * A consumer that counts how often each stack occurred, by the name of the process. `slice`: only
 * samples on threads that are within a slice of such a name (a glob, borrowed); NULL: all. NULL
 * when out of memory.
 */
struct consumer *flame_samples_new(const char *slice);

struct flame_samples_count {
	uint64_t samples; /* of all traces */
	uint64_t within;  /* within such a slice */
	uint64_t unnamed; /* within such a slice, with a frame whose function is not known */
	/* flame_samples_keep_slices(): samples with more slices around them than are remembered */
	uint64_t slices_cut;
};

void flame_samples_counts(const struct consumer *consumer, struct flame_samples_count *ret);

/*
 * Call it after the last trace, while the callstacks still exist: then frames have the names of
 * their functions. `names` is the table of these names. Returns 0 or negative errno.
 */
int flame_samples_fill(struct consumer *consumer, struct names *names, struct flame *flame);

/* Before the first sample: the slices around each one are remembered, so that names can be chosen at the end. */
void flame_samples_keep_slices(struct consumer *consumer);
/* As flame_samples_fill(), only samples within slices of that name (NULL: all). */
int flame_samples_fill_within(struct consumer *consumer, struct names *names,
			      const struct name *slice, struct flame *flame, uint64_t *ret_unnamed);

/* --- report_flame.c: `proftrace report --flame` --- */

struct flame_options {
	bool wanted;
	const char *slice;  /* only samples within slices of such a name, a glob; NULL: all */
	const char *output; /* NULL or "-": folded stacks on standard output */
	bool quiet;
};

/* Why `output` cannot be the name of a flame graph; NULL: it can. */
const char *flame_output_wrong(const char *output);

/*
 * Writes a graph to a file whose name selects the format as above, or not at all. Returns 0 or
 * negative errno.
 */
int flame_write_file(struct flame *flame, const struct flame_text *text, const char *path,
		     struct failure *f);

/* `paths`: the traces, which the consumer has read. Returns 0 or negative errno. */
int report_flame(const struct flame_options *options, struct consumer *consumer,
		 struct names *names, char *const *paths, unsigned n_paths, struct failure *f);

#endif
