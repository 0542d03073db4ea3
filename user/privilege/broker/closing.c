/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closes links in parallel.
 *
 * From Linux 6.12 on, when the kernel removes the program of a link, it waits until no thread runs
 * the program any more: for a grace period of RCU, 30 to 80 ms (on 6.18). Closing the next link
 * waits for the next grace period. On kernels before 6.6, closing a perf event waits for one as
 * well. Threads that close links at the same time share a grace period: closing 200 links takes 10
 * s one after the other, and 50 ms from 200 threads.
 *
 * Nothing is allocated here, so that no link stays open for lack of memory.
 */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "privilege/broker/links.h"

#define CLOSING_THREADS 255 /* in addition to the calling thread */

struct closing {
	pthread_mutex_t lock;
	struct member *list;
};

/* Returns -1 when none is left. */
static int closing_next(struct closing *c)
{
	struct member *done = NULL;
	int fd = -1;

	pthread_mutex_lock(&c->lock);
	if (c->list) {
		fd = c->list->fds[--c->list->n];
		if (!c->list->n) {
			done = c->list;
			c->list = done->next;
		}
	}
	pthread_mutex_unlock(&c->lock);
	free(done);
	return fd;
}

static void *close_descriptors(void *context)
{
	int fd;

	while ((fd = closing_next(context)) >= 0)
		close(fd);
	return NULL;
}

static unsigned count_descriptors(const struct member *list)
{
	unsigned n = 0;

	for (; list; list = list->next)
		n += list->n;
	return n;
}

void members_close(struct member *list)
{
	struct closing c = { .lock = PTHREAD_MUTEX_INITIALIZER, .list = list };
	pthread_t threads[CLOSING_THREADS];
	unsigned n = count_descriptors(list), n_threads = 0;
	pthread_attr_t small;

	if (n > 1 && !pthread_attr_init(&small)) {
		pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
		/* If no more threads can be created, fewer do the work; at worst only this one. */
		while (n_threads < CLOSING_THREADS && n_threads + 1 < n &&
		       !pthread_create(&threads[n_threads], &small, close_descriptors, &c))
			n_threads++;
		pthread_attr_destroy(&small);
	}
	close_descriptors(&c);
	while (n_threads)
		pthread_join(threads[--n_threads], NULL);
}
