/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads traces for reports: one after the other, each through a timeline of its own, with one table
 * of names. Conditions (select/) lie between the timelines and the report's consumer.
 *
 * This is a header to include from outside. It calls merge/, formats/ and timeline/.
 */
#ifndef PROFTRACE_REPORTS_READING_H
#define PROFTRACE_REPORTS_READING_H

#include "base/failure.h"
#include "merge/rewrite.h"
#include "reports/select/select.h"
#include "reports/table/stats_print.h"

enum {
	READING_ENOUGH = 1, /* another reading is not needed */
};

struct reading {
	/* Set by the caller, before reading_init(). */
	enum {
		READING_ONCE,	/* what ends: tables */
		READING_WHOLE,	/* the same, without conditions: --critical */
		READING_PLACES, /* the same, with the slices around it: comparisons */
		READING_TWICE,	/* all traces, `again`, and all traces once more: --slowest */
		READING_PAGE, /* the same, the first time with the slices around what is selected */
		READING_SAMPLES, /* samples of call stacks within what is selected */
	} how;
	char **paths;
	unsigned n_paths;
	bool quiet;
	const struct select_options *select; /* NULL: everything */
	/* Also later, if it needs the names; then it is added to the selection by the caller. */
	struct consumer *consumer;
	/* A trace has been read to its end. */
	void (*next_trace)(struct consumer *consumer, const struct reading *reading);
	/* Returns 0, READING_ENOUGH, or negative errno. */
	int (*again)(struct consumer *consumer);
	/* READING_PAGE with `select`: whether it also needs what READING_SAMPLES has, and gets nothing else from now on. */
	bool (*wants_samples)(struct consumer *consumer);

	struct names *names;
	struct callstacks *callstacks; /* NULL: samples are ignored */
	struct consumer *selection;    /* NULL without `select` */
	struct stats_file *files;
	uint64_t (*uuids)[2]; /* of the files; both formats of a recording have the same */
	unsigned n_files;     /* read so far */
	struct account account;
	bool is_again, only_samples;
	/* The trace that was read last. */
	struct trace_origin origin;
	bool is_whole; /* up to its end, as far as this is known */
};

/* Returns 0 or -ENOMEM. */
int reading_init(struct reading *r, bool with_callstacks);
/* Reads all traces. The first error ends it: a report without one of the traces would be wrong. */
int reading_read(struct reading *r, struct failure *f);
/* Reads one trace, neither READING_TWICE nor READING_PAGE. */
int reading_read_path(struct reading *r, const char *path, struct failure *f);
void reading_free(struct reading *r);

#endif
