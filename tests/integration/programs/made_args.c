/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made_args THREADS ROUNDS: marks with 0 to 40 arguments whose keys are made at run time, of every type. Prints
 * `marks`, and `dropped`: arguments beyond what an event keeps.
 */
#include <proftrace.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST = 40,
	KEPT = 32,
	MOST_THREADS = 16
};

static unsigned rounds;
static const prof_runtime_domain_t *domain;
static uint64_t marks, dropped;

/* Marks for an event of so many arguments. */
static unsigned count_marks(unsigned n)
{
	return n <= 3 ? 1 : 1 + (n - 1) / 2;
}

static void fill(prof_arg_t *args, char keys[][16], unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		snprintf(keys[i], sizeof(keys[i]), "key%u", i);
		switch (i % 6) {
		case 0:
			args[i] = prof_arg_int(keys[i], -(int64_t)i);
			break;
		case 1:
			args[i] = prof_arg_uint(keys[i], i);
			break;
		case 2:
			args[i] = prof_arg_double(keys[i], i + 0.5);
			break;
		case 3:
			args[i] = prof_arg_string(keys[i], keys[i] + 1);
			break;
		case 4:
			args[i] = prof_arg_bool(keys[i], i & 4);
			break;
		default:
			args[i] = prof_arg_pointer(keys[i], (void *)(uintptr_t)(i * 16));
		}
	}
}

static void mark(unsigned n)
{
	char keys[MOST][16];
	prof_arg_t args[MOST];

	fill(args, keys, n);
	prof_instant_args(domain, "instant", PROF_SCOPE_THREAD, args, n);
	prof_begin_args(domain, "slice", args, n);
	prof_end_args(domain, args, n);
	memset(keys, '#', sizeof(keys));
	__atomic_add_fetch(&marks, 3 * count_marks(n), __ATOMIC_RELAXED);
	__atomic_add_fetch(&dropped, n > KEPT ? 3 * (n - KEPT) : 0, __ATOMIC_RELAXED);
}

static void *work(void *unused)
{
	prof_arg_t series[MOST];
	char keys[MOST][16];
	unsigned i, n;

	for (i = 0; i < rounds; i++) {
		for (n = 0; n <= MOST; n++)
			mark(n);
		/* What was made for another mark is nobody's. */
		PROF_INSTANT("between", "own", i);
	}
	fill(series, keys, 3);
	prof_counter_args(domain, "few", series, 3);
	for (i = 0; i < MOST; i++) {
		snprintf(keys[i], sizeof(keys[i]), "series%u", i);
		series[i] = prof_arg_int(keys[i], (int)i);
	}
	prof_counter_args(domain, "many", series, MOST);
	__atomic_add_fetch(&marks, rounds + 1 + (MOST + 2) / 3, __ATOMIC_RELAXED);
	return unused;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1, i;
	pthread_t threads[MOST_THREADS];

	rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	domain = prof_domain_get("made");
	for (i = 0; i < n && i < MOST_THREADS; i++) {
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	}
	for (i = 0; i < n && i < MOST_THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("marks %" PRIu64 "\ndropped %" PRIu64 "\n", marks, dropped);
	return 0;
}
