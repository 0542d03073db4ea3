/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burden THREADS DOMAINS: works, and marks what it does in three domains: `chatty` much too often,
 * `busy` somewhat, `quiet` seldom. It goes on until chatty (DOMAINS 1), or busy as well (2), is switched
 * off and its standard input has ended, and then for a while; with 0 for a while. What is open of chatty
 * stays open, around and inside of what is quiet's. With 0 THREADS it only works for a moment. `burden work
 * ROUNDS` does the same work however long it takes, and prints `cpu <n>`: the microseconds that it took.
 * Else it prints `quiet <n>`, `busy <n>`, `chatty <n>`: the marks it
 * made of each, recorded or not; and `on <bits>`: which are on at the end.
 */
#include <proftrace.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_ROUNDS  20000
#define ROUNDS_AFTER 350

PROF_DOMAIN(chatty, "chatty");
PROF_DOMAIN(busy, "busy");
PROF_DOMAIN(quiet, "quiet");
PROF_MARKER(chatty_marker, chatty, "object", .categories = "io");

static atomic_long n_chatty, n_busy, n_quiet;
static int domains;

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* A millisecond, with 400, 40 and 2 marks: far apart, because what a mark costs differs between machines, and with their load. */
static void one_round(void)
{
	double end = cpu_us() + 1000;
	int i;

	PROF_BEGIN_IN(quiet, "request");
	for (i = 0; i < 100; i++) {
		PROF_SCOPE_IN(chatty, "step");
		PROF_INSTANT_IN(chatty, "detail", "i", i);
		PROF_COUNTER_IN(chatty, "progress", i);
	}
	for (i = 0; i < 20; i++) {
		PROF_BEGIN_IN(busy, "part");
		PROF_END_IN(busy);
	}
	while (cpu_us() < end)
		;
	PROF_END_IN(quiet, "of", "request");
	n_chatty += 400;
	n_busy += 40;
	n_quiet += 2;
}

/* A slice around each of so many equal parts of a computation. */
static int fixed_work(long rounds)
{
	uint64_t x = 1;
	long i;
	int k;

	for (i = 0; i < rounds; i++) {
		PROF_BEGIN_IN(chatty, "step");
		for (k = 0; k < 4000; k++)
			x = (x ^ (x >> 29)) * 0xff51afd7ed558ccdull + 1;
		PROF_END_IN(chatty);
	}
	printf("result %llx\ncpu %.0f\n", (unsigned long long)x, cpu_us());
	return 0;
}

static int is_over(void)
{
	struct pollfd input = { 0, POLLIN, 0 };

	return domains == 0 || (!prof_is_enabled(&chatty) &&
				(domains < 2 || !prof_is_enabled(&busy)) && poll(&input, 1, 0) > 0);
}

static void *work(void *argument)
{
	char *memory = argument;
	int i, after = 0;

	PROF_BEGIN_IN(chatty, "around");
	PROF_BEGIN_IN(quiet, "session");
	PROF_ASYNC_BEGIN_IN(chatty, "job", (uintptr_t)memory);
	PROF_ALLOC_IN(chatty, "heap", memory, 64);
	prof_marker_start(&chatty_marker);
	for (i = 0; i < MOST_ROUNDS && after < ROUNDS_AFTER; i++) {
		one_round();
		after += is_over();
	}
	/* Inside of an object that was never finished, for all that anybody knows. */
	PROF_END_IN(quiet, "of", "session");
	PROF_INSTANT_IN(quiet, "done");
	prof_marker_finish(&chatty_marker);
	PROF_FREE_IN(chatty, "heap", memory);
	PROF_ASYNC_END_IN(chatty, "job", (uintptr_t)memory);
	PROF_END_IN(chatty, "of", "around");
	n_chatty += 8;
	n_quiet += 3;
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, i;
	pthread_t threads[16];
	static char memory[16];

	if (argc > 2 && !strcmp(argv[1], "work"))
		return fixed_work(atol(argv[2]));
	domains = argc > 2 ? atoi(argv[2]) : 0;
	if (!n)
		one_round();
	for (i = 0; i < n && i < 16; i++)
		pthread_create(&threads[i], NULL, work, &memory[i]);
	for (i = 0; i < n && i < 16; i++)
		pthread_join(threads[i], NULL);
	printf("quiet %ld\nbusy %ld\nchatty %ld\non %d%d%d\n", (long)n_quiet, (long)n_busy,
	       (long)n_chatty, prof_is_enabled(&quiet) != 0, prof_is_enabled(&busy) != 0,
	       prof_is_enabled(&chatty) != 0);
	return 0;
}
