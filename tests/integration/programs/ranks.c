/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ranks FILE RANKS STEPS
 *
 * One of several programs that work in step, as those of a distributed training do: none begins a step
 * before all have come to it. FILE is zeros at first, and shared by all. Prints how many marks it made.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <proftrace.h>

static void futex(atomic_uint *at, int what, unsigned value)
{
	syscall(SYS_futex, at, what, value, NULL, NULL, 0);
}

static void wait_for_all(atomic_uint *arrived, unsigned target)
{
	unsigned now = atomic_fetch_add(arrived, 1) + 1;

	futex(arrived, FUTEX_WAKE, INT_MAX);
	for (; now < target; now = atomic_load(arrived))
		futex(arrived, FUTEX_WAIT, now);
}

int main(int argc, char **argv)
{
	unsigned i, ranks = argc > 3 ? (unsigned)atoi(argv[2]) : 0;
	unsigned steps = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
	const struct timespec work = { .tv_nsec = 20000000 };
	atomic_uint *arrived;
	int fd = ranks ? open(argv[1], O_RDWR) : -1;

	if (fd < 0)
		return 1;
	arrived = mmap(NULL, sizeof(*arrived), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (arrived == MAP_FAILED)
		return 1;
	for (i = 0; i < steps; i++) {
		wait_for_all(arrived, ranks * (i + 1));
		PROF_STEP(1, i);
		PROF_BEGIN("step", "i", i);
		PROF_BEGIN("forward");
		PROF_FLOW_OUT((unsigned long long)i);
		PROF_END();
		PROF_ASYNC_BEGIN("reduce", (unsigned long long)i);
		PROF_COUNTER("loss", 1.0 / (i + 1));
		nanosleep(&work, NULL);
		PROF_ASYNC_END("reduce", (unsigned long long)i);
		PROF_BEGIN("backward");
		PROF_FLOW_IN((unsigned long long)i);
		PROF_END();
		PROF_END();
	}
	printf("slices %u\ncounters %u\n", 3 * steps, steps);
	return 0;
}
