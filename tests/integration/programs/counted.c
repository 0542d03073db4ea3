/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counted WHAT [N]: slices that count themselves, for what a recording says of them to be compared.
 *
 *	clock [N]	N slices of different lengths, some of which sleep, numbered `i`. Each carries
 *			`ns`: the CPU time of the thread right inside of it. At the end prints for each
 *			`around <i> <ns>`: the same, right around it
 *	naps N		the same, with slices that sleep half a second and do nothing else
 *	perf N		N slices, each with up to 4 new pages and up to 2 sleeps, and what the kernel's
 *			own software events say of the thread: perf_clock, perf_faults, perf_switches
 *	pages N		one slice that touches N new pages, and one that touches none
 *	sleeps N	one slice that sleeps N times; `switches`: what the thread was told of itself
 *			inside of it, `around <n>`: and around it
 *	threads N	N threads that start while the others run, with two slices each
 *	busy SECONDS	nothing but CPU time, without a mark
 *	long MS		a thread with one slice of that much CPU time, another one without any
 *	paused MS	as much CPU time before a pause, in it and after it
 */
#include <proftrace.h>

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

static void one_slice(int i, long length, unsigned sleep_us, long *around)
{
	long before = cpu_ns(), begin;

	PROF_BEGIN("measured");
	begin = cpu_ns();
	burn(length);
	if (sleep_us)
		usleep(sleep_us);
	PROF_END("i", i, "ns", cpu_ns() - begin);
	*around = cpu_ns() - before;
}

static void clocks(int n, int naps)
{
	long *around = calloc((size_t)n, sizeof(*around));
	int i;

	for (i = 0; around && i < n; i++) {
		if (naps)
			one_slice(i, 0, 500000, &around[i]);
		else
			one_slice(i, (long)(i % 40) * 5000, i % 16 ? 0 : 200, &around[i]);
	}
	for (i = 0; around && i < n; i++)
		printf("around %d %ld\n", i, around[i]);
	free(around);
}

static char *new_pages(int n)
{
	size_t size = (size_t)(n * sysconf(_SC_PAGESIZE));
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | 0x20 /* MAP_ANONYMOUS */, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, size, 15 /* MADV_NOHUGEPAGE */);
	return memory;
}

static int open_event(unsigned long long what)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = what,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static unsigned long count_of(int fd)
{
	unsigned long long value = 0;

	if (read(fd, &value, sizeof(value)) != sizeof(value))
		exit(3);
	return (unsigned long)value;
}

static void perf(int n)
{
	int clock = open_event(PERF_COUNT_SW_TASK_CLOCK),
	    faults = open_event(PERF_COUNT_SW_PAGE_FAULTS);
	int switched = open_event(PERF_COUNT_SW_CONTEXT_SWITCHES), i, j;
	long page = sysconf(_SC_PAGESIZE);
	volatile char *at = new_pages(n * 4);

	if (clock < 0 || faults < 0 || switched < 0)
		exit(3);
	usleep(1);
	for (i = -400; i < n;
	     i++) { /* the first ones touch what every slice needs: a whole batch */
		unsigned long c, f, s;

		PROF_BEGIN("counted");
		c = count_of(clock);
		s = count_of(switched);
		f = count_of(faults);
		for (j = 0; i >= 0 && j < i % 5; j++)
			at[(4 * i + j) * page] = 1;
		for (j = 0; i >= 0 && j < i % 3; j++)
			usleep(100);
		f = count_of(faults) - f;
		s = count_of(switched) - s;
		c = count_of(clock) - c;
		PROF_END("i", i, "new", i < 0 ? 0 : i % 5, "slept", i < 0 ? 0 : i % 3, "perf_clock",
			 c, "perf_faults", f, "perf_switches", s);
	}
}

static void pages(int n)
{
	long page = sysconf(_SC_PAGESIZE);
	volatile char *at = new_pages(n);
	int i, round;

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
	long before = switches(), begin;
	int i;

	PROF_BEGIN("sleep");
	begin = switches();
	for (i = 0; i < n; i++)
		usleep(1000);
	PROF_END("switches", switches() - begin);
	printf("around %ld\n", switches() - before);
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

static void paused(int ms)
{
	burn(ms * 1000000l);
	PROF_INSTANT("pausing");
	prof_pause();
	burn(ms * 1000000l);
	prof_resume();
	PROF_INSTANT("resumed");
	burn(ms * 1000000l);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 1;

	if (!strcmp(what, "clock"))
		clocks(n, 0);
	else if (!strcmp(what, "naps"))
		clocks(n, 1);
	else if (!strcmp(what, "perf"))
		perf(n);
	else if (!strcmp(what, "pages"))
		pages(n);
	else if (!strcmp(what, "sleeps"))
		sleeps(n);
	else if (!strcmp(what, "threads"))
		threads(n);
	else if (!strcmp(what, "long"))
		long_slice(n);
	else if (!strcmp(what, "paused"))
		paused(n);
	else if (!strcmp(what, "busy"))
		burn(n * 1000000000l);
	else
		return 2;
	return 0;
}
