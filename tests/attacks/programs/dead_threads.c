/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dead_threads N: a process whose first thread has ended, and N more of its threads, which a tracer does not wait for, so that they are
 * listed before the one that lives. Prints `ready`, and lives until its standard input ends.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK  16384
#define STACKS 64 /* a thread that ends at once has left its stack long before it is used again */
#define THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

static char stacks[STACKS + 1][STACK] __attribute__((aligned(16)));

static int end_at_once(void *nothing)
{
	(void)nothing;
	return 0;
}

static int live(void *nothing)
{
	(void)nothing;
	for (;;)
		pause();
	return 0;
}

static void make_threads(int n)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	raise(SIGSTOP);
	for (int i = 0; i < n; i++) {
		if (clone(end_at_once, stacks[i % STACKS] + STACK, THREAD, NULL) < 0)
			_exit(1);
	}
	if (clone(live, stacks[STACKS] + STACK, THREAD, NULL) < 0)
		_exit(1);
	dprintf(STDOUT_FILENO, "ready\n");
	/* The thread alone. */
	syscall(SYS_exit, 0);
}

/* Each thread stops when it begins; none is waited for when it has ended. */
static void trace_threads(void)
{
	siginfo_t stopped;

	for (;;) {
		stopped.si_pid = 0;
		if (waitid(P_ALL, 0, &stopped, WSTOPPED | __WALL) < 0 && errno != EINTR)
			_exit(0);
		if (stopped.si_pid)
			ptrace(PTRACE_CONT, stopped.si_pid, 0, 0);
	}
}

int main(int argc, char **argv)
{
	pid_t tracer = fork(), traced;
	int status;

	if (!tracer) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		traced = fork();
		if (!traced)
			make_threads(argc > 1 ? atoi(argv[1]) : 100);
		if (waitpid(traced, &status, WUNTRACED) != traced ||
		    ptrace(PTRACE_SEIZE, traced, 0, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) ||
		    kill(traced, SIGCONT))
			_exit(1);
		trace_threads();
	}
	while (getchar() != EOF)
		;
	kill(tracer, SIGKILL);
	waitpid(tracer, &status, 0);
	return 0;
}
