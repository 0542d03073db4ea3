/* SPDX-License-Identifier: BSD-2-Clause */
/* What threads did in their slices: the states add up to the duration, whatever comes in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "timeline/state.h"

struct seen {
	struct consumer consumer;
	unsigned ends, gaps, switches;
	struct slice_states last;
	bool has_states;
	uint64_t waker;
	uint64_t since_ns;
};

static int take(struct consumer *consumer, const struct fact *fact)
{
	struct seen *seen = (struct seen *)consumer;

	if (fact->kind == FACT_SCHED_GAP)
		seen->gaps++;
	if (fact->kind == FACT_SWITCH) {
		seen->switches++;
		seen->waker = fact->sched->waker ? fact->sched->waker->tid : 0;
		seen->since_ns = fact->sched->task.since_ns;
	}
	if (fact->kind != FACT_END)
		return 0;
	seen->ends++;
	seen->has_states = fact->states;
	if (!fact->states)
		return 0;
	seen->last = *fact->states;
	assert_int_equal(seen->last.running + seen->last.runnable + seen->last.blocked +
				 seen->last.unknown,
			 fact->ts_ns - fact->begin_ns);
	return 0;
}

static int nothing(struct consumer *consumer)
{
	(void)consumer;
	return 0;
}

static int closed(struct consumer *consumer, const struct account *account)
{
	(void)consumer, (void)account;
	return 0;
}

static const struct consumer_ops ops = {
	.name = "seen", .fact = take, .flush = nothing, .close = closed
};

struct test {
	struct names *names;
	struct account account;
	struct timeline *timeline;
	struct seen seen;
};

static struct test *test_new(void)
{
	struct test *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->names = names_new(0);
	x->timeline = timeline_new(x->names, &x->account, 1000);
	x->seen.consumer.ops = &ops;
	timeline_states(x->timeline);
	timeline_add_consumer(x->timeline, &x->seen.consumer);
	return x;
}

static void test_done(struct test *x)
{
	timeline_free(x->timeline);
	names_free(x->names);
	free(x);
}

static void mark(struct test *x, enum event_kind kind, uint64_t ts_ns, int level)
{
	struct event e = { .kind = kind, .pid = 10, .tid = 11, .ts_ns = ts_ns, .level = level };

	if (kind == EVENT_BEGIN)
		e.name = names_intern_string(x->names, "slice");
	assert_int_equal(timeline_event(x->timeline, &e), 0);
}

/* On CPU 0, from one to another; 11 is ours. */
static void change(struct test *x, uint64_t ts_ns, uint32_t from, enum sched_state state,
		   uint32_t to)
{
	struct event e = { .kind = EVENT_SWITCH,
			   .pid = from == 11 ? 10 : from,
			   .tid = from,
			   .ts_ns = ts_ns,
			   .level = -1,
			   .sched = { .pid = to == 11 ? 10 : to,
				      .tid = to,
				      .state = (uint16_t)state,
				      .traced = from == 11,
				      .other_traced = to == 11 } };

	assert_int_equal(timeline_event(x->timeline, &e), 0);
}

static void wake(struct test *x, uint64_t ts_ns, uint32_t waker, bool on_queue)
{
	struct event e = { .kind = EVENT_WAKING,
			   .pid = 10,
			   .tid = 11,
			   .ts_ns = ts_ns,
			   .level = -1,
			   .sched = { .pid = waker,
				      .tid = waker,
				      .traced = true,
				      .cpu = 1,
				      .on_queue = on_queue } };

	assert_int_equal(timeline_event(x->timeline, &e), 0);
}

static void gap(struct test *x, uint64_t ts_ns, bool uncertain)
{
	struct event e = { .kind = EVENT_SCHED_GAP,
			   .ts_ns = ts_ns,
			   .level = -1,
			   .id = uncertain,
			   .sched.cpu = SCHED_EVERY_CPU };

	assert_int_equal(timeline_event(x->timeline, &e), 0);
}

static void states(const struct test *x, uint64_t running, uint64_t runnable, uint64_t blocked,
		   uint64_t unknown)
{
	assert_true(x->seen.has_states);
	assert_int_equal(x->seen.last.running, running);
	assert_int_equal(x->seen.last.runnable, runnable);
	assert_int_equal(x->seen.last.blocked, blocked);
	assert_int_equal(x->seen.last.unknown, unknown);
}

/* Runs 100, sleeps 200, is woken and waits 30, runs 40, is preempted for 500, runs 5. */
static void test_every_state(void **state)
{
	struct test *x = test_new();

	(void)state;
	mark(x, EVENT_BEGIN, 1000, 0);
	change(x, 1100, 11, SCHED_STATE_SLEEPING, 0);
	wake(x, 1300, 77, true);
	change(x, 1330, 0, SCHED_STATE_RUNNABLE, 11);
	assert_int_equal(x->seen.waker, 77);
	change(x, 1370, 11, SCHED_STATE_PREEMPTED, 50);
	assert_int_equal(x->seen.since_ns, 1330);
	change(x, 1870, 50, SCHED_STATE_SLEEPING, 11);
	mark(x, EVENT_END, 1875, 0);
	states(x, 145, 530, 200, 0);
	assert_int_equal(x->account.sched_events, 5);
	test_done(x);
}

