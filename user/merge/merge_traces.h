/* SPDX-License-Identifier: BSD-2-Clause */
/* Several traces on one timeline: what `proftrace merge` does after it has read its options. */
#ifndef PROFTRACE_MERGE_MERGE_TRACES_H
#define PROFTRACE_MERGE_MERGE_TRACES_H

#include "merge/merge.h"

enum {
	MERGE_MAX_OFFSETS = 1024,
};

/* --offset: what is added to the times of a file. */
struct merge_offset {
	const char *file;
	size_t length;
	int64_t ns;
	bool used;
};

struct merge_traces {
	/* Set by the caller; `rewrite` by rewrite_init(). */
	struct rewrite rewrite;
	const char *outputs[REWRITE_MAX_OUTPUTS];
	unsigned n_outputs;
	struct merge_offset offsets[MERGE_MAX_OFFSETS];
	unsigned n_offsets;
	enum align align;
	bool join_flows;
	bool quiet;
	char **paths;
	unsigned n_parts;

	struct part *parts; /* n_parts of them */
	unsigned *order;
	unsigned at; /* the part that is being read */
	struct owners *owners;
	int64_t shift_ns; /* of all traces, if some begin before the zero of the clock */
	uint64_t before_zero, after_end; /* events whose time the formats cannot express */
	struct merge_sched *sched;
	uint64_t sched_twice,
		sched_elsewhere; /* scheduling events left out: duplicates, other machines */
};

/* Reads all traces and writes the outputs. What is left to do then: print `parts`, and free. */
int merge_traces(struct merge_traces *m, struct failure *f);
void merge_traces_free(struct merge_traces *m);

#endif
