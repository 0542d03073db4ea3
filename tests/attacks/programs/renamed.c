/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * renamed NAME
 *
 * Gives itself a name (the kernel keeps 15 bytes of it) that proftrace would build the name of a file from, prints
 * `ready PID`, and marks until its standard input ends.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <proftrace.h>

int main(int argc, char **argv)
{
	struct pollfd input = { STDIN_FILENO, POLLIN, 0 };

	if (argc < 2 || prctl(PR_SET_NAME, argv[1]))
		return 2;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (poll(&input, 1, 1) == 0) {
		PROF_STEP(3, 4);
		PROF_INSTANT("mark");
	}
	return 0;
}