/* Woken on the way to sleep: it only waits for its CPU. Woken before that: it may sleep later. */
static void test_woken_early(void **state)
{
	struct test *x = test_new();

	(void)state;
	mark(x, EVENT_BEGIN, 1000, 0);
	wake(x, 1095, 77, false);
	change(x, 1100, 11, SCHED_STATE_SLEEPING, 0);
	change(x, 1150, 0, SCHED_STATE_RUNNABLE, 11);
	wake(x, 1160, 77, true);
	change(x, 1200, 11, SCHED_STATE_SLEEPING, 0);
	wake(x, 1300, 78, true);
	change(x, 1310, 0, SCHED_STATE_RUNNABLE, 11);
	mark(x, EVENT_END, 1310, 0);
	states(x, 150, 60, 100, 0);
	test_done(x);
}

/* A mark that took its time before it lost its CPU, and its place after it had it again. */
static void test_late_marks(void **state)
{
	struct test *x = test_new();

	(void)state;
	mark(x, EVENT_BEGIN, 1000, 0);
	change(x, 1200, 11, SCHED_STATE_PREEMPTED, 50);
	change(x, 1300, 50, SCHED_STATE_PREEMPTED, 11);
	mark(x, EVENT_BEGIN, 1150, 1);
	mark(x, EVENT_END, 1250 + 100, 1);
	states(x, 100, 100, 0, 0);
	change(x, 1400, 11, SCHED_STATE_PREEMPTED, 50);
	change(x, 1500, 50, SCHED_STATE_PREEMPTED, 11);
	mark(x, EVENT_END, 1390, 0);
	states(x, 290, 100, 0, 0);
	test_done(x);
}

/* What was lost is not known: from the last thing that is, to the next. */
static void test_lost(void **state)
{
	struct test *x = test_new();

	(void)state;
	mark(x, EVENT_BEGIN, 1000, 0);
	change(x, 1100, 11, SCHED_STATE_SLEEPING, 0);
	gap(x, 1100, true);
	mark(x, EVENT_BEGIN, 1500, 1);
	mark(x, EVENT_END, 1600, 1);
	states(x, 0, 0, 0, 100);
	gap(x, 1600, false);
	assert_int_equal(x->seen.gaps, 1);
	change(x, 1700, 11, SCHED_STATE_SLEEPING, 0);
	wake(x, 1800, 77, true);
	change(x, 1850, 0, SCHED_STATE_RUNNABLE, 11);
	mark(x, EVENT_END, 1860, 0);
	states(x, 110, 50, 100, 600);
	test_done(x);
}

/* A switch that the kernel does not tell shows by who leaves. */
static void test_untold(void **state)
{
	struct test *x = test_new();

	(void)state;
	mark(x, EVENT_BEGIN, 1000, 0);
	change(x, 1100, 11, SCHED_STATE_PREEMPTED, 50);
	/* 50 gives it back. */
	change(x, 1400, 11, SCHED_STATE_SLEEPING, 0);
	assert_int_equal(x->account.sched_lost, 1);
	assert_int_equal(x->seen.gaps, 1);
	assert_int_equal(x->seen.since_ns, 0);
	wake(x, 1500, 77, true);
	change(x, 1600, 0, SCHED_STATE_RUNNABLE, 11);
	mark(x, EVENT_END, 1700, 0);
	states(x, 200, 100, 100, 300);
	test_done(x);
}

/* Threads end in whatever state; numbers are used again. */
static void test_exit(void **state)
{
	struct test *x = test_new();
	struct event e = { .kind = EVENT_THREAD_EXIT, .pid = 10, .tid = 11, .level = -1 };

	(void)state;
	mark(x, EVENT_BEGIN, 1000, 0);
	change(x, 1100, 11, SCHED_STATE_SLEEPING, 0);
	wake(x, 1150, 77, true);
	change(x, 1200, 0, SCHED_STATE_RUNNABLE, 11);
	e.ts_ns = 1250;
	assert_int_equal(timeline_event(x->timeline, &e), 0);
	assert_int_equal(x->seen.ends, 1);
	states(x, 150, 50, 50, 0);
	mark(x, EVENT_BEGIN, 2000, 0);
	mark(x, EVENT_END, 2010, 0);
	states(x, 10, 0, 0, 0);
	test_done(x);
}

static uint32_t chance(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33) % n;
}

/* Whatever comes, in whatever order: take() looks that the states of every slice add up. */
static void test_anything(void **state)
{
	uint64_t seed = 1, now = 1000;
	struct test *x = test_new();
	int i, depth = 0;

	(void)state;
	for (i = 0; i < 200000; i++) {
		uint64_t ts_ns = now - chance(&seed, 300);

		now += chance(&seed, 100);
		switch (chance(&seed, 8)) {
		case 0:
			if (depth < 20)
				mark(x, EVENT_BEGIN, ts_ns, depth++);
			break;
		case 1:
			if (depth)
				mark(x, EVENT_END, ts_ns, --depth);
			break;
		case 2:
		case 3:
			change(x, ts_ns, chance(&seed, 3) ? 11 : 50, SCHED_STATE_SLEEPING,
			       chance(&seed, 2) ? 50 : 0);
			break;
		case 4:
		case 5:
			change(x, ts_ns, chance(&seed, 2) ? 50 : 0, SCHED_STATE_PREEMPTED, 11);
			break;
		case 6:
			wake(x, ts_ns, 77, chance(&seed, 2));
			break;
		default:
			if (!chance(&seed, 10))
				gap(x, ts_ns, chance(&seed, 2));
		}
	}
	assert_true(x->seen.ends > 1000);
	test_done(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_state), cmocka_unit_test(test_woken_early),
		cmocka_unit_test(test_late_marks),  cmocka_unit_test(test_lost),
		cmocka_unit_test(test_untold),	    cmocka_unit_test(test_exit),
		cmocka_unit_test(test_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
