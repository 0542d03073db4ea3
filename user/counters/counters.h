/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of threads: what `-e` names, as the kernel wants it. Names are perf's, and beyond these
 * libpfm4's. What comes out of here was tried on this machine: nothing has to be refused later, when
 * something is attached already.
 */
#ifndef PROFTRACE_COUNTERS_COUNTERS_H
#define PROFTRACE_COUNTERS_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "event.h"
#include "failure.h"

#define COUNTER_NAME 64

struct counter_spec {
	char name[COUNTER_NAME]; /* as it was named, with - as _ */
	enum counter_source source;
	struct perf_event_attr attr; /* COUNTER_PERF */
};

struct counters {
	unsigned n;
	struct counter_spec list[MAX_COUNTERS];
};

/*
 * names.c: the counters of a list, or `none`, without a look at the machine. Refuses unknown names,
 * and names the nearest ones.
 */
int counters_parse(const char *list, struct counters *ret_counters, struct failure *f);
/* The names proftrace knows by itself, one after the other; NULL after the last. */
const char *counters_known(unsigned i);

/* libpfm.c: a name that only libpfm4 knows, or -ENOENT. */
int libpfm_encode(const char *name, struct perf_event_attr *ret_attr);
/* Calls each for the events of the processors this machine has; returns how many there were. */
unsigned libpfm_each(void (*each)(void *context, const char *name, const char *text),
		     void *context);

/* machine.c: whether this machine counts all of them, at once. */
int counters_check(const struct counters *counters, struct failure *f);
/*
 * What is counted when nothing is named. `note`: for people, what that is and why; empty when it is
 * the usual.
 */
int counters_default(struct counters *ret_counters, char *note, size_t size);
/* One event for one CPU, pinned: it counts always or not at all. The descriptor or negative errno. */
int counter_open(const struct counter_spec *spec, int cpu);

/* `list --counters`. */
void counters_print(FILE *out);

#endif
