/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * objects THREADS ROUNDS
 *
 * Threads that use every operation of every object, round after round, and count what they do: see
 * objects.h for what they say at the end. Frames start on one thread, stop on whichever comes next,
 * and overlap.
 */
#include <proftrace.h>

#include "objects.h"

PROF_DOMAIN(app, "app");
PROF_DEFAULT_DOMAIN(app);

PROF_MARKER(plain, app, "plain");
PROF_MARKER(full, app, "full", .categories = "io,disk", .instant_on_start = 1,
	    .instant_on_finish = 1);
PROF_MARKER_EXTERN(forgotten, app, "forgotten");
PROF_MARKER(twin, app, "forgotten"); /* another one of that name */
PROF_TASK(work, app, "work");
PROF_TASK_EXTERN(part, app, "part");
PROF_EVENT(happening, "happening");
PROF_FRAME(tick, app, "tick");
PROF_FRAME_EXTERN(mine, app, "mine");
PROF_COUNTER_OBJECT(queue, app, "queue", 100);

static pthread_mutex_t frames = PTHREAD_MUTEX_INITIALIZER;

static void markers(unsigned i)
{
	prof_marker_start(&plain);
	prof_marker_start(&full);
	prof_marker_instant(&plain);
	prof_marker_mark(&full, PROF_SCOPE_GLOBAL);
	prof_marker_mark(&full, PROF_SCOPE_PROCESS);
	prof_marker_mark(&full, PROF_SCOPE_THREAD);
	prof_marker_mark(&plain, PROF_SCOPE_MARKER); /* full's slice is the innermost */
	prof_marker_mark(&plain, PROF_SCOPE_TASK);   /* there is none */
	prof_marker_counter(&full, "round", i);
	prof_marker_counter(&plain, "a", 1, "b", 2.5, "c", -3);
	prof_marker_finish(&full);
	prof_marker_finish(&plain);
	passed(14);
	saw("BEGIN plain app thread", 1);
	saw("BEGIN full app,io,disk thread", 1);
	saw("INSTANT plain app process", 1);
	saw("INSTANT full app,io,disk global", 1);
	saw("INSTANT full app,io,disk process", 3);
	saw("INSTANT full app,io,disk thread", 1);
	saw("INSTANT plain app thread", 2);
	saw("COUNTER full round", 1);
	saw("COUNTER plain a", 1);
	saw("COUNTER plain b", 1);
	saw("COUNTER plain c", 1);
}

/* Entered again by itself it is no mistake; started twice it is. */
static void recursive(unsigned depth)
{
	PROF_MARKER_SCOPE(&plain);
	if (depth)
		recursive(depth - 1);
	passed(2);
	saw("BEGIN plain app thread", 1);
}

static void mistakes(void)
{
	prof_marker_start(&forgotten);
	prof_marker_start(&twin);
	prof_marker_start(&forgotten); /* the mistake */
	PROF_END();		       /* of nothing: what is open is not its own */
	PROF_BEGIN("inside");
	prof_marker_finish(&plain); /* never started: closes nothing */
	PROF_END();
	prof_marker_finish(&forgotten);
	prof_marker_finish(&twin);
	prof_marker_finish(&forgotten);
	passed(10);
	saw("BEGIN forgotten app thread", 3);
	saw("BEGIN inside app thread", 1);
	saw("INSTANT marker started thread", 1); /* "marker started twice" */
}

static void tasks(void)
{
	prof_task_start(&work);
	prof_task_start(&work);
	prof_task_start(&part);
	prof_marker_mark(&plain, PROF_SCOPE_TASK);
	prof_event_start(&happening);
	prof_event_stop(&happening);
	prof_task_stop(&part);
	prof_task_stop(&work);
	prof_task_stop(&work);
	passed(9);
	saw("BEGIN work app thread", 2);
	saw("BEGIN part app thread", 1);
	saw("INSTANT plain app thread", 1);
	saw("BEGIN happening default thread", 1);
}

static void counters(void)
{
	prof_counter_increment(&queue, 3);
	prof_counter_decrement(&queue, 2);
	passed(2);
	saw("COUNTER queue", 2);
}

static int twice(int x)
{
	PROF_INSTANT("called");
	passed(1);
	saw("INSTANT called app thread", 1);
	return 2 * x;
}

