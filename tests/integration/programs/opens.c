/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opens N LIBRARY: opens and closes the library N times, calling into it; counts signals that it got
 * and calls that were interrupted. Prints `loaded <n>` and `disturbed <n>`.
 */
#include <proftrace.h>

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int disturbed;

static void *watch(void *unused)
{
	for (;;) {
		if (poll(NULL, 0, -1) < 0 && errno == EINTR)
			disturbed++;
	}
	return unused;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, i, loaded = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, watch, NULL);
	for (i = 0; argc > 2 && i < n; i++) {
		int (*work)(int);
		void *library;

		PROF_BEGIN("open");
		library = dlopen(argv[2], RTLD_NOW);
		PROF_END();
		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&work = dlsym(library, "plugin_work");
		loaded += work(i) == i + 1;
		dlclose(library);
	}
	printf("loaded %d\ndisturbed %d\n", loaded, disturbed);
	return 0;
}
