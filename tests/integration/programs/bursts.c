/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes 2000 marks and loads a library, TIMES times. Prints how long loading it took, in ms: the median of
 * all times.
 */
#include <dlfcn.h>
#include <proftrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TIMES_MAX 100

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int earlier(const void *a, const void *b)
{
	const double *x = (const double *)a, *y = (const double *)b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	int i, k, times = argc > 2 ? atoi(argv[2]) : 0;
	double took[TIMES_MAX];

	if (times < 1 || times > TIMES_MAX)
		return 2;
	for (k = 0; k < times; k++) {
		void *library;

		for (i = 0; i < 2000; i++)
			PROF_INSTANT("one of many", "i", i);
		took[k] = now_ms();
		library = dlopen(argv[1], RTLD_NOW);
		if (!library || dlclose(library))
			return 3;
		took[k] = now_ms() - took[k];
	}
	qsort(took, times, sizeof(took[0]), earlier);
	printf("median %.0f\ntotal %d\n", took[times / 2], 2000 * times);
	return 0;
}
