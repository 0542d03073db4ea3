/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose switches and wakings a merge has. */
#ifndef PROFTRACE_CMD_MERGE_SCHED_H
#define PROFTRACE_CMD_MERGE_SCHED_H

#include <stdbool.h>

#include "timeline/event.h"

struct merge_sched; /* free() */

struct merge_sched *merge_sched_new(void); /* NULL: out of memory */
/*
 * Of one of the recordings of a machine, read one after the other: false if one before it has told of
 * this already. Times are those of the merge.
 */
bool merge_sched_takes(struct merge_sched *s, unsigned recording, const struct event *e);

#endif
