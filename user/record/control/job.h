/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ranks of a job on one machine, each of which the launcher starts as `proftrace -- ./rank`, share one recorder:
 * the first one. The others hand their process over to it, and only wait for its end.
 */
#ifndef PROFTRACE_RECORD_CONTROL_JOB_H
#define PROFTRACE_RECORD_CONTROL_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct command;
struct record_options;
struct recording;

struct job {
	int socket;		  /* on which processes are handed over; -1: none */
	int directory;		  /* in which the socket is */
	char name[40];		  /* its name there */
	unsigned n_ranks, n_came; /* on this machine, and how many of them are here */
};

/*
 * Called after the command was forked, and before anything is opened that the command must not have. Returns true if
 * another recorder has taken the process; if false, this process records, alone or as the recorder of its job.
 */
bool job_join(struct job *job, const struct record_options *options, struct command *command);
/* Takes over the processes that wait. Call it when the socket is readable. */
void job_accept(struct recording *r);
/* Whether ranks that have not come may still come. */
bool job_is_awaited(const struct recording *r, uint64_t now_ns);
void job_close(struct job *job);

#endif
