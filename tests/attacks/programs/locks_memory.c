/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * locks_memory MB THREADS: THREADS threads mark slowly. At the first line of standard input another thread protects MB
 * megabytes again and again, beside a busy thread on the same CPU, and is given the policy SCHED_IDLE while it does: it holds
 * the lock of the memory for seconds. Prints `ready PID`. It ends with its standard input.
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
static pid_t protecting; /* the thread that does */

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
	share_cpu();
	__atomic_store_n(&protecting, gettid(), __ATOMIC_SEQ_CST);
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
	const struct sched_param none = { 0 };
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
	pthread_create(&thread, NULL, protect, NULL);
	while (!__atomic_load_n(&protecting, __ATOMIC_SEQ_CST))
		sched_yield();
	pthread_create(&thread, NULL, be_busy, NULL);
	/* Of its time, nearly all is in mprotect(). */
	usleep(100000);
	sched_setscheduler(protecting, SCHED_IDLE, &none);
	while ((c = getchar()) != EOF)
		;
	_exit(0);
}
