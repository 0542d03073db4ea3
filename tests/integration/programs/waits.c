/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waits N: prints `ready <pid>`, waits for a line of its standard input, marks N slices "work", and
 * waits for another one. Prints `semaphore <n>`: whether its domain is still on, and `marks <n>`.
 */
#include <proftrace.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_for_line(void)
{
	char c = 0;

	while (c != '\n' && read(0, &c, 1) == 1)
		;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100, i;

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	wait_for_line();
	for (i = 0; i < n; i++) {
		PROF_BEGIN("work", "i", i);
		PROF_END();
	}
	printf("marked %d\n", 2 * n);
	fflush(stdout);
	wait_for_line();
	printf("semaphore %d\nmarks %d\n", prof_is_enabled(&prof_default), 2 * n);
	return 0;
}
