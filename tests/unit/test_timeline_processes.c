/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and threads: declared once, named, ended, replaced. */
#include "timeline_test.h"

static void test_declared_once(void **state)
{
	struct test *x = test_new();
	const struct seen_fact *f;

	(void)state;
	PUT(x, EVENT_INSTANT, 11, 5, "hello");
	f = see(x, FACT_PROCESS, 5, NULL);
	assert_int_equal(f->pid, 10);
	assert_int_equal(f->process, BASE + 1);
	assert_int_equal(f->start_ns, 0);
	f = see(x, FACT_THREAD, 5, NULL);
	assert_int_equal(f->tid, 11);
	assert_int_equal(f->thread, BASE + 2);
	f = see(x, FACT_INSTANT, 5, "hello");
	assert_int_equal(f->thread, BASE + 2);
	PUT(x, EVENT_INSTANT, 11, 6, "hello");
	see(x, FACT_INSTANT, 6, "hello");
	/* the same tid in another process is another thread (files of several machines) */
	put(x, &(struct event){ .kind = EVENT_INSTANT,
				.pid = 20,
				.tid = 11,
				.ts_ns = 7,
				.name = nm(x, "hello") });
	assert_int_equal(next(x, FACT_PROCESS)->process, BASE + 3);
	assert_int_equal(next(x, FACT_THREAD)->thread, BASE + 4);
	next(x, FACT_INSTANT);
	assert_int_equal(x->account.written, 3);
	assert_int_equal(account_lost(&x->account), 0);
	test_done(x);
}

static void test_names_of_processes(void **state)
{
	struct test *x = test_new();

	(void)state;
	PUT(x, EVENT_INSTANT, 10, 1, "i");
	x->next = x->facts.n;
	/* the comm of the main thread names the process, another's does not */
	PUT(x, EVENT_COMM, 11, 2, "worker");
	see(x, FACT_THREAD, 2, "worker");
	PUT(x, EVENT_COMM, 10, 3, "prog");
	see(x, FACT_PROCESS, 3, "prog");
	see(x, FACT_THREAD, 3, "prog");
	PUT(x, EVENT_COMM, 10, 4, "prog");
	/* a given name wins, and stays */
	PUT(x, EVENT_PROCESS_NAME, 0, 5, "/bin/prog");
	see(x, FACT_PROCESS, 5, "/bin/prog");
	PUT(x, EVENT_COMM, 10, 6, "prog2");
	see(x, FACT_THREAD, 6, "prog2");
	/* so it is with threads */
	PUT(x, EVENT_THREAD_NAME, 11, 7, "I am a thread");
	see(x, FACT_THREAD, 7, "I am a thread");
	PUT(x, EVENT_COMM, 11, 8, "I am a thr");
	PUT(x, EVENT_THREAD_NAME, 11, 9, "I am a thread");
	PUT(x, EVENT_COMM, 10, 9, NULL);
	/* declared with its name at once; a comm does not replace it */
	put(x,
	    &(struct event){
		    .kind = EVENT_PROCESS_NAME, .pid = 20, .ts_ns = 10, .name = nm(x, "other") });
	see(x, FACT_PROCESS, 10, "other");
	put(x, &(struct event){
		       .kind = EVENT_COMM, .pid = 20, .tid = 20, .ts_ns = 11, .name = nm(x, "o") });
	see(x, FACT_THREAD, 11, "o");
	assert_int_equal(x->account.written, 3);
	test_done(x);
}

