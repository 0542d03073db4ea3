/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of growth.sh.
 *
 *	growth WHAT N		marks something N times, and prints what one of it takes:
 *		names		objects of different names, each of which is made and marked once
 *		threads		threads that live at the same time, a slice in each
 *		processes	children, one after the other, a slice in each
 *		libraries	shared libraries (./library-0.so and so on), a slice in each
 *		open		asynchronous slices that are open at the same time
 *		arguments	marks, each with an argument of another value
 *	growth measure COMMAND...	runs a command, and prints the CPU time in ms of it and its children, and the
 *			memory in MiB of the largest of them
 */
#include <dlfcn.h>
#include <proftrace.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_SIZE 65536

static unsigned long n;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void grow_names(void)
{
	char name[32];
	unsigned long i;

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "name %lu", i);
		prof_marker_instant(prof_marker_get(name, ""));
	}
}

static pthread_barrier_t together;

static void *mark_in_thread(void *nothing)
{
	PROF_BEGIN("thread");
	pthread_barrier_wait(&together);
	PROF_END();
	return nothing;
}

static void grow_threads(void)
{
	pthread_t *threads = calloc(n, sizeof(*threads));
	pthread_attr_t attributes;
	unsigned long i;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_barrier_init(&together, NULL, n + 1);
	for (i = 0; i < n; i++) {
		if (!threads || pthread_create(&threads[i], &attributes, mark_in_thread, NULL)) {
			fprintf(stderr, "cannot make thread %lu\n", i);
			exit(1);
		}
	}
	pthread_barrier_wait(&together);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void grow_processes(void)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		pid_t child = fork();

		if (child < 0)
			exit(1);
		if (!child) {
			PROF_BEGIN("process");
			PROF_END();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

static void grow_libraries(void)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		void (*mark)(void) = NULL;
		char path[64];
		void *library;

		snprintf(path, sizeof(path), "./library-%lu.so", i);
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (library)
			*(void **)&mark = dlsym(library, "mark_in_library");
		if (!mark) {
			fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
		mark();
	}
}

static void grow_open(void)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		PROF_ASYNC_BEGIN("open", i);
	for (i = 0; i < n; i++)
		PROF_ASYNC_END("open", i);
}

static void grow_arguments(void)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		PROF_INSTANT("argument", "value", i);
}

static double milliseconds(struct timeval t)
{
	return t.tv_sec * 1e3 + t.tv_usec / 1e3;
}

static int measure(char **command)
{
	struct rusage used;
	int status;
	pid_t child = fork();

	if (!child) {
		execvp(command[0], command);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &used) < 0)
		return 1;
	printf("all_ms %.1f\nmost_mib %.1f\n",
	       milliseconds(used.ru_utime) + milliseconds(used.ru_stime), used.ru_maxrss / 1024.0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *word;
		void (*grow)(void);
	} kinds[] = {
		{ "names", grow_names },	 { "threads", grow_threads },
		{ "processes", grow_processes }, { "libraries", grow_libraries },
		{ "open", grow_open },		 { "arguments", grow_arguments },
	};
	struct rusage used;
	uint64_t began_ns;
	double own_ms;
	unsigned i;

	if (argc > 2 && !strcmp(argv[1], "measure"))
		return measure(argv + 2);
	n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	for (i = 0; n && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].word))
			continue;
		began_ns = now_ns();
		kinds[i].grow();
		printf("each_us %.3f\n", (now_ns() - began_ns) / 1e3 / n);
		getrusage(RUSAGE_CHILDREN, &used);
		own_ms = milliseconds(used.ru_utime) + milliseconds(used.ru_stime);
		getrusage(RUSAGE_SELF, &used);
		own_ms += milliseconds(used.ru_utime) + milliseconds(used.ru_stime);
		printf("cpu_ms %.1f\nmemory_mib %.1f\n", own_ms, used.ru_maxrss / 1024.0);
		return 0;
	}
	fprintf(stderr, "usage: growth WHAT N | growth measure COMMAND...\n");
	return 2;
}
