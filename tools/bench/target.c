/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The main() of every target. Standard input, a line each:
 *
 *	run LOOP ROUNDS		answers `ns <CPU time> <events> <events with the warming up>`
 *
 * and what the target's own verbs add. It ends with its input.
 */
#include "target.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/*
 * What the thread has run. On a busy machine the wall clock also counts whoever was let in between.
 */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
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

static void run_loop(char *arguments)
{
	char *name = strsep(&arguments, " ");
	uint64_t rounds = next_number(&arguments), first = 1 + rounds / 100, begun, ns;
	const struct loop *loop = name ? find_loop(name) : NULL;

	if (!loop) {
		printf("unknown loop\n");
		return;
	}
	loop->run(first); /* what is touched for the first time is not the subject */
	begun = cpu_ns();
	loop->run(rounds);
	ns = cpu_ns() - begun;
	printf("ns %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", ns, rounds * loop->events,
	       (rounds + first) * loop->events);
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
