/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * paused [THREADS [ROUNDS]]: pauses itself and goes on, with threads that mark all the while, and a
 * child that it forks while it is paused. Everything that is to be recorded has a name that begins with
 * `seen`, everything else one that begins with `hidden`. Prints `marks <n>`, `recorded <n>`,
 * `instants <n>`: those among the recorded that are instants, and `after <n>`: those that it made after
 * it had ended the recording, which the kernel may or may not have seen.
 */
#include <proftrace.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static atomic_long marks, recorded, instants;
static int rounds = 1000;

static void seen(int n)
{
	marks += n;
	recorded += n;
}

static void hidden(int n)
{
	marks += n;
}

static void meet(void)
{
	pthread_barrier_wait(&barrier);
}

static void seen_rounds(void)
{
	int i;

	for (i = 0; i < rounds; i++) {
		PROF_SCOPE("seen outer");
		PROF_BEGIN("seen inner", "i", i, "text", "x");
		PROF_INSTANT("seen instant");
		PROF_END("i", i);
		PROF_COUNTER("seen counter", i);
	}
	seen(6 * rounds);
	instants += rounds;
}

static void hidden_rounds(void)
{
	int i;

	for (i = 0; i < rounds; i++) {
		PROF_SCOPE("hidden outer");
		PROF_BEGIN("hidden inner", "i", i, "text", "x");
		PROF_INSTANT("hidden instant");
		PROF_END("i", i);
		PROF_COUNTER("hidden counter", i);
		PROF_FLOW_OUT(i);
	}
	hidden(7 * rounds);
}

static void *thread(void *argument)
{
	long n = (long)argument;
	int memory[4];

	seen_rounds();
	PROF_BEGIN("seen across");
	PROF_BEGIN("seen inside");
	PROF_ASYNC_BEGIN("seen async", n);
	PROF_ALLOC("seen pool", &memory[0], 64);
	seen(4);
	meet();
	meet(); /* paused */
	hidden_rounds();
	PROF_END();
	PROF_ASYNC_END("seen async", n);
	PROF_FREE("seen pool", &memory[0]);
	seen(3);
	PROF_BEGIN("hidden across");
	PROF_ASYNC_BEGIN("hidden async", n + 1000);
	PROF_ALLOC("hidden pool", &memory[1], 64);
	PROF_FREE("hidden pool", &memory[1]);
	PROF_FREE("hidden pool", &memory[2]);
	hidden(5);
	meet();
	meet(); /* resumed */
	PROF_END();
	PROF_ASYNC_END("hidden async", n + 1000);
	hidden(2);
	PROF_END();
	seen(1);
	seen_rounds();
	return NULL;
}

static void child(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		PROF_INSTANT("hidden in the child");
		prof_resume();
		PROF_INSTANT("seen in the child");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	hidden(1);
	seen(2);
	instants += 2;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;
	pthread_t threads[16];
	long i, before;

	if (n > 16)
		n = 16;
	if (argc > 2)
		rounds = atoi(argv[2]);
	pthread_barrier_init(&barrier, NULL, (unsigned int)n + 1);
	PROF_STEP(1, 1);
	for (i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	meet();
	prof_pause();
	prof_pause();
	meet();
	hidden_rounds();
	PROF_STEP(1, 2);
	child();
	meet();
	prof_resume();
	PROF_INSTANT("seen at once");
	meet();
	prof_dump();
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	seen(6);
	hidden(1);
	instants += 5; /* what steers the recording is seen as one, too */
	prof_stop();
	seen(1);
	instants++;
	before = marks;
	hidden_rounds();
	printf("marks %ld\nrecorded %ld\ninstants %ld\nafter %ld\n", before, (long)recorded,
	       (long)instants, (long)marks - before);
	return 7;
}
