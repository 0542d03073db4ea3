/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease FILE SECONDS: takes a lease of a program's file, and executes it in child after child. The kernel makes whoever
 * opens the file wait until the lease is given up (45 s, unless another limit is set).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "proftrace.h"

int main(int argc, char **argv)
{
	const struct timespec moment = { 0, 100000000 };
	int fd = argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, i, n;

	signal(SIGIO, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK)) {
		perror("lease");
		return 1;
	}
	puts("leased");
	fflush(stdout);
	n = 10 * atoi(argv[2]);
	for (i = 0; i < n; i++) {
		if (!fork()) {
			alarm(2);
			execl(argv[1], argv[1], (char *)NULL);
			_exit(1);
		}
		PROF_INSTANT("tick");
		nanosleep(&moment, NULL);
	}
	return 0;
}
