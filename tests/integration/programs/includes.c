/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * includes N FILE [PATH [COMMAND...]]
 *
 * A program with a profiler of its own, which writes FILE: Chrome JSON with N complete events, each
 * inside a slice that is marked too, on the same thread. With PATH it asks the recording to include
 * that, and lives until its standard input ends, or becomes COMMAND at once.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <proftrace.h>

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	int i, n = argc > 2 ? atoi(argv[1]) : 0, pid = (int)getpid();
	FILE *file = argc > 2 ? fopen(argv[2], "w") : NULL;

	if (!file)
		return 1;
	fprintf(file,
		"{\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,"
		"\"args\":{\"name\":\"python\"}}",
		pid);
	for (i = 0; i < n; i++) {
		double begin;

		PROF_BEGIN("outer", "i", i);
		begin = now_us();
		PROF_BEGIN("inner");
		PROF_END();
		fprintf(file,
			",\n{\"name\":\"theirs\",\"cat\":\"op\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%."
			"3f,"
			"\"pid\":%d,\"tid\":%d,\"args\":{\"i\":%d}}",
			begin, now_us() - begin, pid, pid, i);
		PROF_END();
	}
	fprintf(file, ",\n{\"name\":\"ancient\",\"ph\":\"i\",\"ts\":1,\"pid\":%d,\"tid\":%d}\n]}\n",
		pid, pid);
	if (fclose(file))
		return 1;
	if (argc > 3)
		prof_include_chrome_json(argv[3]);
	if (argc > 4) {
		/* Not by the C library's functions, which the recorder knows. */
		syscall(SYS_execve, argv[4], argv + 4, NULL);
		return 1;
	}
	if (argc > 3) {
		while (read(STDIN_FILENO, &i, sizeof(i)) > 0)
			;
	}
	printf("pid %d\nslices %d\n", pid, 2 * n);
	return 0;
}
