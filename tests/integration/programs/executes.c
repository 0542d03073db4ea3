/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * executes N [-r ROOT] PROGRAM [ARG...]: makes a pair of markers, leaves one slice open, and executes
 * PROGRAM (this one again, N times; then what follows), with -r in another root.
 */
#include <proftrace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	char number[16];

	PROF_BEGIN("generation", "left", n);
	PROF_END();
	PROF_BEGIN("open at exec");
	if (n > 0) {
		snprintf(number, sizeof(number), "%d", n - 1);
		argv[1] = number;
		execv("/proc/self/exe", argv);
		return 1;
	}
	PROF_END();
	if (argc > 4 && !strcmp(argv[2], "-r")) {
		if (chroot(argv[3]) || chdir("/"))
			return 1;
		argc -= 2;
		argv += 2;
	}
	if (argc > 2) {
		execvp(argv[2], argv + 2);
		return 1;
	}
	return 0;
}
