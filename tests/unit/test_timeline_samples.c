/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of call stacks: whose they are, and which slices were open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "timeline/consumer.h"
#include "timeline/timeline.h"

struct seen {
	struct consumer consumer;
	unsigned n;
	const struct callstack *callstack;
	uint32_t tid, pid;
	unsigned cpu, n_slices;
	uint64_t ts_ns, period_ns;
	const struct name *slices[4];
	const struct callstack *at_begin;
	const struct name *begun, *ended;
	uint64_t begun_ns, ended_ns, lasted_ns, self_ns;
};

struct test {
	struct names *names;
	struct callstacks *stacks;
	struct account account;
	struct timeline *timeline;
	struct seen seen;
};

static int take(struct consumer *consumer, const struct fact *fact)
{
	struct seen *s = (struct seen *)consumer;
	unsigned i;

	if (fact->kind == FACT_BEGIN) {
		s->at_begin = fact->callstack;
		s->begun = fact->name;
		s->begun_ns = fact->ts_ns;
	}
	if (fact->kind == FACT_END) {
		s->ended = fact->name;
		s->ended_ns = fact->ts_ns;
		s->lasted_ns = fact->ts_ns - fact->begin_ns;
		s->self_ns = fact->self_ns;
	}
	if (fact->kind != FACT_SAMPLE)
		return 0;
	s->n++;
	s->callstack = fact->callstack;
	s->tid = fact->thread->tid;
	s->pid = fact->process->pid;
	s->cpu = fact->sample->cpu;
	s->period_ns = fact->sample->period_ns;
	s->ts_ns = fact->ts_ns;
	s->n_slices = fact->sample->n_slices;
	for (i = 0; i < s->n_slices && i < 4; i++)
		s->slices[i] = fact->sample->slices[i];
	return 0;
}

static const struct consumer_ops ops = { .fact = take };

static struct test *test_new(void)
{
	struct test *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->names = names_new(0);
	x->stacks = callstacks_new(x->names, 0);
	x->timeline = timeline_new(x->names, &x->account, 1000);
	x->seen.consumer.ops = &ops;
	assert_int_equal(timeline_add_consumer(x->timeline, &x->seen.consumer), 0);
	return x;
}

static void test_done(struct test *x)
{
	timeline_free(x->timeline);
	callstacks_free(x->stacks);
	names_free(x->names);
	free(x);
}

static void mark(struct test *x, enum event_kind kind, uint64_t ts_ns, int level, const char *name,
		 const struct callstack *callstack)
{
	const struct event e = {
		.kind = kind,
		.ts_ns = ts_ns,
		.pid = 10,
		.tid = 11,
		.level = level,
		.name = name ? names_intern_string(x->names, name) : NULL,
		.callstack = callstack,
	};

	assert_int_equal(timeline_event(x->timeline, &e), 0);
}

static void sample(struct test *x, uint64_t ts_ns, uint32_t tid, const struct callstack *callstack)
{
	const struct event e = {
		.kind = EVENT_SAMPLE,
		.ts_ns = ts_ns,
		.pid = 10,
		.tid = tid,
		.level = -1,
		.callstack = callstack,
		.sample = { .cpu = 3, .period_ns = 1001001 },
	};

	assert_int_equal(timeline_event(x->timeline, &e), 0);
}

static const struct callstack *stack_of(struct test *x, uint64_t pc)
{
	return callstacks_push(x->stacks, NULL, callstacks_frame(x->stacks, NULL, pc, NULL));
}

static void test_open_slices(void **state)
{
	struct test *x = test_new();
	const struct callstack *a = stack_of(x, 1), *b = stack_of(x, 2);

	(void)state;
	mark(x, EVENT_BEGIN, 1000, 0, "outer", b);
	assert_ptr_equal(x->seen.at_begin, b);
	mark(x, EVENT_BEGIN, 1100, 1, "inner", NULL);
	assert_null(x->seen.at_begin);
	sample(x, 1200, 11, a);
	assert_int_equal(x->seen.n, 1);
	assert_ptr_equal(x->seen.callstack, a);
	assert_int_equal(x->seen.tid, 11);
	assert_int_equal(x->seen.pid, 10);
	assert_int_equal(x->seen.cpu, 3);
	assert_int_equal(x->seen.period_ns, 1001001);
	assert_int_equal(x->seen.n_slices, 2);
	assert_string_equal(x->seen.slices[0]->text, "outer");
	assert_string_equal(x->seen.slices[1]->text, "inner");
	/* taken in the midst of the BEGIN that is here already */
	sample(x, 1050, 11, a);
	assert_int_equal(x->seen.n_slices, 1);
	assert_int_equal(x->seen.ts_ns, 1050);
	mark(x, EVENT_END, 1300, 1, NULL, NULL);
	sample(x, 1400, 11, a);
	assert_int_equal(x->seen.n_slices, 1);
	/* another thread, that has made no mark */
	sample(x, 1400, 12, NULL);
	assert_int_equal(x->seen.tid, 12);
	assert_int_equal(x->seen.n_slices, 0);
	assert_null(x->seen.callstack);
	/* they are no marks */
	assert_int_equal(x->account.written, 3);
	assert_int_equal(x->account.stacks, 5);
	assert_int_equal(x->account.stacks_lost, 0);
	test_done(x);
}

static void blocked(struct test *x, uint64_t until_ns, uint64_t ns,
		    const struct callstack *callstack)
{
	const struct event e = {
		.kind = EVENT_BLOCKED,
		.ts_ns = until_ns,
		.pid = 10,
		.tid = 11,
		.level = -1,
		.size = ns,
		.callstack = callstack,
	};

	assert_int_equal(timeline_event(x->timeline, &e), 0);
}

static void test_blocked(void **state)
{
	struct test *x = test_new();
	const struct callstack *a = stack_of(x, 1);

	(void)state;
	/* outside of slices */
	blocked(x, 900, 100, a);
	assert_null(x->seen.begun);
	mark(x, EVENT_BEGIN, 1000, 0, "outer", NULL);
	blocked(x, 1500, 300, a);
	assert_string_equal(x->seen.begun->text, "blocked");
	assert_int_equal(x->seen.begun_ns, 1200);
	assert_ptr_equal(x->seen.at_begin, a);
	assert_int_equal(x->seen.ended_ns, 1500);
	assert_int_equal(x->seen.lasted_ns, 300);
	/* nothing before the slice, nor before what is known of the thread already */
	mark(x, EVENT_BEGIN, 1600, 1, "inner", NULL);
	blocked(x, 1700, 500, a);
	assert_int_equal(x->seen.begun_ns, 1600);
	assert_int_equal(x->seen.lasted_ns, 100);
	blocked(x, 1650, 10, a);
	assert_int_equal(x->seen.ended_ns, 1700);
	mark(x, EVENT_END, 1800, 1, NULL, NULL);
	assert_string_equal(x->seen.ended->text, "inner");
	assert_int_equal(x->seen.self_ns, 100);
	mark(x, EVENT_END, 2000, 0, NULL, NULL);
	assert_string_equal(x->seen.ended->text, "outer");
	assert_int_equal(x->seen.self_ns, 1000 - 300 - 200);
	/* they are no marks */
	assert_int_equal(x->account.written, 4);
	assert_int_equal(x->account.stacks, 2);
	assert_int_equal(x->account.open_at_end, 0);
	test_done(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_slices),
		cmocka_unit_test(test_blocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
