/* SPDX-License-Identifier: BSD-2-Clause */
/* The statistics as tables for people, as JSON and as CSV for programs. */
#ifndef PROFTRACE_HANDLERS_STATS_PRINT_H
#define PROFTRACE_HANDLERS_STATS_PRINT_H

#include <stdio.h>

#include "failure.h"
#include "handlers/stats.h"

enum stats_unit {
	STATS_UNIT_AUTO,
	STATS_UNIT_NS,
	STATS_UNIT_US,
	STATS_UNIT_MS,
	STATS_UNIT_S,
};

/* All zero: everything, as it comes, by Total. Strings are borrowed. */
struct stats_options {
	unsigned max_rows; /* of each part, 0 = all; what is left out is said in a line */
	bool color;
	unsigned width; /* of the terminal: no line is wider. 0: not known, everything is shown */
	enum stats_unit unit;
	const char *sort; /* a column's name; NULL: Total, or what a part has in its place */
	bool ascending;
	const char *columns;	    /* names, separated by commas; NULL: the usual ones */
	const char *const *domains; /* globs of categories, !GLOB leaves out */
	unsigned n_domains;
	const char *const *names; /* the same, of names */
	unsigned n_names;
};

/* A trace that was read, for the JSON. */
struct stats_file {
	const char *path;
	uint64_t truncated_at; /* byte; meaningful with is_truncated */
	bool is_truncated;
};

/*
 * Each returns 0, or negative errno with `f` filled: a column that does not exist here. `account`:
 * of what went wrong while it was recorded and read, NULL: that is said elsewhere.
 */
int stats_print_table(const struct handler *stats, FILE *out, const struct stats_options *options,
		      const struct account *account, struct failure *f);
int stats_print_csv(const struct handler *stats, FILE *out, const struct stats_options *options,
		    const struct account *account, struct failure *f);
int stats_print_json(const struct handler *stats, FILE *out, const struct stats_options *options,
		     const struct account *account, const struct stats_file *files,
		     unsigned n_files, struct failure *f);

#endif
