/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ranks START_NS STEPS PERIOD_MS
 *
 * One of several programs that work in step: each begins step k at the same moment of the monotonic
 * clock. Prints how many marks it made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <proftrace.h>

static void sleep_until(long long ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

int main(int argc, char **argv)
{
	long long start = argc > 3 ? atoll(argv[1]) : 0, period = argc > 3 ? atoll(argv[3]) : 0;
	int i, n = argc > 3 ? atoi(argv[2]) : 0;

	for (i = 0; i < n; i++) {
		sleep_until(start + i * period * 1000000);
		PROF_STEP(1, i);
		PROF_BEGIN("step", "i", i);
		PROF_BEGIN("forward");
		PROF_FLOW_OUT((unsigned long long)i);
		PROF_END();
		PROF_ASYNC_BEGIN("reduce", (unsigned long long)i);
		PROF_COUNTER("loss", 1.0 / (i + 1));
		PROF_ASYNC_END("reduce", (unsigned long long)i);
		PROF_BEGIN("backward");
		PROF_FLOW_IN((unsigned long long)i);
		PROF_END();
		PROF_END();
	}
	printf("slices %d\ncounters %d\n", 3 * n, n);
	return 0;
}
