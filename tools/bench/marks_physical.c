/* SPDX-License-Identifier: BSD-2-Clause */
/* The least possible cost of an event: no tracer is involved in these loops. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

static __thread uint64_t buffer[512]; /* a page */

static inline uint64_t read_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t count;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
	return count;
#else
#error "which instruction reads the clock here?"
#endif
}

static void three_stores(uint64_t rounds)
{
	uint64_t i, at = 0;

	for (i = 0; i < rounds; i++) {
		buffer[at] = read_counter();
		buffer[at + 1] = (uintptr_t)three_stores;
		buffer[at + 2] = i;
		at = at + 6 > 512 ? 0 : at + 3;
		__asm__ volatile("" : : : "memory");
	}
}

static void read_clock(uint64_t rounds)
{
	struct timespec t;
	uint64_t i;

	for (i = 0; i < rounds; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		__asm__ volatile("" : : "r"(&t) : "memory");
	}
}

static void enter_kernel(uint64_t rounds)
{
	uint64_t i;

	for (i = 0; i < rounds; i++)
		syscall(SYS_getppid);
}

extern const struct loop loops_physical[];
const struct loop loops_physical[] = {
	{ "three_stores", 1, three_stores, false, NULL },
	{ "clock_gettime", 1, read_clock, false, NULL },
	{ "syscall", 1, enter_kernel, false, NULL },
	{ 0 },
};
