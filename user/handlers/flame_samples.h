/* SPDX-License-Identifier: BSD-2-Clause */
/* From the samples of traces to a flame graph. */
#ifndef PROFTRACE_HANDLERS_FLAME_SAMPLES_H
#define PROFTRACE_HANDLERS_FLAME_SAMPLES_H

#include "handlers/flame.h"
#include "handlers/handler.h"

/*
 * Keeps how often each stack occurred, in each process by its name. `slice`: only samples on threads that
 * are within a slice of such a name (a glob, borrowed); NULL: all. NULL when out of memory.
 */
struct handler *flame_handler_new(const char *slice);

struct flame_samples_count {
	uint64_t samples; /* of all traces */
	uint64_t within;  /* of these, within such a slice */
	uint64_t unnamed; /* of these, those that have a frame whose function is not known */
};

void flame_handler_count(const struct handler *handler, struct flame_samples_count *ret);

/*
 * After the last trace, while the stacks are still there, which is when their frames have names. `names`
 * is the table that they are in. Returns 0 or negative errno.
 */
int flame_handler_fill(struct handler *handler, struct names *names, struct flame *flame);

#endif
