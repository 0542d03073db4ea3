/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a comparison, private to this folder: diff_collect.c counts the facts of a run,
 * diff.c makes values of them, diff_saved.c reads them from a report, diff_test.c decides,
 * diff_why.c and diff_functions.c explain, and diff_print.c, diff_json.c and diff_cells.c print.
 */
#ifndef PROFTRACE_REPORTS_DIFF_DIFF_INTERNAL_H
#define PROFTRACE_REPORTS_DIFF_DIFF_INTERNAL_H

#include <math.h>

#include "base/hash.h"
#include "reports/diff/diff.h"

enum diff_kind {
	DIFF_SLICE,
	DIFF_ASYNC,
	DIFF_FRAME,
	DIFF_INSTANT,
	DIFF_COUNTER,
};

enum diff_metric {
	METRIC_COUNT, /* per unit of work, like the other sums */
	METRIC_P50,   /* ns */
	METRIC_P95,
	METRIC_TOTAL,
	METRIC_SELF,
	METRIC_RUNNING,
	METRIC_RUNNABLE,
	METRIC_BLOCKED,
	METRIC_AVERAGE, /* of a counter of the program */
	METRIC_COUNTED, /* and DIFF_COUNTERS - 1 more: what was counted in slices */
	METRICS = METRIC_COUNTED + DIFF_COUNTERS,
};

/* A histogram of times with 128 buckets for each power of two: within 0.8 %. */
struct diff_histogram {
	uint32_t *counts; /* of the groups from `first` on */
	uint8_t first, n;
};

/* What is counted of a name, in a run or in a block of it. */
struct diff_sums {
	uint64_t count;
	uint64_t total, self, running, runnable, blocked; /* ns */
	uint64_t states;				  /* slices whose states are known */
	uint64_t counted[DIFF_COUNTERS];
	uint64_t with_counter[DIFF_COUNTERS]; /* slices for which that is known */
	double value;			      /* COUNTER: the sum of its samples */
	struct diff_histogram histogram;
};

struct diff_key {
	const struct name *category, *name; /* of a counter: with the series */
	uint64_t kind;
};

struct diff_row {
	struct diff_key key;
	struct diff_sums *blocks; /* of this run; DIFF_BLOCKS of them, or 1 */
	/* Of the whole side, for explanations. */
	struct diff_sums side[2];
	/* [sample][metric]; NAN: not known. Missing runs at the end have no values of this name. */
	float *values;
	uint32_t n_values;	     /* samples for which there is space */
	unsigned runs[2];	     /* in how many samples of each side it is */
	struct diff_result *results; /* by metric */
	enum diff_verdict {
		VERDICT_NONE, /* nothing that can be told from noise */
		VERDICT_SLOWER,
		VERDICT_FASTER,
		VERDICT_CHANGED, /* counts or counters, but no time */
		VERDICT_ONLY_A,
		VERDICT_ONLY_B,
		VERDICT_UNTESTED, /* too few runs */
	} verdict;
	double weight;			  /* for the order in which they are shown */
	struct diff_functions *functions; /* NULL: no samples, or not one of the largest changes */
	struct diff_row *parent;	  /* in which it takes most of its time; NULL: in none */
	uint64_t parent_ns;
	UT_hash_handle hh;
};

struct diff_result {
	bool known;	  /* both sides have values in all runs */
	double a, b;	  /* medians of the sides */
	double change;	  /* as a share of a; NAN: not a ratio */
	double low, high; /* its interval */
	double p;	  /* adjusted for all that was looked at */
	bool decided;
	bool is_alone;	 /* the change is without what all names of a run have in common */
	unsigned needed; /* runs on each side that would tell it from noise; 0: not known */
};

/* The time that slices of one name spent directly inside slices of another. */
struct diff_edge {
	struct diff_edge_key {
		struct diff_row *parent, *child;
	} key;
	uint64_t total[2], count[2];
	UT_hash_handle hh;
};

struct diff_frame {
	struct diff_row *row;
	const struct name *name;
};

struct diff_thread {
	uint64_t uuid;
	struct diff_frame *frames;
	uint32_t n_frames, capacity;
	UT_hash_handle hh;
};

enum {
	DIFF_RECENT = 1024, /* rows that are found at once; a power of two */
	DIFF_RECENT_THREADS = 64,
	DIFF_MAX_EDGES = 1 << 16,
	DIFF_MAX_GROUPS = 1 << 19, /* of all histograms together: 256 MiB */
};

struct diff_run {
	const char *path;
	bool is_b, is_saved;
	uint64_t lost;
	double scheduled; /* the share of its marks that its schedule recorded */
	bool has_clock;
	char host[65], machine[65];
	bool has_program;
	char process[64]; /* its name */
	uint32_t process_pid;
	unsigned first_sample;
};