static void test_fork_and_exit(void **state)
{
	struct test *x = test_started();
	const struct seen_fact *f;
	uint64_t first;

	(void)state;
	PUT(x, EVENT_FORK, 12, 10, "main", .id = 10);
	first = see(x, FACT_THREAD, 10, "main")->thread;
	PUT(x, EVENT_BEGIN, 12, 11, "a");
	see(x, FACT_BEGIN, 11, "a");
	PUT(x, EVENT_THREAD_EXIT, 12, 15, NULL);
	see_end(x, 15, "a", 11, 4, END_UNFINISHED);
	assert_int_equal(see(x, FACT_EXIT, 15, NULL)->thread, first);
	PUT(x, EVENT_THREAD_EXIT, 12, 15, NULL);
	/* the number again: another thread */
	PUT(x, EVENT_FORK, 12, 16, "main");
	f = see(x, FACT_THREAD, 16, "main");
	assert_true(f->thread > first);
	assert_int_equal(f->process, BASE + 1);
	/* and again, though the exit was lost; the slice ends with the old one */
	PUT(x, EVENT_BEGIN, 12, 17, "b");
	see(x, FACT_BEGIN, 17, "b");
	PUT(x, EVENT_FORK, 12, 18, "main");
	see_end(x, 18, "b", 17, 1, END_UNFINISHED);
	see(x, FACT_EXIT, 18, NULL);
	see(x, FACT_THREAD, 18, "main");
	/* a child process */
	put(x, &(struct event){ .kind = EVENT_FORK,
				.pid = 20,
				.tid = 20,
				.ts_ns = 20,
				.id = 10,
				.name = nm(x, "main") });
	f = see(x, FACT_PROCESS, 20, "main");
	assert_int_equal(f->start_ns, 20);
	see(x, FACT_THREAD, 20, "main");
	/* 20 becomes a thread of 10: then process 20 must be over */
	PUT(x, EVENT_FORK, 20, 21, "main");
	assert_int_equal(see(x, FACT_EXIT, 21, NULL)->tid, 20);
	f = see(x, FACT_EXIT, 21, NULL);
	assert_int_equal(f->pid, 20);
	assert_int_equal(f->thread, 0);
	see(x, FACT_THREAD, 21, "main");
	/* and 12, a thread of 10, becomes a process */
	put(x, &(struct event){ .kind = EVENT_FORK, .pid = 12, .tid = 12, .ts_ns = 22 });
	assert_int_equal(see(x, FACT_EXIT, 22, NULL)->pid, 10);
	see(x, FACT_PROCESS, 22, NULL);
	see(x, FACT_THREAD, 22, NULL);
	PUT(x, EVENT_PROCESS_EXIT, 10, 30, NULL);
	assert_int_equal(see(x, FACT_EXIT, 30, NULL)->tid, 10);
	assert_int_equal(see(x, FACT_EXIT, 30, NULL)->tid, 20);
	assert_int_equal(see(x, FACT_EXIT, 30, NULL)->tid, 0);
	PUT(x, EVENT_PROCESS_EXIT, 10, 30, NULL);
	assert_int_equal(x->account.unfinished, 2);
	assert_int_equal(x->account.written, 2);
	test_done(x);
}

static void test_main_thread_may_go_first(void **state)
{
	struct test *x = test_started();

	(void)state;
	PUT(x, EVENT_THREAD_EXIT, 10, 2, NULL);
	see(x, FACT_EXIT, 2, NULL);
	PUT(x, EVENT_INSTANT, 11, 3, "i");
	assert_int_equal(see(x, FACT_THREAD, 3, NULL)->process, BASE + 1);
	see(x, FACT_INSTANT, 3, "i");
	test_done(x);
}

