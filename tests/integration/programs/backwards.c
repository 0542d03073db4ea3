/* SPDX-License-Identifier: BSD-2-Clause */
/* To be loaded before a program: each time it asks for the time of day, that is an hour earlier. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static long hours;
	long r = syscall(SYS_clock_gettime, clock, t);

	if (!r && clock == CLOCK_REALTIME)
		t->tv_sec -= 3600 * __atomic_fetch_add(&hours, 1, __ATOMIC_RELAXED);
	return (int)r;
}
