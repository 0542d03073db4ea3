/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that the bench starts and talks to, a line at a time. */
#ifndef BENCH_SUBJECT_H
#define BENCH_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

enum {
	SUBJECT_PINNED = 1, /* to the last of the processors that may be used */
	SUBJECT_MUTE = 2,   /* its standard error goes to /dev/null */
	SUBJECT_STDERR = 8, /* its standard error is what is read, too */
	SUBJECT_TIDIES = 4, /* not killed with the bench: the end of its input tells it */
};

struct subject {
	pid_t pid;	/* of what was started, and of the process group that it leads */
	pid_t said_pid; /* as its line `ready <pid>` says */
	int in, out;
	char command[64]; /* its first words */
	char late[160];	  /* a sentence: what was waited for and did not come; or empty */
	char line[512];
};

/*
 * Starts argv and, unless `greets` is false, waits for its line `ready <pid>`. The child dies with the
 * bench unless it tidies up. Negative errno when it cannot be started or says something else (it is in `line`).
 *
 * Whatever is waited for is waited for with a bound: what does not come by then is named in `late` and on
 * standard error, and what does not end is killed with all that it has started.
 */
int subject_start(struct subject *s, const char *const argv[], unsigned flags, bool greets);
/* Sends a line and takes the answer into `line`; -ETIMEDOUT when none comes in two minutes. */
int subject_ask(struct subject *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
int subject_tell(struct subject *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
int subject_answer(struct subject *s);
/* Runs a loop; ret_ns is what one event took, ret_events how many there were, the warming up
 * included. */
int subject_run(struct subject *s, const char *loop, uint64_t rounds, double *ret_ns,
		uint64_t *ret_events);
/* In so many threads at once, each of which makes all rounds. */
int subject_run_threads(struct subject *s, const char *loop, uint64_t rounds, unsigned threads,
			double *ret_ns, uint64_t *ret_events);
/* Ends its input. */
void subject_hang_up(struct subject *s);
/* The same, and waits for it: 90 s, then it is killed. Returns the status as of waitpid. */
int subject_end(struct subject *s, struct rusage *ret_usage);

/* Says so, and keeps it in `late`. */
void subject_late(struct subject *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

uint64_t bench_clock(void);
void bench_sleep(unsigned ms);

#endif
