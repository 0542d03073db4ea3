/* SPDX-License-Identifier: BSD-2-Clause */
/* What is special about marks of objects: frames, scopes of marks, markers started twice, scopes of memory. */
#include "timeline_test.h"

static const struct arg *arg_of(const struct seen_fact *f, const char *key)
{
	unsigned i;

	for (i = 0; i < f->n_args; i++) {
		if (!strcmp(f->args[i].key->text, key))
			return &f->args[i];
	}
	return NULL;
}

static void put_frame(struct test *x, enum event_kind kind, uint32_t tid, uint64_t ts_ns,
		      uint64_t token)
{
	PUT_AT(x, kind, tid, ts_ns, 0, "frame", .id = token, .object = OBJECT_FRAME);
}

static uint64_t see_frame(struct test *x, uint64_t ts_ns, uint64_t number)
{
	const struct seen_fact *f = see(x, FACT_ASYNC_BEGIN, ts_ns, "frame");

	assert_int_equal(arg_of(f, "frame")->u, number);
	/* Its id is its lane's: no two that overlap have the same. */
	assert_int_equal(f->id, f->track);
	return f->id;
}

static void see_rate(struct test *x, uint64_t ts_ns, double rate)
{
	const struct seen_fact *f = see(x, FACT_COUNTER, ts_ns, "frame rate");

	assert_string_equal(f->first_track.unit->text, "Hz");
	assert_int_equal(f->args[0].type, ARG_DOUBLE);
	assert_true(f->args[0].d == rate);
}

static void test_frames(void **state)
{
	struct test *x = test_started();
	const struct seen_fact *f;
	uint64_t id;

	(void)state;
	put_frame(x, EVENT_ASYNC_BEGIN, 10, 1000, 7);
	f = see(x, FACT_TRACK, 1000, "frame");
	assert_int_equal(f->first_track.kind, TRACK_ASYNC);
	id = see_frame(x, 1000, 1);
	/* it ends on another thread */
	put_frame(x, EVENT_ASYNC_END, 11, 1400, 7);
	next(x, FACT_THREAD);
	f = see(x, FACT_ASYNC_END, 1400, "frame");
	assert_int_equal(f->id, id);
	assert_int_equal(f->begin_ns, 1000);
	/* the second has a rate, from start to start, and the same lane */
	put_frame(x, EVENT_ASYNC_BEGIN, 10, 2000, 7);
	assert_int_equal(see_frame(x, 2000, 2), id);
	see(x, FACT_TRACK, 2000, "frame rate");
	see_rate(x, 2000, 1e6);
	/* the third overlaps it, and the second ends first */
	put_frame(x, EVENT_ASYNC_BEGIN, 10, 2500, 7);
	next(x, FACT_TRACK);
	assert_int_not_equal(see_frame(x, 2500, 3), id);
	see_rate(x, 2500, 2e6);
	put_frame(x, EVENT_ASYNC_END, 10, 2600, 7);
	assert_int_equal(see(x, FACT_ASYNC_END, 2600, "frame")->id, id);
	put_frame(x, EVENT_ASYNC_END, 10, 2700, 7);
	assert_int_equal(see(x, FACT_ASYNC_END, 2700, "frame")->begin_ns, 2500);
	/* of the same moment, or older: no rate; another object of that name is counted on */
	put_frame(x, EVENT_ASYNC_BEGIN, 10, 2700, 8);
	see_frame(x, 2700, 4);
	see_rate(x, 2700, 5e6);
	put_frame(x, EVENT_ASYNC_BEGIN, 11, 2700, 7);
	see_frame(x, 2700, 5);
	/* each object ends its own */
	put_frame(x, EVENT_ASYNC_END, 10, 2800, 8);
	assert_int_equal(see(x, FACT_ASYNC_END, 2800, "frame")->id, id);
	/* an end without a start began before the recording; a slice with that number is no frame */
	PUT(x, EVENT_ASYNC_BEGIN, 10, 2900, "job", .id = 9);
	next(x, FACT_TRACK);
	next(x, FACT_ASYNC_BEGIN);
	put_frame(x, EVENT_ASYNC_END, 10, 3000, 9);
	assert_int_equal(x->account.lost[LOST_CUT], 1);
	assert_int_equal(x->account.async_unmatched, 0);
	assert_int_equal(x->account.written, 10);
	/* exec: what is open ends there, and the new program's frames begin with the first */
	PUT(x, EVENT_EXEC, 10, 4000, "new");
	next(x, FACT_EXIT); /* the other thread */
	see(x, FACT_ASYNC_END, 4000, "job");
	see(x, FACT_ASYNC_END, 4000, "frame");
	x->next = x->facts.n;
	put_frame(x, EVENT_ASYNC_BEGIN, 10, 5000, 7);
	see_frame(x, 5000, 1);
	timeline_finish(x->timeline);
	test_done(x);
}

