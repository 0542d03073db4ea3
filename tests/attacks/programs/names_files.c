/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names_files FILE...: executes one after the other, each in a child that says why it cannot, and marks "tried" for each. The
 * directory in which its libraries are searched for is a place to be overwritten (Makefile).
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proftrace.h"

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (fork() == 0) {
			execl(argv[i], argv[i], (char *)NULL);
			perror(argv[i]);
			_exit(1);
		}
		wait(NULL);
		PROF_INSTANT("tried");
	}
	return 0;
}
