/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwound MS [names]: known call chains, each for so many milliseconds of CPU time in a slice of its name; or only the one
 * through generated code, whose name is written down. It is
 * compiled with and without frame pointers (tests/integration/test_unwind.sh).
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "proftrace.h"

#define NOINLINE __attribute__((noinline))
/* The caller has something left to do, so that no call becomes a jump. */
#define STAY(value) __asm__ volatile("" : "+r"(value))

static unsigned long each_ms;
static bool names; /* of generated code are written down, as JIT compilers do */
static volatile sig_atomic_t handled;

static unsigned long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000;
}

/* Needs no frame of its own. */
static NOINLINE unsigned long leaf(unsigned long n)
{
	unsigned long sum = n;

	while (n--) {
		sum = sum * 31 + n;
		STAY(sum);
	}
	return sum;
}

static NOINLINE unsigned long middle(unsigned long n)
{
	unsigned long sum = leaf(n);

	STAY(sum);
	return sum + 1;
}

static NOINLINE unsigned long outer(unsigned long n)
{
	unsigned long sum = middle(n);

	STAY(sum);
	return sum + 2;
}

/* A frame of a size that is only known at run time. */
static NOINLINE unsigned long dynamic(unsigned long n)
{
	volatile char *a = alloca(n % 1000 + 64);
	unsigned long sum;

	a[0] = (char)n;
	sum = middle(n);
	STAY(sum);
	return sum + (unsigned long)a[0];
}

/* A frame that is aligned, and of such a size. */
static NOINLINE unsigned long aligned(unsigned long n)
{
	volatile char block[256] __attribute__((aligned(128)));
	volatile char *a = alloca(n % 1000 + 64);
	unsigned long sum;

	block[n % 256] = (char)n;
	a[0] = (char)n;
	sum = middle(n);
	STAY(sum);
	return sum + (unsigned long)(block[n % 256] + a[0]);
}

static NOINLINE unsigned long large(unsigned long n)
{
	volatile char block[200000];
	unsigned long sum;

	block[n % sizeof(block)] = (char)n;
	sum = middle(n);
	STAY(sum);
	return sum + (unsigned long)block[n % sizeof(block)];
}

static int compare(const void *a, const void *b)
{
	unsigned long sum = leaf(20000);

	STAY(sum);
	return (sum & 1) + *(const int *)a - *(const int *)b;
}

/* Called back by the C library. */
static NOINLINE unsigned long sorted(unsigned long n)
{
	int list[16];
	unsigned i;

	for (i = 0; i < 16; i++)
		list[i] = (int)(n * i % 17);
	qsort(list, 16, sizeof(list[0]), compare);
	return (unsigned long)list[3];
}

static void handler(int number)
{
	unsigned long sum = middle(300000);

	(void)number;
	STAY(sum);
	handled = (sig_atomic_t)sum;
}

/* Interrupted by a signal. */
static NOINLINE unsigned long signalled(unsigned long n)
{
	unsigned long sum = n;

	raise(SIGUSR1);
	STAY(sum);
	return sum;
}

static NOINLINE unsigned long deep(unsigned long n)
{
	unsigned long sum = n % 1000 ? deep(n - 1) : leaf(n);

	STAY(sum);
	return sum + 1;
}

static NOINLINE unsigned long recursive(unsigned long n)
{
	unsigned long sum = deep(n / 1000 * 1000 + 60);

	STAY(sum);
	return sum;
}

static NOINLINE unsigned long marked(unsigned long n)
{
	PROF_INSTANT("marked");
	return n;
}

static void name_code(const void *code, unsigned long size)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map)
		abort();
	fprintf(map, "%lx %lx trampoline\n", (unsigned long)code, size);
	fclose(map);
}

/*
 * Called through code that is generated at run time, which no table describes, and which has a frame
 * pointer as such code often does.
 */
static NOINLINE unsigned long generated(unsigned long n)
{
#if defined(__aarch64__)
	static const unsigned code[] = {
		0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
		0x910003fd, /* mov x29, sp */
		0xaa0003e2, /* mov x2, x0 */
		0xaa0103e0, /* mov x0, x1 */
		0xd63f0040, /* blr x2 */
		0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* ret */
	};
#else
	static const unsigned char code[] = {
		0x55,		  /* push %rbp */
		0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
		0x48, 0x89, 0xf8, /* mov %rdi, %rax */
		0x48, 0x89, 0xf7, /* mov %rsi, %rdi */
		0xff, 0xd0,	  /* call *%rax */
		0x5d,		  /* pop %rbp */
		0xc3,		  /* ret */
	};
#endif
	static void *page;
	unsigned long (*call)(unsigned long (*f)(unsigned long), unsigned long);
	unsigned long sum;

	if (!page) {
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page == MAP_FAILED)
			abort();
		memcpy(page, code, sizeof(code));
		__builtin___clear_cache(page, (char *)page + sizeof(code));
		if (names)
			name_code(page, sizeof(code));
	}
	memcpy(&call, &page, sizeof(call));
	sum = call(middle, n);
	sum += call(marked, n);
	STAY(sum);
	return sum;
}

struct chain {
	const char *name;
	unsigned long (*run)(unsigned long n);
};

static const struct chain chains[] = {
	{ "plain", outer },	    { "dynamic", dynamic },	{ "aligned", aligned },
	{ "large", large },	    { "sorted", sorted },	{ "signalled", signalled },
	{ "recursive", recursive }, { "generated", generated },
};

static NOINLINE void run_chain(const struct chain *chain)
{
	unsigned long until = cpu_ms() + each_ms, sum = 0;

	PROF_BEGIN_DYN(chain->name);
	while (cpu_ms() < until) {
		sum += chain->run(300000);
		STAY(sum);
	}
	PROF_END();
}

static void *thread_main(void *argument)
{
	static const struct chain threaded = { "threaded", outer };

	run_chain(&threaded);
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	unsigned i;

	each_ms = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	names = argc > 2;
	signal(SIGUSR1, handler);
	printf("ready\npid %d\n", (int)getpid());
	fflush(stdout);
	for (i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
		if (!names || chains[i].run == generated)
			run_chain(&chains[i]);
	}
	if (pthread_create(&thread, NULL, thread_main, NULL))
		return 1;
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
