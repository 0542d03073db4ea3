/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selections: the slices, instants and samples of counters that satisfy --where, --from and --to.
 *
 * A selection is a consumer between the timeline and other consumers. Whether a slice satisfies a
 * condition is known when it ends. So a table gets what ended (SELECT_ENDS), while a flame graph or
 * a smaller trace needs two readings: the first one decides for each slice, one bit in the order of
 * their BEGINs (SELECT_DECIDE), and the second one passes on what was selected. All of them ask the
 * same function, so the same condition selects the same slices.
 *
 * This and condition.h are the headers to include from outside. The folder calls timeline/ and
 * base/.
 */
#ifndef PROFTRACE_REPORTS_SELECT_SELECT_H
#define PROFTRACE_REPORTS_SELECT_SELECT_H

#include "reports/select/condition.h"
#include "timeline/consumer.h"

/* A bound of the time, as an option states it. */
struct select_time {
	bool is_set;
	bool absolute; /* of the trace's clock instead of its start */
	uint64_t ns;
};

enum select_by {
	BY_NOTHING,
	BY_THREAD,
	BY_PROCESS,
	BY_RANK,
	BY_ARGUMENT,
};

/* --where, --from, --to and --by; strings are borrowed. All zero: everything is selected. */
struct select_options {
	const char *text; /* of --where, which compiles; NULL: there is none */
	bool uses_start;  /* it looks at the time since the trace's start */
	struct select_time from, to;
	enum select_by by;
	const char *by_key;
};

bool select_is_wanted(const struct select_options *options);
/* Whether the time of the trace's first mark has to be known before it is read. */
bool select_needs_start(const struct select_options *options);

enum select_mode {
	SELECT_ENDS, /* everything, except what ended and was not selected */
	/* The same, but a slice that is not selected ends as if it had no END of its own. */
	SELECT_PLACES,
	SELECT_TABLE, /* SELECT_ENDS without BEGINs and arrows, whose times are not those of a table */
	SELECT_DECIDE,	/* nothing: decides */
	SELECT_CUT,	/* what SELECT_DECIDE has decided on, with all that belongs to it */
	SELECT_SAMPLES, /* samples within the slices that SELECT_DECIDE has decided on */
	SELECT_ALL,	/* everything */
};

struct select_count {
	uint64_t slices, selected;	  /* those that ended, and of these */
	uint64_t others, others_selected; /* instants and samples of counters */
	/* SELECT_CUT: */
	uint64_t marks_left_out;
	uint64_t open;		     /* slices that are selected and have not ended so far */
	uint64_t flows_without_end;  /* one end is selected, and one is not */
	uint64_t flows_not_followed; /* ends beyond a limit */
};

enum {
	SELECT_OUTS = 64,
};

/* `names`: of the traces, borrowed like the options. NULL when out of memory. */
struct consumer *select_new(const struct select_options *options, struct names *names);
/*
 * A consumer that gets what is selected; borrowed, at most SELECT_OUTS. An error is kept in that
 * consumer; the selection fails with the last one.
 */
int select_add_out(struct consumer *select, struct consumer *out);
/*
 * The next facts are of another reading. `first_ns`: the time of the trace's first mark; `rank`: of
 * the trace, may be empty.
 */
void select_begin(struct consumer *select, enum select_mode mode, uint64_t first_ns,
		  const char *rank);
/* The reading is complete: decides on the slices that are still open. The timeline still exists. */
void select_end(struct consumer *select);
struct select_count select_counts(const struct consumer *select);
/* The first and last marks of this reading within --from and --to; false: there were none. */
bool select_span(const struct consumer *select, uint64_t *ret_first_ns, uint64_t *ret_last_ns);
/* SELECT_ENDS, SELECT_TABLE: called with the group of each selected fact before it is passed on. */
void select_group_by(struct consumer *select,
		     void (*set_group)(struct consumer *out, const struct name *group));

#endif
