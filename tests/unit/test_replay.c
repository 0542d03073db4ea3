/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A handler that comes in the middle is told what holds, and from then on can follow: it sees what
 * one sees that was there from the start, and all of it makes sense by itself.
 */
#include "timeline_test.h"

/* The handler that comes later. */
static void join(struct test *x, struct facts *late)
{
	facts_init(late, BASE);
	late->midway = true;
	assert_int_equal(timeline_replay(x->timeline, &late->consumer), 0);
	assert_int_equal(timeline_add_consumer(x->timeline, &late->consumer), 0);
}

static void leave(struct test *x, struct facts *late)
{
	timeline_remove_consumer(x->timeline, &late->consumer);
	facts_free(late);
}

static const struct seen_fact *told(const struct facts *late, size_t i, enum fact_kind kind,
				    uint64_t ts_ns, const char *name)
{
	assert_true(i < late->n);
	assert_int_equal(late->all[i].kind, kind);
	assert_int_equal(late->all[i].ts_ns, ts_ns);
	if (name)
		assert_string_equal(late->all[i].name, name);
	return &late->all[i];
}

static void nothing_yet(void **state)
{
	struct test *x = test_new();
	struct facts late;

	(void)state;
	join(x, &late);
	assert_int_equal(late.n, 0);
	PUT(x, EVENT_COMM, 10, 1, "main");
	assert_int_equal(late.n, 2);
	leave(x, &late);
	x->next = x->facts.n;
	test_done(x);
}

static void open_slices(void **state)
{
	struct test *x = test_started();
	const struct seen_fact *s;
	struct facts late;

	(void)state;
	PUT(x, EVENT_BEGIN, 10, 10, "outer", .category = nm(x, "cat"));
	PUT(x, EVENT_BEGIN, 10, 20, "done");
	PUT(x, EVENT_END, 10, 30, NULL);
	PUT(x, EVENT_BEGIN, 10, 40, "inner");
	PUT(x, EVENT_THREAD_NAME, 10, 45, "worker");
	PUT(x, EVENT_ASYNC_BEGIN, 10, 50, "job", .id = 7);
	PUT(x, EVENT_ASYNC_BEGIN, 10, 51, "job", .id = 8);
	PUT(x, EVENT_ASYNC_END, 10, 52, "job", .id = 7);
	join(x, &late);

	assert_int_equal(late.n, 7);
	told(&late, 0, FACT_PROCESS, 0, "main");
	told(&late, 1, FACT_THREAD, 0, "worker");
	s = told(&late, 2, FACT_BEGIN, 10, "outer");
	assert_string_equal(s->category, "cat");
	assert_true(s->continued);
	assert_int_equal(s->n_args, 1);
	assert_string_equal(s->args[0].key->text, "continued");
	assert_true(s->args[0].type == ARG_BOOL && s->args[0].u);
	told(&late, 3, FACT_BEGIN, 40, "inner");
	assert_int_equal(told(&late, 4, FACT_TRACK, 0, "job")->first_track.lane, 0);
	assert_int_equal(told(&late, 5, FACT_TRACK, 0, "job")->first_track.lane, 1);
	s = told(&late, 6, FACT_ASYNC_BEGIN, 51, "job");
	assert_int_equal(s->id, 8);
	assert_int_equal(s->first_track.lane, 1);

	PUT(x, EVENT_END, 10, 60, NULL);
	PUT(x, EVENT_ASYNC_END, 10, 70, "job", .id = 8);
	PUT(x, EVENT_END, 10, 80, NULL);
	s = told(&late, 7, FACT_END, 60, "inner");
	assert_int_equal(s->begin_ns, 40);
	told(&late, 8, FACT_ASYNC_END, 70, "job");
	s = told(&late, 9, FACT_END, 80, "outer");
	assert_int_equal(s->self_ns, 70 - 10 - 20);
	assert_int_equal(late.n, 10);
	leave(x, &late);
	PUT(x, EVENT_INSTANT, 10, 90, "unseen");
	x->next = x->facts.n;
	test_done(x);
}

