/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counted WHAT [N]: slices that count themselves, for what a recording says of them to be compared.
 *
 *	clock [N]	N slices of different lengths, with some sleep and some nesting. Each carries
 *			`ns`: the CPU time of the thread between its begin and its end
 *	pages N		one slice that touches N new pages, and one that touches none
 *	sleeps N	one slice that sleeps N times; `switches`: what the thread was told of itself
 *	threads N	N threads that start while the others run, with two slices each
 *	busy SECONDS	nothing but CPU time, without a mark
 *	long MS		a thread with one slice of that much CPU time, another one without any
 */
#include <proftrace.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifndef RUSAGE_THREAD
#define RUSAGE_THREAD 1
#endif

static long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000l + t.tv_nsec;
}

static void burn(long ns)
{
	long end = cpu_ns() + ns;

	while (cpu_ns() < end)
		;
}

static void one_slice(int i)
{
	long begin;

	PROF_BEGIN("measured");
	begin = cpu_ns();
	burn((long)(i % 40) * 5000);
	if (i % 16 == 0)
		usleep(200);
	PROF_END("ns", cpu_ns() - begin);
}

static void clocks(int n)
{
	int i;

	for (i = 0; i < n; i++)
		one_slice(i);
}

static void pages(int n)
{
	long page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, (size_t)(n * page), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | 0x20 /* MAP_ANONYMOUS */, -1, 0);
	volatile char *at = memory;
	int i, round;

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, (size_t)(n * page), 15 /* MADV_NOHUGEPAGE */);
	/* The first mark may touch pages of its own. */
	for (round = 0; round < 3; round++) {
		PROF_BEGIN("touch");
		for (i = 0; round && i < n; i++)
			at[i * page] = 1;
		PROF_END("round", round);
	}
}

static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void sleeps(int n)
{
	long begin;
	int i;

	PROF_BEGIN("sleep");
	begin = switches();
	for (i = 0; i < n; i++)
		usleep(1000);
	PROF_END("switches", switches() - begin);
}

static void *thread(void *unused)
{
	PROF_BEGIN("outer");
	PROF_BEGIN("inner");
	burn(20000);
	PROF_END();
	PROF_END();
	return unused;
}

static void threads(int n)
{
	pthread_t all[1024];
	int i;

	for (i = 0; i < n && i < 1024; i++)
		pthread_create(&all[i], NULL, thread, NULL);
	while (i-- > 0)
		pthread_join(all[i], NULL);
}

static void *burn_ms(void *ms)
{
	burn(*(int *)ms * 1000000l);
	return NULL;
}

static void long_slice(int ms)
{
	pthread_t other;
	long begin;

	pthread_create(&other, NULL, burn_ms, &ms);
	PROF_BEGIN("long");
	begin = cpu_ns();
	burn(ms * 1000000l);
	PROF_END("ns", cpu_ns() - begin);
	pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 1;

	if (!strcmp(what, "clock"))
		clocks(n);
	else if (!strcmp(what, "pages"))
		pages(n);
	else if (!strcmp(what, "sleeps"))
		sleeps(n);
	else if (!strcmp(what, "threads"))
		threads(n);
	else if (!strcmp(what, "long"))
		long_slice(n);
	else if (!strcmp(what, "busy"))
		burn(n * 1000000000l);
	else
		return 2;
	return 0;
}
