/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * storm THREADS [PAUSE [hidden]]: marks as fast as it can until its standard input ends: nested slices and an
 * instant that carries a running number; slower with a PAUSE of so many microseconds after each of
 * these rounds. Late threads join and leave all the while, more seldom with a PAUSE. Prints
 * `ready <pid>` first; at the end `semaphore <n>`: whether its domain is still on, and `marks <n>`.
 * `hidden`: it says of itself that it shall not be looked into.
 */
#include <proftrace.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static atomic_int stop;
static atomic_long marks;
static unsigned int pause_us;

static void round_of_marks(long n)
{
	PROF_BEGIN("outer");
	PROF_BEGIN("inner", "n", n);
	PROF_INSTANT("number", "n", n);
	PROF_END();
	PROF_END();
}

static void *storm(void *unused)
{
	long n;

	for (n = 0; !stop; n++) {
		round_of_marks(n);
		if (pause_us)
			usleep(pause_us);
	}
	marks += 5 * n;
	return unused;
}

static void *late(void *unused)
{
	long n;

	for (n = 0; n < 20; n++)
		round_of_marks(n);
	marks += 5 * n;
	return unused;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2, i;
	pthread_t threads[64], one;
	struct pollfd input = { 0, POLLIN, 0 };

	if (n > 64)
		n = 64;
	pause_us = argc > 2 ? (unsigned int)atoi(argv[2]) : 0;
	if (argc > 3)
		prctl(PR_SET_DUMPABLE, 0);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, storm, NULL);
	while (poll(&input, 1, 1 + (int)pause_us / 20) == 0) {
		pthread_create(&one, NULL, late, NULL);
		pthread_join(one, NULL);
	}
	stop = 1;
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("semaphore %d\nmarks %ld\n", prof_is_enabled(&prof_default), (long)marks);
	return 0;
}
