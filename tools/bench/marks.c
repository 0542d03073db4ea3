/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The target with markers. Beside `run` it understands
 *
 *	raise, lower		add to and take from the switches by hand, with nobody attached
 *	wait 0|1		until the domain is off or on; answers the time it saw that
 *	watch			marks every 20 us, with the time as argument, until it is switched on
 *				and off again; says `on <ns>` and `off <ns>` as it goes, 0 when it has
 *				not seen that within 20 s: on a busy machine it may not run meanwhile
 *	pace THREADS RATE MS	so many events a second from so many threads together; answers
 *				`marks <n> <ns it took>`
 */
#include <proftrace.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

#define WAIT_NS	     20000000000ull
#define PAUSE_NS     1000000 /* between two bursts of a paced thread */
#define ROUND_EVENTS 4
#define MAX_THREADS  64

extern const struct loop loops[], loops_compiled_out[], loops_physical[], loops_foreign[],
	loops_stack[], loops_made[];
const struct loop *const target_loops[] = { loops,	   loops_compiled_out, loops_physical,
					    loops_foreign, loops_stack,	       loops_made,
					    NULL };

static void change_semaphores(int by)
{
	prof_default.on += by;
	prof_domain_in_prof_control.on += by;
	printf("done\n");
}

static void raise_semaphores(char *unused)
{
	(void)unused;
	change_semaphores(1);
}

static void lower_semaphores(char *unused)
{
	(void)unused;
	change_semaphores(-1);
}

static uint64_t wait_until(int on)
{
	const struct timespec pause = { 0, 20000 };
	uint64_t begun = now_ns(), now = begun;

	while (prof_is_enabled(&prof_default) != on && now - begun < WAIT_NS) {
		nanosleep(&pause, NULL);
		now = now_ns();
	}
	return prof_is_enabled(&prof_default) == on ? now : 0;
}

static void wait_verb(char *arguments)
{
	printf("at %" PRIu64 "\n", wait_until(next_number(&arguments) != 0));
}

static void watch(char *unused)
{
	uint64_t now, next, begun = now_ns();
	int seen = 0;

	(void)unused;
	do {
		PROF_INSTANT("watch", "at", now_ns());
		if (!seen && prof_is_enabled(&prof_default)) {
			seen = 1;
			printf("on %" PRIu64 "\n", now_ns());
			fflush(stdout);
		}
		next = now_ns() + 20000;
		do
			now = now_ns();
		while (now < next);
	} while ((!seen || prof_is_enabled(&prof_default)) && now - begun < WAIT_NS);
	if (!seen)
		printf("on 0\n");
	printf("off %" PRIu64 "\n", seen && !prof_is_enabled(&prof_default) ? now : 0);
}

struct pace {
	pthread_t thread;
	double rate; /* rounds a second */
	uint64_t begin_ns, end_ns, rounds;
};

/* A burst each millisecond: as many rounds as are due by then. */
static void *pace_thread(void *context)
{
	struct pace *p = context;
	uint64_t now, due;

	while ((now = now_ns()) < p->end_ns) {
		const struct timespec pause = { 0, PAUSE_NS };

		due = now > p->begin_ns ? (now - p->begin_ns) * p->rate / 1e9 : 0;
		for (; p->rounds < due; p->rounds++) {
			PROF_BEGIN("paced", "n", p->rounds);
			PROF_COUNTER("rounds", p->rounds);
			PROF_INSTANT("middle");
			PROF_END();
			if (!(p->rounds & 63) && now_ns() >= p->end_ns)
				return NULL;
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void pace(char *arguments)
{
	unsigned n = next_number(&arguments), i;
	uint64_t rate = next_number(&arguments), ms = next_number(&arguments), rounds = 0, begun;
	struct pace threads[MAX_THREADS] = { 0 };

	if (n > MAX_THREADS)
		n = MAX_THREADS;
	begun = now_ns();
	for (i = 0; i < n; i++) {
		threads[i].rate = (double)rate / n / ROUND_EVENTS;
		threads[i].begin_ns = begun + i * (PAUSE_NS / n);
		threads[i].end_ns = begun + ms * 1000000;
		if (pthread_create(&threads[i].thread, NULL, pace_thread, &threads[i]))
			break;
	}
	n = i;
	for (i = 0; i < n; i++) {
		pthread_join(threads[i].thread, NULL);
		rounds += threads[i].rounds;
	}
	printf("marks %" PRIu64 " %" PRIu64 "\n", rounds * ROUND_EVENTS, now_ns() - begun);
}

const struct verb target_verbs[] = {
	{ "raise", raise_semaphores },
	{ "lower", lower_semaphores },
	{ "wait", wait_verb },
	{ "watch", watch },
	{ "pace", pace },
	{ 0 },
};
