/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * states [ROUNDS]: slices whose thread does one known thing, on a CPU of its own choice.
 *
 *	spin		10 ms of CPU time
 *	sleep		sleeps 10 ms
 *	lock		waits for a lock that the thread `holder` holds for 10 ms
 *	preempted	20 ms of CPU time while the thread `competitor` wants the same CPU
 *
 * Each carries on its END `round`, and `cpu_ns`: the CPU time of its thread inside of it. Each thread
 * makes an instant `usage` when it begins and when it is about to end, and prints what the kernel says of
 * how often it had been switched away by then, of its own will and not, right before and right after it:
 * `from <tid> <n> <n> <n> <n>` and `until ...`. Prints the threads: `main <tid>`, `holder <tid>`,
 * `competitor <tid>`; and what it marked: `marks <n>`.
 */
#define _GNU_SOURCE
#include <proftrace.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef RUSAGE_THREAD
#define RUSAGE_THREAD 1
#endif

#define MS 1000000l

static unsigned marks;
static int rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t hold, held, compete, competes;
static int enough; /* for the competitor, for now */

static long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000l + t.tv_nsec;
}

/* How often the thread was switched away by then: at least the first two, at most the others. */
static void usage(const char *when)
{
	struct rusage before, after;

	getrusage(RUSAGE_THREAD, &before);
	PROF_INSTANT("usage");
	getrusage(RUSAGE_THREAD, &after);
	__atomic_add_fetch(&marks, 1, __ATOMIC_SEQ_CST);
	printf("%s %ld %ld %ld %ld %ld\n", when, syscall(SYS_gettid), before.ru_nvcsw,
	       before.ru_nivcsw, after.ru_nvcsw, after.ru_nivcsw);
}

static void burn(long ns)
{
	long end = cpu_ns() + ns;

	while (cpu_ns() < end)
		;
}

static void nap(long ns)
{
	struct timespec t = { 0, ns };

	while (nanosleep(&t, &t))
		;
}

/* Alone on the CPU, but for those who are there anyway. */
static void stay(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *holder(void *unused)
{
	int i;

	(void)unused;
	PROF_THREAD_NAME("holder");
	__atomic_add_fetch(&marks, 1, __ATOMIC_SEQ_CST);
	printf("holder %ld\n", syscall(SYS_gettid));
	usage("from");
	for (i = 0; i < rounds; i++) {
		sem_wait(&hold);
		pthread_mutex_lock(&lock);
		sem_post(&held);
		nap(10 * MS);
		pthread_mutex_unlock(&lock);
	}
	usage("until");
	return NULL;
}

static void *competitor(void *cpu)
{
	int i;

	PROF_THREAD_NAME("competitor");
	__atomic_add_fetch(&marks, 1, __ATOMIC_SEQ_CST);
	printf("competitor %ld\n", syscall(SYS_gettid));
	stay(*(int *)cpu);
	usage("from");
	for (i = 0; i < rounds; i++) {
		sem_wait(&compete);
		sem_post(&competes);
		while (!__atomic_load_n(&enough, __ATOMIC_SEQ_CST))
			;
	}
	usage("until");
	return NULL;
}

static void one_round(int round)
{
	long begin;

	PROF_BEGIN("spin");
	begin = cpu_ns();
	burn(10 * MS);
	PROF_END("round", round, "cpu_ns", cpu_ns() - begin);

	PROF_BEGIN("sleep");
	begin = cpu_ns();
	nap(10 * MS);
	PROF_END("round", round, "cpu_ns", cpu_ns() - begin);

	sem_post(&hold);
	sem_wait(&held);
	PROF_BEGIN("lock");
	begin = cpu_ns();
	pthread_mutex_lock(&lock);
	PROF_END("round", round, "cpu_ns", cpu_ns() - begin);
	pthread_mutex_unlock(&lock);

	__atomic_store_n(&enough, 0, __ATOMIC_SEQ_CST);
	sem_post(&compete);
	sem_wait(&competes);
	PROF_BEGIN("preempted");
	begin = cpu_ns();
	burn(20 * MS);
	PROF_END("round", round, "cpu_ns", cpu_ns() - begin);
	__atomic_store_n(&enough, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&marks, 8, __ATOMIC_SEQ_CST);
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int i, cpu = sched_getcpu();

	rounds = argc > 1 ? atoi(argv[1]) : 3;
	setvbuf(stdout, NULL, _IOLBF, 0);
	sem_init(&hold, 0, 0);
	sem_init(&held, 0, 0);
	sem_init(&compete, 0, 0);
	sem_init(&competes, 0, 0);
	printf("main %ld\n", syscall(SYS_gettid));
	usage("from");
	if (pthread_create(&threads[0], NULL, holder, NULL) ||
	    pthread_create(&threads[1], NULL, competitor, &cpu))
		return 1;
	stay(cpu);
	for (i = 0; i < rounds; i++)
		one_round(i);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	usage("until");
	printf("marks %u\n", marks);
	return 0;
}
