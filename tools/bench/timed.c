/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timed FILE COMMAND...: runs a command, passes SIGINT and SIGTERM on to it, and writes into FILE
 * the CPU time in ns of the command and of the children that it has waited for. After a signal, the
 * signal is repeated each second; after 20 s the command is killed, and the exit status is 124, as
 * that of timeout(1).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_S  20
#define KILLED 124

static volatile pid_t command;
static volatile sig_atomic_t received, seconds;

/* Repeated each second: bpftrace 0.17 misses a signal that arrives while it does not sleep. */
static void hand_on(int signal)
{
	if (signal == SIGALRM)
		seconds++;
	else
		received = signal;
	kill(command, seconds < END_S ? received : SIGKILL);
	alarm(1);
}

int main(int argc, char **argv)
{
	struct sigaction hands = { .sa_handler = hand_on, .sa_flags = SA_RESTART };
	struct rusage usage;
	sigset_t handed, before;
	int status = 0;
	FILE *file;

	if (argc < 3)
		return 2;
	/* Blocked, so that no signal is lost before the PID of the command is known. */
	sigemptyset(&handed);
	sigaddset(&handed, SIGINT);
	sigaddset(&handed, SIGTERM);
	sigprocmask(SIG_BLOCK, &handed, &before);
	command = fork();
	if (!command) {
		signal(SIGINT, SIG_DFL);
		sigprocmask(SIG_SETMASK, &before, NULL);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	sigaction(SIGINT, &hands, NULL);
	sigaction(SIGTERM, &hands, NULL);
	sigaction(SIGALRM, &hands, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
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
	if (seconds >= END_S)
		return KILLED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