static void last_values(void **state)
{
	struct test *x = test_started();
	const struct arg three = { .type = ARG_INT, .i = 3 }, four = { .type = ARG_DOUBLE, .d = 4 };
	uint64_t epoch, batch;
	const struct seen_fact *s;
	struct facts late;

	(void)state;
	assert_false(timeline_step(x->timeline, &epoch, &batch));
	PUT(x, EVENT_COUNTER, 10, 10, "load", .args = &three, .n_args = 1,
	    .category = nm(x, "cat"));
	PUT(x, EVENT_COUNTER, 10, 11, "load", .args = &four, .n_args = 1, .category = nm(x, "cat"));
	PUT(x, EVENT_STEP, 10, 20, NULL, .id = 2, .size = 9);
	PUT(x, EVENT_ALLOC, 10, 30, "pool", .id = 0x1000, .size = 64);
	assert_true(timeline_step(x->timeline, &epoch, &batch));
	assert_true(epoch == 2 && batch == 9);
	join(x, &late);
	assert_int_equal(late.n, 10);
	told(&late, 2, FACT_TRACK, 0, "load");
	s = told(&late, 3, FACT_COUNTER, 11, "load");
	assert_true(s->continued && s->args[0].type == ARG_DOUBLE && s->args[0].d == 4);
	assert_string_equal(s->category, "cat");
	s = told(&late, 5, FACT_COUNTER, 20, "step");
	assert_int_equal(s->args[0].u, 2);
	s = told(&late, 7, FACT_COUNTER, 20, "step");
	assert_int_equal(s->args[0].u, 9);
	s = told(&late, 9, FACT_COUNTER, 30, "pool");
	assert_int_equal(s->args[0].i, 64);
	/* What follows knows the step, and the pool what was live. */
	PUT(x, EVENT_FREE, 10, 40, "pool", .id = 0x1000);
	PUT(x, EVENT_INSTANT, 10, 50, "here");
	assert_int_equal(told(&late, 10, FACT_COUNTER, 40, "pool")->args[0].i, 0);
	s = told(&late, 11, FACT_INSTANT, 50, "here");
	assert_int_equal(s->n_args, 2);
	assert_false(s->continued);
	leave(x, &late);
	x->next = x->facts.n;
	test_done(x);
}

#define VALUES(a, b) .counters = (const uint64_t[]){ (a), (b) }, .n_counters = 2

static void counters_of_threads(void **state)
{
	struct test *x = test_started();
	const struct name *names[] = { nm(x, "cycles"), nm(x, "instructions") };
	const struct seen_fact *s;
	struct facts late;

	(void)state;
	timeline_count(x->timeline, names, 2);
	PUT(x, EVENT_BEGIN, 10, 10, "outer", VALUES(1000, 500));
	PUT(x, EVENT_BEGIN, 10, 20, "unknown", VALUES(EVENT_NO_VALUE, 520));
	join(x, &late);
	assert_int_equal(late.n, 6);
	told(&late, 2, FACT_TRACK, 0, "cycles");
	told(&late, 3, FACT_TRACK, 0, "instructions");
	s = told(&late, 4, FACT_BEGIN, 10, "outer");
	assert_int_equal(s->n_counters, 2);
	assert_true(s->counters[0] == 0 && s->counters[1] == 0);
	s = told(&late, 5, FACT_BEGIN, 20, "unknown");
	assert_true(s->counters[0] == EVENT_NO_VALUE && s->counters[1] == 20);
	PUT(x, EVENT_END, 10, 30, NULL, VALUES(1200, 600));
	PUT(x, EVENT_END, 10, 40, NULL, VALUES(1300, 700));
	s = told(&late, 6, FACT_END, 30, "unknown");
	assert_int_equal(s->n_args, 1);
	assert_int_equal(s->args[0].u, 80);
	s = told(&late, 7, FACT_END, 40, "outer");
	assert_int_equal(s->counters[0], 300);
	assert_int_equal(s->args[0].u, 300);
	assert_int_equal(s->args[1].u, 200);
	leave(x, &late);
	x->next = x->facts.n;
	test_done(x);
}

static void what_is_gone(void **state)
{
	struct test *x = test_started();
	struct facts late;

	(void)state;
	PUT(x, EVENT_BEGIN, 11, 10, "of a thread that ends");
	PUT(x, EVENT_THREAD_EXIT, 11, 20, NULL);
	put(x, &(struct event){ .kind = EVENT_COMM,
				.pid = 20,
				.tid = 20,
				.ts_ns = 25,
				.name = nm(x, "other") });
	put(x, &(struct event){ .kind = EVENT_PROCESS_EXIT, .pid = 20, .ts_ns = 30 });
	join(x, &late);
	assert_int_equal(late.n, 2);
	told(&late, 0, FACT_PROCESS, 0, "main");
	told(&late, 1, FACT_THREAD, 0, "main");
	leave(x, &late);
	x->next = x->facts.n;
	test_done(x);
}

static void not_recorded(void **state)
{
	struct test *x = test_started();

	(void)state;
	timeline_set_recorded(x->timeline, false);
	PUT(x, EVENT_BEGIN, 10, 10, "passes");
	PUT(x, EVENT_END, 12, 20, NULL);
	timeline_set_recorded(x->timeline, true);
	PUT(x, EVENT_END, 10, 30, NULL);
	assert_int_equal(x->account.unrecorded, 1);
	assert_int_equal(x->account.lost[LOST_UNMATCHED], 1);
	assert_int_equal(x->account.written, 1);
	x->next = x->facts.n;
	test_done(x);
}

