/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forks N MARKS: forks N children, some at a time; each makes MARKS pairs of markers and exits. Prints how
 * many children died otherwise and `pairs <n>`: how many pairs were made in all.
 */
#include <proftrace.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void child(int number, int marks)
{
	int i;

	for (i = 0; i < marks; i++) {
		PROF_BEGIN("in child", "child", number, "i", i);
		PROF_END();
	}
	_exit(7);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10, marks = argc > 2 ? atoi(argv[2]) : 10;
	int i, running = 0, status, dead = 0, done = 0;

	PROF_BEGIN("main");
	for (i = 0; i < n || running; i++) {
		if (i < n) {
			pid_t pid = fork();

			if (pid == 0)
				child(i, marks);
			running += pid > 0;
			dead += pid < 0;
		}
		if (i >= n || running >= 8) {
			if (wait(&status) < 0)
				break;
			running--;
			if (WIFEXITED(status) && WEXITSTATUS(status) == 7)
				done++;
			else
				dead++;
		}
	}
	PROF_END();
	printf("dead %d\npairs %ld\n", dead, (long)done * marks + 1);
	return dead != 0;
}