struct diff {
	struct consumer consumer;
	const struct diff_options *options;
	struct names *names;
	struct diff_run *runs;
	unsigned n_runs;
	double units[2];	       /* of work, on each side */
	unsigned n_samples, n_side[2]; /* samples of A come first */
	bool in_blocks;
	struct diff_row *rows, *recent[DIFF_RECENT];
	const struct name *series_name, *series_key, *series; /* the latest counter with one */
	uint64_t rows_left_out;				      /* facts of names beyond the limit */
	uint64_t groups;				      /* that all histograms have now */
	struct diff_edge *edges;
	struct diff_thread *threads, *recent_threads[DIFF_RECENT_THREADS];
	const struct name *counters[DIFF_COUNTERS];
	unsigned n_counters;
	/* Of this run. */
	bool is_b;
	uint64_t first_ns, last_ns, block_ns;
	struct flame *flame;
	bool flame_of_samples;
	struct consumer *samples[2]; /* of call stacks, on each side */
	struct flame_frame stack[64];
	/* After diff_decide(). */
	struct diff_row **order; /* by weight */
	unsigned n_order, n_tests, most_permutations;
	bool testable;
	unsigned least_runs; /* that can tell anything at this confidence */
	bool failed;	     /* out of memory */
};

/*
 * Whether the states of enough slices are known: where a recording begins, and where context
 * switches were lost, they are not. Those of the others are taken to be alike.
 */
static inline bool diff_knows_states(const struct diff_sums *sums)
{
	return sums->states && sums->states >= sums->count - sums->count / 5;
}

/* diff_collect.c */
extern const struct consumer_ops diff_ops;
struct diff_row *diff_row_get(struct diff *d, enum diff_kind kind, const struct name *category,
			      const struct name *name);
void diff_sums_merge(struct diff *d, struct diff_sums *to, const struct diff_sums *from);
void diff_sums_free(struct diff *d, struct diff_sums *sums);
/* NAN: the histogram is empty. */
double diff_percentile(const struct diff_histogram *h, double share);
void diff_threads_forget(struct diff *d);

/* diff.c: the values of a sample, which are NAN before they are set. NULL when out of memory. */
float *diff_row_values(struct diff_row *row, unsigned sample);
double diff_value(const struct diff_row *row, unsigned sample, enum diff_metric metric);

/* diff_test.c: fills the results of all rows. Returns 0 or -ENOMEM. */
int diff_test(struct diff *d);

/* diff_why.c: where the change of a slice's average time comes from. */
enum {
	DIFF_CAUSES = 8,
};

struct diff_why {
	double change_ns, self_ns; /* of the average of one slice */
	bool has_states;
	double running_ns, runnable_ns, blocked_ns;
	unsigned n_children; /* those with the largest part in the change first */
	struct diff_cause {
		const struct diff_row *row;
		double change_ns;
	} children[DIFF_CAUSES];
	unsigned n_counters;
	struct diff_counter_change {
		const struct name *name;
		double a, b; /* per slice */
	} counters[DIFF_COUNTERS];
	/* From the outermost slice to where the time went. */
	unsigned n_path;
	const struct diff_row *path[DIFF_CAUSES];
};

void diff_explain(const struct diff *d, const struct diff_row *row, struct diff_why *ret);
void diff_find_parents(struct diff *d);

/* diff_functions.c: in which functions this time is spent. */
struct diff_functions {
	uint64_t samples[2]; /* within such slices, on each side */
	unsigned n; /* those that changed most, by more than chance explains; the largest first */
	struct diff_function {
		const struct name *name, *caller; /* `caller`: NULL if there is none */
		uint64_t samples[2];
		double change_ns; /* of the average of one slice */
	} functions[DIFF_CAUSES];
};

bool diff_has_samples(const struct diff *d, bool is_b);
/* For the rows with the largest changes, which are in order. Returns 0 or -ENOMEM. */
int diff_find_functions(struct diff *d);

/* diff_cells.c: what people read. */
enum {
	DIFF_CELL = 160,
};

void diff_format_value(char *out, size_t size, enum diff_metric metric, double value);
/* "+5.1 % [+4.2, +6.0]", or less if it was not decided */
void diff_format_change(char *out, size_t size, const struct diff_result *result, bool interval);
const char *diff_verdict_text(const struct diff_row *row);
const char *diff_metric_name(const struct diff *d, enum diff_metric metric);
const char *diff_row_title(const struct diff_row *row, char out[DIFF_CELL]);
const char *diff_unit_text(const struct diff *d, char out[DIFF_CELL]);
bool diff_metric_is_time(enum diff_metric metric);
/* Whether a time is decided to have grown; if several are, the one with the largest change. */
bool diff_row_regressed(const struct diff_row *row, double *ret_change,
			enum diff_metric *ret_metric);

/* diff_json.c */
int diff_print_json(const struct diff *d, FILE *out);

#endif
