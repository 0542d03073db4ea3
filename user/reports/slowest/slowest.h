/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace report --slowest`: the longest slices of a name side by side with the slice of median
 * duration, so that people see what was different in them. The traces are read twice: the first
 * reading finds out which slices these are and keeps only durations; the second one collects what
 * happened in them.
 *
 * This is the header to include from outside. It calls timeline/, reports/table/ and base/.
 */
#ifndef PROFTRACE_REPORTS_SLOWEST_SLOWEST_H
#define PROFTRACE_REPORTS_SLOWEST_SLOWEST_H

#include "timeline/consumer.h"
#include "reports/table/stats_print.h"

enum {
	SLOWEST_MAX = 50,
};

struct slowest_options {
	const char *name; /* a glob; borrowed, like the other members */
	const char *const *domains;
	unsigned n_domains;
	unsigned n; /* how many of the longest, at most SLOWEST_MAX */
};

/* A consumer that keeps everything in memory until it is printed. NULL when out of memory. */
struct consumer *slowest_new(const struct slowest_options *options);

/* One of several traces has been read to its end; in both readings. */
void slowest_next_trace(struct consumer *slowest);

/*
 * The first reading is complete: the same traces follow again, in the same order. Returns 0 or
 * negative errno.
 */
int slowest_again(struct consumer *slowest);

/* After the second reading: false when the traces differed from those of the first reading. */
bool slowest_complete(const struct consumer *slowest);

/*
 * As in stats_print.h. Of `options`, max_rows (slices inside), color, width and unit apply; `files`
 * are the traces in the order in which they were read.
 */
int slowest_print_table(const struct consumer *slowest, FILE *out,
			const struct stats_options *options, const struct account *account,
			const struct stats_file *files, unsigned n_files, struct failure *f);
int slowest_print_csv(const struct consumer *slowest, FILE *out,
		      const struct stats_options *options, const struct account *account,
		      const struct stats_file *files, unsigned n_files, struct failure *f);
int slowest_print_json(const struct consumer *slowest, FILE *out, const struct account *account,
		       const struct stats_file *files, unsigned n_files);

/* The cells of the table as JSON, for the page: null if no slice matches. */
int slowest_print_cells(const struct consumer *slowest, FILE *out, const struct stats_file *files,
			unsigned n_files);

#endif
