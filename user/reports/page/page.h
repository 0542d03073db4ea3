/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace report --html`: one HTML file that shows traces in a browser, without network and of bounded size. It has
 * the table, and a timeline of two parts: the density of everything, and in full detail either everything, or what is
 * around some instances of slices. The traces are read twice only if they are too large for full detail.
 *
 * This is the header to include from outside. It calls the other reports, timeline/, formats/sink.h and base/.
 */
#ifndef PROFTRACE_REPORTS_PAGE_PAGE_H
#define PROFTRACE_REPORTS_PAGE_PAGE_H

#include "reports/reading.h"
#include "reports/slowest/slowest.h"

enum {
	PAGE_NAMES = 16,	/* --slowest with --html */
	PAGE_LARGEST = 2000000, /* bytes of the file */
};

/* Strings are borrowed. */
struct page_options {
	const char *output; /* NULL or "-": standard output */
	const struct stats_options *table;
	/* Whose slowest and median instances are shown in full detail; none: those that take the most time. */
	unsigned n_slowest;
	const struct slowest_options *slowest;
};

/* A consumer for READING_PAGE. NULL when out of memory. */
struct consumer *page_new(const struct page_options *options);
/* What is not selected comes as slices without an END of their own. */
void page_select(struct consumer *page);
void page_next_trace(struct consumer *page, const struct reading *reading);
/* As `again` of a reading. */
int page_again(struct consumer *page);
/* As `wants_samples`. */
bool page_wants_samples(struct consumer *page);
/* Writes the file, after the reading. Returns 0 or negative errno. */
int page_write(struct consumer *page, const struct reading *reading, struct failure *f);

#endif
