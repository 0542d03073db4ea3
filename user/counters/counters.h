/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of threads: turns the names that `-e` lists into what the kernel needs to count. Names
 * are those of perf and, beyond these, of libpfm4. Every result was tried on this machine, so that
 * nothing is refused later, when probes are attached already.
 *
 * This is the only header of the folder, which calls base/ and privilege/invoker.h only.
 */
#ifndef PROFTRACE_COUNTERS_COUNTERS_H
#define PROFTRACE_COUNTERS_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bpf/event.h"
#include "base/failure.h"

#define COUNTER_NAME 64

struct counter_spec {
	char name[COUNTER_NAME];    /* the name of the argument: with _ for - */
	char spelled[COUNTER_NAME]; /* as the user wrote it */
	enum counter_source source;
	struct perf_event_attr attr; /* COUNTER_PERF */
	unsigned leader;	     /* COUNTER_PERF: the index of the first counter of its group */
};

struct counters {
	unsigned n;
	bool multiplexed; /* more than the hardware counts at once: the kernel multiplexes them */
	struct counter_spec list[MAX_COUNTERS];
};

/*
 * names.c: parses a list of counters, or `none`, without trying them on the machine. Unknown names
 * are refused, with a hint at the nearest ones.
 */
int counters_parse(const char *list, struct counters *ret_counters, struct failure *f);
/* The names that proftrace knows without libpfm4; NULL after the last. */
const char *counters_known(unsigned i);
const char *counters_other_name(unsigned i); /* the alias of counters_known(i), or NULL */

/*
 * nearest.c: the names nearest to this one, separated by commas; empty when none is near. `counts`:
 * only names for which it returns true (NULL: all).
 */
void counters_nearest(const char *name, bool (*counts)(const char *name), char *out, size_t size);

#define PMU_DEVICES "/sys/bus/event_source/devices"

/*
 * pmu.c: encodes an event in the kernel's own terms: cpu/event=0x3c,umask=0x1/ has the `pmu` cpu.
 */
int pmu_encode(const char *devices, const char *pmu, const char *terms,
	       struct perf_event_attr *ret_attr, struct failure *f);

/* What a PMU of this type counts. */
enum pmu_scope {
	PMU_OF_CPUS,	/* what the cores do; some cores may have another one */
	PMU_OF_MACHINE, /* what all of them do together */
	PMU_OF_OTHERS,	/* probes, breakpoints, and whatever else there is */
};
enum pmu_scope pmu_find_scope(const char *devices, uint32_t type);

/* Calls each for the events that have a name in the kernel, as pmu/event/. */
void pmu_each(const char *devices, void (*each)(void *context, const char *name, const char *text),
	      void *context);

/* libpfm.c: encodes a name that only libpfm4 knows, or returns -ENOENT. */
int libpfm_encode(const char *name, struct perf_event_attr *ret_attr);
/* Calls each for the events of this machine's processors; returns how many there were. */
unsigned libpfm_each(void (*each)(void *context, const char *name, const char *text),
		     void *context);

/* machine.c: checks that this machine counts all of them; sets `multiplexed` if not all at once. */
int counters_check(struct counters *counters, struct failure *f);
/*
 * The counters when the user names none. `note`: for people, which these are and why; empty for the
 * usual ones. *ret_refused: a permission is missing.
 */
int counters_default(struct counters *ret_counters, char *note, size_t size, bool *ret_refused);
/* The same for buffered mode, which has only counters that the kernel keeps for each thread. */
int counters_default_tasks(struct counters *ret_counters, char *note, size_t size);
bool counters_are_of_tasks(const struct counters *counters);
/* Refuses all others. */
int counters_require_tasks(const struct counters *counters, struct failure *f);
/*
 * Opens the events on one CPU. fds[i] is -1 where the kernel itself keeps the counter. Either all
 * are opened or none: then *ret_refused is the counter that was refused.
 */
int counters_open(const struct counters *counters, int cpu, int fds[MAX_COUNTERS],
		  unsigned *ret_refused);
/* How many hardware events a CPU counts at once, beside those that it counts already; 0: none. */
unsigned counters_at_once(void);
void counters_close(const struct counters *counters, int fds[MAX_COUNTERS]);

/* `proftrace list --counters`. */
void counters_print(FILE *out);

#endif
