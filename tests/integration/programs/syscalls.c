/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * syscalls N: in a slice `calls`, N times getppid(), write() of three bytes, and read() of a file that
 * is not open; on two threads. Prints `calls <n>`, of each kind; `bytes <n>`, written; `file <n>`, the
 * descriptor; `marks <n>`.
 *
 * syscalls shared: 5 getppid() on each of two threads that live at the same time, whose numbers differ by a multiple of
 * 4096; then 5 on another thread, which executes the program; then 5 in that. No marks.
 *
 * syscalls cost: prints `ns <n>`, of a getppid(), the least of 20 times 20,000; without marks.
 */
#define _GNU_SOURCE
#include <proftrace.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int n, fd;

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000l + t.tv_nsec;
}

static void *call(void *unused)
{
	char c;
	int i;

	PROF_BEGIN("calls");
	for (i = 0; i < n; i++) {
		syscall(SYS_getppid);
		if (write(fd, "abc", 3) != 3 || read(-1, &c, 1) != -1)
			abort();
	}
	PROF_END();
	return unused;
}

static int measure(void)
{
	long least = 0, from, took;
	int i, round;

	for (round = 0; round < 20; round++) {
		from = now_ns();
		for (i = 0; i < 20000; i++)
			syscall(SYS_getppid);
		took = (now_ns() - from) / 20000;
		if (!least || took < least)
			least = took;
	}
	printf("ns %ld\n", least);
	return 0;
}

static void five(void)
{
	int i;

	for (i = 0; i < 5; i++)
		syscall(SYS_getppid);
}

static pid_t first;
static int found;

static void *call_if_shared(void *unused)
{
	if ((syscall(SYS_gettid) - first) % 4096)
		return unused;
	five();
	found = 1;
	return unused;
}

static void *execute(void *unused)
{
	five();
	execl("/proc/self/exe", "syscalls", "five", NULL);
	return unused;
}

static int share(void)
{
	pthread_t thread;

	first = (pid_t)syscall(SYS_gettid);
	five();
	while (!found)
		if (pthread_create(&thread, NULL, call_if_shared, NULL) ||
		    pthread_join(thread, NULL))
			return 1;
	return pthread_create(&thread, NULL, execute, NULL) || pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "shared"))
		return share();
	if (argc > 1 && !strcmp(argv[1], "five")) {
		five();
		return 0;
	}

	if (argc > 1 && !strcmp(argv[1], "cost"))
		return measure();
	n = argc > 1 ? atoi(argv[1]) : 100;
	fd = open("/dev/null", O_WRONLY);
	if (fd < 0)
		return 1;
	pthread_create(&thread, NULL, call, NULL);
	call(NULL);
	pthread_join(thread, NULL);
	printf("calls %d\nbytes %d\nfile %d\nmarks 4\n", 2 * n, 6 * n, fd);
	return 0;
}
