/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made THREADS ROUNDS [wait]: objects that are made at run time. All threads ask for all of them at once, again and
 * again, and must get the same; then each operation of each, ROUNDS times in each thread. Prints what a trace of it
 * must hold, as objects.c does. With "wait" it makes the objects, prints `ready <pid>` and waits for a line of its
 * standard input before the first mark, and for another one behind the last.
 */
#include <proftrace.h>

#include <unistd.h>

#include "objects.h"

enum {
	NAMES = 12,
	MOST_THREADS = 16
};

static pthread_barrier_t together;
static const void *got[MOST_THREADS][6 * NAMES];
static unsigned rounds;

/* In no order that would help: each thread begins somewhere else. */
static void get_all(const void **mine, unsigned first)
{
	char name[32], domain[32];
	unsigned i, n;

	for (n = 0; n < NAMES; n++) {
		const prof_runtime_domain_t *d;

		i = (n + first) % NAMES;
		snprintf(name, sizeof(name), "object-%u", i);
		snprintf(domain, sizeof(domain), "domain-%u", i % 2);
		d = prof_domain_get(i % 3 ? domain : NULL);
		mine[6 * i] = d;
		mine[6 * i + 1] = prof_task_get(d, name);
		mine[6 * i + 2] = prof_frame_get(d, name);
		mine[6 * i + 3] = prof_event_get(name);
		mine[6 * i + 4] = prof_counter_get(d, name, 100);
		mine[6 * i + 5] = prof_marker_get_in(d, name, i % 4 ? "a,b" : NULL, i % 4, 0);
		memset(name, '#', sizeof(name) - 1);
		memset(domain, '#', sizeof(domain) - 1);
	}
}

static const char *kept(const char *format, const char *name, const char *domain, const char *more)
{
	char line[128];

	snprintf(line, sizeof(line), format, name, domain, more);
	return strdup(line);
}

static void mark(const void **mine, unsigned i)
{
	const prof_marker_t *marker = mine[6 * i + 5];
	const char *more = i % 4 ? ",a,b" : "";
	char name[32], domain[32];

	snprintf(name, sizeof(name), "object-%u", i);
	snprintf(domain, sizeof(domain), "%s", "default");
	if (i % 3)
		snprintf(domain, sizeof(domain), "domain-%u", i % 2);
	prof_task_start(mine[6 * i + 1]);
	prof_marker_start(marker);
	prof_event_start(mine[6 * i + 3]);
	prof_event_stop(mine[6 * i + 3]);
	prof_marker_finish(marker);
	prof_marker_mark(marker, PROF_SCOPE_THREAD);
	prof_task_stop(mine[6 * i + 1]);
	prof_counter_increment(mine[6 * i + 4], 1);
	passed(8 + (i % 4 & 1) + (i % 4 >> 1));
	saw(kept("BEGIN %s %s thread", name, domain, ""), 1);
	saw(kept("BEGIN %s %s%s thread", name, domain, more), 1);
	saw(kept("BEGIN %s default thread", name, "", ""), 1);
	saw(kept("INSTANT %s %s%s thread", name, domain, more), 1);
	if (i % 4)
		saw(kept("INSTANT %s %s%s process", name, domain, more),
		    (i % 4 & 1) + (i % 4 >> 1));
	saw(kept("COUNTER %s", name, "", ""), 1);
}

static void *work(void *number)
{
	const unsigned me = *(unsigned *)number;
	unsigned i;

	for (i = 0; i < rounds * NAMES; i++)
		mark(got[me], (i + me) % NAMES);
	return number;
}

static void *get(void *number)
{
	const unsigned me = *(unsigned *)number;

	pthread_barrier_wait(&together);
	get_all(got[me], me);
	return number;
}

static void run(void *(*function)(void *), unsigned n, unsigned *numbers)
{
	pthread_t threads[MOST_THREADS];
	unsigned i;

	for (i = 0; i < n; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, function, &numbers[i]))
			abort();
	}
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void frames(void)
{
	char domain[32];
	unsigned i, r;

	for (i = 0; i < NAMES; i++) {
		snprintf(domain, sizeof(domain), "%s", "default");
		if (i % 3)
			snprintf(domain, sizeof(domain), "domain-%u", i % 2);
		for (r = 0; r < rounds; r++) {
			char name[32];

			snprintf(name, sizeof(name), "object-%u", i);
			prof_frame_start(got[0][6 * i + 2]);
			prof_frame_stop(got[0][6 * i + 2]);
			passed(2);
			saw(kept("ASYNC_BEGIN %s %s process", name, domain, ""), 1);
			if (r > 0)
				saw(kept("COUNTER %s rate", name, "", ""), 1);
		}
	}
}

static void wait_for_line(void)
{
	char c = 0;

	while (c != '\n' && read(0, &c, 1) == 1)
		;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1, numbers[MOST_THREADS], i;
	const int waits = argc > 3;

	rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	if (n > MOST_THREADS || pthread_barrier_init(&together, NULL, n))
		return 2;
	run(get, n, numbers);
	for (i = 1; i < n; i++) {
		if (memcmp(got[0], got[i], sizeof(got[0])))
			return 3;
	}
	if (waits) {
		printf("ready %d\n", (int)getpid());
		fflush(stdout);
		wait_for_line();
	}
	run(work, n, numbers);
	frames();
	print_counts();
	for (i = 0; i < NAMES; i++) {
		if (prof_counter_value(got[0][6 * i + 4]) != 100 + (int64_t)n * rounds)
			return 4;
	}
	printf("done\n");
	fflush(stdout);
	if (waits)
		wait_for_line();
	return 0;
}
