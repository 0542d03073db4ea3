/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locks_memory MB THREADS: THREADS threads mark slowly. At the first line of standard input another thread, which has the
 * policy SCHED_IDLE, protects MB megabytes again and again, beside a busy thread on the same CPU: it holds the lock of the
 * memory for seconds. Prints `ready PID`, and `locks` when it begins. It ends with its standard input.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <proftrace.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *memory;
static size_t size;

/* On the last CPU that it may use. */
static void share_cpu(void)
{
	cpu_set_t may, one;
	int cpu = CPU_SETSIZE - 1;

	sched_getaffinity(0, sizeof(may), &may);
	while (cpu && !CPU_ISSET(cpu, &may))
		cpu--;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *protect(void *unused)
{
	struct sched_param none = { 0 };

	share_cpu();
	sched_setscheduler(0, SCHED_IDLE, &none);
	for (;;) {
		mprotect(memory, size, PROT_READ);
		mprotect(memory, size, PROT_READ | PROT_WRITE);
	}
	return unused;
}

static void *be_busy(void *unused)
{
	share_cpu();
	for (;;)
		__asm__ volatile("");
	return unused;
}

static void *mark(void *unused)
{
	for (;;) {
		PROF_INSTANT("mark");
		usleep(20000);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int n = argc > 2 ? atoi(argv[2]) : 1, c;

	size = (size_t)(argc > 1 ? atoi(argv[1]) : 400) << 20;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	/* Many page table entries: protecting them takes long. */
	madvise(memory, size, MADV_NOHUGEPAGE);
	memset(memory, 1, size);
	while (n-- > 0)
		pthread_create(&thread, NULL, mark, NULL);
	printf("ready %d\n", getpid());
	fflush(stdout);
	if (getchar() == EOF)
		return 0;
	pthread_create(&thread, NULL, be_busy, NULL);
	pthread_create(&thread, NULL, protect, NULL);
	printf("locks\n");
	fflush(stdout);
	while ((c = getchar()) != EOF)
		;
	_exit(0);
}
