/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues of compress.c. Its markers name their domain: a header's markers should not depend on
 * which file includes it.
 */
#ifndef QUEUE_H
#define QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <proftrace.h>

PROF_DOMAIN(queue_domain, "queue");

/* One file on its way from the walker to the archive. */
struct file {
	struct file *next;
	uint64_t id; /* from 1: names its asynchronous slice and its arrow */
	size_t size;
	unsigned char *packed; /* NULL: could not be read */
	size_t packed_size;
	char path[];
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	struct file *first, **last;
	unsigned depth, limit;
	bool closed;
};

static inline void queue_init(struct queue *q, unsigned limit)
{
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->filled, NULL);
	pthread_cond_init(&q->emptied, NULL);
	q->first = NULL;
	q->last = &q->first;
	q->depth = 0;
	q->limit = limit;
	q->closed = false;
}

/* Returns the number of queued files. Waits for free space; the slice shows how long. */
static inline unsigned queue_put(struct queue *q, struct file *file)
{
	unsigned depth;

	PROF_SCOPE_IN(queue_domain, "put");
	pthread_mutex_lock(&q->lock);
	while (q->depth == q->limit)
		pthread_cond_wait(&q->emptied, &q->lock);
	file->next = NULL;
	*q->last = file;
	q->last = &file->next;
	depth = ++q->depth;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
	return depth;
}

/* Returns NULL when the queue is closed and empty. */
static inline struct file *queue_take(struct queue *q, unsigned *ret_depth)
{
	struct file *file;

	PROF_SCOPE_IN(queue_domain, "take");
	pthread_mutex_lock(&q->lock);
	while (!q->first && !q->closed)
		pthread_cond_wait(&q->filled, &q->lock);
	file = q->first;
	if (file) {
		q->first = file->next;
		if (!q->first)
			q->last = &q->first;
		q->depth--;
		pthread_cond_signal(&q->emptied);
	}
	*ret_depth = q->depth;
	pthread_mutex_unlock(&q->lock);
	return file;
}

static inline void queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_cond_broadcast(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

#endif
