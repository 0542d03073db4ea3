/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of events in general: the account, instants, notices, limits, failing outputs. */
#include "timeline_test.h"

static void test_instants(void **state)
{
	struct test *x = test_started();

	(void)state;
	PUT(x, EVENT_INSTANT, 10, 2, "i", .scope = SCOPE_GLOBAL);
	assert_int_equal(see(x, FACT_INSTANT, 2, "i")->scope, SCOPE_GLOBAL);
	PUT(x, EVENT_INSTANT, 10, 3, NULL, .scope = SCOPE_THREAD);
	assert_int_equal(see(x, FACT_INSTANT, 3, "(unnamed)")->scope, SCOPE_THREAD);
	/* of no thread, of no process */
	PUT(x, EVENT_INSTANT, 0, 4, "i", .scope = SCOPE_THREAD);
	assert_int_equal(see(x, FACT_INSTANT, 4, "i")->scope, SCOPE_PROCESS);
	put(x, &(struct event){ .kind = EVENT_INSTANT, .ts_ns = 5, .name = nm(x, "i") });
	assert_int_equal(see(x, FACT_INSTANT, 5, "i")->scope, SCOPE_GLOBAL);
	assert_int_equal(x->facts.all[x->next - 1].process, 0);
	test_done(x);
}

static void test_notices(void **state)
{
	struct test *x = test_started();
	const struct seen_fact *f;

	(void)state;
	PUT(x, EVENT_LOST, 10, 5, NULL, .size = 42);
	f = see(x, FACT_LOST, 5, NULL);
	assert_int_equal(f->count, 42);
	assert_int_equal(f->tid, 10);
	put(x, &(struct event){ .kind = EVENT_LOST, .ts_ns = 6, .size = 1 });
	f = see(x, FACT_LOST, 6, NULL);
	assert_int_equal(f->process, 0);
	put(x, &(struct event){ .kind = EVENT_CLOCK, .ts_ns = 7, .clock = { 7, 8, 9 } });
	f = see(x, FACT_CLOCK, 7, NULL);
	assert_int_equal(f->clock.monotonic, 7);
	assert_int_equal(f->clock.boottime, 8);
	assert_int_equal(f->clock.realtime, 9);
	assert_int_equal(x->account.written, 0);
	/* a kind there is not */
	PUT(x, 99, 10, 8, "x");
	assert_int_equal(x->account.lost[LOST_MALFORMED], 1);
	test_done(x);
}

static void test_many_args(void **state)
{
	struct test *x = test_started();
	struct arg args[EVENT_MAX_ARGS + 5];
	unsigned i;

	(void)state;
	for (i = 0; i < EVENT_MAX_ARGS + 5; i++)
		args[i] = (struct arg){ .key = nm(x, "k"), .type = ARG_UINT, .u = i };
	PUT(x, EVENT_STEP, 10, 2, NULL, .id = 1, .size = 2);
	x->next = x->facts.n;
	PUT(x, EVENT_INSTANT, 10, 3, "i", .n_args = EVENT_MAX_ARGS + 5, .args = args);
	assert_int_equal(see(x, FACT_INSTANT, 3, "i")->n_args, EVENT_MAX_ARGS + 2);
	PUT(x, EVENT_COUNTER, 10, 4, "c", .n_args = EVENT_MAX_ARGS + 5, .args = args);
	next(x, FACT_TRACK);
	assert_int_equal(see(x, FACT_COUNTER, 4, "c")->n_args, EVENT_MAX_ARGS);
	test_done(x);
}

