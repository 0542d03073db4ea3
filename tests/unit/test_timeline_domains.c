/* SPDX-License-Identifier: BSD-2-Clause */
/* A domain is switched off: what is open of it ends, and nothing else does. */
#include "timeline_test.h"

#define OFF(x, time, domain)                              \
	put(x, &(struct event){ .kind = EVENT_DOMAIN_OFF, \
				.ts_ns = (time),          \
				.level = -1,              \
				.category = nm(x, domain) })

static void begin(struct test *x, uint64_t ts_ns, int level, const char *name, const char *category)
{
	PUT_AT(x, EVENT_BEGIN, 10, ts_ns, level, name, .category = nm(x, category));
	see(x, FACT_BEGIN, ts_ns, name);
}

static void test_on_top(void **state)
{
	struct test *x = test_started();

	(void)state;
	begin(x, 10, 0, "a", "app");
	begin(x, 11, 1, "l", "lib");
	begin(x, 12, 2, "m", "lib,io");
	OFF(x, 20, "lib");
	see_end(x, 20, "m", 12, 8, END_UNFINISHED);
	see_end(x, 20, "l", 11, 1, END_UNFINISHED);
	assert_int_equal(x->account.ended_off, 2);
	/* the kernel still counts the levels */
	begin(x, 21, 3, "b", "app");
	PUT_LEVEL(x, EVENT_END, 22, 3, NULL);
	see_end(x, 22, "b", 21, 1, END_NORMAL);
	PUT_LEVEL(x, EVENT_END, 30, 0, NULL);
	see_end(x, 30, "a", 10, 20 - 9 - 1, END_NORMAL);
	assert_int_equal(x->account.unfinished + x->account.ends_lost, 0);
	test_done(x);
}

static void test_around_others(void **state)
{
	struct test *x = test_started();

	(void)state;
	begin(x, 10, 0, "l", "lib");
	begin(x, 11, 1, "a", "app");
	begin(x, 12, 2, "m", "lib");
	begin(x, 13, 3, "b", "app");
	OFF(x, 20, "lib");
	PUT_LEVEL(x, EVENT_END, 21, 3, NULL);
	see_end(x, 21, "b", 13, 8, END_NORMAL);
	see_end(x, 21, "m", 12, 1, END_UNFINISHED);
	PUT_LEVEL(x, EVENT_END, 25, 1, NULL);
	see_end(x, 25, "a", 11, 14 - 9, END_NORMAL);
	see_end(x, 25, "l", 10, 1, END_UNFINISHED);
	assert_int_equal(x->account.ended_off, 2);
	test_done(x);
}

/* Names that only begin the same are other domains; and an exit ends all in any case. */
static void test_others_stay(void **state)
{
	struct test *x = test_started();

	(void)state;
	begin(x, 10, 0, "a", "library");
	begin(x, 11, 1, "b", "app,lib");
	begin(x, 12, 2, "c", NULL);
	begin(x, 13, 3, "l", "lib");
	begin(x, 14, 4, "d", "app");
	OFF(x, 20, "lib");
	OFF(x, 21, "none");
	put(x, &(struct event){ .kind = EVENT_DOMAIN_OFF, .ts_ns = 22, .level = -1 });
	assert_int_equal(x->account.ended_off, 0);
	PUT(x, EVENT_THREAD_EXIT, 10, 30, NULL);
	see_end(x, 30, "d", 14, 16, END_UNFINISHED);
	see_end(x, 30, "l", 13, 1, END_UNFINISHED);
	see_end(x, 30, "c", 12, 1, END_UNFINISHED);
	see_end(x, 30, "b", 11, 1, END_UNFINISHED);
	see_end(x, 30, "a", 10, 1, END_UNFINISHED);
	see(x, FACT_EXIT, 30, NULL);
	assert_int_equal(x->account.unfinished, 5);
	test_done(x);
}

static void begin_async(struct test *x, uint64_t ts_ns, const char *name, const char *category,
			uint64_t id)
{
	PUT(x, EVENT_ASYNC_BEGIN, 10, ts_ns, name, .category = nm(x, category), .id = id);
}

/* Those of one id are a chain; from any place of it one can go. */
static void test_asyncs(void **state)
{
	struct test *x = test_started();
	const char *const categories[] = { "lib", "app", "lib", "app", "lib" };
	unsigned i;

	(void)state;
	for (i = 0; i < 5; i++)
		begin_async(x, 10 + i, categories[i], categories[i], 1);
	begin_async(x, 15, "other", "lib,io", 2);
	x->next = x->facts.n;
	OFF(x, 20, "lib");
	see(x, FACT_ASYNC_END, 20, "other");
	for (i = 5; i-- > 0;) {
		if (i % 2 == 0)
			assert_int_equal(see(x, FACT_ASYNC_END, 20, "lib")->begin_ns, 10 + i);
	}
	assert_int_equal(timeline_open_asyncs(x->timeline), 2);
	PUT(x, EVENT_ASYNC_END, 10, 30, "app", .category = nm(x, "app"), .id = 1);
	assert_int_equal(see(x, FACT_ASYNC_END, 30, "app")->begin_ns, 13);
	PUT(x, EVENT_ASYNC_END, 10, 31, "app", .category = nm(x, "app"), .id = 1);
	assert_int_equal(see(x, FACT_ASYNC_END, 31, "app")->begin_ns, 11);
	assert_int_equal(x->account.ended_off, 4);
	test_done(x);
}

/* What its memory was is not left behind by anybody. */
static void test_memory(void **state)
{
	struct test *x = test_started();
	size_t i;

	(void)state;
	PUT(x, EVENT_ALLOC, 10, 10, "heap", .category = nm(x, "lib"), .id = 0x10, .size = 5);
	PUT(x, EVENT_ALLOC, 10, 11, "pool", .category = nm(x, "app"), .id = 0x20, .size = 7);
	OFF(x, 20, "lib");
	x->next = x->facts.n;
	PUT(x, EVENT_PROCESS_EXIT, 10, 30, NULL);
	for (i = x->next; i < x->facts.n; i++) {
		if (x->facts.all[i].kind == FACT_LEAK)
			assert_string_equal(x->facts.all[i].name, "pool");
	}
	x->next = x->facts.n;
	test_done(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on_top),	    cmocka_unit_test(test_around_others),
		cmocka_unit_test(test_others_stay), cmocka_unit_test(test_asyncs),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
