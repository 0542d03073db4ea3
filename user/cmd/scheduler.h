/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording by --schedule. */
#ifndef PROFTRACE_CMD_SCHEDULER_H
#define PROFTRACE_CMD_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "schedule.h"
#include "timeline/event.h"

struct recording;
struct scheduler;

/* "skip_first=0,wait=0,warmup=1,active=4,repeat=1", any of them, in any order. */
bool schedule_parse(const char *text, struct schedule *ret_schedule);

struct scheduler *scheduler_new(void);
void scheduler_free(struct scheduler *scheduler);
/* Of every event, before the timeline gets it. */
void scheduler_event(struct recording *r, const struct event *event);
/* Whether a cycle is over, and the probes can go. */
void scheduler_look(struct recording *r);
uint64_t scheduler_cycles(const struct recording *r); /* recorded so far */

#endif