/* Where frames may have been missed, nobody knows how long one was: a rate of that time would be untrue. */
static void test_frames_missed(void **state)
{
	const struct event missed[] = {
		{ .kind = EVENT_PAUSE, .pid = 10, .tid = 10 },
		{ .kind = EVENT_PHASE, .pid = 10 },
		{ .kind = EVENT_LOST, .pid = 10, .tid = 10, .size = 3 },
		{ .kind = EVENT_LOST, .size = 3 },
	};
	unsigned i, j, n;

	(void)state;
	for (i = 0; i < sizeof(missed) / sizeof(missed[0]); i++) {
		struct test *x = test_started();
		struct event e = missed[i];

		put_frame(x, EVENT_ASYNC_BEGIN, 10, 1000, 7);
		put_frame(x, EVENT_ASYNC_BEGIN, 10, 2000, 7);
		e.ts_ns = 2500;
		assert_int_equal(timeline_event(x->timeline, &e), 0);
		put_frame(x, EVENT_ASYNC_BEGIN, 10, 9000, 7);
		put_frame(x, EVENT_ASYNC_BEGIN, 10, 9500, 7);
		for (j = n = 0; j < x->facts.n; j++)
			n += x->facts.all[j].kind == FACT_COUNTER;
		assert_int_equal(n, 2);
		x->next = x->facts.n - 1;
		see_rate(x, 9500, 2e6);
		test_done(x);
	}
}

/* A file that begins in the middle of frames goes on with their numbers and ids. */
static void test_frames_go_on(void **state)
{
	struct test *x = test_started();
	struct facts late;
	const struct seen_fact *f = NULL;
	uint64_t id;
	size_t i;

	(void)state;
	put_frame(x, EVENT_ASYNC_BEGIN, 10, 1000, 7);
	next(x, FACT_TRACK);
	see_frame(x, 1000, 1);
	put_frame(x, EVENT_ASYNC_BEGIN, 10, 2000, 7);
	next(x, FACT_TRACK);
	id = see_frame(x, 2000, 2);
	next(x, FACT_TRACK);
	see_rate(x, 2000, 1e6);
	facts_init(&late, BASE);
	late.midway = true;
	assert_int_equal(timeline_replay(x->timeline, &late.consumer), 0);
	for (i = 0; i < late.n; i++) {
		if (late.all[i].kind == FACT_ASYNC_BEGIN)
			f = &late.all[i];
	}
	assert_non_null(f);
	assert_int_equal(f->id, id);
	assert_int_equal(arg_of(f, "frame")->u, 2);
	facts_free(&late);
	test_done(x);
}

static const struct seen_fact *see_mark(struct test *x, enum event_scope given,
					enum event_scope wanted)
{
	const struct seen_fact *f;

	PUT_AT(x, EVENT_INSTANT, 10, 50, 2, "mark", .scope = given, .object = OBJECT_MARKER);
	f = see(x, FACT_INSTANT, 50, "mark");
	assert_int_equal(f->scope, wanted);
	return f;
}