static void test_exec(void **state)
{
	struct test *x = test_started();
	const struct seen_fact *f;

	(void)state;
	PUT(x, EVENT_PROCESS_NAME, 0, 2, "/bin/old");
	PUT(x, EVENT_THREAD_NAME, 10, 2, "old main");
	PUT(x, EVENT_BEGIN, 10, 3, "outer");
	PUT(x, EVENT_BEGIN, 10, 4, "inner");
	PUT(x, EVENT_BEGIN, 11, 5, "elsewhere");
	PUT(x, EVENT_ASYNC_BEGIN, 11, 6, "async", .id = 7);
	PUT(x, EVENT_ALLOC, 10, 7, "pool", .id = 0x1000, .size = 50);
	PUT(x, EVENT_STEP, 10, 8, NULL, .id = 1, .size = 2);
	x->next = x->facts.n;
	PUT(x, EVENT_EXEC, 10, 10, "new");
	see_end(x, 10, "inner", 4, 6, END_UNFINISHED);
	see_end(x, 10, "outer", 3, 1, END_UNFINISHED);
	see_end(x, 10, "elsewhere", 5, 5, END_UNFINISHED);
	assert_int_equal(see(x, FACT_EXIT, 10, NULL)->tid, 11);
	f = see(x, FACT_ASYNC_END, 10, "async");
	assert_int_equal(f->end_reason, END_UNFINISHED);
	assert_int_equal(f->begin_ns, 6);
	assert_int_equal(f->thread, 0);
	see(x, FACT_LEAK, 10, "pool");
	assert_int_equal(see(x, FACT_COUNTER, 10, "pool")->args[0].i, 0);
	assert_int_equal(see(x, FACT_PROCESS, 10, "new")->process, BASE + 1);
	assert_int_equal(see(x, FACT_THREAD, 10, "new")->thread, BASE + 2);
	assert_int_equal(x->account.unfinished, 4);
	/* nothing is left of the old program: no step, no memory, no slices */
	PUT(x, EVENT_INSTANT, 10, 11, "i");
	assert_int_equal(see(x, FACT_INSTANT, 11, "i")->n_args, 0);
	PUT(x, EVENT_FREE, 10, 12, "pool", .id = 0x1000);
	assert_int_equal(see(x, FACT_COUNTER, 12, "pool")->args[0].i, 0);
	assert_int_equal(x->account.frees_unknown, 1);
	PUT(x, EVENT_END, 10, 13, NULL);
	assert_int_equal(x->account.lost[LOST_UNMATCHED], 1);
	test_done(x);
}

static void test_exec_of_another_thread(void **state)
{
	struct test *x = test_new();

	(void)state;
	PUT(x, EVENT_COMM, 11, 1, "worker");
	x->next = x->facts.n;
	/* the thread that executes gets the number of the process */
	PUT(x, EVENT_EXEC, 10, 2, "new");
	assert_int_equal(see(x, FACT_EXIT, 2, NULL)->tid, 11);
	see(x, FACT_THREAD, 2, "new");
	see(x, FACT_PROCESS, 2, "new");
	/* of a process never heard of */
	put(x, &(struct event){
		       .kind = EVENT_EXEC, .pid = 30, .tid = 30, .ts_ns = 3, .name = nm(x, "e") });
	see(x, FACT_PROCESS, 3, "e");
	see(x, FACT_THREAD, 3, "e");
	test_done(x);
}

/* Threads by the thousand per second: what is over takes no memory and no time. */
static void test_thread_churn(void **state)
{
	struct test *x = test_started();
	uint32_t i;

	(void)state;
	x->facts.only_check = true;
	for (i = 0; i < 50000; i++) {
		uint32_t tid = 100 + i % 300;

		PUT(x, EVENT_FORK, tid, 10 + i, "w");
		PUT_AT(x, EVENT_BEGIN, tid, 11 + i, 0, "f");
		PUT_AT(x, EVENT_END, tid, 12 + i, 0, NULL);
		if (i % 7)
			PUT(x, EVENT_THREAD_EXIT, tid, 13 + i, NULL);
	}
	assert_true(HASH_CNT(hh, x->timeline->threads) <= 301);
	assert_int_equal(HASH_CNT(hh, x->timeline->threads),
			 HASH_CNT(hh_tid, x->timeline->threads_by_tid));
	assert_int_equal(x->account.written, 100000);
	assert_int_equal(account_lost(&x->account), 0);
	test_done(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_declared_once),
		cmocka_unit_test(test_names_of_processes),
		cmocka_unit_test(test_fork_and_exit),
		cmocka_unit_test(test_main_thread_may_go_first),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_exec_of_another_thread),
		cmocka_unit_test(test_thread_churn),
	};

	return cmocka_run_group_tests_name("timeline, processes", tests, NULL, NULL);
}
