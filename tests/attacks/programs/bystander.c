/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bystander [FILE]
 *
 * Marks and calls getppid() until its standard input ends, and looks all the while whether its markers are on. Prints
 * `ready PID`, for a line `fork` on its input `child PID` of a child that does the same, and at the end `enabled N`
 * and `marks N`. For a line `exec` or `raw` it executes FILE, by execv() or by the system call.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <proftrace.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

PROF_DOMAIN(bystanders, "bystander");
PROF_DEFAULT_DOMAIN(bystanders);

static unsigned long enabled, marks;

/* Lines are read byte by byte: what belongs to the child must not be in a buffer of its parent. */
static int read_line(char *line, size_t size)
{
	size_t n = 0;

	while (n + 1 < size) {
		if (read(STDIN_FILENO, line + n, 1) != 1)
			return 0;
		if (line[n] == '\n')
			break;
		n++;
	}
	line[n] = '\0';
	return 1;
}

int main(int argc, char **argv)
{
	struct pollfd p = { STDIN_FILENO, POLLIN, 0 };
	const char *name = "ready";
	int is_child = 0;
	char line[16];

	for (;;) {
		printf("%s %d\n", name, (int)getpid());
		fflush(stdout);
		/* A child only marks, until it is killed: its parent has the input. */
		while (is_child || poll(&p, 1, 0) <= 0) {
			PROF_INSTANT("mark", "ppid", (int)getppid());
			marks++;
			enabled += prof_is_enabled(&bystanders) != 0;
			usleep(1000);
		}
		if (!read_line(line, sizeof(line)))
			break;
		if (!strcmp(line, "fork") && fork() == 0) {
			is_child = 1;
			name = "child";
			marks = enabled = 0;
		} else if (!strcmp(line, "exec") && argc > 1) {
			execl(argv[1], argv[1], (char *)NULL);
		} else if (!strcmp(line, "raw") && argc > 1) {
			char *const arguments[] = { argv[1], NULL }, *const environment[] = {
				NULL
			};

			syscall(SYS_execve, argv[1], arguments, environment);
		} else {
			name = "again";
		}
	}
	printf("enabled %lu\nmarks %lu\n", enabled, marks);
	return 0;
}