static void test_scopes_of_marks(void **state)
{
	struct test *x = test_started();
	struct arg arg = { .key = nm(x, "own"), .type = ARG_INT, .i = 1 };
	const struct seen_fact *f;

	(void)state;
	see_mark(x, SCOPE_THREAD, SCOPE_THREAD);
	see_mark(x, SCOPE_PROCESS, SCOPE_PROCESS);
	see_mark(x, SCOPE_GLOBAL, SCOPE_GLOBAL);
	/* nothing of the kind is open */
	assert_int_equal(see_mark(x, SCOPE_TASK, SCOPE_THREAD)->n_args, 0);
	assert_int_equal(see_mark(x, SCOPE_MARKER, SCOPE_THREAD)->n_args, 0);
	PUT_AT(x, EVENT_BEGIN, 10, 51, 0, "outer", .object = OBJECT_TASK);
	next(x, FACT_BEGIN);
	PUT_AT(x, EVENT_BEGIN, 10, 52, 1, "inner", .object = OBJECT_MARKER, .id = 5);
	next(x, FACT_BEGIN);
	PUT_AT(x, EVENT_BEGIN, 10, 53, 2, "plain");
	next(x, FACT_BEGIN);
	PUT_AT(x, EVENT_INSTANT, 10, 54, 3, "mark", .scope = SCOPE_TASK, .n_args = 1, .args = &arg);
	f = see(x, FACT_INSTANT, 54, "mark");
	assert_int_equal(f->scope, SCOPE_THREAD);
	assert_int_equal(f->n_args, 2);
	assert_int_equal(arg_of(f, "own")->i, 1);
	assert_string_equal(arg_of(f, "task")->s, "outer");
	PUT_AT(x, EVENT_INSTANT, 10, 55, 3, "mark", .scope = SCOPE_MARKER);
	f = see(x, FACT_INSTANT, 55, "mark");
	assert_string_equal(arg_of(f, "marker")->s, "inner");
	test_done(x);
}

static void start(struct test *x, uint64_t ts_ns, int level, uint64_t token)
{
	PUT_AT(x, EVENT_BEGIN, 10, ts_ns, level, "m", .object = OBJECT_MARKER, .id = token,
	       .category = nm(x, "c"));
	see(x, FACT_BEGIN, ts_ns, "m");
}

static void see_started_twice(struct test *x, uint64_t ts_ns)
{
	const struct seen_fact *f = see(x, FACT_INSTANT, ts_ns, "marker started twice");

	assert_int_equal(f->scope, SCOPE_THREAD);
	assert_string_equal(f->category, "c");
	assert_string_equal(arg_of(f, "marker")->s, "m");
}

static void test_started_twice(void **state)
{
	struct test *x = test_started();

	(void)state;
	start(x, 10, 0, 7);
	start(x, 11, 1, 8); /* another marker of that name */
	start(x, 12, 2, 7);
	see_started_twice(x, 12);
	PUT_AT(x, EVENT_END, 10, 13, 2, NULL);
	see_end(x, 13, "m", 12, 1, END_NORMAL);
	/* still open; and once more after it was finished */
	start(x, 14, 2, 7);
	see_started_twice(x, 14);
	PUT_AT(x, EVENT_END, 10, 15, 0, NULL, .closes_inner = true);
	see_end(x, 15, "m", 14, 1, END_UNFINISHED);
	see_end(x, 15, "m", 11, 2, END_UNFINISHED);
	see_end(x, 15, "m", 10, 1, END_NORMAL);
	start(x, 16, 0, 7);
	/* tasks may, and so may slices of no object, whatever their numbers */
	PUT_AT(x, EVENT_BEGIN, 10, 17, 1, "t", .object = OBJECT_TASK, .id = 7);
	next(x, FACT_BEGIN);
	PUT_AT(x, EVENT_BEGIN, 10, 18, 2, "t", .object = OBJECT_TASK, .id = 7);
	next(x, FACT_BEGIN);
	PUT_AT(x, EVENT_BEGIN, 10, 19, 3, "t", .id = 7);
	next(x, FACT_BEGIN);
	/* on another thread it is no mistake */
	PUT_AT(x, EVENT_BEGIN, 11, 20, 0, "m", .object = OBJECT_MARKER, .id = 7);
	next(x, FACT_THREAD);
	next(x, FACT_BEGIN);
	assert_int_equal(x->account.started_twice, 2);
	/* the derived instants are no marks */
	assert_int_equal(x->account.written, 11);
	/* read from a file, it is what was counted then */
	PUT(x, EVENT_INSTANT, 10, 21, "marker started twice");
	next(x, FACT_INSTANT);
	assert_int_equal(x->account.started_twice, 3);
	/* a program that calls a mark so is none */
	PUT_AT(x, EVENT_INSTANT, 10, 22, 4, "marker started twice");
	next(x, FACT_INSTANT);
	assert_int_equal(x->account.started_twice, 3);
	test_done(x);
}

