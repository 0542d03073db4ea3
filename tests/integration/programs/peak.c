/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peak FILE COMMAND...: runs the command and writes to FILE how much memory, in KB, the largest of the
 * processes took that it waited for and that these waited for: for a recording, of the recorder, its
 * broker and its command; and how many milliseconds of processor time all took. Exits as the command does.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	pid_t pid;
	FILE *out;

	if (argc < 3)
		return 2;
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || getrusage(RUSAGE_CHILDREN, &usage))
		return 2;
	out = fopen(argv[1], "w");
	if (!out ||
	    fprintf(out, "peak %ld\ncpu %ld\n", usage.ru_maxrss,
		    (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
			    (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000) < 0 ||
	    fclose(out))
		return 2;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
