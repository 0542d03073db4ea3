/* SPDX-License-Identifier: BSD-2-Clause */
/* takes_name NAME COMMAND...: takes the name, runs the command in a child, and waits for it. */
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3 || prctl(PR_SET_NAME, argv[1]))
		return 2;
	if (fork() == 0) {
		execv(argv[2], argv + 2);
		_exit(1);
	}
	return wait(NULL) < 0;
}
