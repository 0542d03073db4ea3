/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs proftrace on a target. */
#ifndef BENCH_RECORDER_H
#define BENCH_RECORDER_H

#include "spent.h"
#include "subject.h"

enum outputs {
	OUT_PERFETTO = 1,
	OUT_JSON = 2,
	OUT_BOTH = 3,
	OUT_TABLE = 4, /* --stats-only */
	OUT_BATCH = 8, /* with the others: --mode batch */
};

enum {
	RECORDER_OPTIONS = 4
};

struct recorder {
	struct subject process;
	enum outputs outputs;
	uint64_t ready_cpu_ns; /* used until recorder_ready() */
	const char *directory;
};

struct recorded {
	uint64_t marked, written, lost, bytes;
	uint64_t switches, switches_lost; /* with --sched, and wakings */
	uint64_t stacks, stacks_lost;	  /* with --sample */
	uint64_t cpu_ns;		  /* recorder and broker, from ready to their end */
	/* Resident beside the ring buffer, both processes, at the end of the load. */
	double mapped_mb;
};

/* Whether this proftrace has --mode batch. */
bool recorder_has_batch(void);
/* the directory for the traces until they are removed */
int recorder_start(struct recorder *r, const char *directory, pid_t target, enum outputs outputs,
		   const char *buffer);
/* The same, with `counters` instead of those that it counts by default (NULL: with these). */
int recorder_start_counting(struct recorder *r, const char *directory, pid_t target,
			    enum outputs outputs, const char *buffer, const char *counters);
/* And with further options, the last of which is NULL: RECORDER_OPTIONS at most. */
int recorder_start_with(struct recorder *r, const char *directory, pid_t target,
			enum outputs outputs, const char *buffer, const char *counters,
			const char *const *options);
/* Waits until it reports that it records. */
int recorder_opened(struct recorder *r);
/* Waits until the markers of the target are on and recorded. */
int recorder_ready(struct recorder *r, struct subject *target);
/* Interrupts it, waits for its exit, reads the accounting, and removes the traces unless `keep`. */
int recorder_stop(struct recorder *r, bool keep, struct recorded *ret);
/* The path of the trace in JSON. */
void recorder_json_path(const struct recorder *r, char *path, size_t size);

#endif
