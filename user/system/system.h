/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of the whole machine: values in /proc, read at intervals and
 * given to the timeline as events that belong to no process. No privileges are needed.
 *
 *	cpu		cpu (user, system, iowait, irq, steal), cpu busy (one series per CPU), in %
 *	memory		memory (used, cached, dirty, swap), in bytes
 *	disk		disk read, disk write (one series per disk), in bytes/s; disk busy, in %
 *	network		network receive, network transmit (one series per interface), in bytes/s
 *
 * This is the only header of the folder for others; it calls timeline/ and base/.
 */
#ifndef PROFTRACE_SYSTEM_SYSTEM_H
#define PROFTRACE_SYSTEM_SYSTEM_H

#include "base/failure.h"
#include "timeline/event.h"

enum system_source {
	SYSTEM_CPU,
	SYSTEM_MEMORY,
	SYSTEM_DISK,
	SYSTEM_NETWORK,
	SYSTEM_SOURCES,
};

struct system_counters;

/*
 * list: "cpu,memory". Returns 0 or negative errno: a name is unknown, or this machine does not have
 * it. Names are interned in `names` (borrowed). Rates are emitted from the second reading on.
 */
int system_open(const char *list, struct names *names, struct system_counters **ret_system,
		struct failure *f);
void system_free(struct system_counters *system);

/* Reads all sources and emits their events. Returns how many sources could not be read. */
unsigned system_read(struct system_counters *system,
		     int (*event)(void *context, const struct event *event), void *context);

#endif
