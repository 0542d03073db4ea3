/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process in which features of the kernel are tried before a program of anybody else is touched: the broker attaches to
 * code of this process alone, which runs it at a request. It is forked before anything is loaded, has neither
 * capabilities nor descriptors but its socket, and ends before anything is recorded.
 */
#ifndef PROFTRACE_PRIVILEGE_LOADER_TRIAL_H
#define PROFTRACE_PRIVILEGE_LOADER_TRIAL_H

#include <stdint.h>
#include <sys/types.h>

struct trial;

/* What the process runs at a request. It replies with what this returns. */
enum trial_step {
	TRIAL_PID_FILTER,    /* pid_filter.c */
	TRIAL_OPTIMISED_NOP, /* optimised_nop.c */
	TRIAL_COST,	     /* cost.c */
	TRIAL_STEPS,
};

/* Before there is anything that it should not have. Returns 0 or negative errno. */
int trial_new(struct trial **ret_trial);
pid_t trial_pid(const struct trial *trial);
/* For a thread with descriptors of its own. */
int trial_socket(const struct trial *trial);
/*
 * Returns 0 or negative errno: its user may have stopped it or killed it. Then nothing can be tried any more. Threads may
 * request something at the same time, and get their replies one after the other.
 */
int trial_request(struct trial *trial, enum trial_step step, uint64_t *ret_reply);
/*
 * Ends the process, which is not waited for: as long as its parent lives, its number is that of a process without memory.
 * Returns it, or negative errno.
 */
pid_t trial_end(struct trial *trial);

/* In the process. */
uint64_t pid_filter_step(void);
uint64_t optimised_nop_step(void);
uint64_t cost_step(void);

#endif
