/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sources share: each parses one file of /proc and emits counters from it. */
#ifndef PROFTRACE_SYSTEM_INTERNAL_H
#define PROFTRACE_SYSTEM_INTERNAL_H

#include "system/system.h"

#define SYSTEM_TEXT	65536 /* bytes of a file of /proc that are read */
#define SYSTEM_VALUES	6     /* values of each CPU, disk or interface */
#define SYSTEM_THINGS	256   /* CPUs, disks, interfaces; further ones are left out */
#define SYSTEM_PER_FACT 16    /* series in one event */

/* A CPU, disk or interface, with the values of its counters when they were last read. */
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
	uint64_t now_ns; /* of this reading */
	unsigned long ticks_per_second;
	char text[SYSTEM_TEXT];
	int (*event)(void *context, const struct event *event);
	void *context;
};

/* The series of one counter, which are collected and emitted SYSTEM_PER_FACT at a time. */
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

/* The CPU, disk or interface of that name, a new one the first time; NULL: there are too many. */
struct system_thing *system_thing_get(struct system_counters *system, enum system_source source,
				      const char *name);
/* The increase of value `i` since the last reading; 0 when it is smaller now. */
uint64_t system_thing_delta(struct system_thing *thing, unsigned i, uint64_t value);

/*
 * One per source: parses the text of its file. `seconds`: since the last reading, 0 at the first
 * one.
 */
void system_cpu(struct system_counters *system, char *text, double seconds);
void system_memory(struct system_counters *system, char *text, double seconds);
void system_disk(struct system_counters *system, char *text, double seconds);
void system_network(struct system_counters *system, char *text, double seconds);

#endif