static void see_live(struct test *x, uint64_t ts_ns, const char *pool, int64_t live)
{
	if (x->facts.all[x->next].kind == FACT_TRACK)
		see(x, FACT_TRACK, ts_ns, pool);
	assert_int_equal(see(x, FACT_COUNTER, ts_ns, pool)->args[0].i, live);
}

static void test_scopes_of_memory(void **state)
{
	struct test *x = test_started();
	unsigned i;

	(void)state;
	/* of a scope from before the recording */
	PUT(x, EVENT_SCOPE_POP, 10, 9, NULL);
	PUT(x, EVENT_SCOPE_PUSH, 10, 10, "load");
	PUT(x, EVENT_ALLOC, 10, 11, "p", .id = 1, .size = 100);
	see_live(x, 11, "load:p", 100);
	PUT(x, EVENT_SCOPE_PUSH, 10, 12, "parse");
	PUT(x, EVENT_ALLOC, 10, 13, "p", .id = 2, .size = 10);
	see_live(x, 13, "load/parse:p", 10);
	/* another thread is in no scope; who frees is in whichever */
	PUT(x, EVENT_ALLOC, 11, 14, "p", .id = 3, .size = 1);
	next(x, FACT_THREAD);
	see_live(x, 14, "p", 1);
	PUT(x, EVENT_FREE, 10, 15, "p", .id = 3);
	see_live(x, 15, "p", 0);
	PUT(x, EVENT_FREE, 11, 16, "p", .id = 1);
	see_live(x, 16, "load:p", 0);
	/* of memory that nobody knows */
	PUT(x, EVENT_FREE, 10, 17, "p", .id = 77);
	see_live(x, 17, "p", 0);
	PUT(x, EVENT_SCOPE_POP, 10, 18, NULL);
	PUT(x, EVENT_ALLOC, 10, 19, "p", .id = 4, .size = 5);
	see_live(x, 19, "load:p", 5);
	/* deeper than is followed: counted, so that the way back is right */
	for (i = 1; i < LIMIT_SCOPES + 10; i++)
		PUT(x, EVENT_SCOPE_PUSH, 10, 20, "x");
	for (i = 1; i < LIMIT_SCOPES + 10; i++)
		PUT(x, EVENT_SCOPE_POP, 10, 20, NULL);
	PUT(x, EVENT_ALLOC, 10, 21, "q", .id = 5, .size = 6);
	see_live(x, 21, "load:q", 6);
	PUT(x, EVENT_SCOPE_POP, 10, 22, NULL);
	PUT(x, EVENT_ALLOC, 10, 23, "q", .id = 6, .size = 7);
	see_live(x, 23, "q", 7);
	assert_int_equal(account_lost(&x->account), 0);
	assert_int_equal(x->account.written, 14 + 2 * (LIMIT_SCOPES + 9));
	test_done(x);
}

/* PROF_REALLOC: a free that says that it may be none, then the allocation that decides. */
static void test_moving_memory(void **state)
{
	struct test *x = test_started();

	(void)state;
	PUT(x, EVENT_ALLOC, 10, 10, "p", .id = 1, .size = 100);
	see_live(x, 10, "p", 100);
	/* to another address; nothing happens before that is known */
	PUT(x, EVENT_FREE, 10, 11, "p", .id = 1, .size = FREE_MOVES);
	PUT(x, EVENT_ALLOC, 10, 12, "p", .id = 2, .size = 150);
	see_live(x, 12, "p", 0);
	see_live(x, 12, "p", 150);
	/* it fails, and what was there stays */
	PUT(x, EVENT_FREE, 10, 13, "p", .id = 2, .size = FREE_MOVES);
	PUT(x, EVENT_ALLOC, 10, 14, "p", .id = 0, .size = 1000);
	see_live(x, 14, "p", 150);
	/* to nothing, which is a free */
	PUT(x, EVENT_FREE, 10, 15, "p", .id = 2, .size = FREE_MOVES);
	PUT(x, EVENT_ALLOC, 10, 16, "p", .id = 0, .size = 0);
	see_live(x, 16, "p", 0);
	see_live(x, 16, "p", 0);
	/* another thread gets the address before the first one says that it was free */
	PUT(x, EVENT_ALLOC, 10, 17, "p", .id = 3, .size = 10);
	see_live(x, 17, "p", 10);
	PUT(x, EVENT_FREE, 10, 18, "p", .id = 3, .size = FREE_MOVES);
	PUT(x, EVENT_ALLOC, 11, 19, "p", .id = 3, .size = 7);
	next(x, FACT_THREAD);
	see_live(x, 19, "p", 7);
	PUT(x, EVENT_ALLOC, 10, 20, "p", .id = 4, .size = 20);
	see_live(x, 20, "p", 27);
	PUT(x, EVENT_FREE, 11, 21, "p", .id = 3);
	see_live(x, 21, "p", 20);
	assert_int_equal(x->account.frees_unknown, 0);
	assert_int_equal(account_lost(&x->account), 0);
	assert_int_equal(x->account.written, 12);
	test_done(x);
}

