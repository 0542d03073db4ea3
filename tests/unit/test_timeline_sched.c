/* SPDX-License-Identifier: BSD-2-Clause */
/* What threads did in their slices: the states add up to the duration, whatever comes in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
	unsigned waits;
	uint64_t wait_from_ns, wait_to_ns;
	enum wait_reason reason;
	char wait_args[128]; /* "call=futex woken_by=main ..." */
};

static void take_wait(struct seen *seen, const struct fact *fact)
{
	size_t used = 0;
	unsigned i;

	seen->waits++;
	seen->wait_from_ns = fact->begin_ns;
	seen->wait_to_ns = fact->ts_ns;
	seen->reason = fact->wait_reason;
	assert_string_equal(fact->name->text, wait_reason_text(seen->reason));
	assert_true(fact->begin_ns < fact->ts_ns);
	assert_int_equal(fact->tracks[0]->kind, TRACK_WAITS);
	seen->wait_args[0] = '\0';
	for (i = 0; i < fact->n_args && used < sizeof(seen->wait_args); i++) {
		const struct arg *arg = &fact->args[i];

		if (arg->type == ARG_STRING)
			used += (size_t)snprintf(seen->wait_args + used,
						 sizeof(seen->wait_args) - used, "%s=%s ",
						 arg->key->text, arg->s);
		else
			used += (size_t)snprintf(seen->wait_args + used,
						 sizeof(seen->wait_args) - used, "%s=%u ",
						 arg->key->text, (unsigned)arg->u);
	}
}

static void check_reasons(const struct slice_states *states)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < WAIT_REASONS; i++)
		sum += states->blocked_in[i];
	if (states->has_reasons)
		assert_int_equal(sum, states->blocked);
}

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
	if (fact->kind == FACT_WAIT)
		take_wait(seen, fact);
	if (fact->kind != FACT_END)
		return 0;
	seen->ends++;
	seen->has_states = fact->states;
	if (!fact->states)
		return 0;
	seen->last = *fact->states;
	check_reasons(fact->states);
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

static const struct consumer_ops ops = { .fact = take, .flush = nothing, .close = closed };

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

/* The next context switch of 11 blocks it for this reason. */
static void block(struct test *x, uint64_t ts_ns, const char *reason)
{
	const struct arg arg = { .key = names_intern_string(x->names, "call"),
				 .type = ARG_STRING,
				 .s = "call",
				 .length = 4 };
	struct event e = { .kind = EVENT_WAIT_BEGIN,
			   .pid = 10,
			   .tid = 11,
			   .ts_ns = ts_ns,
			   .level = -1,
			   .name = names_intern_string(x->names, reason),
			   .n_args = 1,
			   .args = &arg };

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

/* A lock for 200, a sleep for 50, and 30 for which no reason came. The waker has no slice, then one. */
static void test_reasons(void **state)
{
	struct event other = { .kind = EVENT_BEGIN, .pid = 77, .tid = 77, .ts_ns = 1400 };
	struct test *x = test_new();

	(void)state;
	timeline_wait_reasons(x->timeline);
	mark(x, EVENT_BEGIN, 1000, 0);
	block(x, 1100, "futex");
	change(x, 1100, 11, SCHED_STATE_SLEEPING, 0);
	wake(x, 1300, 77, true);
	assert_int_equal(x->seen.waits, 1);
	assert_int_equal(x->seen.reason, WAIT_FUTEX);
	assert_int_equal(x->seen.wait_from_ns, 1100);
	assert_int_equal(x->seen.wait_to_ns, 1300);
	assert_string_equal(x->seen.wait_args, "call=call woken_by_tid=77 woken_by_pid=77 ");
	change(x, 1330, 0, SCHED_STATE_RUNNABLE, 11);
	block(x, 1350, "sleep");
	change(x, 1350, 11, SCHED_STATE_SLEEPING, 0);
	wake(x, 1400, 0, true);
	assert_string_equal(x->seen.wait_args, "call=call ");
	change(x, 1400, 0, SCHED_STATE_RUNNABLE, 11);
	other.name = names_intern_string(x->names, "holds");
	assert_int_equal(timeline_event(x->timeline, &other), 0);
	change(x, 1410, 11, SCHED_STATE_SLEEPING, 0);
	wake(x, 1440, 77, true);
	assert_int_equal(x->seen.reason, WAIT_UNKNOWN);
	assert_string_equal(x->seen.wait_args,
			    "woken_by_tid=77 woken_by_pid=77 woken_by_slice=holds ");
	change(x, 1440, 0, SCHED_STATE_RUNNABLE, 11);
	mark(x, EVENT_END, 1500, 0);
	states(x, 190, 30, 280, 0);
	assert_true(x->seen.last.has_reasons);
	assert_int_equal(x->seen.last.blocked_in[WAIT_FUTEX], 200);
	assert_int_equal(x->seen.last.blocked_in[WAIT_SLEEP], 50);
	assert_int_equal(x->seen.last.blocked_in[WAIT_UNKNOWN], 30);
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
	timeline_wait_reasons(x->timeline);
	for (i = 0; i < 200000; i++) {
		uint64_t ts_ns = now - chance(&seed, 300);

		now += chance(&seed, 100);
		switch (chance(&seed, 9)) {
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
		case 7:
			block(x, ts_ns, chance(&seed, 2) ? "read" : "none");
			change(x, ts_ns, 11, SCHED_STATE_SLEEPING, 0);
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
		cmocka_unit_test(test_reasons),	    cmocka_unit_test(test_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
