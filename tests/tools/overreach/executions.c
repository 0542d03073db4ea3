/* SPDX-License-Identifier: BSD-2-Clause */
/* A set-user-ID program, at the moment at which it is executed. */
#include "overreach.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXECUTIONS 60 /* in which samples are taken */

/* --- samples in the middle of an execution ------------------------------------------------------- */

void execute_often(void)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), i, status;

	dup2(nothing, 0);
	for (i = 0; i < EXECUTIONS; i++) {
		pid_t pid = fork();

		if (!pid) {
			execl(secret_program, secret_program, "secret", NULL);
			_exit(1);
		}
		waitpid(pid, &status, 0);
	}
}

/* One by accident does not count: anything may have the same place in its page. */
void sample_executions(pid_t target, int target_end)
{
	end(target, target_end);
	secret_comes();
	if (h.samples)
		printf("permitted %u samples\n", h.samples);
	if (h.samples_begin > 1)
		printf("got %u samples of a set-user-ID program\n", h.samples_begin);
}

/* --- the result of a call that the program makes --------------------------------------------------- */

/* To free it, the kernel needs some milliseconds in the execution. */
void make_large(void)
{
	make_empty();
	if (mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		 -1, 0) == MAP_FAILED)
		exit(1);
}

/* Nothing is recorded from the middle of the execution on, so that its end is not noticed, until the program is in a call. */
void record_result(pid_t target, int target_end)
{
	h.watched = target;
	if (write(target_end, "", 1) != 1 || read_number() != target || write(goes[1], "", 1) != 1)
		exit(1);
	/* The last call before the execution. */
	while (h.last_call != SYS_dup2)
		ring_buffer__consume(h.ring);
	usleep(100);
	h.shared->recording = 0;
	while (is_traced(target))
		usleep(1000);
	usleep(EXECUTES_US);
	ring_buffer__consume(h.ring);
	h.calls = 0;
	h.shared->recording = 1;
	if (write(goes[1], "a line\n", 7) != 7)
		exit(1);
	usleep(EXECUTES_US);
	ring_buffer__consume(h.ring);
	if (h.calls)
		printf("got the results of %u calls of a set-user-ID program\n", h.calls);
	kill(target, SIGTERM);
	waitpid(target, NULL, 0);
}
