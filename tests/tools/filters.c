/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * filters PID recorder|broker|broker-perf
 *
 * Whether the filter of system calls that a running process got last is, instruction by instruction,
 * the one that confine/ builds for such a process: a process of our own gets that one, and the kernel
 * is asked for the programs of both. The recorder's must not have plug-ins, whose numbers were in it.
 * Exit status 0: it is; 1: it is not, and how; 2: the kernel does not tell, and why.
 */
#include <errno.h>
#include <linux/filter.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/seccomp.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/confine.h"

#define MOST BPF_MAXINSNS /* instructions of a filter */

struct program {
	struct sock_filter code[MOST];
	long n, filters;
};

static _Noreturn void end(int status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static _Noreturn void end(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	exit(status);
}

static long filters_of(pid_t pid)
{
	char path[64], line[256];
	FILE *file;
	long n = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		end(2, "cannot read '%s': %s", path, strerror(errno));
	while (fgets(line, sizeof(line), file))
		sscanf(line, "Seccomp_filters: %ld", &n);
	fclose(file);
	return n;
}

/* Stopped for as long as it takes. The first filter is number 0. */
static void read_filter(pid_t pid, struct program *p)
{
	int status, error = 0;

	p->filters = filters_of(pid);
	if (!p->filters)
		end(1, "process %d has no filter", pid);
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) || ptrace(PTRACE_INTERRUPT, pid, 0, 0))
		end(2, "cannot look into process %d: %s", pid, strerror(errno));
	if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		end(2, "process %d does not stop", pid);
	p->n = ptrace(PTRACE_SECCOMP_GET_FILTER, pid, (void *)(p->filters - 1), NULL);
	if (p->n > MOST)
		p->n = -1;
	if (p->n >= 0)
		p->n = ptrace(PTRACE_SECCOMP_GET_FILTER, pid, (void *)(p->filters - 1), p->code);
	error = errno;
	ptrace(PTRACE_DETACH, pid, 0, 0);
	if (p->n < 0)
		end(2, "the kernel does not tell the filter of process %d: %s", pid,
		    strerror(error));
}

/*
 * A process may send signals to itself: its number, compared with the low half of a first argument,
 * is the one thing that no two of them share.
 */
static void without_number(struct program *p, pid_t pid)
{
	const uint32_t argument = offsetof(struct seccomp_data, args);
	uint32_t loaded = 0;
	long i;

	for (i = 0; i < p->n; i++) {
		if (p->code[i].code == (BPF_LD | BPF_W | BPF_ABS))
			loaded = p->code[i].k;
		else if (p->code[i].code == (BPF_JMP | BPF_JEQ | BPF_K) && loaded == argument &&
			 p->code[i].k == (uint32_t)pid)
			p->code[i].k = 0;
	}
}

static int confine_as(const char *what)
{
	if (!strcmp(what, "recorder"))
		return confine_recorder(NULL, 0);
	if (!strcmp(what, "broker") || !strcmp(what, "broker-perf"))
		return confine_broker(!strcmp(what, "broker-perf"));
	return -EINVAL;
}

/* It waits with what every filter leaves it, until our end of the second pipe is closed. */
static pid_t start_confined(const char *what)
{
	int begun[2], go[2];
	char byte;
	pid_t pid;

	if (pipe(begun) || pipe(go))
		end(2, "cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		close(begun[0]);
		close(go[1]);
		if (confine_as(what))
			_exit(1);
		close(begun[1]);
		_exit((int)read(go[0], &byte, 1));
	}
	close(begun[1]);
	close(go[0]);
	if (pid < 0 || read(begun[0], &byte, 1) != 0)
		end(2, "cannot start a process");
	if (!filters_of(pid))
		end(2, "no filter of '%s' can be had here", what);
	return pid;
}

int main(int argc, char **argv)
{
	static struct program running, wanted;
	pid_t pid, own;
	long i;

	if (argc != 3)
		end(2, "usage: filters PID recorder|broker|broker-perf");
	pid = (pid_t)atoi(argv[1]);
	own = start_confined(argv[2]);
	read_filter(own, &wanted);
	read_filter(pid, &running);
	without_number(&wanted, own);
	without_number(&running, pid);
	for (i = 0; i < wanted.n && i < running.n; i++) {
		if (memcmp(&wanted.code[i], &running.code[i], sizeof(wanted.code[i])))
			end(1, "another filter from instruction %ld on", i);
	}
	if (wanted.n != running.n)
		end(1, "a filter of %ld instructions, not %ld", running.n, wanted.n);
	end(0, "the same %ld instructions", wanted.n);
}
