/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stacked ROUNDS
 *
 * Marks of the same names from two callers, in a thread of their own each, and marks of others beside
 * them. At the end how often each caller was called: `left N`, `right N`.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <proftrace.h>

static volatile long kept;

__attribute__((noinline)) static void leaf(long i)
{
	PROF_BEGIN("wanted.slice", "i", i);
	PROF_INSTANT("plain");
	if (i % 3 == 0)
		PROF_INSTANT("wanted.moment");
	PROF_END();
	kept += i;
}

__attribute__((noinline)) static void left(long i)
{
	leaf(i);
	kept -= 1;
}

__attribute__((noinline)) static void right(long i)
{
	PROF_BEGIN("plain slice");
	leaf(i);
	PROF_END();
	kept -= 2;
}

static void *lefts(void *arg)
{
	for (long i = 0; i < *(long *)arg; i++)
		left(i);
	return NULL;
}

static void *rights(void *arg)
{
	for (long i = 0; i < *(long *)arg; i++)
		right(i);
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 100, twice = 2 * n;
	pthread_t threads[2];

	if (pthread_create(&threads[0], NULL, lefts, &n) ||
	    pthread_create(&threads[1], NULL, rights, &twice))
		return 1;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("left %ld\nright %ld\nmoments %ld\n", n, twice, (n + 2) / 3 + (twice + 2) / 3);
	return 0;
}
