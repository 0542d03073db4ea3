/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the command to record. Its process exists and waits before anything is attached. */
#ifndef PROFTRACE_TRACEE_SPAWN_H
#define PROFTRACE_TRACEE_SPAWN_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/failure.h"
#include "tracee/annotations.h"

struct command {
	pid_t pid;
	bool is_ready;
	int go;	    /* write end: the command waits for it */
	int failed; /* read end: carries errno when the program could not be executed */
};

/* What the recorder changes of its own, and the command gets as it was. */
struct command_limits {
	int nice;
	struct rlimit files, stack, cpu;
};

void command_limits_read(struct command_limits *ret_limits);

/*
 * Forks a child that becomes the invoking user, with these limits and the environment of these annotations, and
 * waits. Call it before the recorder holds any descriptor of the broker or of BPF: the user
 * may take whatever the child holds.
 */
int command_fork(char *const argv[], const struct command_limits *limits,
		 const struct annotations *annotations, struct command *ret_command,
		 struct failure *f);

/*
 * Waits until the child has given up its privileges: before that a broker would refuse to trace it. Meanwhile the recorder starts
 * its own. Returns 0 or negative errno.
 */
int command_await(struct command *command, const char *name, struct failure *f);

/* Lets it execute its program. Returns 0 once it has, or negative errno if it could not. */
int command_go(struct command *command, const char *name, struct failure *f);

/* Ends a child that has not executed its program. */
void command_abandon(struct command *command);

/*
 * Opens the files that `name` will probably map: the program itself (or its #! interpreter), its dynamic linker, and
 * the dynamic linker of proftrace. Returns how many were opened, at most `size`.
 */
unsigned command_files(const char *name, int *ret_fds, unsigned size);

#endif
