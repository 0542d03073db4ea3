/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linked THREADS ROUNDS: every function of libproftrace.so, from several threads. Prints what a trace of it must hold, as
 * objects.c does, and `done`.
 */
#include <proftrace/runtime.h>

#include <time.h>

#include "objects.h"

static unsigned rounds;
static const proftrace_domain *net;

static proftrace_arg arg(const char *key, uint64_t type, uint64_t bits)
{
	const proftrace_arg a = { key, type, bits };

	return a;
}

static void objects(void)
{
	const proftrace_task *task = proftrace_task_get(net, "task");
	const proftrace_event *event = proftrace_event_get("event");
	const proftrace_marker *marker = proftrace_marker_get(
		net, "marker", "a", PROFTRACE_INSTANT_ON_START, PROFTRACE_ON_ACTIVE);
	const proftrace_counter *counter = proftrace_counter_get(NULL, "counter", 5);

	if (task != proftrace_task_get(net, "task") || task == proftrace_task_get(NULL, "task"))
		abort();
	proftrace_task_start(task);
	proftrace_event_start(event);
	proftrace_event_stop(event);
	proftrace_task_stop(task);
	saw("BEGIN task net thread", 1);
	saw("BEGIN event default thread", 1);
	proftrace_marker_start(marker);
	proftrace_marker_finish(marker);
	proftrace_marker_mark(marker, PROFTRACE_SCOPE_GLOBAL);
	saw("BEGIN marker net,a thread", 1);
	saw("INSTANT marker net,a process", 1);
	saw("INSTANT marker net,a global", 1);
	proftrace_counter_increment(counter, 3);
	proftrace_counter_decrement(counter, 3);
	proftrace_counter_set(counter, 5);
	saw("COUNTER counter", 3);
	passed(11);
	/* Nothing. */
	proftrace_task_start(NULL);
	proftrace_counter_set(NULL, 1);
}

static void mark_with_args(void)
{
	const double half = 0.5;
	proftrace_arg args[8];
	uint64_t bits, i;

	memcpy(&bits, &half, sizeof(bits));
	args[0] = arg("int", PROFTRACE_INT, (uint64_t)-1);
	args[1] = arg("double", PROFTRACE_DOUBLE, bits);
	args[2] = arg("text", PROFTRACE_STRING, (uintptr_t) "text");
	args[3] = arg("unknown", 99, 1);
	for (i = 4; i < 8; i++)
		args[i] = arg("more", PROFTRACE_UINT, i);
	proftrace_begin(net, "slice", args, 8);
	proftrace_instant(net, "instant", PROFTRACE_SCOPE_THREAD, args, 3);
	proftrace_end(net, args, 1);
	proftrace_async_begin(net, "async", (uintptr_t)&bits, args, 1);
	proftrace_async_end(net, "async", (uintptr_t)&bits, NULL, 0);
	proftrace_counters(net, "series", args, 2);
	passed(3 + 1 + 1 + 1 + 1 + 1 + 1);
	saw("BEGIN slice net thread", 1);
	saw("INSTANT instant net thread", 1);
	saw("ASYNC_BEGIN async net process", 1);
	saw("COUNTER series double", 1);
	saw("COUNTER series int", 1);
}

/* Scopes, an arrow between two slices, and memory that comes and goes. */
static void scopes(void)
{
	const uint64_t id = proftrace_id(), outer = proftrace_scope_begin(net, "outer", NULL, 0);
	const uint64_t inner = proftrace_scope_begin(NULL, "inner", NULL, 0);

	if (id == proftrace_id())
		abort();
	proftrace_flow_out(id);
	/* An end without a beginning closes neither. */
	proftrace_scope_end(NULL, 0, NULL, 0);
	proftrace_scope_end(NULL, inner, NULL, 0);
	proftrace_scope_end(net, outer, NULL, 0);
	proftrace_begin(net, "receiver", NULL, 0);
	proftrace_flow_in(id);
	proftrace_end(net, NULL, 0);
	proftrace_alloc("pool", &id, 100);
	proftrace_free("pool", &id);
	passed(4 + 2 + 2 + 2);
	saw("BEGIN outer net thread", 1);
	saw("BEGIN inner default thread", 1);
	saw("BEGIN receiver net thread", 1);
	saw("COUNTER pool", 2);
}

/* On tracks within tracks, with many arguments and none. */
static void times(void)
{
	const proftrace_track *outer = proftrace_track_get("device", NULL);
	const proftrace_track *track = proftrace_track_get("queue", outer);
	proftrace_arg args[3];
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	args[0] = arg("int", PROFTRACE_INT, 1);
	args[1] = arg("unknown", 99, 1);
	args[2] = arg("flow", PROFTRACE_UINT, 7);
	proftrace_slice_at(net, track, "given", now, now + 1000, args, 3);
	proftrace_slice_at(NULL, NULL, "alone", now, now + 1000, NULL, 0);
	proftrace_instant_at(net, outer, "moment", now, args, 1);
	passed(2 + 1 + 1);
	saw("SLICE_AT given net process", 1);
	saw("SLICE_AT alone default process", 1);
	saw("INSTANT_AT moment net process", 1);
}

static void *work(void *unused)
{
	unsigned i;

	for (i = 0; i < rounds; i++) {
		objects();
		mark_with_args();
		scopes();
		times();
	}
	return unused;
}

int main(int argc, char **argv)
{
	const unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	const proftrace_frame *frame;
	pthread_t threads[16];
	unsigned i;

	rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	net = proftrace_domain_get("net");
	if (proftrace_version() < 3 || net != proftrace_domain_get("net") ||
	    !proftrace_domain_is_enabled(net) != !*proftrace_domain_semaphore(net))
		return 1;
	proftrace_thread_name("main thread");
	for (i = 0; i < n && i < 16; i++) {
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	}
	for (i = 0; i < n && i < 16; i++)
		pthread_join(threads[i], NULL);
	frame = proftrace_frame_get(net, "frame");
	for (i = 0; i < rounds; i++) {
		proftrace_frame_start(frame);
		proftrace_frame_stop(frame);
		passed(2);
		saw("ASYNC_BEGIN frame net process", 1);
	}
	if (rounds > 1)
		saw("COUNTER frame rate", rounds - 1);
	proftrace_pause();
	proftrace_instant(net, "not recorded", PROFTRACE_SCOPE_THREAD, NULL, 0);
	proftrace_resume();
	proftrace_scope_push("scope");
	proftrace_scope_pop();
	saw("INSTANT pause - process", 1);
	saw("INSTANT resume - process", 1);
	passed(1 + 5);
	print_counts();
	if (proftrace_counter_value(proftrace_counter_get(NULL, "counter", 0)) != 5)
		return 1;
	printf("done\n");
	return 0;
}
