/* SPDX-License-Identifier: BSD-2-Clause */
/* A uprobe that prepares the kernel for those of a recording. */
#ifndef PROFTRACE_PRIVILEGE_BROKER_FIRST_UPROBE_H
#define PROFTRACE_PRIVILEGE_BROKER_FIRST_UPROBE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

struct first_uprobe {
	sem_t end;
	pthread_t thread;
	bool runs;
};

/* Attaches it in a thread, which has the capabilities that this one has now. */
void first_uprobe_begin(struct first_uprobe *first);
/* When it returns, the thread executes nothing any more. The kernel detaches for some time after that. */
void first_uprobe_end(struct first_uprobe *first);

#endif
