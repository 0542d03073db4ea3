/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The main() of every target. Standard input, a line each:
 *
 *	run LOOP ROUNDS [THREADS]	answers `ns <CPU time> <events> <events with the warming up>`; that
 *				many threads each make so many rounds, on any processor, at the same time
 *
 * and what the target's own verbs add. It ends with its input.
 */
#include "target.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 64

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/*
 * What the thread has run. On a busy machine the wall clock also counts whoever was let in between.
 */
static uint64_t cpu_ns(const struct loop *loop)
{
	struct timespec t;

	clock_gettime(loop->together ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

uint64_t next_number(char **arguments)
{
	char *word = strsep(arguments, " ");

	return word ? strtoull(word, NULL, 10) : 0;
}

static const struct loop *find_loop(const char *name)
{
	const struct loop *const *table, *loop;

	for (table = target_loops; *table; table++) {
		for (loop = *table; loop->name; loop++) {
			if (!strcmp(loop->name, name))
				return loop;
		}
	}
	return NULL;
}

struct run {
	const struct loop *loop;
	uint64_t rounds, first, ns;
	pthread_barrier_t *begin; /* NULL: there is one thread */
	pthread_t thread;
};

static uint64_t time_loop(const struct loop *loop, uint64_t rounds)
{
	uint64_t begun;

	if (loop->measures)
		return loop->measures(rounds);
	begun = cpu_ns(loop);
	loop->run(rounds);
	return cpu_ns(loop) - begun;
}

static void *run(void *context)
{
	struct run *r = context;

	time_loop(r->loop, r->first); /* what is touched for the first time is not the subject */
	if (r->begin)
		pthread_barrier_wait(r->begin);
	r->ns = time_loop(r->loop, r->rounds);
	return NULL;
}

static uint64_t run_threads(const struct run *same, unsigned n)
{
	struct run runs[MAX_THREADS];
	pthread_barrier_t begin;
	cpu_set_t all;
	uint64_t ns = 0;
	unsigned i;

	memset(&all, 0xff, sizeof(all)); /* those that there are */
	sched_setaffinity(0, sizeof(all), &all);
	pthread_barrier_init(&begin, NULL, n);
	for (i = 0; i < n; i++) {
		runs[i] = *same;
		runs[i].begin = &begin;
		if (pthread_create(&runs[i].thread, NULL, run, &runs[i]))
			exit(1); /* the others wait for it */
	}
	for (i = 0; i < n; i++) {
		pthread_join(runs[i].thread, NULL);
		ns += runs[i].ns;
	}
	pthread_barrier_destroy(&begin);
	return ns;
}

static void run_loop(char *arguments)
{
	char *name = strsep(&arguments, " ");
	struct run r = { .rounds = next_number(&arguments) };
	uint64_t threads = next_number(&arguments), n, ns;

	r.loop = name ? find_loop(name) : NULL;
	r.first = 1 + r.rounds / 100;
	if (!r.loop || threads > MAX_THREADS) {
		printf("unknown loop\n");
		return;
	}
	if (threads) {
		ns = run_threads(&r, threads);
	} else {
		run(&r);
		ns = r.ns;
	}
	n = r.loop->events * (threads ? threads : 1);
	printf("ns %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", ns, r.rounds * n,
	       (r.rounds + r.first) * n);
}

int main(void)
{
	const struct verb *verb;
	char line[256], *arguments, *word;

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		arguments = line;
		word = strsep(&arguments, " ");
		if (!strcmp(word, "run")) {
			run_loop(arguments);
		} else {
			for (verb = target_verbs; verb->name && strcmp(verb->name, word); verb++)
				;
			if (verb->name)
				verb->run(arguments);
			else
				printf("unknown verb\n");
		}
		fflush(stdout);
	}
	return 0;
}
