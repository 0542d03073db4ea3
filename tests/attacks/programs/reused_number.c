/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reused_number names FILE
 *
 * A child waits for a line, names FILE to be included and exits. Prints `child PID`, then `named PID` when its number is
 * free, and ends with its input.
 *
 * reused_number becomes PID UID
 *
 * Starts a process of that number and user, which lives until the input ends. Prints `is PID`.
 */
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <proftrace.h>

PROF_DOMAIN(names, "names");
PROF_DEFAULT_DOMAIN(names);

static void wait_for_line(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n')
		;
}

static int name_file(const char *path)
{
	pid_t pid;

	/* On a machine that is busy it may have been let go before the probes are attached. */
	while (!prof_is_enabled(&names))
		usleep(1000);
	PROF_BEGIN("names");
	pid = fork();
	if (!pid) {
		printf("child %d\n", (int)getpid());
		wait_for_line();
		prof_include_chrome_json(path);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	PROF_END();
	printf("named %d\n", (int)pid);
	wait_for_line();
	return 0;
}

static int become(pid_t number, uid_t user)
{
	struct clone_args args = { .set_tid = (uintptr_t)&number,
				   .set_tid_size = 1,
				   .exit_signal = SIGCHLD };
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0)
		return 1;
	if (!pid) {
		if (setresuid(user, user, user))
			_exit(1);
		printf("is %d\n", (int)number);
		for (;;)
			pause();
	}
	wait_for_line();
	kill(pid, SIGKILL);
	return waitpid(pid, NULL, 0) != pid;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "names"))
		return name_file(argv[2]);
	return argc != 4 || become(atoi(argv[2]), (uid_t)atoi(argv[3]));
}
