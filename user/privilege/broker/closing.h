/* SPDX-License-Identifier: BSD-2-Clause */
/* Closing links so that the kernel detaches them completely, and many at the same time: see closing.c. */
#ifndef PROFTRACE_PRIVILEGE_BROKER_CLOSING_H
#define PROFTRACE_PRIVILEGE_BROKER_CLOSING_H

#include "privilege/broker/links.h"

#define CLOSING_NAME "proftrace-close" /* of the keeper, and of the processes that it forks */

/* Before there are links, threads and a filter of system calls. Returns NULL on failure, with errno set. */
struct closers *closers_new(void);
/*
 * Once, before anything is closed: whether the keeper is ready. Returns 0 or a negative errno. On a busy machine it gets a CPU
 * milliseconds later, in which the broker can do something else.
 */
int closers_await(const struct closers *closers);
/* A pidfd of the keeper. When that has ended, nothing can be closed any more but by closers_end(). */
int closers_fd(const struct closers *closers);
/*
 * When all is closed, as far as it could be. Returns when the keeper has ended; or, if something could not be closed, ends
 * this process in a way in which the kernel closes it completely. Call it when no other thread attaches.
 */
void closers_end(struct closers *closers);

/* Closes all, at the same time, and frees them. When it returns, none of their programs runs any more, if there is a keeper. */
void members_close(struct closers *closers, struct member *list);
/*
 * The same, but returns before: they are closed by processes that have them. For what runs no program, or where it does not
 * matter when that ends. Waits for those of the call before, so that a recorder that has been taken over has no more than these.
 * Not called by two threads at a time, nor at the same time as members_wait().
 */
void members_close_later(struct closers *closers, struct member *list);
/* Returns when what members_close_later() began is closed. */
void members_wait(struct closers *closers);
/* Closes descriptors that are in no list yet. */
void links_drop(struct closers *closers, const int *fds, unsigned n);

#endif
