/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A delay line: events go in at one end and come out at the other, in a ring of memory of a fixed
 * size. Nothing is allocated for an event, and what it points to is kept with it; names and
 * call stacks are kept as pointers, since they live as long as their tables.
 */
#ifndef PROFTRACE_TIMELINE_DELAY_H
#define PROFTRACE_TIMELINE_DELAY_H

#include <stddef.h>

#include "timeline/event.h"

struct delay;

/* All memory there will ever be, at least 64 KiB of it, is taken now. NULL: there is not so much. */
struct delay *delay_new(size_t bytes);
void delay_free(struct delay *delay);

/* False: there is no room, or (-> delay_fits()) there never will be. */
bool delay_put(struct delay *delay, const struct event *event);
/* Whether an empty one has room for it. */
bool delay_fits(const struct delay *delay, const struct event *event);

/* The oldest event; false: it is empty. What it points to is valid until the next delay_put(). */
bool delay_take(struct delay *delay, struct event *ret_event);
/* Its time, UINT64_MAX if there is none. */
uint64_t delay_oldest_ns(const struct delay *delay);
size_t delay_count(const struct delay *delay);

#endif
