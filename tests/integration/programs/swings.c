/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks that come in bursts: `swings CYCLES THREADS PER_SECOND`, after its first input. Each thread marks at this rate,
 * or as fast as it can (0), until its domain has gone over to buffered mode; then ten times a second, until the domain
 * has come back to exact mode. Some slices begin in the one and end in the other, and a second domain has slices around
 * all. Each END says of which slice it is. Prints how many marks of which kind were made, and the changes it has seen.
 */
#include <proftrace.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

PROF_DOMAIN(swing, "swing");
PROF_DOMAIN(calm, "calm");
PROF_DEFAULT_DOMAIN(swing);
PROF_MARKER(of_calm, calm, "turn");

#define PATIENCE_NS 10000000000ull

static unsigned cycles;
static uint64_t each_ns;
static uint64_t slices, instants, turns, changes;
static pthread_barrier_t together;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Whether the domain is in this mode, and no longer in the other one. */
static int is_in_mode(int buffered)
{
	uint32_t word;

	__builtin_memcpy(&word, (const void *)&prof_domain_in_swing, sizeof(word));
	__asm__ volatile("" ::: "memory");
	return buffered ? word >> 16 && !(word & 0xffff) : word & 0xffff && !(word >> 16);
}

/* Five marks: two slices, one in the other, and an instant. */
static void mark_some(uint64_t *number)
{
	uint64_t outer = ++*number, inner;

	PROF_BEGIN("outer", "number", outer);
	inner = ++*number;
	{
		PROF_SCOPE("inner", "number", inner);
		PROF_INSTANT("inside", "number", inner);
	}
	PROF_END("of", outer);
	__atomic_add_fetch(&slices, 2, __ATOMIC_RELAXED);
	__atomic_add_fetch(&instants, 1, __ATOMIC_RELAXED);
}

static void *swing_thread(void *first)
{
	uint64_t number = (uint64_t)(uintptr_t)first << 32;
	unsigned i, j;

	for (i = 0; i < cycles; i++) {
		uint64_t cycle = ++number, began_ns = now_ns(), next_ns = began_ns;

		prof_marker_start(&of_calm);
		PROF_BEGIN("cycle", "number", cycle);
		do {
			for (j = 0; j < 20; j++) {
				mark_some(&number);
				next_ns += 5 * each_ns;
				while (now_ns() < next_ns)
					;
			}
		} while (now_ns() - began_ns < 100000000 ||
			 (!is_in_mode(1) && now_ns() - began_ns < PATIENCE_NS));
		__atomic_add_fetch(&changes, is_in_mode(1), __ATOMIC_RELAXED);
		/* It would come back while another thread is still waiting for it to go. */
		pthread_barrier_wait(&together);
		for (began_ns = now_ns(); !is_in_mode(0) && now_ns() - began_ns < PATIENCE_NS;) {
			mark_some(&number);
			usleep(100000);
		}
		__atomic_add_fetch(&changes, is_in_mode(0), __ATOMIC_RELAXED);
		pthread_barrier_wait(&together);
		PROF_END("of", cycle);
		prof_marker_finish(&of_calm);
		__atomic_add_fetch(&slices, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	unsigned i, n = argc > 2 ? atoi(argv[2]) : 1;

	if (argc < 4 || n < 1 || n > 64)
		return 2;
	cycles = atoi(argv[1]);
	pthread_barrier_init(&together, NULL, n);
	getchar();
	each_ns = atoi(argv[3]) ? 1000000000 / atoi(argv[3]) : 0;
	for (i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, swing_thread, (void *)(uintptr_t)(i + 1));
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("slices %llu\ninstants %llu\nturns %llu\ntotal %llu\nchanges %llu\n",
	       (unsigned long long)slices, (unsigned long long)instants, (unsigned long long)turns,
	       (unsigned long long)(2 * (slices + turns) + instants),
	       (unsigned long long)changes / n);
	return 0;
}
