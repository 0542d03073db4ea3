/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * births MILLISECONDS [wait]: for so long, threads are born as fast as it can, up to 64 at a time. Each has
 * a slice and an instant in it, counts its marks, and ends. Prints `threads <n>`, `rate <n>`: a second,
 * and `marks <n>`. `wait`: says `ready <pid>` first, and waits for a line of its input.
 */
#include <proftrace.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 64

static atomic_ulong marks;

static void *live(void *number)
{
	PROF_BEGIN("life");
	PROF_INSTANT("birth", "n", (uint64_t)(uintptr_t)number);
	PROF_END();
	atomic_fetch_add(&marks, 3);
	return NULL;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double begun, end, taken;
	pthread_t threads[AT_ONCE];
	unsigned long born = 0;
	pthread_attr_t small;

	if (argc > 2) {
		printf("ready %ld\n", (long)getpid());
		fflush(stdout);
		while (getchar() != '\n' && !feof(stdin))
			;
	}
	begun = now();
	end = begun + (argc > 1 ? atof(argv[1]) : 0) / 1e3;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	while (now() < end) {
		unsigned n;

		for (n = 0; n < AT_ONCE; n++) {
			if (pthread_create(&threads[n], &small, live,
					   (void *)(uintptr_t)(born + n)))
				break;
		}
		born += n;
		while (n)
			pthread_join(threads[--n], NULL);
	}
	taken = now() - begun;
	printf("threads %lu\nrate %.0f\nmarks %lu\n", born, (double)born / taken,
	       atomic_load(&marks));
	return 0;
}
