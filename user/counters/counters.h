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
	char name[COUNTER_NAME];    /* as an argument is called: with - as _ */
	char spelled[COUNTER_NAME]; /* as it was named */
	enum counter_source source;
	struct perf_event_attr attr; /* COUNTER_PERF */
	unsigned leader; /* COUNTER_PERF: the first one of its group, by its place in the list */
};

struct counters {
	unsigned n;
	bool multiplexed; /* more than the hardware counts at once: the kernel lets them take turns */
	struct counter_spec list[MAX_COUNTERS];
};

/*
 * names.c: the counters of a list, or `none`, without a look at the machine. Refuses unknown names,
 * and names the nearest ones.
 */
int counters_parse(const char *list, struct counters *ret_counters, struct failure *f);
/* The names proftrace knows by itself, one after the other; NULL after the last. */
const char *counters_known(unsigned i);
const char *counters_other_name(unsigned i); /* of counters_known(i), or NULL */

/*
 * nearest.c: the names most like this one, separated by commas; `counts`: only such (NULL: all). Empty
 * when none is like it.
 */
void counters_nearest(const char *name, bool (*counts)(const char *name), char *out, size_t size);

#define PMU_DEVICES "/sys/bus/event_source/devices"

/* pmu.c: an event in the kernel's own terms: cpu/event=0x3c,umask=0x1/ is of `pmu` cpu. */
int pmu_encode(const char *devices, const char *pmu, const char *terms,
	       struct perf_event_attr *ret_attr, struct failure *f);

/* Calls each for the events that the kernel itself has names for, as pmu/event/. */
void pmu_each(const char *devices, void (*each)(void *context, const char *name, const char *text),
	      void *context);

/* libpfm.c: a name that only libpfm4 knows, or -ENOENT. */
int libpfm_encode(const char *name, struct perf_event_attr *ret_attr);
/* Calls each for the events of the processors this machine has; returns how many there were. */
unsigned libpfm_each(void (*each)(void *context, const char *name, const char *text),
		     void *context);

/* machine.c: whether this machine counts all of them, and whether at once: sets `multiplexed`. */
int counters_check(struct counters *counters, struct failure *f);
/*
 * What is counted when nothing is named. `note`: for people, what that is and why; empty when it is
 * the usual.
 */
int counters_default(struct counters *ret_counters, char *note, size_t size);
/*
 * The events of one CPU. fds[i] is -1 where the kernel keeps the counter itself. Either all are opened,
 * or none: then *ret_refused is the counter to blame.
 */
int counters_open(const struct counters *counters, int cpu, int fds[MAX_COUNTERS],
		  unsigned *ret_refused);
/*
 * How many events of its kind the hardware of a CPU counts at once, beside what it counts already; 0:
 * it counts none.
 */
unsigned counters_at_once(void);
void counters_close(const struct counters *counters, int fds[MAX_COUNTERS]);

/* `list --counters`. */
void counters_print(FILE *out);

#endif
