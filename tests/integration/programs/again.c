/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * again PID COMMAND...: starts the command as the process with that number, which must be free, and waits
 * for it. Exits with 3 where the kernel does not let us choose.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	pid_t wanted = argc > 2 ? atoi(argv[1]) : 0, pid = -1;
	struct clone_args args = {
		.exit_signal = 17, /* SIGCHLD */
		.set_tid = (uint64_t)(uintptr_t)&wanted,
		.set_tid_size = 1,
	};
	int status, tries;

	if (wanted <= 0)
		return 2;
	/* A process that has just been waited for keeps its number for a moment. */
	for (tries = 0; tries < 1000; tries++) {
		pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
		if (pid >= 0 || errno != EEXIST)
			break;
		usleep(1000);
	}
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0) {
		fprintf(stderr, "again: %s\n", strerror(errno));
		return 3;
	}
	while (waitpid(pid, &status, 0) < 0)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
