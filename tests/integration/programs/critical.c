/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * critical pipeline N: N requests go through three threads. `stage1` prepares each for 1 ms (slice
 * `prepare`), `stage2` works on each for 4 ms (`middle`), `stage3` for 1 ms (`finish`). Each request is
 * an asynchronous slice `request` that begins before `prepare` and ends after `finish`, with arrows
 * between the stages. So requests wait for `stage2`: of all that a request takes, at least four fifths
 * are its work, on this request or on those before it.
 *
 * critical convoy N: four threads want one lock N times each, and hold it for 1 ms (slice `hold`). What a
 * slice `enter` takes is what others hold it.
 *
 * Prints `marks <n>` and, for each request or `enter`, `took <ns>` by a clock of its own, around it.
 */
#define _GNU_SOURCE
#include <proftrace.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS   1000000l
#define MOST 1000

static unsigned marks;
static int n;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void nap(long ns)
{
	struct timespec t = { 0, ns };

	while (nanosleep(&t, &t))
		;
}

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000l + t.tv_nsec;
}

static void count(unsigned how_many)
{
	__atomic_add_fetch(&marks, how_many, __ATOMIC_SEQ_CST);
}

/* --- the pipeline -------------------------------------------------------------------------------- */

static int between[2][2]; /* pipes: a queue of numbers */
static long began[MOST];

static void put(int stage, int number)
{
	if (write(between[stage][1], &number, sizeof(number)) != sizeof(number))
		abort();
}

static int get(int stage)
{
	int number;

	if (read(between[stage][0], &number, sizeof(number)) != sizeof(number))
		abort();
	return number;
}

static void *prepare(void *unused)
{
	int i;

	pthread_setname_np(pthread_self(), "stage1");
	for (i = 0; i < n; i++) {
		began[i] = now_ns();
		PROF_ASYNC_BEGIN("request", i + 1);
		PROF_BEGIN("prepare");
		nap(MS);
		PROF_FLOW_OUT(i + 1);
		put(0, i);
		PROF_END();
		count(4);
	}
	return unused;
}

static void *work(void *unused)
{
	int i;

	pthread_setname_np(pthread_self(), "stage2");
	for (i = 0; i < n; i++) {
		int number = get(0);

		PROF_BEGIN("middle");
		PROF_FLOW_IN(number + 1);
		nap(4 * MS);
		PROF_FLOW_OUT(MOST + number + 1);
		put(1, number);
		PROF_END();
		count(4);
	}
	return unused;
}

static void *finish(void *unused)
{
	int i;

	pthread_setname_np(pthread_self(), "stage3");
	for (i = 0; i < n; i++) {
		int number = get(1);

		PROF_BEGIN("finish");
		PROF_FLOW_IN(MOST + number + 1);
		nap(MS);
		PROF_ASYNC_END("request", number + 1);
		printf("took %ld\n", now_ns() - began[number]);
		PROF_END();
		count(4);
	}
	return unused;
}

/* --- the convoy ---------------------------------------------------------------------------------- */

static void *want(void *unused)
{
	int i;

	for (i = 0; i < n; i++) {
		long before = now_ns();

		PROF_BEGIN("enter");
		pthread_mutex_lock(&lock);
		PROF_END();
		printf("took %ld\n", now_ns() - before);
		{
			PROF_SCOPE("hold");
			nap(MS);
			pthread_mutex_unlock(&lock);
		}
		count(4);
	}
	return unused;
}

int main(int argc, char **argv)
{
	void *(*const stages[])(void *) = { prepare, work, finish, NULL };
	void *(*const wanting[])(void *) = { want, want, want, want };
	pthread_t threads[4];
	int i, is_convoy = argc > 1 && !strcmp(argv[1], "convoy");

	n = argc > 2 ? atoi(argv[2]) : 20;
	if (n < 1 || n > MOST || pipe(between[0]) || pipe(between[1]))
		return 1;
	for (i = 0; i < 3 + is_convoy; i++)
		pthread_create(&threads[i], NULL, is_convoy ? wanting[i] : stages[i], NULL);
	for (i = 0; i < 3 + is_convoy; i++)
		pthread_join(threads[i], NULL);
	printf("marks %u\n", marks);
	return 0;
}
