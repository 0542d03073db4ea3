/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that are recorded with return probes: `returns [same|waits]`. It counts their calls, those among them that
 * are nested too deep for a return probe (`deep`), and the calls of which it finds a return address that is none of its
 * own (`hijacked`). With `same`, no call is that deep. With `waits`, it reads a byte ten calls deep.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <proftrace.h>

#define FUNCTION __attribute__((noinline, noclone))
/* A call indeed, and no jump: what is behind it is not moved before it. */
#define HERE() __asm__ volatile("" ::: "memory")

enum {
	ROUNDS = 50,
	THREADS = 3,
	PENDING = 63, /* return probes of a thread: one of the kernel's is kept free */
};

extern const char __executable_start[], etext[], code_of_wait_below[] __asm__("wait_below");
static unsigned long recursions, chosen, worked, landed, looked, deep, hijacked;

FUNCTION int recurse(int n)
{
	int below = 0;

	__atomic_add_fetch(&recursions, 1, __ATOMIC_RELAXED);
	if (n > 1)
		below = recurse(n - 1);
	HERE();
	return below + n;
}

FUNCTION int work(int n)
{
	__atomic_add_fetch(&worked, 1, __ATOMIC_RELAXED);
	PROF_INSTANT("within");
	HERE();
	return 3 * n;
}

/* Ends with a jump to the other: its call is over when that of the other begins. */
FUNCTION int choose(int n)
{
	chosen++;
	return work(n + 1);
}

static jmp_buf place;
static int (*volatile deeper)(int);

FUNCTION int jump(int n)
{
	int below;

	if (n <= 1)
		longjmp(place, 1);
	below = deeper(n - 1);
	HERE();
	return below + 1;
}

/* Whether this address, to which a function returns, is none of the program's. */
static int is_foreign(const char *to)
{
	return to < __executable_start || to >= etext;
}

FUNCTION void look(void)
{
	looked++;
	hijacked += is_foreign(__builtin_return_address(0));
	HERE();
}

FUNCTION int wait_below(int n)
{
	char byte = 0;

	if (n > 1) {
		n += wait_below(n - 1);
	} else {
		printf("below %d\n", is_foreign(__builtin_return_address(0)));
		fflush(stdout);
		n += read(STDIN_FILENO, &byte, 1) == 1 ? byte : -1000;
	}
	HERE();
	return n;
}

static void *run_thread(void *sum)
{
	for (int i = 0; i < ROUNDS; i++)
		*(long *)sum += work(i) + recurse(i % 5 + 1);
	return NULL;
}

static long run_threads(void)
{
	long sums[THREADS] = { 0 }, all = 0;
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_thread, &sums[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		all += sums[i];
	}
	return all;
}

/* In the middle of a call that has a return probe: both processes return from it. */
FUNCTION int split(void)
{
	pid_t child = fork();

	HERE();
	return child;
}

static void run_child(void)
{
	int status = 0;

	fflush(stdout);
	if (!split()) {
		long sum = 0;

		run_thread(&sum);
		printf("child sum %ld\n", sum);
		fflush(stdout);
		_exit(0);
	}
	wait(&status);
	/* What the child has done there has not been counted here. */
	worked += ROUNDS;
	for (int i = 0; i < ROUNDS; i++)
		recursions += i % 5 + 1;
	printf("child status %d\n", status);
}

static long run_depths(int most)
{
	long sum = 0;

	for (int depth = 1; depth <= most; depth++) {
		sum += recurse(depth);
		deep += depth > PENDING ? depth - PENDING : 0;
	}
	return sum;
}

/* What a jump leaves takes no place from later calls. */
static void run_jumps(int depth)
{
	deeper = jump;
	for (volatile int i = 0; i < ROUNDS; i++) {
		if (!setjmp(place))
			jump(depth);
		landed++;
		deep += depth > PENDING ? depth - PENDING : 0;
		look();
	}
	printf("jump %lu\n", landed * (unsigned)depth);
}

int main(int argc, char **argv)
{
	const int same = argc > 1 && !strcmp(argv[1], "same"), most = same ? 55 : 100;
	const int waits = argc > 1 && !strcmp(argv[1], "waits");
	char code[2][8];
	long sum = 0;

	memcpy(code[0], code_of_wait_below, sizeof(code[0]));
	if (waits) {
		while (wait_below(1) == 1 + 'a')
			printf("wait_below %d\n", wait_below(10));
	}
	run_jumps(most - 5);
	sum += run_depths(most);
	for (int i = 0; i < ROUNDS; i++)
		sum += choose(i);
	if (!same) {
		sum += run_threads();
		run_child();
	}
	memcpy(code[1], code_of_wait_below, sizeof(code[1]));
	printf("recurse %lu\nchoose %lu\nwork %lu\nlook %lu\ndeep %lu\nhijacked %lu\nsum %ld\n",
	       recursions, chosen, worked, looked, deep, hijacked, sum);
	printf("changed %d\n", memcmp(code[0], code[1], sizeof(code[0])) != 0);
	return 0;
}
