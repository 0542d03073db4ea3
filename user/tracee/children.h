/* SPDX-License-Identifier: BSD-2-Clause */
/* The child processes that a process has already. */
#ifndef PROFTRACE_TRACEE_CHILDREN_H
#define PROFTRACE_TRACEE_CHILDREN_H

#include <sys/types.h>

/*
 * Returns how many children of the threads of `pid` run, and puts the first `most` of them into `children`. It is 0 if
 * the process is gone or hidden, and where the kernel does not list children.
 */
unsigned target_children(pid_t pid, pid_t *children, unsigned most);

#endif
