/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * awaits NUMBER [leave]: so many asynchronous slices "job" are open at once, and as many "twin", of
 * which every four have the same id. Another thread ends them all. Or only jobs begin, and are left.
 * Prints `total <n>`: the marks that it made.
 */
#include <proftrace.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long number;

static void *end_all(void *none)
{
	unsigned long i;

	for (i = 0; i < number; i++) {
		PROF_ASYNC_END("job", i);
		PROF_ASYNC_END("twin", i / 4);
	}
	return none;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	unsigned long i;

	number = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	for (i = 0; i < number; i++) {
		PROF_ASYNC_BEGIN("job", i);
		if (argc < 3)
			PROF_ASYNC_BEGIN("twin", i / 4);
	}
	if (argc > 2) {
		printf("total %lu\n", number);
		return 0;
	}
	pthread_create(&thread, NULL, end_all, NULL);
	pthread_join(thread, NULL);
	printf("total %lu\n", 4 * number);
	return 0;
}
