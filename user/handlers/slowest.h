/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The longest slices of a name, beside the one whose duration is the median: what was different in
 * them. The traces are read twice. The first time it is found out which slices these are, for which
 * only durations are kept; the second time, what happened in them.
 */
#ifndef PROFTRACE_HANDLERS_SLOWEST_H
#define PROFTRACE_HANDLERS_SLOWEST_H

#include "handlers/handler.h"
#include "handlers/stats_print.h"

enum {
	SLOWEST_MAX = 50,
};

struct slowest_options {
	const char *name; /* a glob; borrowed, as the others are */
	const char *const *domains;
	unsigned n_domains;
	unsigned n; /* of the longest, at most SLOWEST_MAX */
};

/* A handler that keeps what it is for in memory and writes nothing until asked. NULL: out of memory. */
struct handler *slowest_handler_new(const struct slowest_options *options);

/* One of several traces is over, each time that it is read. */
void slowest_next_trace(struct handler *slowest);

/* All traces were read: they come again, the same and in the same order. Returns 0 or negative errno. */
int slowest_again(struct handler *slowest);

/* After the second time: false when the traces were others than the first time. */
bool slowest_complete(const struct handler *slowest);

/*
 * As stats_print.h has it. Of `options` count max_rows (children of slices), color, width and unit;
 * `files` are the traces in the order in which they were read.
 */
int slowest_print_table(const struct handler *slowest, FILE *out,
			const struct stats_options *options, const struct account *account,
			const struct stats_file *files, unsigned n_files, struct failure *f);
int slowest_print_csv(const struct handler *slowest, FILE *out, const struct stats_options *options,
		      const struct account *account, const struct stats_file *files,
		      unsigned n_files, struct failure *f);
int slowest_print_json(const struct handler *slowest, FILE *out, const struct account *account,
		       const struct stats_file *files, unsigned n_files);

#endif
