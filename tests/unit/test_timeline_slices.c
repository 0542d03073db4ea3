/* SPDX-License-Identifier: BSD-2-Clause */
/* Slices of threads: nesting, recursion, lost ENDs, depth, and the arrows between them. */
#include "timeline_test.h"

static void test_slices(void **state)
{
	struct test *x = test_started();
	const struct arg arg = { .key = nm(x, "k"), .type = ARG_INT, .i = -3 };
	const struct seen_fact *f;

	(void)state;
	PUT(x, EVENT_BEGIN, 10, 100, "a", .category = nm(x, "cat"), .n_args = 1, .args = &arg);
	f = see(x, FACT_BEGIN, 100, "a");
	assert_string_equal(f->category, "cat");
	assert_int_equal(f->n_args, 1);
	assert_int_equal(f->args[0].i, -3);
	PUT(x, EVENT_BEGIN, 10, 110, "b");
	see(x, FACT_BEGIN, 110, "b");
	PUT(x, EVENT_END, 10, 130, NULL, .n_args = 1, .args = &arg);
	see_end(x, 130, "b", 110, 20, END_NORMAL);
	assert_int_equal(x->facts.all[x->next - 1].n_args, 1);
	PUT(x, EVENT_BEGIN, 10, 140, "b");
	see(x, FACT_BEGIN, 140, "b");
	/* the name of an END does not matter */
	PUT(x, EVENT_END, 10, 150, "zzz");
	see_end(x, 150, "b", 140, 10, END_NORMAL);
	PUT(x, EVENT_END, 10, 200, NULL);
	see_end(x, 200, "a", 100, 70, END_NORMAL);
	assert_string_equal(x->facts.all[x->next - 1].category, "cat");
	PUT(x, EVENT_END, 10, 201, NULL);
	assert_int_equal(x->account.lost[LOST_UNMATCHED], 1);
	assert_int_equal(x->account.written, 6);
	test_done(x);
}

static void test_recursion(void **state)
{
	struct test *x = test_started();
	static const struct {
		const char *name, *category;
		bool nested;
	} slices[] = { { "f", "c", false }, { "g", "c", false },  { "f", "c", true },
		       { "f", "d", false }, { "f", NULL, false }, { "f", "c", true } };
	int i, n = sizeof(slices) / sizeof(slices[0]);

	(void)state;
	for (i = 0; i < n; i++)
		PUT(x, EVENT_BEGIN, 10, 10 + i, slices[i].name,
		    .category = nm(x, slices[i].category));
	x->next = x->facts.n;
	while (i--) {
		PUT(x, EVENT_END, 10, 30 - i, NULL);
		assert_int_equal(next(x, FACT_END)->nested_in_itself, slices[i].nested);
	}
	test_done(x);
}

static void test_time_does_not_go_back(void **state)
{
	struct test *x = test_started();

	(void)state;
	PUT(x, EVENT_BEGIN, 10, 100, "a");
	see(x, FACT_BEGIN, 100, "a");
	PUT(x, EVENT_BEGIN, 10, 90, "b");
	see(x, FACT_BEGIN, 100, "b");
	PUT(x, EVENT_END, 10, 95, NULL);
	see_end(x, 100, "b", 100, 0, END_NORMAL);
	PUT(x, EVENT_THREAD_EXIT, 10, 50, NULL);
	see_end(x, 100, "a", 100, 0, END_UNFINISHED);
	see(x, FACT_EXIT, 100, NULL);
	/* on another thread it is earlier */
	PUT(x, EVENT_INSTANT, 11, 80, "i");
	see(x, FACT_THREAD, 80, NULL);
	see(x, FACT_INSTANT, 80, "i");
	test_done(x);
}

