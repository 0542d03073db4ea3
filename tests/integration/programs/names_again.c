/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names made at run time, again and again: more of them than a buffer lists, some at an address where another text was
 * before, marked by a signal handler in between, by a forked child in the buffer that it has from its parent, and by
 * processes that are killed with a buffer half full. Each mark is counted where the processes share memory; the program
 * prints the counts.
 *
 *	names_again MARKS
 */
#include <proftrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMES 48

static char names[NAMES][64];
static long *counts;
static const prof_runtime_domain_t *domain;

static void mark(unsigned i)
{
	const prof_arg_t arg = prof_arg_string("of", names[i]);

	prof_instant_args(domain, names[i], PROF_SCOPE_THREAD, &arg, i % 2);
	__atomic_add_fetch(&counts[i], 1, __ATOMIC_RELAXED);
}

static void on_alarm(int signal)
{
	static unsigned i;

	(void)signal;
	mark(i++ % NAMES);
}

static void mark_many(long n)
{
	char name[16];
	long i;

	for (i = 0; i < n; i++) {
		mark((unsigned)(i % 7 ? i % 5 : i % NAMES));
		/* The same address, and every time another name. */
		snprintf(name, sizeof(name), "turn %ld", i % 3);
		PROF_INSTANT_DYN(name);
		__atomic_add_fetch(&counts[NAMES + i % 3], 1, __ATOMIC_RELAXED);
	}
}

int main(int argc, char **argv)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	const long n = argc == 2 ? atol(argv[1]) : 1000;
	struct sigaction action;
	int i, status;

	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return 1;
	for (i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "name-%.*s%d", i % 20, "xxxxxxxxxxxxxxxxxxxx",
			 i);
	domain = prof_domain_get("again");
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_alarm;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	mark_many(n);
	for (i = 0; i < 3; i++) {
		mark_many(n / 10);
		if (!fork()) {
			/* Timers are not inherited. */
			mark_many(n / 20 + i);
			kill(getpid(), SIGKILL);
		}
		mark_many(n / 30);
	}
	while (wait(&status) > 0)
		;
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL);
	for (i = 0; i < NAMES; i++)
		printf("%ld %s\n", counts[i], names[i]);
	for (i = 0; i < 3; i++)
		printf("%ld turn %d\n", counts[NAMES + i], i);
	return 0;
}
