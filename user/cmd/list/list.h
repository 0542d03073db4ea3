/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of `proftrace list`: files named on the command line (list.c), or those of a process
 * (list_process.c).
 */
#ifndef PROFTRACE_CMD_LIST_LIST_H
#define PROFTRACE_CMD_LIST_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/failure.h"

struct list {
	bool verbose;
	bool functions;	    /* list functions instead of markers and probes */
	unsigned n_markers; /* sites found, in all files together */
	unsigned n_probes;
	unsigned n_unnamed; /* of these, those that did not fit below */
	char searched[200]; /* paths, for the message if nothing was found */
};

/*
 * Reads the two semaphores of a domain, at a file offset, from the memory of a process. False:
 * unknown.
 */
struct list_semaphores {
	bool (*read)(void *context, uint64_t offset, uint16_t ret_values[2]);
	void *context;
};

/*
 * Prints the markers and probes of one ELF file. `semaphores` NULL: no process. `quiet`: nothing if
 * it has none.
 */
int list_file(struct list *list, int fd, const char *path, const struct list_semaphores *semaphores,
	      bool quiet, struct failure *f);

/* Prints the functions of one ELF file. */
int list_functions(struct list *list, int fd, const char *path, struct failure *f);

/* Sets the failure that nothing was found, of a process if `pid` is not 0, and returns it. */
int list_no_markers(pid_t pid, const char *reason, struct failure *f);

/* Prints the markers and probes of all files that a process has mapped executable. */
int list_process(struct list *list, pid_t pid, struct failure *f);

#endif