static void run_time(unsigned i)
{
	static const char *const lines_of[] = { "BEGIN job-0 default,made thread",
						"BEGIN job-1 default,made thread",
						"BEGIN job-2 default,made thread" };
	const prof_marker_t *job;
	char name[16];

	snprintf(name, sizeof(name), "job-%u", i % 3);
	job = prof_marker_get(name, "made");
	prof_marker_start(job);
	prof_marker_counter(job, "i", i);
	prof_marker_mark(prof_marker_get("bare", NULL), PROF_SCOPE_GLOBAL);
	prof_marker_finish(job);
	if (PROF_CALL(name, twice(PROF_CALL("inner", twice((int)i)))) != (int)(4 * i))
		abort();
	passed(8);
	saw(lines_of[i % 3], 1);
	saw(i % 3 == 0	 ? "BEGIN job-0 app thread"
	    : i % 3 == 1 ? "BEGIN job-1 app thread"
			 : "BEGIN job-2 app thread",
	    1);
	saw("BEGIN inner app thread", 1);
	saw(i % 3 == 0 ? "COUNTER job-0 i" : i % 3 == 1 ? "COUNTER job-1 i" : "COUNTER job-2 i", 1);
	saw("INSTANT bare default global", 1);
}

/* What stays allocated is a leak of its scope's pool. */
static void memory(unsigned i)
{
	static char leaked[1 << 20];
	static unsigned n_leaked;
	char inner[1], outer[1], none[1];
	unsigned leak = __atomic_fetch_add(&n_leaked, 1, __ATOMIC_RELAXED);

	(void)i;
	prof_scope_push("load");
	PROF_ALLOC("blocks", outer, 10);
	prof_scope_push("parse");
	PROF_ALLOC("blocks", inner, 20);
	PROF_ALLOC("kept", &leaked[leak], 1);
	prof_scope_pop();
	prof_scope_pop();
	PROF_ALLOC("blocks", none, 30);
	PROF_FREE("blocks", inner);
	PROF_FREE("blocks", outer);
	PROF_FREE("blocks", none);
	passed(11);
	saw("COUNTER load:blocks", 2);
	saw("COUNTER load/parse:blocks", 2);
	saw("COUNTER load/parse:kept", 1);
	saw("COUNTER blocks", 2);
}

static void frame(unsigned i)
{
	pthread_mutex_lock(&frames);
	prof_frame_start(&tick);
	pthread_mutex_unlock(&frames);
	if (i % 2)
		prof_marker_instant(&plain);
	pthread_mutex_lock(&frames);
	prof_frame_stop(&tick);
	pthread_mutex_unlock(&frames);
	passed(2 + i % 2);
	saw("INSTANT plain app process", i % 2);
	saw("ASYNC_BEGIN tick app process", 1);
	saw("COUNTER tick rate", 1);
}

static unsigned rounds;

static void *run(void *unused)
{
	for (unsigned i = 0; i < rounds; i++) {
		markers(i);
		recursive(2);
		mistakes();
		tasks();
		counters();
		run_time(i);
		memory(i);
		frame(i);
	}
	return unused;
}

/* Two at once, by one thread: they stop in the order they started in. */
static void *overlap(void *unused)
{
	for (unsigned i = 0; i < rounds; i++) {
		prof_frame_start(&mine);
		if (i)
			prof_frame_stop(&mine);
	}
	prof_frame_stop(&mine);
	passed(2 * (uint64_t)rounds);
	saw("ASYNC_BEGIN mine app process", rounds);
	saw("COUNTER mine rate", rounds);
	return unused;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 1;
	pthread_t threads[64], other;

	rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 1;
	n = n > 64 ? 64 : n;
	pthread_create(&other, NULL, overlap, NULL);
	for (unsigned i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_join(other, NULL);
	/* The first frame has no rate. */
	saw("COUNTER tick rate", UINT64_MAX);
	saw("COUNTER mine rate", UINT64_MAX);
	/* With the process goes its memory. */
	saw("COUNTER load/parse:kept", 1);
	print_counts();
	printf("queue %" PRId64 "\n", prof_counter_value(&queue));
	printf("frames %u\n", n * rounds);
	return 0;
}
