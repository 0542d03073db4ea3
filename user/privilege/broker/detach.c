/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closing what is attached. From Linux 6.12 on the kernel waits, as it takes a link's program away, until
 * no thread runs it any more: for a grace period of RCU, 30 to 80 ms (on 6.18), in which nothing is to be
 * done, and the same again for the next link. A perf event of a kernel before 6.6 waits for one as well.
 * But those who wait at the same time wait for the same grace period: 200 links take 10 s one after the
 * other, and 50 ms from as many threads.
 */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "privilege/broker/server.h"

#define CLOSING_THREADS 255 /* besides the one that is there */

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
		/* Where there may not be as many, fewer do it: this one alone, at the worst. */
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