static void test_limits(void **state)
{
	struct test *x = test_started();
	const struct arg one = { .type = ARG_INT, .i = 1 };

	(void)state;
	x->timeline->limits = (struct timeline_limits){ .processes = 2,
							.threads = 2,
							.depth = 10,
							.tracks = 3,
							.asyncs = 2,
							.asyncs_of_one_id = 1,
							.allocations = 1 };
	/* threads */
	PUT(x, EVENT_INSTANT, 11, 2, "i");
	PUT(x, EVENT_INSTANT, 12, 2, "i");
	assert_int_equal(x->account.lost[LOST_LIMIT], 1);
	PUT(x, EVENT_FORK, 12, 2, "x");
	PUT(x, EVENT_COMM, 12, 2, "x");
	PUT(x, EVENT_THREAD_EXIT, 12, 2, NULL);
	PUT(x, EVENT_LOST, 12, 2, NULL, .size = 1);
	assert_int_equal(x->facts.all[x->facts.n - 1].thread, 0);
	PUT(x, EVENT_THREAD_EXIT, 11, 3, NULL);
	PUT(x, EVENT_INSTANT, 12, 4, "i");
	assert_int_equal(x->account.lost[LOST_LIMIT], 1);
	/* processes */
	put(x, &(struct event){ .kind = EVENT_PROCESS_NAME, .pid = 20 });
	put(x, &(struct event){ .kind = EVENT_PROCESS_NAME, .pid = 30 });
	put(x, &(struct event){ .kind = EVENT_FORK, .pid = 30, .tid = 30 });
	put(x, &(struct event){ .kind = EVENT_EXEC, .pid = 30, .tid = 30 });
	put(x, &(struct event){ .kind = EVENT_COUNTER, .pid = 30, .n_args = 1, .args = &one });
	assert_int_equal(x->account.lost[LOST_LIMIT], 2);
	/* asynchronous slices, of one id and in all */
	PUT(x, EVENT_ASYNC_BEGIN, 10, 5, "a", .id = 1);
	PUT(x, EVENT_ASYNC_BEGIN, 10, 5, "a", .id = 1);
	assert_int_equal(x->account.lost[LOST_LIMIT], 3);
	PUT(x, EVENT_ASYNC_BEGIN, 10, 5, "a", .id = 2);
	PUT(x, EVENT_ASYNC_BEGIN, 10, 5, "a", .id = 3);
	assert_int_equal(x->account.lost[LOST_LIMIT], 4);
	/* tracks: two lanes so far, one counter fits */
	PUT(x, EVENT_ALLOC, 10, 6, "p", .id = 1, .size = 10);
	PUT(x, EVENT_ALLOC, 10, 6, "q", .id = 2, .size = 10);
	PUT(x, EVENT_FREE, 10, 6, "q", .id = 2);
	PUT(x, EVENT_COUNTER, 10, 6, "c", .n_args = 1, .args = &one);
	PUT(x, EVENT_STEP, 10, 6, NULL);
	PUT(x, EVENT_ASYNC_END, 10, 6, "a", .id = 2);
	PUT(x, EVENT_ASYNC_BEGIN, 10, 6, "b", .id = 2);
	assert_int_equal(x->account.lost[LOST_LIMIT], 9);
	/* allocations: not followed, but written */
	PUT(x, EVENT_ALLOC, 10, 7, "p", .id = 3, .size = 10);
	assert_int_equal(x->account.allocs_not_followed, 1);
	assert_int_equal(x->facts.all[x->facts.n - 1].args[0].i, 10);
	/* what a process had is free again when it is gone */
	put(x, &(struct event){ .kind = EVENT_PROCESS_EXIT, .pid = 10, .ts_ns = 8 });
	put(x, &(struct event){ .kind = EVENT_PROCESS_EXIT, .pid = 20, .ts_ns = 8 });
	PUT(x, EVENT_ASYNC_BEGIN, 10, 9, "a", .id = 1);
	PUT(x, EVENT_ASYNC_BEGIN, 10, 9, "a", .id = 2);
	PUT(x, EVENT_ALLOC, 11, 9, "p", .id = 1, .size = 20);
	assert_int_equal(x->facts.all[x->facts.n - 1].args[0].i, 20);
	assert_int_equal(x->account.lost[LOST_LIMIT], 9);
	assert_int_equal(x->account.allocs_not_followed, 1);
	x->next = x->facts.n;
	test_done(x);
}

struct open_list {
	char text[256];
};

