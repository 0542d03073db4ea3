/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unloads TIMES THREADS LIBRARY...: so many threads, one after the other, open each library (copies of part.so), mark
 * in it and close it again, so many times. Prints `marks <n>`, and `kept <n>`: by how many KiB the memory of the
 * program has grown since the first time.
 */
#include <proftrace.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char **libraries;
static unsigned long marks;

static void mark_in(const char *path, int i)
{
	void *library = dlopen(path, RTLD_NOW), *symbol = library ? dlsym(library, "part") : NULL;
	int (*part)(int);

	if (!symbol) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	memcpy(&part, &symbol, sizeof(part));
	marks += (unsigned long)part(i);
	PROF_INSTANT("opened", "i", i);
	marks++;
	marks += (unsigned long)part(-i);
	dlclose(library);
}

static void *open_all(void *times)
{
	char **library;
	int i;

	for (i = 0; i < *(int *)times; i++) {
		for (library = libraries; *library; library++)
			mark_in(*library, i);
	}
	return NULL;
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	char line[128];
	long kib = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "Anonymous:", 10))
			kib = atol(line + 10);
	}
	if (file)
		fclose(file);
	return kib;
}

int main(int argc, char **argv)
{
	int times = argc > 3 ? atoi(argv[1]) : 0, n = argc > 3 ? atoi(argv[2]) : 0, once = 1, i;
	pthread_t thread;
	long before;

	libraries = argv + 3;
	if (times < 1 || n < 1)
		return 2;
	open_all(&once);
	before = resident_kib();
	for (i = 0; i < n; i++) {
		if (pthread_create(&thread, NULL, open_all, &times))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("kept %ld\nmarks %lu\n", resident_kib() - before, marks);
	return 0;
}
