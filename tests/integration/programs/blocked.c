/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blocked ROUNDS
 *
 * Sleeps for 20 ms and for 1 ms in slices, and for 20 ms outside of them. At the end how often it did the
 * first, and of the second how often it took 10 ms or more all the same: `longer N`, `late N`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <proftrace.h>

static volatile long naps;

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

__attribute__((noinline)) static void nap(long us)
{
	const struct timespec t = { 0, us * 1000 };

	nanosleep(&t, NULL);
	naps++;
}

__attribute__((noinline)) static void longer(void)
{
	nap(20000);
	naps++;
}

__attribute__((noinline)) static void shorter(void)
{
	nap(1000);
	naps += 2;
}

__attribute__((noinline)) static void outside(void)
{
	nap(20000);
	naps += 3;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10, late = 0;

	for (long i = 0; i < n; i++) {
		long begin;

		PROF_BEGIN("work");
		longer();
		begin = now_us();
		shorter();
		late += now_us() - begin >= 10000;
		PROF_END();
		outside();
	}
	printf("longer %ld\nlate %ld\n", n, late);
	return 0;
}
