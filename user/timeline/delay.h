/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue of events in a ring of memory of a fixed size, behind the flight recorder and wherever
 * events have to wait. Nothing is allocated for an event, and what it points to is kept with it;
 * names and call stacks are kept as pointers, since they live as long as their tables.
 */
#ifndef PROFTRACE_TIMELINE_DELAY_H
#define PROFTRACE_TIMELINE_DELAY_H

#include <stddef.h>

#include "timeline/event.h"

struct delay;

/* Allocates all the memory it will ever use, at least 64 KiB. NULL: there is not so much. */
struct delay *delay_new(size_t bytes);
void delay_free(struct delay *delay);

/* False: there is not enough free space now, or, for an event that is larger than all of it, ever. */
bool delay_push(struct delay *delay, const struct event *event);

/*
 * Removes the oldest event; false: the queue is empty. What the event points to is valid until the
 * next delay_push().
 */
bool delay_pop(struct delay *delay, struct event *ret_event);
/* The time of the oldest event, UINT64_MAX if there is none. */
uint64_t delay_oldest_ns(const struct delay *delay);
size_t delay_count(const struct delay *delay);

#endif
