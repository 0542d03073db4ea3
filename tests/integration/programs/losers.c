/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs whose marks are lost while their threads end. Each thread counts its own.
 *
 * losers killed THREADS MS LIBRARY: a child whose threads mark without end, here and in LIBRARY (part.c), each with a
 * batch of either file, until it kills itself. Prints `marks <n>`; of each thread one more may have been made.
 *
 * losers quiet THREADS: threads that mark a few times, slowly, and end while the recorder is stopped and the buffer is
 * full of marks and of other threads' ends. The recorder's number is read from standard input after `ready`. Prints
 * `marks <n>` when they have ended and the recorder goes on, and ends with its input.
 */
#include <proftrace.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 500
#define FILLERS \
	1500 /* whose forks and exits fill a buffer of 64 KiB, which has space for one batch less */

struct count {
	volatile unsigned long n;
	char apart[56];
};

static struct count *counts; /* of each thread; shared with the child */
static int (*part)(int);
static pthread_barrier_t begun, full;

static void *mark_without_end(void *mine)
{
	struct count *count = mine;
	int i;

	for (i = 0;; i++) {
		PROF_BEGIN("slice", "i", i);
		count->n++;
		count->n += (unsigned long)part(i);
		PROF_END();
		count->n++;
	}
	return NULL;
}

static int be_killed(int n, int ms, const char *library)
{
	void *opened = dlopen(library, RTLD_NOW), *symbol = opened ? dlsym(opened, "part") : NULL;
	pthread_t thread;
	pid_t child;
	int i;

	if (!symbol)
		return 1;
	memcpy(&part, &symbol, sizeof(part));
	child = fork();
	if (child == 0) {
		for (i = 0; i < n; i++) {
			if (pthread_create(&thread, NULL, mark_without_end, &counts[i]))
				_exit(1);
		}
		usleep((useconds_t)ms * 1000);
		kill(getpid(), SIGKILL);
	}
	return child < 0 || waitpid(child, NULL, 0) != child;
}

static void *mark_slowly(void *mine)
{
	struct count *count = mine;
	int i;

	for (i = 0; i < 300; i++) {
		PROF_INSTANT("slow", "i", i);
		count->n++;
		if (i % 30 == 0)
			usleep(10000);
	}
	pthread_barrier_wait(&begun);
	pthread_barrier_wait(&full);
	return NULL;
}

static void *do_nothing(void *unused)
{
	return unused;
}

static void fill(pid_t recorder)
{
	pthread_t thread;
	int i;

	usleep(300000); /* in which the recorder sees the marks in the memory */
	kill(recorder, SIGSTOP);
	for (i = 0; i < 100000; i++) {
		PROF_INSTANT("filling", "i", i);
		counts[MOST].n++;
	}
	for (i = 0; i < FILLERS; i++) {
		if (!pthread_create(&thread, NULL, do_nothing, NULL))
			pthread_join(thread, NULL);
	}
}

static int end_quietly(int n)
{
	pthread_t threads[MOST];
	char line[32];
	pid_t recorder;
	int i;

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	recorder = atoi(line);
	pthread_barrier_init(&begun, NULL, (unsigned)n + 1);
	pthread_barrier_init(&full, NULL, (unsigned)n + 1);
	for (i = 0; i < n; i++) {
		if (pthread_create(&threads[i], NULL, mark_slowly, &counts[i]))
			return 1;
	}
	pthread_barrier_wait(&begun);
	fill(recorder);
	pthread_barrier_wait(&full);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	kill(recorder, SIGCONT);
	return 0;
}

static void print_marks(void)
{
	unsigned long sum = 0;
	int i;

	for (i = 0; i <= MOST; i++)
		sum += counts[i].n;
	printf("marks %lu\n", sum);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0;
	char c;

	counts = mmap(NULL, (MOST + 1) * sizeof(*counts), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (n < 1 || n > MOST || counts == MAP_FAILED)
		return 2;
	if (!strcmp(argv[1], "killed") && argc == 5) {
		if (be_killed(n, atoi(argv[3]), argv[4]))
			return 1;
		print_marks();
		return 0;
	}
	if (end_quietly(n))
		return 1;
	print_marks();
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
