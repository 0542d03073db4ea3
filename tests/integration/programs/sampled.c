/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sampled THREADS SECONDS [FACTOR]
 *
 * Each thread spends so much CPU time in three functions, half of it, three tenths and two tenths, in
 * slices `work`, and measures what it spent in each. The second function takes FACTOR times as long. At the end:
 * `alpha NS`, `beta NS`, `gamma NS` of all threads.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <proftrace.h>

#define MAX_THREADS 8
#define ROUNDS	    10
#define STEPS	    100000

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Three functions that no compiler takes for one another, and none of which it makes part of main. */
#define FUNCTION(name, factor)                                    \
	__attribute__((noinline)) static int64_t name(int64_t ns) \
	{                                                         \
		static _Thread_local volatile uint64_t sum;       \
		int64_t begin = cpu_ns(), now = begin;            \
                                                                  \
		while (now - begin < ns) {                        \
			for (uint64_t i = 0; i < STEPS; i++)      \
				sum += i * (factor);              \
			now = cpu_ns();                           \
		}                                                 \
		return now - begin;                               \
	}

FUNCTION(alpha, 3)
FUNCTION(beta, 5)
FUNCTION(gamma_, 7)

static int64_t work_ns;
static double factor = 1;

struct spent {
	int64_t ns[3];
};

static void *work(void *arg)
{
	struct spent *spent = arg;

	for (int i = 0; i < ROUNDS; i++) {
		PROF_BEGIN("work");
		spent->ns[0] += alpha(work_ns / ROUNDS * 5 / 10);
		spent->ns[1] += beta((int64_t)((double)work_ns / ROUNDS * 0.3 * factor));
		spent->ns[2] += gamma_(work_ns / ROUNDS * 2 / 10);
		PROF_END();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[MAX_THREADS];
	struct spent spent[MAX_THREADS] = { { { 0 } } };

	if (n < 1 || n > MAX_THREADS)
		return 2;
	work_ns = (int64_t)((argc > 2 ? atof(argv[2]) : 1) * 1e9);
	factor = argc > 3 ? atof(argv[3]) : 1;
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, work, &spent[i]))
			return 1;
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		for (int k = 0; i && k < 3; k++)
			spent[0].ns[k] += spent[i].ns[k];
	}
	printf("alpha %lld\nbeta %lld\ngamma %lld\n", (long long)spent[0].ns[0],
	       (long long)spent[0].ns[1], (long long)spent[0].ns[2]);
	return 0;
}