static struct arg number_arg(struct test *x, const char *key, uint64_t value, bool cut)
{
	return (struct arg){
		.key = names_intern_string(x->names, key), .type = ARG_UINT, .cut = cut, .u = value
	};
}

/* Arguments that come before their mark, each of them with the same number. */
static void test_split_arguments(void **state)
{
	struct test *x = test_started();
	const struct arg first[] = { number_arg(x, "", 5, true), number_arg(x, "a", 1, false),
				     number_arg(x, "b", 2, false) };
	const struct arg last[] = { number_arg(x, "", 5, true), number_arg(x, "c", 3, false) };
	const struct arg others[] = { number_arg(x, "", 6, true), number_arg(x, "d", 4, false) };
	const struct seen_fact *fact;
	unsigned i;

	(void)state;
	PUT(x, EVENT_INSTANT, 10, 10, "", .object = OBJECT_ARGUMENTS, .args = first, .n_args = 3);
	PUT(x, EVENT_INSTANT, 10, 11, "i", .args = last, .n_args = 2);
	fact = see(x, FACT_INSTANT, 11, "i");
	assert_int_equal(fact->n_args, 3);
	for (i = 0; i < 3; i++) {
		assert_int_equal(fact->args[i].u, i + 1);
		assert_int_equal(fact->args[i].key->text[0], "abc"[i]);
	}
	/* those of a mark that was lost are nobody's, and so are those that were used */
	PUT(x, EVENT_INSTANT, 10, 12, "", .object = OBJECT_ARGUMENTS, .args = first, .n_args = 3);
	PUT(x, EVENT_INSTANT, 10, 13, "j", .args = others, .n_args = 2);
	assert_int_equal(see(x, FACT_INSTANT, 13, "j")->n_args, 1);
	PUT(x, EVENT_INSTANT, 10, 14, "k", .args = last, .n_args = 2);
	assert_int_equal(see(x, FACT_INSTANT, 14, "k")->n_args, 1);
	/* more than an event keeps */
	for (i = 0; i < EVENT_MAX_ARGS; i++)
		PUT(x, EVENT_INSTANT, 10, 15, "", .object = OBJECT_ARGUMENTS, .args = first,
		    .n_args = 3);
	assert_int_equal(x->account.args_dropped, EVENT_MAX_ARGS);
	PUT(x, EVENT_INSTANT, 10, 16, "l", .args = last, .n_args = 2);
	assert_int_equal(see(x, FACT_INSTANT, 16, "l")->n_args, EVENT_MAX_ARGS);
	assert_int_equal(x->account.args_dropped, EVENT_MAX_ARGS + 1);
	assert_int_equal(account_lost(&x->account), 0);
	test_done(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),	      cmocka_unit_test(test_frames_missed),
		cmocka_unit_test(test_frames_go_on),  cmocka_unit_test(test_scopes_of_marks),
		cmocka_unit_test(test_started_twice), cmocka_unit_test(test_scopes_of_memory),
		cmocka_unit_test(test_moving_memory), cmocka_unit_test(test_split_arguments),
	};

	return cmocka_run_group_tests_name("timeline, objects", tests, NULL, NULL);
}
