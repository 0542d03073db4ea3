/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * followed WAY N [AT_ONCE [LIBRARY]]
 *
 * Prints `ready PID`, waits for a line on its input, and does N times, AT_ONCE at the same time:
 *
 *   fork   forks a child, which makes a mark 20 ms later and exits;
 *   exec   forks a child, of which a second thread executes this program, which makes 4 marks and exits;
 *   early  forks a child every 5 ms, N at most, until the line has come; then each of them makes 40 marks;
 *   self   its own second thread executes this program, which makes N marks;
 *   first  N marks, but of a second thread, after the first one has ended. With LIBRARY it prints `alone` before, waits for
 *          another line, and opens the library.
 *
 * For each mark it prints `mark NS`: how long after the beginning of its program or its child it was made. Then `done`, and, but for
 * `self`, `child PID` of a child that was forked at the beginning. At the end of its input it prints for itself and
 * that child `semaphore N`: whether the markers are on.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <proftrace.h>

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIFE_NS	    20000000 /* of a child */
#define MARKS	    4	     /* of an executed program */
#define EARLY_MARKS 40
#define BETWEEN_NS  5000000

static const char *way, *library;
static int n, at_once;
static char *arguments[4];

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void wait_ns(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/* One line in one write: children share the output. */
static void mark(unsigned long long since_ns)
{
	unsigned long long ns = now_ns() - since_ns;

	PROF_INSTANT("followed");
	dprintf(STDOUT_FILENO, "mark %llu\n", ns);
}

static void *execute(void *number)
{
	arguments[1] = "executed";
	arguments[2] = number;
	arguments[3] = NULL;
	execv("/proc/self/exe", arguments);
	_exit(1);
}

static void execute_in_thread(const char *number)
{
	pthread_t thread;

	pthread_create(&thread, NULL, execute, (void *)number);
	for (;;)
		pause();
}

static void child(void)
{
	unsigned long long since_ns = now_ns();

	if (!strcmp(way, "exec"))
		execute_in_thread("0");
	wait_ns(LIFE_NS);
	mark(since_ns);
	_exit(0);
}

static void fork_children(void)
{
	int i, running = 0;

	for (i = 0; i < n || running;) {
		if (i < n && running < at_once) {
			if (fork() == 0)
				child();
			running++;
			i++;
		} else if (wait(NULL) > 0) {
			running--;
		}
	}
}

static void make_marks(int count, unsigned long long since_ns)
{
	while (count--) {
		wait_ns(BETWEEN_NS);
		mark(since_ns);
	}
}

/* They wait for the end of a pipe, which the parent alone has. */
static void fork_early(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	unsigned long long since_ns = now_ns();
	int i, end[2];
	char byte;

	if (pipe(end))
		_exit(1);
	for (i = 0; i < n && !poll(&input, 1, 5); i++) {
		if (fork())
			continue;
		close(end[1]);
		if (read(end[0], &byte, 1) == 0)
			make_marks(EARLY_MARKS, since_ns);
		_exit(0);
	}
	if (read(STDIN_FILENO, &byte, 1) != 1)
		_exit(1);
	close(end[1]);
	while (wait(NULL) > 0)
		;
}

static void wait_for_end(void)
{
	char byte;

	dprintf(STDOUT_FILENO, "done\n");
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	dprintf(STDOUT_FILENO, "semaphore %d\n", prof_is_enabled(&prof_default));
}

static void open_library(void)
{
	char line[8];

	dprintf(STDOUT_FILENO, "alone\n");
	if (read(STDIN_FILENO, line, 1) != 1 || !dlopen(library, RTLD_NOW))
		_exit(1);
}

static void *second_thread(void *first)
{
	unsigned long long since_ns;

	pthread_join(*(pthread_t *)first, NULL);
	if (library)
		open_library();
	since_ns = now_ns();
	while (n--) {
		wait_ns(BETWEEN_NS);
		mark(since_ns);
	}
	wait_for_end();
	_exit(0);
}

/* A child that lives as long as its parent. It tells of its semaphore when it is asked by a signal. */
static pid_t fork_survivor(void)
{
	sigset_t asks;
	int signal;
	pid_t pid;

	sigemptyset(&asks);
	sigaddset(&asks, SIGUSR1);
	sigprocmask(SIG_BLOCK, &asks, NULL);
	pid = fork();
	if (pid)
		return pid;
	sigwait(&asks, &signal);
	dprintf(STDOUT_FILENO, "semaphore %d\n", prof_is_enabled(&prof_default));
	_exit(0);
}

int main(int argc, char **argv)
{
	static pthread_t first;
	pthread_t thread;
	char line[8];
	pid_t survivor;

	way = argc > 2 ? argv[1] : "";
	n = argc > 2 ? atoi(argv[2]) : 0;
	at_once = argc > 3 ? atoi(argv[3]) : 1;
	library = argc > 4 ? argv[4] : NULL;
	arguments[0] = argv[0];
	if (!strcmp(way, "executed")) {
		make_marks(n ? n : MARKS, now_ns());
		if (n)
			wait_for_end();
		return 0;
	}
	dprintf(STDOUT_FILENO, "ready %d\n", (int)getpid());
	if (!strcmp(way, "early")) {
		fork_early();
		wait_for_end();
		return 0;
	}
	if (read(STDIN_FILENO, line, 1) != 1)
		return 1;
	if (!strcmp(way, "self"))
		execute_in_thread(argv[2]);
	if (!strcmp(way, "first")) {
		first = pthread_self();
		pthread_create(&thread, NULL, second_thread, &first);
		pthread_exit(NULL);
	}
	survivor = fork_survivor();
	fork_children();
	dprintf(STDOUT_FILENO, "child %d\n", (int)survivor);
	wait_for_end();
	kill(survivor, SIGUSR1);
	waitpid(survivor, NULL, 0);
	return 0;
}
