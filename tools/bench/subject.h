/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that the bench starts and controls by lines of text. */
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
	SUBJECT_TIDIES = 4, /* not killed when the bench ends: the end of its input ends it */
};

struct subject {
	pid_t pid;	/* PID of the program, and of its process group */
	pid_t said_pid; /* the PID in its line `ready <pid>` */
	int in, out;
	char command[64]; /* its first words */
	char late[160];	  /* a sentence about what did not happen in time; or empty */
	char line[512];
};

/*
 * Starts argv and, unless `greets` is false, waits for its line `ready <pid>`. The child is killed
 * with the bench, unless it tidies up. Negative errno if it cannot be started or prints something
 * else (which is in `line`).
 *
 * Every wait has a limit. What does not happen in time is named in `late` and on standard error,
 * and a program that does not exit is killed with everything that it has started.
 */
int subject_start(struct subject *s, const char *const argv[], unsigned flags, bool greets);
/* Sends a line and reads the reply into `line`; -ETIMEDOUT if there is none within two minutes. */
int subject_request(struct subject *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int subject_send(struct subject *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
int subject_answer(struct subject *s);
/*
 * Runs a loop. ret_ns is the time of one event, ret_events the number of events including the
 * warm-up.
 */
int subject_run(struct subject *s, const char *loop, uint64_t rounds, double *ret_ns,
		uint64_t *ret_events);
/* Runs a loop in several threads at once, each of which makes all rounds. */
int subject_run_threads(struct subject *s, const char *loop, uint64_t rounds, unsigned threads,
			double *ret_ns, uint64_t *ret_events);
/* Ends its input. */
void subject_close_input(struct subject *s);
/* The same, and waits for it: 90 s, then it is killed. Returns the status as of waitpid. */
int subject_end(struct subject *s, struct rusage *ret_usage);

/* Prints the message and keeps it in `late`. */
void subject_late(struct subject *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

uint64_t bench_clock(void);
void bench_sleep(unsigned ms);

#endif
