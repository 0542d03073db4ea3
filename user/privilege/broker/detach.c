/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closes links in parallel.
 *
 * From Linux 6.12 on, when the kernel removes the program of a link, it waits until no thread runs
 * the program any more: for a grace period of RCU, 30 to 80 ms (on 6.18). Closing the next link
 * waits for the next grace period. On kernels before 6.6, closing a perf event waits for one as
 * well. Threads that close links at the same time share a grace period: closing 200 links takes 10
 * s one after the other, and 50 ms from 200 threads.
 */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "privilege/broker/server.h"

#define CLOSING_THREADS 255 /* in addition to the calling thread */

struct closing {
	const int *fds;
	unsigned n, next;
};

static void *close_descriptors(void *context)
{
	struct closing *c = context;
	unsigned i;

	while ((i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->n)
		close(c->fds[i]);
	return NULL;
}

void descriptors_close(const int *fds, unsigned n)
{
	struct closing c = { .fds = fds, .n = n };
	pthread_t threads[CLOSING_THREADS];
	unsigned n_threads = 0;
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

int *descriptors_reserve(struct descriptors *d, unsigned n)
{
	unsigned capacity = d->n + n > 2 * d->capacity ? d->n + n : 2 * d->capacity;
	int *grown;

	if (d->n + n <= d->capacity)
		return d->list + d->n;
	grown = realloc(d->list, capacity * sizeof(*grown));
	if (!grown)
		return NULL;
	d->list = grown;
	d->capacity = capacity;
	return d->list + d->n;
}
