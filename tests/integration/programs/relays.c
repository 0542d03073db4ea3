/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * relays N MARKS [MS]: N processes that each fork one that goes on in their place, every MS milliseconds, until the input of all of them
 * has ended. Then each that is left makes MARKS marks and prints how many, as `marks N`.
 */
#include <proftrace.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 8, marks = argc > 2 ? atoi(argv[2]) : 10;
	int hop_ms = argc > 3 ? atoi(argv[3]) : 1, i;
	struct pollfd input = { .fd = STDIN_FILENO };
	pid_t pid;

	signal(SIGCHLD, SIG_IGN);
	/* Whose parent has ended is waited for here: elsewhere that may take long, and there are thousands of them. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (i = 0; i < n && (pid = fork()); i++)
		;
	if (i == n) {
		dprintf(STDOUT_FILENO, "ready %d\n", (int)getpid());
		while (wait(NULL) > 0)
			;
		return 0;
	}
	while (!poll(&input, 1, hop_ms)) {
		pid = fork();
		if (pid > 0)
			_exit(0);
	}
	for (i = 0; i < marks; i++)
		PROF_INSTANT("settled", "i", i);
	dprintf(STDOUT_FILENO, "marks %d\n", marks);
	return 0;
}
