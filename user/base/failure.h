/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors in the form in which people read them:
 *
 *	proftrace: <what> '<object>': <reason>
 *	hint: <what to do>
 *
 * Code below user/cmd fills in a failure where the cause is known best, and returns a negative
 * errno; only user/cmd prints it.
 */
#ifndef PROFTRACE_BASE_FAILURE_H
#define PROFTRACE_BASE_FAILURE_H

#include <stdbool.h>
#include <stdio.h>

struct failure {
	char what[96];	  /* "cannot open", "no such process" */
	char object[256]; /* may be empty */
	char reason[256]; /* may be empty */
	char hint[512];	  /* may be empty */
};

/*
 * Fills in and returns `error` (a negative errno), so that a leaf can `return failure_set(...)`.
 * `reason` NULL: strerror(-error). Bytes that a terminal would act on are replaced. `f` may be NULL.
 */
int failure_set(struct failure *f, int error, const char *what, const char *object,
		const char *reason);
void failure_hint(struct failure *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The hint for a recording that gets no memory before it has begun. */
void failure_hint_memory(struct failure *f);
/* If fork() failed by the caller's limit. */
void failure_hint_processes(struct failure *f, int error);
/* A library that is loaded at run time is missing: its package, or that a static program loads none. */
void failure_hint_library(struct failure *f, const char *package);
/* Prints both lines. */
void failure_print(const struct failure *f, FILE *out);

#endif
