/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that go from CPU to CPU all the time, in the midst of what they mark. What one thread does is
 * the answer to what another has done: an asynchronous slice begins on one and ends on the next, memory
 * is taken by one and given back by the other. Prints what it marked.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <proftrace.h>

#define THREADS 8

static int cpus[1024], n_cpus;
static long rounds;
static atomic_ulong marks, moves;
/* From each thread to the one after it: the number of the round that is ready. */
static _Atomic long ready[THREADS];

static void hop(unsigned to)
{
	int before = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpus[to % n_cpus], &set);
	if (!sched_setaffinity(0, sizeof(set), &set) && sched_getcpu() != before)
		moves++;
}

/* So deep, with a move at every level. */
static void nest(unsigned depth, unsigned at, unsigned long *n)
{
	PROF_BEGIN("level", "depth", depth);
	hop(at + depth);
	if (depth < 4) {
		nest(depth + 1, at, n);
	} else {
		PROF_INSTANT("bottom", "text", "of it");
		(*n)++;
	}
	hop(at);
	PROF_END();
	*n += 2;
}

static void *work(void *arg)
{
	long me = (long)(size_t)arg, before = (me + THREADS - 1) % THREADS, i;
	unsigned long n = 0;

	for (i = 1; i <= rounds; i++) {
		long id = i * THREADS;

		PROF_ASYNC_BEGIN("request", id + me);
		PROF_ALLOC("pool", (void *)((id + me) << 8), 64);
		atomic_store(&ready[me], i);
		nest(0, i + me, &n);
		while (atomic_load(&ready[before]) < i)
			sched_yield();
		PROF_FREE("pool", (void *)((id + before) << 8));
		PROF_ASYNC_END("request", id + before);
		n += 4;
	}
	marks += n;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	cpu_set_t set;
	long i;

	rounds = argc > 1 ? atol(argv[1]) : 200;
	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	for (i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &set))
			cpus[n_cpus++] = i;
	}
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(size_t)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("marks %lu\nmoves %lu\n", marks, moves);
	return 0;
}