static void list_open(void *context, const struct thread *thread, const struct name *name,
		      uint64_t begin_ns)
{
	struct open_list *list = context;
	size_t n = strlen(list->text);

	snprintf(list->text + n, sizeof(list->text) - n, "%u/%u:%s@%u ", thread->process->pid,
		 thread->tid, name->text, (unsigned)begin_ns);
}

static void test_open_at_end(void **state)
{
	struct test *x = test_started();
	struct open_list list = { "" };

	(void)state;
	PUT(x, EVENT_BEGIN, 10, 2, "a");
	PUT(x, EVENT_BEGIN, 10, 3, "b");
	PUT(x, EVENT_BEGIN, 11, 4, "c");
	PUT(x, EVENT_ASYNC_BEGIN, 11, 5, "d", .id = 1);
	PUT(x, EVENT_END, 10, 6, NULL);
	x->next = x->facts.n;
	timeline_finish(x->timeline);
	timeline_finish(x->timeline);
	assert_int_equal(x->account.open_at_end, 3);
	timeline_open_slices(x->timeline, list_open, &list);
	assert_string_equal(list.text, "10/10:a@2 10/11:c@4 10/0:d@5 ");
	test_done(x);
}

static void test_handlers_that_fail(void **state)
{
	struct test *x = test_started();
	struct facts second;
	struct event instant = {
		.kind = EVENT_INSTANT, .pid = 10, .tid = 10, .ts_ns = 5, .name = nm(x, "i")
	};

	(void)state;
	/* the second is new to this recording: it checks nothing, only counts */
	facts_init(&second, BASE);
	second.fail_with = -ENOSPC;
	assert_int_equal(timeline_add_consumer(x->timeline, &second.consumer), 0);
	assert_int_equal(timeline_event(x->timeline, &instant), -ENOSPC);
	assert_int_equal(second.consumer.error, -ENOSPC);
	see(x, FACT_INSTANT, 5, "i");
	assert_int_equal(timeline_event(x->timeline, &instant), 0);
	see(x, FACT_INSTANT, 5, "i");
	assert_int_equal(second.calls, 1);
	assert_int_equal(x->account.written, 2);
	/* the last one goes: with it this mark and all others */
	x->facts.fail_with = -EIO;
	assert_int_equal(timeline_event(x->timeline, &instant), -EIO);
	assert_int_equal(timeline_event(x->timeline, &instant), 0);
	assert_int_equal(x->account.written, 2);
	assert_int_equal(x->account.lost[LOST_OUTPUT], 2);
	PUT(x, EVENT_END, 10, 6, NULL);
	assert_int_equal(x->account.lost[LOST_OUTPUT], 2);
	assert_int_equal(x->account.lost[LOST_UNMATCHED], 1);
	test_done(x);
	facts_free(&second);
}

static void test_no_handler(void **state)
{
	struct account account = { 0 };
	struct names *names = names_new(0);
	struct timeline *timeline = timeline_new(names, &account, 0);

	(void)state;
	assert_int_equal(
		timeline_event(timeline,
			       &(struct event){ .kind = EVENT_INSTANT, .pid = 1, .tid = 1 }),
		0);
	assert_int_equal(account.written, 1);
	timeline_free(timeline);
	timeline_free(NULL);
	names_free(names);
}

/* A number without a name would not be in a file, and so not in what is made of that. */
static void test_account_names(void **state)
{
	struct account account = { 0 };

	(void)state;
	for (unsigned i = 0; i < account_numbers(); i++) {
		assert_string_not_equal(account_number_name(i), "unknown");
		assert_ptr_equal(account_number_named(&account, account_number_name(i)),
				 (uint64_t *)&account + i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instants),    cmocka_unit_test(test_notices),
		cmocka_unit_test(test_many_args),   cmocka_unit_test(test_limits),
		cmocka_unit_test(test_open_at_end), cmocka_unit_test(test_handlers_that_fail),
		cmocka_unit_test(test_no_handler),  cmocka_unit_test(test_account_names),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
