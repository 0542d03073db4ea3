/* SPDX-License-Identifier: BSD-2-Clause */
/* Links follow forks, executions and exits of the processes that they are for: see follow.c. */
#ifndef PROFTRACE_PRIVILEGE_BROKER_FOLLOW_H
#define PROFTRACE_PRIVILEGE_BROKER_FOLLOW_H

#include "privilege/broker/links.h"

struct follow;

/*
 * Before the process confines itself. `own_only`: the caller is not root; `zombie`: a child of this process that has ended
 * (clean.h). Returns 0 or negative errno.
 */
int follow_new(struct links *links, const struct loaded_programs *programs, bool own_only,
	       pid_t zombie, struct follow **ret_follow);
/* After that, and before the first request. Returns 0 or negative errno. */
int follow_start(struct follow *follow, int socket);
/* Returns when no thread of it runs any more, and what it had to close is closed. NULL: does nothing. */
void follow_stop(struct follow *follow);

#endif
