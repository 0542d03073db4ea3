/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace diff`: what changed between two sets of traces, and why.
 *
 * Each trace is a run, of which every name has one value of each metric. A change is decided on by
 * a permutation test on the runs' values, which assumes nothing about their distribution; with one
 * trace on each side, blocks of its time take the place of runs. Memory is bounded: times are
 * counted in histograms, and nothing is kept of a single event.
 *
 * This is the header to include from outside. The folder calls the other reports, timeline/ and
 * base/.
 */
#ifndef PROFTRACE_REPORTS_DIFF_DIFF_H
#define PROFTRACE_REPORTS_DIFF_DIFF_H

#include <stdio.h>

#include "base/failure.h"
#include "reports/flame/flame.h"
#include "reports/table/stats_print.h"
#include "timeline/consumer.h"
#include "timeline/origin.h"

enum {
	DIFF_MAX_RUNS = 1000, /* of both sides together */
	DIFF_MAX_NAMES = 4096,
	DIFF_BLOCKS = 32, /* of a single run, at most */
	DIFF_COUNTERS = 8,
};

enum diff_format {
	DIFF_TABLE,
	DIFF_MARKDOWN,
	DIFF_JSON,
};

struct diff_options {
	const char *per;   /* the name of a slice that is a unit of work; NULL: none */
	double confidence; /* 0.99: how sure all decisions together have to be */
	double fail_over;  /* a share: regressions above it fail; negative: none does */
	unsigned max_rows; /* 0: all */
	enum diff_format format;
	bool color;
	unsigned width;
	bool with_flame;
};

struct diff;

/* `names`: of all traces; borrowed, like the options. NULL when out of memory. */
struct diff *diff_new(const struct diff_options *options, struct names *names);
void diff_free(struct diff *diff);

/* Runs are added one after the other, those of A first. `single`: the only one of its side. */
void diff_begin_run(struct diff *diff, bool is_b, bool single, const char *path);
/* The consumer of the run's facts. */
struct consumer *diff_consumer(struct diff *diff);
/* The run is complete. An error: it has nothing to be compared. */
int diff_end_run(struct diff *diff, const struct trace_origin *origin, struct failure *f);
/* Instead of facts: the contents of `report --format json`. */
int diff_add_saved(struct diff *diff, int fd, const char *path, struct failure *f);
/* Whether the file is such a report. Its position does not change. */
bool diff_is_saved(int fd);

/* Decides. An error: the sides have nothing in common. Prints on standard error what is odd. */
int diff_decide(struct diff *diff, bool quiet, struct failure *f);
/* Returns 0 or negative errno. */
int diff_print(const struct diff *diff, FILE *out);
/* Prints on standard error the names that regressed by more than `fail_over`; how many. */
unsigned diff_print_failures(const struct diff *diff, FILE *out);
/*
 * B compared with A: samples of call stacks if both have some, else the time of slices by the slices
 * around them. After diff_decide(). NULL without `with_flame`.
 */
struct flame *diff_flame(struct diff *diff, bool *ret_of_samples);

#endif
