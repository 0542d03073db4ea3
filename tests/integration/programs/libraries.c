/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libraries THREADS TIMES FILE...: so many threads open and close all the libraries so many times (copies of
 * library.so, whose constructor marks). Prints `marked <n>`: what the constructors have counted.
 */
#include <proftrace.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static char **files;
static int n_files, times;
static unsigned marked;

/* Called by the constructors of libraries. */
void count_marks(unsigned n);
void count_marks(unsigned n)
{
	__atomic_add_fetch(&marked, n, __ATOMIC_RELAXED);
}

static void *open_all(void *unused)
{
	void **libraries = calloc((size_t)n_files, sizeof(*libraries));
	int time, i;

	for (time = 0; libraries && time < times; time++) {
		for (i = 0; i < n_files; i++) {
			libraries[i] = dlopen(files[i], RTLD_NOW);
			if (!libraries[i]) {
				fprintf(stderr, "%s\n", dlerror());
				exit(1);
			}
		}
		/* In this order the C library gets back the place of what they have for each thread. */
		while (i)
			dlclose(libraries[--i]);
	}
	free(libraries);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int n = argc > 3 ? atoi(argv[1]) : 0, i;

	if (n < 1 || n > 64)
		return 2;
	times = atoi(argv[2]);
	files = argv + 3;
	n_files = argc - 3;
	for (i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, open_all, NULL);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("marked %u\n", marked);
	return 0;
}
