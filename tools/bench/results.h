/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The measured samples, in the cells of the rows and columns of a section. Rows and columns appear
 * in the order in which they were first used. All outputs are made from these.
 */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include <stdbool.h>
#include <stdio.h>

enum {
	MAX_SAMPLES = 16
};

struct cell {
	const char *section, *row, *column, *unit;
	unsigned n;
	double samples[MAX_SAMPLES];
	double median, min, max; /* kept up to date */
};

struct results {
	unsigned n_cells, n_notes, n_facts;
	struct cell *cells;
	char **notes; /* sentences under the table of a section: "section\0sentence" */
	char **facts; /* about the machine: "name\0value" */
};

/* Section, row, column and unit must outlive the results. Ends the program when memory runs out. */
void results_add(struct results *r, const char *section, const char *row, const char *column,
		 const char *unit, double sample);
/* The same note is kept once. */
void results_note(struct results *r, const char *section, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void results_fact(struct results *r, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
const struct cell *results_find(const struct results *r, const char *section, const char *row,
				const char *column);
/* The latest sample; NAN without one. */
double results_last(const struct results *r, const char *section, const char *row,
		    const char *column);
void results_free(struct results *r);

void print_tables(const struct results *r, FILE *out);
void print_json(const struct results *r, FILE *out);
void print_chart(const struct results *r, FILE *out);

#endif
