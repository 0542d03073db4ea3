/* SPDX-License-Identifier: BSD-2-Clause */
/* --schedule in the recorder: files for each cycle, and probes that are detached while all processes wait. */
#ifndef PROFTRACE_RECORD_SCHEDULER_H
#define PROFTRACE_RECORD_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "schedule.h"
#include "timeline/event.h"

struct recording;
struct scheduler;

/* "skip_first=0,wait=0,warmup=1,active=4,repeat=1", any subset, in any order. */
bool schedule_parse(const char *text, struct schedule *ret_schedule);

struct scheduler *scheduler_new(void);
void scheduler_free(struct scheduler *scheduler);
/* Call for every event before the timeline handles it. */
void scheduler_handle_event(struct recording *r, const struct event *event);
/* Call after draining: finishes a cycle that is over, and detaches the probes while all processes wait. */
void scheduler_poll(struct recording *r);
uint64_t scheduler_cycles(const struct recording *r); /* recorded so far, in all epochs */

#endif
