/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timed FILE COMMAND...: runs a command, hands SIGINT and SIGTERM on to it, and writes into FILE what
 * it and the children it has waited for have run, in ns of CPU time.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t command;

static void hand_on(int signal)
{
	if (command > 0)
		kill(command, signal);
}

int main(int argc, char **argv)
{
	struct sigaction hands = { .sa_handler = hand_on, .sa_flags = SA_RESTART };
	struct rusage usage;
	int status = 0;
	FILE *file;

	if (argc < 3)
		return 2;
	command = fork();
	if (!command) {
		signal(SIGINT, SIG_DFL);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	sigaction(SIGINT, &hands, NULL);
	sigaction(SIGTERM, &hands, NULL);
	while (command < 0 || wait4(command, &status, 0, &usage) < 0) {
		if (command < 0 || errno != EINTR)
			return 1;
	}
	file = fopen(argv[1], "we");
	if (!file)
		return 1;
	fprintf(file, "%" PRIu64 "\n",
		(uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
			(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000);
	fclose(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
