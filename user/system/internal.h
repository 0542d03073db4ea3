/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sources share: one file of /proc each, and the counters that come of it. */
#ifndef PROFTRACE_SYSTEM_INTERNAL_H
#define PROFTRACE_SYSTEM_INTERNAL_H

#include "system/system.h"

#define SYSTEM_TEXT	65536 /* bytes of a file of /proc that are read */
#define SYSTEM_VALUES	6     /* of each thing that is followed */
#define SYSTEM_THINGS	256   /* CPUs, disks, interfaces; more are left out */
#define SYSTEM_PER_FACT 16    /* series handed on with one event */

/* What a counter of the kernel was when it was last read. */
struct system_thing {
	char name[32];
	const struct name *key;
	uint64_t last[SYSTEM_VALUES];
	bool known;
};

struct system_file {
	int fd;
	struct system_thing *things;
	unsigned n_things;
};

struct system_counters {
	struct names *names;
	struct system_file files[SYSTEM_SOURCES];
	uint64_t last_ns[SYSTEM_SOURCES];
	uint64_t now_ns; /* of the reading under way */
	unsigned long ticks_per_second;
	char text[SYSTEM_TEXT];
	int (*event)(void *context, const struct event *event);
	void *context;
};

/* Series of one counter, gathered and handed on, some at a time. */
struct series {
	struct system_counters *system;
	const struct name *name;
	const struct name *unit;
	struct arg args[SYSTEM_PER_FACT];
	unsigned n;
};

void series_start(struct series *s, struct system_counters *system, const char *name,
		  const char *unit);
void series_add_double(struct series *s, const struct name *key, double value);
void series_add_bytes(struct series *s, const struct name *key, uint64_t value);
void series_end(struct series *s);

/* The thing of that name, a new one the first time; NULL: too many. */
struct system_thing *thing_get(struct system_counters *system, enum system_source source,
			       const char *name);
/* How much more `value` i is than last time, which it then is; 0 when it has gone back. */
uint64_t thing_more(struct system_thing *thing, unsigned i, uint64_t value);

/* One per source: takes the text of its file, line by line. */
void system_cpu(struct system_counters *system, char *text, double seconds);
void system_memory(struct system_counters *system, char *text, double seconds);
void system_disk(struct system_counters *system, char *text, double seconds);
void system_network(struct system_counters *system, char *text, double seconds);

#endif
