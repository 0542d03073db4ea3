/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace report --critical`: on what each slice of a name was waiting at each moment, across
 * threads and processes. The traces are kept in memory: the states of threads, who woke whom, the
 * slices and the arrows. Then each slice is followed from its end to its begin (critical_walk.c).
 * The parts of a path add up to the slice's duration to the nanosecond, and what was not recorded is
 * a part of its own.
 *
 * This is the header to include from outside. It calls timeline/, reports/table/ and base/.
 */
#ifndef PROFTRACE_REPORTS_CRITICAL_CRITICAL_H
#define PROFTRACE_REPORTS_CRITICAL_CRITICAL_H

#include "reports/table/stats_print.h"
#include "timeline/consumer.h"

/* `name`: a glob, borrowed. NULL when out of memory. */
struct consumer *critical_new(const char *name);
/* A trace has been read to its end. */
void critical_next_trace(struct consumer *critical);

/*
 * Each returns 0, or negative errno with `f` filled: out of memory, or the trace is too large. Of
 * `options`, max_rows, color, width and unit apply.
 */
int critical_print_table(struct consumer *critical, FILE *out, const struct stats_options *options,
			 const struct account *account, struct failure *f);
int critical_print_json(struct consumer *critical, FILE *out, const struct account *account,
			const struct stats_file *files, unsigned n_files, struct failure *f);

#endif
