/* SPDX-License-Identifier: BSD-2-Clause */
/* sampled_spans MS: MS of CPU time in a slice "work", and as much outside of slices, each in a function of its own. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <proftrace.h>

static volatile uint64_t sum;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* They differ, or the compiler makes them one. */
static __attribute__((noinline)) void inside(uint64_t ns)
{
	uint64_t i, until = cpu_ns() + ns;

	while (cpu_ns() < until) {
		for (i = 0; i < 20000; i++)
			sum += i;
	}
}

static __attribute__((noinline)) void outside(uint64_t ns)
{
	uint64_t i, until = cpu_ns() + ns;

	while (cpu_ns() < until) {
		for (i = 0; i < 20000; i++)
			sum ^= i;
	}
}

int main(int argc, char **argv)
{
	uint64_t ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 200) * 1000000;

	PROF_BEGIN("work");
	inside(ns);
	PROF_END();
	outside(ns);
	return 0;
}
