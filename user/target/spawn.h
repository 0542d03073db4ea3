/* SPDX-License-Identifier: BSD-2-Clause */
/* Starting the command that is to be recorded: it exists, and waits, before anything is attached. */
#ifndef PROFTRACE_TARGET_SPAWN_H
#define PROFTRACE_TARGET_SPAWN_H

#include <stdint.h>
#include <sys/types.h>

#include "failure.h"

struct command {
	pid_t pid;
	int go;	    /* write end: the command waits for it */
	int failed; /* read end: carries errno when the program could not be executed */
};

/*
 * Forks a child that waits, with that nice value and soft limit on descriptors. Nothing of it runs in
 * the child's program yet.
 */
int command_fork(char *const argv[], int nice, uint64_t nofile, struct command *ret_command,
		 struct failure *f);

/* Lets it execute its program. Returns 0 once it has, or negative errno if it could not. */
int command_go(struct command *command, const char *name, struct failure *f);

/* Ends a child that was never let go: it holds copies of our descriptors. */
void command_abandon(struct command *command);

/*
 * The files that running `name` can be expected to bring: the program itself (or the interpreter its
 * #! names), its dynamic linker, and that of this program. Returns how many were opened.
 */
unsigned command_files(const char *name, int *ret_fds, unsigned room);

#endif
