/* SPDX-License-Identifier: BSD-2-Clause */
/* jailed DIRECTORY: makes the directory its root, and executes ./program there, by a link that leads nowhere. */
#include <stdio.h>
#include <unistd.h>

#include "proftrace.h"

int main(int argc, char **argv)
{
	if (argc != 2 || chdir(argv[1]) || chroot(".")) {
		perror("jailed");
		return 1;
	}
	PROF_INSTANT("jailed");
	execl("./program", "program", (char *)NULL);
	puts("tried");
	fflush(stdout);
	return getchar() == EOF;
}
