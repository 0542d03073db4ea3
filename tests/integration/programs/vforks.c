/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vforks HOW ROUNDS MARKS
 *
 * Its children have its memory, and mark there, each so many times; it marks before, in between and
 * afterwards, and counts for itself. HOW:
 *
 *	exit	children of vfork() that end
 *	exec	that execute a program
 *	clone	children that are not waited for by the kernel, but have its memory and signal handlers
 *	first	as exit; the first mark at all is a child's
 *	forked	as first, of a forked process
 *	nested	children of such children
 *	thread	as exit, of another thread than the first
 *	spawn	posix_spawn(), whose children do not mark
 *
 * Prints the marks, and of these the instants, of the children (`child`) and of all (`marks`).
 */
#define _GNU_SOURCE
#include <proftrace.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK (256 << 10)

extern char **environ;

static const char *how;
static int rounds, n;
static volatile int marks, childrens;

static void run(int depth, int flags);

static void own(void)
{
	int i;

	for (i = 0; i < 100; i++) {
		PROF_INSTANT("parent", "i", i);
		marks++;
	}
}

static int child(void *argument)
{
	int i, depth = *(int *)argument;

	PROF_BEGIN("child's");
	for (i = 0; i < n; i++) {
		PROF_INSTANT("child", "i", i);
		childrens++;
	}
	PROF_END();
	marks += n + 2;
	if (depth)
		run(depth - 1, CLONE_VFORK);
	if (!strcmp(how, "exec"))
		execl("/bin/true", "true", (char *)NULL);
	_exit(0);
}

static void run(int depth, int flags)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (stack == MAP_FAILED)
		exit(1);
	pid = clone(child, stack + STACK, CLONE_VM | flags | SIGCHLD, &depth);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(1);
	munmap(stack, STACK);
}

static void spawn(void)
{
	char name[] = "true", *arguments[] = { name, NULL };
	pid_t pid;

	if (posix_spawnp(&pid, name, NULL, NULL, arguments, environ) ||
	    waitpid(pid, NULL, 0) != pid)
		exit(1);
}

static void *work(void *unused)
{
	int i;

	for (i = 0; i < rounds; i++) {
		if (i || (strcmp(how, "first") && strcmp(how, "forked")))
			own();
		if (!strcmp(how, "spawn"))
			spawn();
		else
			run(!strcmp(how, "nested"),
			    !strcmp(how, "clone") ? CLONE_SIGHAND : CLONE_VFORK);
	}
	own();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 4)
		return 1;
	how = argv[1];
	rounds = atoi(argv[2]);
	n = atoi(argv[3]);
	if (!strcmp(how, "forked") && fork())
		return wait(NULL) < 0;
	if (strcmp(how, "thread"))
		work(NULL);
	else if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
		return 1;
	printf("child %d\nmarks %d\n", childrens, marks);
	return 0;
}
