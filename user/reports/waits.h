/* SPDX-License-Identifier: BSD-2-Clause */
/* What a fact of kind WAIT says, for people: on what the thread waited, and who woke it. */
#ifndef PROFTRACE_REPORTS_WAITS_H
#define PROFTRACE_REPORTS_WAITS_H

#include "timeline/fact.h"

enum {
	WAIT_TEXT = 64,
};

struct wait_about {
	char on[WAIT_TEXT];	  /* a file, the address of a lock, a system call; may be empty */
	char by[WAIT_TEXT];	  /* the name of the waker; empty: it is not known, or none */
	char by_slice[WAIT_TEXT]; /* open on the waker; may be empty */
};

/* Cuts what is too long. The rest of each text is zero, so that two can be compared by their bytes. */
void wait_describe(const struct fact *fact, struct wait_about *about);

#endif
