/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of `list` share: files named on the command line, or those of a process. */
#ifndef PROFTRACE_CMD_LIST_H
#define PROFTRACE_CMD_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "failure.h"

struct list {
	bool verbose;
	bool functions;	    /* and not what else there is */
	unsigned n_markers; /* sites found, in all files together */
	unsigned n_probes;
	unsigned n_searched;
	unsigned n_unnamed; /* of these, how many did not fit below */
	char searched[200]; /* their paths, for the message when nothing was found */
};

/* Reads the two switches that lie at an offset of the file in a running process: false = unknown. */
struct list_switches {
	bool (*read)(void *context, uint64_t switch_offset, uint16_t ret_values[2]);
	void *context;
};

/*
 * Prints what is in one ELF file. `switches` NULL: no process. `quiet`: a file with nothing in it
 * goes without a line.
 */
int list_file(struct list *list, int fd, const char *path, const struct list_switches *switches,
	      bool quiet, struct failure *f);

/* Prints the functions of one ELF file. */
int list_functions(struct list *list, int fd, const char *path, struct failure *f);

/* Prints what is in the files that a process has mapped executable. */
int list_process(struct list *list, pid_t pid, struct failure *f);

#endif