static void a_handler_that_fails(void **state)
{
	struct test *x = test_started();
	struct facts late;

	(void)state;
	facts_init(&late, BASE);
	late.fail_with = -ENOSPC;
	assert_int_equal(timeline_replay(x->timeline, &late.consumer), -ENOSPC);
	assert_int_equal(late.calls, 1);
	assert_int_equal(timeline_add_consumer(x->timeline, &late.consumer), 0);
	timeline_remove_consumer(x->timeline, &x->facts.consumer);
	PUT(x, EVENT_INSTANT, 10, 10, "nobody sees it");
	assert_int_equal(x->account.lost[LOST_OUTPUT], 1);
	leave(x, &late);
	x->next = x->facts.n;
	test_done(x);
}

static void since_an_account(void **state)
{
	struct account a = { .marked = 10, .written = 7, .lost = { 1, 2 }, .orderly = true };
	struct account b = { .marked = 4, .written = 4 }, d = account_since(&a, &b);

	(void)state;
	assert_int_equal(d.marked, 6);
	assert_int_equal(d.written, 3);
	assert_int_equal(account_lost(&d), 3);
	assert_true(d.orderly);
}

/* --- anything at all: files of a random length -------------------------------------------------- */

static const struct name *some_name(struct test *x, uint64_t *seed)
{
	char text[] = "name0";

	text[4] = (char)('0' + chance(seed, 5));
	return nm(x, text);
}

static void put_anything(struct test *x, uint64_t *seed, uint64_t now)
{
	struct event e = { .kind = (enum event_kind)(1 + chance(seed, EVENT_CLOCK)), .ts_ns = now };
	struct arg args[2];
	uint64_t counters[2];
	unsigned i;

	if (e.kind >= EVENT_FORK && e.kind <= EVENT_PROCESS_EXIT && chance(seed, 10))
		e.kind = EVENT_ASYNC_BEGIN;
	e.pid = chance(seed, 4);
	e.tid = chance(seed, 4) ? e.pid * 10 + chance(seed, 3) : chance(seed, 6);
	e.level = (int)chance(seed, 12) - 1;
	e.name = chance(seed, 10) ? some_name(x, seed) : NULL;
	e.category = chance(seed, 2) ? some_name(x, seed) : NULL;
	e.id = chance(seed, 6);
	e.size = chance(seed, 100);
	e.object = (enum event_object)chance(seed, OBJECT_COUNTER + 1);
	e.scope = (enum event_scope)chance(seed, SCOPE_MARKER + 1);
	e.n_args = chance(seed, 3);
	e.args = args;
	e.n_counters = chance(seed, 3) ? 2 : 0;
	e.counters = counters;
	for (i = 0; i < 2; i++) {
		counters[i] = chance(seed, 5) ? now * (i + 1) : EVENT_NO_VALUE;
		args[i] = (struct arg){ .type = (enum arg_type)(ARG_INT + chance(seed, 2)),
					.key = chance(seed, 2) ? some_name(x, seed) : NULL,
					.u = chance(seed, 1000) };
	}
	put(x, &e);
}

static void compare(const struct seen_fact *a, const struct seen_fact *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->ts_ns, b->ts_ns);
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(a->process, b->process);
	assert_int_equal(a->track, b->track);
	assert_int_equal(a->begin_ns, b->begin_ns);
	assert_int_equal(a->n_args, b->n_args);
	assert_memory_equal(a->args, b->args, sizeof(a->args));
}

static void anything(void **state)
{
	unsigned round, i;

	(void)state;
	for (round = 0; round < 20; round++) {
		struct test *x = test_new();
		const struct name *names[] = { nm(x, "cycles"), nm(x, "instructions") };
		uint64_t seed = 77 + round * 1000003, now = 1;

		timeline_count(x->timeline, names, 2);
		for (i = 0; i < 60; i++) {
			unsigned n = chance(&seed, 200);
			struct facts late;
			size_t mine, his;

			join(x, &late);
			mine = late.n;
			his = x->facts.n;
			while (n--)
				put_anything(x, &seed, now += chance(&seed, 4));
			assert_int_equal(late.n - mine, x->facts.n - his);
			for (; mine < late.n; mine++, his++)
				compare(&late.all[mine], &x->facts.all[his]);
			leave(x, &late);
		}
		x->next = x->facts.n;
		test_done(x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_yet),
		cmocka_unit_test(open_slices),
		cmocka_unit_test(last_values),
		cmocka_unit_test(counters_of_threads),
		cmocka_unit_test(what_is_gone),
		cmocka_unit_test(not_recorded),
		cmocka_unit_test(a_handler_that_fails),
		cmocka_unit_test(since_an_account),
		cmocka_unit_test(anything),
	};

	return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
