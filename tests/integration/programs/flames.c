/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flames MS: spends about MS milliseconds of processor time within slices "work", 6 tenths of it in
 * heavy(), 3 in light(), which has most of it inlined, and 1 in code that it makes itself and tells of in
 * /tmp/perf-PID.map; and as much as in the last in outside(), outside of them. Prints the ns that each took by the thread's own clock: `heavy N`.
 */
#include <proftrace.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

/* So long that asking for the time does not count. */
enum {
	TURNS = 300000
};

static volatile uint64_t result;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline __attribute__((always_inline)) void spin(void)
{
	uint64_t i, x = result;

	for (i = 0; i < TURNS; i++)
		x = x * 6364136223846793005u + i;
	result = x;
}

APART static void heavy(void)
{
	uint64_t i, x = result;

	for (i = 0; i < TURNS; i++)
		x = x * 2862933555777941757u + i;
	result = x;
}

APART static void light(void)
{
	spin();
}

APART static void outside(void)
{
	uint64_t i, x = result;

	for (i = 0; i < TURNS; i++)
		x = x * 3202034522624059733u + i;
	result = x;
}

/* Counts its argument down, with a frame pointer of its own. */
static const unsigned char code[] = {
#if defined(__x86_64__)
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0x48, 0xff, 0xcf, /* 1: dec %rdi */
	0x75, 0xfb,	  /* jnz 1b */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
#else
	0xfd, 0x7b, 0xbf, 0xa9, /* stp x29, x30, [sp, #-16]! */
	0xfd, 0x03, 0x00, 0x91, /* mov x29, sp */
	0x00, 0x04, 0x00, 0xf1, /* 1: subs x0, x0, #1 */
	0xe1, 0xff, 0xff, 0x54, /* b.ne 1b */
	0xfd, 0x7b, 0xc1, 0xa8, /* ldp x29, x30, [sp], #16 */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
#endif
};

typedef void (*generated_fn)(uint64_t);

static generated_fn make_code(void)
{
	void *at = mmap(NULL, sizeof(code), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	generated_fn function;
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (at == MAP_FAILED || !map)
		exit(1);
	memcpy(at, code, sizeof(code));
	__builtin___clear_cache((char *)at, (char *)at + sizeof(code));
	if (mprotect(at, sizeof(code), PROT_READ | PROT_EXEC))
		exit(1);
	fprintf(map, "%lx %zx generated code\n", (unsigned long)(uintptr_t)at, sizeof(code));
	fclose(map);
	memcpy(&function, &at, sizeof(function));
	return function;
}

static generated_fn generated;

APART static void call_generated(void)
{
	generated(TURNS);
	result++;
}

/* For so long, by the thread's clock; what it took is added. */
APART static void spend(void (*work)(void), uint64_t ns, uint64_t *sum)
{
	const uint64_t begin = cpu_ns();
	uint64_t now;

	do
		work();
	while ((now = cpu_ns()) < begin + ns);
	*sum += now - begin;
}

int main(int argc, char **argv)
{
	uint64_t turn = (uint64_t)(argc > 1 ? atoi(argv[1]) : 1000) * 1000000u / 20;
	uint64_t in_heavy = 0, in_light = 0, in_generated = 0, in_outside = 0;
	int i;

	generated = make_code();
	for (i = 0; i < 20; i++) {
		PROF_BEGIN("work");
		spend(heavy, turn * 6 / 10, &in_heavy);
		spend(light, turn * 3 / 10, &in_light);
		spend(call_generated, turn / 10, &in_generated);
		PROF_END();
		spend(outside, turn / 10, &in_outside);
	}
	printf("pid %d\nmarks 40\nheavy %llu\nlight %llu\ngenerated %llu\noutside %llu\n",
	       (int)getpid(), (unsigned long long)in_heavy, (unsigned long long)in_light,
	       (unsigned long long)in_generated, (unsigned long long)in_outside);
	return 0;
}
