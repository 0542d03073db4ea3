/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs of commands, one after the other, each in a recording of its own: what `proftrace bench` measures.
 *
 * This process may be privileged, and only starts others: every file is made by a process that has
 * become the invoking user, and every trace is read after this one has.
 */
#ifndef PROFTRACE_RECORD_RUNS_H
#define PROFTRACE_RECORD_RUNS_H

#include <limits.h>
#include <stdbool.h>

#include "base/failure.h"

enum {
	RUNS_MAX = 500, /* of each command: `diff` compares 1000 traces */
	RUNS_OPTIONS = 64,
};

enum run_side {
	RUN_A,
	RUN_B,
	RUN_SIDES,
};

struct runs {
	char *const *commands[RUN_SIDES];  /* A may be NULL: one command is measured */
	const char *options[RUNS_OPTIONS]; /* of `proftrace record` */
	unsigned n_options;
	unsigned n, warmups;   /* of each command */
	const char *directory; /* where the traces stay; NULL: in a temporary one */
	bool ignore_failures, show_output, quiet;

	char path[PATH_MAX]; /* of the directory */
	char *traces[RUN_SIDES][RUNS_MAX];
	unsigned n_traces[RUN_SIDES];
};

/* "-o" and the path of a trace, the options, "--" and the command. Returns their number. */
unsigned runs_arguments(const struct runs *runs, enum run_side side, const char *trace,
			const char **ret_argv, unsigned max);
/*
 * Makes the directory, runs the commands A B B A A B ..., and fills in `traces`. What happens to the
 * machine meanwhile happens to both. Returns 0 or negative errno; -EINTR after Ctrl-C.
 */
int runs_record(struct runs *runs, struct failure *f);
/* Removes the traces unless they were wanted. After invoker_become(). */
void runs_free(struct runs *runs);

#endif
