/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crowd THREADS WAVES: in each wave so many threads start, and all are there at once: each opens a
 * slice, waits for the others, puts a slice and an instant into it, and leaves it open when its number
 * is odd. The last thread of all then executes the program anew in the midst of a slice; that one
 * makes one slice more than it ends. Prints `marks <n>`, `cut <n>`: ENDs without a BEGIN, and
 * `short <n>` when the machine does not have so many threads.
 */
#include <proftrace.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_there = PTHREAD_COND_INITIALIZER;
static int wanted, there;
static long marks;
static char **program;

static void *one_of_many(void *number)
{
	int odd = (int)((size_t)number & 1);

	PROF_BEGIN("there");
	pthread_mutex_lock(&mutex);
	there++;
	pthread_cond_broadcast(&all_there);
	while (there < wanted)
		pthread_cond_wait(&all_there, &mutex);
	marks += odd ? 4 : 5;
	pthread_mutex_unlock(&mutex);
	PROF_BEGIN("inner");
	PROF_INSTANT("number", "n", (unsigned long)(size_t)number);
	PROF_END();
	if (!odd)
		PROF_END();
	return NULL;
}

static int wave(int n)
{
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));
	pthread_attr_t small;
	int i;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	wanted = n;
	there = 0;
	for (i = 0; threads && i < n; i++) {
		if (pthread_create(&threads[i], &small, one_of_many, (void *)(size_t)i))
			break;
	}
	pthread_mutex_lock(&mutex);
	wanted = i;
	pthread_cond_broadcast(&all_there);
	pthread_mutex_unlock(&mutex);
	n = i;
	while (threads && i > 0)
		pthread_join(threads[--i], NULL);
	free(threads);
	return n;
}

static void *execute(void *count)
{
	PROF_BEGIN("before");
	PROF_BEGIN("inside");
	execl("/proc/self/exe", program[0], "again", (char *)count, (char *)NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, waves = argc > 2 ? atoi(argv[2]) : 1, i;
	pthread_t thread;
	char count[32];

	if (argc > 2 && !strcmp(argv[1], "again")) {
		PROF_END();
		PROF_BEGIN("after");
		PROF_BEGIN("within");
		PROF_END();
		printf("marks %ld\ncut 1\n", atol(argv[2]) + 4);
		return 0;
	}
	program = argv;
	for (i = 0; i < waves; i++) {
		int got = wave(n);

		if (got < n) {
			printf("short %d\n", got);
			return 1;
		}
	}
	snprintf(count, sizeof(count), "%ld", marks + 2);
	pthread_create(&thread, NULL, execute, count);
	pthread_join(thread, NULL);
	return 1;
}
