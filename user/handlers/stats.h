/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of names: Count, Total, Self, Min, Max, Avg per category and name, counters, pools. */
#ifndef PROFTRACE_HANDLERS_STATS_H
#define PROFTRACE_HANDLERS_STATS_H

#include <stdio.h>

#include "handlers/handler.h"

/* A handler that keeps rows in memory and writes nothing until asked. NULL when out of memory. */
struct handler *stats_handler_new(void);

struct stats_options {
	unsigned
		max_rows; /* of each part of the table, 0 = all; what is left out is said in a line */
	bool color;
	unsigned
		width; /* of the terminal; 0: not known. A narrow one gets no columns of counters */
};

/* Prints the table to `out`: slices (by Total, descending), asynchronous slices, counters. Nothing for parts without rows. */
void stats_print(const struct handler *stats, FILE *out, const struct stats_options *options);

/* For the status line and tests: facts counted so far. */
uint64_t stats_events(const struct handler *stats);

#endif
