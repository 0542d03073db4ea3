/* SPDX-License-Identifier: BSD-2-Clause */
/* Closing links so that the kernel detaches them completely, and many at the same time: see closing.c. */
#ifndef PROFTRACE_PRIVILEGE_BROKER_CLOSING_H
#define PROFTRACE_PRIVILEGE_BROKER_CLOSING_H

#include "privilege/broker/links.h"

#define CLOSING_PROCESSES 128

/* What was begun: pidfds of the processes that detach. */
struct closing {
	unsigned n;
	int processes[CLOSING_PROCESSES];
};

/* Before there are links, threads and a filter of system calls. Returns NULL on failure. */
struct closers *closers_new(void);
/* When nothing is left to be closed. Returns when the keeper has ended. */
void closers_end(struct closers *closers);

/* Begins to close as many as fit, which are taken from the list. */
void closing_begin(struct closers *closers, struct member **list, struct closing *ret);
/* Waits until all that was begun is detached, and none of the programs runs any more. */
void closing_wait(struct closing *closing);

#endif
