/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace report --ranks`: which rank of a parallel job comes last to its collectives, and what it did before. The
 * slices of a collective are joined over all ranks: the n-th of its name in a step is the same one everywhere. Traces
 * are put on one timeline as by `proftrace merge`, so nothing is kept of them but the joined collectives.
 *
 * This is the header to include from outside. It calls merge/, timeline/, reports/table/ and base/.
 */
#ifndef PROFTRACE_REPORTS_RANKS_RANKS_H
#define PROFTRACE_REPORTS_RANKS_RANKS_H

#include "reports/table/stats_print.h"

struct ranks_options {
	bool wanted;
	const char *
		name; /* a glob of the slices that are collectives; NULL: the names of MPI, NCCL and others */
	bool json, quiet;
	const struct stats_options *table; /* max_rows, color, width and unit apply */
	char **paths;
	unsigned n_paths;
};

/* Reads all traces and prints the report. Returns 0, or negative errno with `f` filled. */
int report_ranks(const struct ranks_options *options, FILE *out, struct failure *f);

#endif
