/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the whole machine does meanwhile: counters that the kernel keeps in /proc, read every so often
 * and handed to the timeline as events that belong to no process. No privileges are needed.
 *
 *	cpu		cpu (user, system, iowait, irq, steal), cpu busy (one series per CPU), in %
 *	memory		memory (used, cached, dirty, swap), in bytes
 *	disk		disk read, disk write (one series per disk), in bytes/s; disk busy, in %
 *	network		network receive, network transmit (one series per interface), in bytes/s
 */
#ifndef PROFTRACE_SYSTEM_SYSTEM_H
#define PROFTRACE_SYSTEM_SYSTEM_H

#include "failure.h"
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
 * list: "cpu,memory". Returns 0 or negative errno: an unknown name, or something this machine does not
 * have. Names are interned in `names` (borrowed). Rates come from the second reading on.
 */
int system_open(const char *list, struct names *names, struct system_counters **ret_system,
		struct failure *f);
void system_free(struct system_counters *system);

/* Reads all and hands them on. Returns how many could not be read. */
unsigned system_read(struct system_counters *system,
		     int (*event)(void *context, const struct event *event), void *context);

#endif
