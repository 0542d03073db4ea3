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
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 8, marks = argc > 2 ? atoi(argv[2]) : 10;
	int hop_ms = argc > 3 ? atoi(argv[3]) : 1, i;
	struct pollfd input = { .fd = STDIN_FILENO };
	pid_t pid;

	signal(SIGCHLD, SIG_IGN);
	dprintf(STDOUT_FILENO, "ready %d\n", (int)getpid());
	for (i = 1; i < n && fork(); i++)
		;
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