static void test_lost_ends(void **state)
{
	struct test *x = test_started();

	(void)state;
	PUT_LEVEL(x, EVENT_BEGIN, 10, 0, "a");
	PUT_LEVEL(x, EVENT_BEGIN, 11, 1, "b");
	PUT_LEVEL(x, EVENT_BEGIN, 12, 2, "c");
	x->next = x->facts.n;
	/* one slice is open: c and b have ended */
	PUT_LEVEL(x, EVENT_INSTANT, 20, 1, "i");
	see_end(x, 20, "c", 12, 8, END_LOST);
	see_end(x, 20, "b", 11, 1, END_LOST);
	see(x, FACT_INSTANT, 20, "i");
	/* a BEGIN at the level of an open slice */
	PUT_LEVEL(x, EVENT_BEGIN, 21, 1, "d");
	see(x, FACT_BEGIN, 21, "d");
	PUT_LEVEL(x, EVENT_BEGIN, 22, 1, "e");
	see_end(x, 22, "d", 21, 1, END_LOST);
	see(x, FACT_BEGIN, 22, "e");
	/* a slice between them was lost: levels have gaps */
	PUT_LEVEL(x, EVENT_BEGIN, 23, 3, "f");
	see(x, FACT_BEGIN, 23, "f");
	PUT_LEVEL(x, EVENT_INSTANT, 24, 4, "i");
	see(x, FACT_INSTANT, 24, "i");
	/* an END two levels down */
	PUT_LEVEL(x, EVENT_END, 30, 0, NULL);
	see_end(x, 30, "f", 23, 7, END_LOST);
	see_end(x, 30, "e", 22, 1, END_LOST);
	see_end(x, 30, "a", 10, 20 - 9 - 1 - 8, END_NORMAL);
	/* an END at a level that is not open closes what is above, not what is below */
	PUT_LEVEL(x, EVENT_BEGIN, 40, 0, "g");
	PUT_LEVEL(x, EVENT_BEGIN, 41, 2, "h");
	x->next = x->facts.n;
	PUT_LEVEL(x, EVENT_END, 42, 1, NULL);
	see_end(x, 42, "h", 41, 1, END_LOST);
	assert_int_equal(x->account.lost[LOST_UNMATCHED], 1);
	PUT_LEVEL(x, EVENT_END, 43, 1, NULL);
	assert_int_equal(x->account.lost[LOST_UNMATCHED], 2);
	/* every other mark tells as well */
	PUT_LEVEL(x, EVENT_FLOW_OUT, 44, 0, NULL);
	see_end(x, 44, "g", 40, 3, END_LOST);
	assert_false(see(x, FACT_FLOW_OUT, 44, "(unnamed)")->in_slice);
	assert_int_equal(x->account.ends_lost, 7);
	/* 8 BEGINs, 2 instants, the END of a, the flow; not the ENDs that nobody sent */
	assert_int_equal(x->account.written, 12);
	/* a notice of the kernel knows nothing of levels */
	PUT_LEVEL(x, EVENT_BEGIN, 50, 0, "j");
	see(x, FACT_BEGIN, 50, "j");
	PUT_LEVEL(x, EVENT_COMM, 51, 0, "x");
	see(x, FACT_THREAD, 51, "x"); /* the process keeps its name */
	PUT_LEVEL(x, EVENT_LOST, 51, 0, NULL);
	see(x, FACT_LOST, 51, NULL);
	PUT_LEVEL(x, EVENT_END, 52, 0, NULL);
	see_end(x, 52, "j", 50, 2, END_NORMAL);
	test_done(x);
}

/* Two sources for one thread: a slice without a level ends with the one around it. */
static void test_levels_and_none(void **state)
{
	struct test *x = test_started();

	(void)state;
	PUT_LEVEL(x, EVENT_BEGIN, 10, 0, "kernel");
	PUT_LEVEL(x, EVENT_BEGIN, 11, -1, "file");
	PUT_LEVEL(x, EVENT_BEGIN, 12, 1, "kernel");
	PUT_LEVEL(x, EVENT_END, 13, 1, NULL);
	x->next = x->facts.n;
	PUT_LEVEL(x, EVENT_INSTANT, 14, 1, "i");
	see(x, FACT_INSTANT, 14, "i");
	PUT_LEVEL(x, EVENT_END, 15, 0, NULL);
	see_end(x, 15, "file", 11, 3, END_LOST);
	see_end(x, 15, "kernel", 10, 1, END_NORMAL);
	test_done(x);
}

static void test_depth(void **state)
{
	struct test *x = test_started();
	int i;

	(void)state;
	x->timeline->limits.depth = 3;
	for (i = 0; i < 5; i++)
		PUT(x, EVENT_BEGIN, 10, 10 + i, "f");
	assert_int_equal(x->account.lost[LOST_TOO_DEEP], 2);
	/* those not followed do not take the ENDs of those that are */
	PUT(x, EVENT_END, 10, 20, NULL);
	PUT(x, EVENT_END, 10, 21, NULL);
	assert_int_equal(x->account.lost[LOST_TOO_DEEP], 4);
	x->next = x->facts.n;
	for (i = 3; i--;) {
		PUT(x, EVENT_END, 10, 30, NULL);
		see_end(x, 30, "f", 10 + i, i == 2 ? 18 : 1, END_NORMAL);
	}
	/* with levels the kernel tells them apart */
	for (i = 0; i < 4; i++)
		PUT_LEVEL(x, EVENT_BEGIN, 40 + i, i, "f");
	assert_int_equal(x->account.lost[LOST_TOO_DEEP], 5);
	PUT_LEVEL(x, EVENT_END, 50, 3, NULL);
	assert_int_equal(x->account.lost[LOST_UNMATCHED], 1);
	x->next = x->facts.n;
	PUT_LEVEL(x, EVENT_END, 51, 2, NULL);
	see_end(x, 51, "f", 42, 9, END_NORMAL);
	test_done(x);
}

static void test_flows(void **state)
{
	struct test *x = test_started();
	const struct seen_fact *f;

	(void)state;
	PUT(x, EVENT_FLOW_OUT, 10, 2, NULL, .id = 77);
	f = next(x, FACT_FLOW_OUT);
	assert_int_equal(f->id, 77);
	assert_false(f->in_slice);
	PUT(x, EVENT_BEGIN, 10, 3, "a");
	next(x, FACT_BEGIN);
	PUT(x, EVENT_FLOW_IN, 10, 4, NULL, .id = 77);
	f = next(x, FACT_FLOW_IN);
	assert_true(f->in_slice);
	assert_int_equal(f->tid, 10);
	assert_int_equal(x->account.written, 3);
	test_done(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_time_does_not_go_back),
		cmocka_unit_test(test_lost_ends),
		cmocka_unit_test(test_levels_and_none),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_flows),
	};

	return cmocka_run_group_tests_name("timeline, slices", tests, NULL, NULL);
}
