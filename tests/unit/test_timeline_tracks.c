/* SPDX-License-Identifier: BSD-2-Clause */
/* What has tracks of its own: counters, steps, asynchronous slices, memory pools. */
#include "timeline_test.h"

#include <time.h>

static void test_counters(void **state)
{
	struct test *x = test_started();
	struct arg args[] = { { .key = nm(x, "rx"), .type = ARG_UINT, .u = UINT64_MAX },
			      { .key = nm(x, "text"), .type = ARG_STRING, .s = "no", .length = 2 },
			      { .key = nm(x, "tx"), .type = ARG_DOUBLE, .d = 0.5 },
			      { .key = nm(x, "on"), .type = ARG_BOOL, .u = 1 } };
	const struct arg one = { .type = ARG_INT, .i = -7 };
	const struct seen_fact *f;
	uint64_t rx, track;

	(void)state;
	PUT(x, EVENT_COUNTER, 10, 2, "net", .n_args = 4, .args = args, .unit = nm(x, "B"));
	f = see(x, FACT_TRACK, 2, "net");
	rx = f->track;
	assert_string_equal(f->first_track.key->text, "rx");
	assert_string_equal(f->first_track.unit->text, "B");
	f = see(x, FACT_TRACK, 2, "net");
	assert_string_equal(f->first_track.key->text, "tx");
	assert_string_equal(see(x, FACT_TRACK, 2, "net")->first_track.key->text, "on");
	f = see(x, FACT_COUNTER, 2, "net");
	assert_int_equal(f->n_args, 3);
	assert_int_equal(f->args[0].u, UINT64_MAX);
	assert_true(f->args[1].d == 0.5);
	assert_int_equal(f->args[2].type, ARG_UINT);
	assert_int_equal(f->track, rx);
	/* a single series, used twice, also by another thread */
	PUT(x, EVENT_COUNTER, 10, 3, "depth", .n_args = 1, .args = &one);
	track = see(x, FACT_TRACK, 3, "depth")->track;
	assert_int_equal(see(x, FACT_COUNTER, 3, "depth")->args[0].i, -7);
	PUT(x, EVENT_COUNTER, 0, 4, "depth", .n_args = 1, .args = &one);
	assert_int_equal(see(x, FACT_COUNTER, 4, "depth")->track, track);
	/* the same name in another process is another track; so is the machine's */
	put(x, &(struct event){ .kind = EVENT_COUNTER,
				.pid = 20,
				.ts_ns = 5,
				.name = nm(x, "depth"),
				.n_args = 1,
				.args = &one });
	next(x, FACT_PROCESS);
	assert_true(see(x, FACT_TRACK, 5, "depth")->track != track);
	next(x, FACT_COUNTER);
	put(x, &(struct event){ .kind = EVENT_COUNTER,
				.ts_ns = 6,
				.name = nm(x, "depth"),
				.n_args = 1,
				.args = &one });
	assert_int_equal(see(x, FACT_TRACK, 6, "depth")->process, 0);
	assert_int_equal(see(x, FACT_COUNTER, 6, "depth")->process, 0);
	/* nothing to count */
	PUT(x, EVENT_COUNTER, 10, 7, "depth");
	PUT(x, EVENT_COUNTER, 10, 7, "depth", .n_args = 1, .args = &args[1]);
	assert_int_equal(x->account.lost[LOST_MALFORMED], 2);
	assert_int_equal(x->account.written, 5);
	test_done(x);
}

/* More than the few that are found without looking: the others are found again as well. */
static void test_many_counters(void **state)
{
	struct test *x = test_started();
	const struct arg one = { .type = ARG_INT, .i = 1 };
	uint64_t tracks[4 * RECENT_COUNTERS];
	unsigned i, round;

	(void)state;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 4 * RECENT_COUNTERS; i++) {
			char name[16];

			snprintf(name, sizeof(name), "n%u", i);
			PUT(x, EVENT_COUNTER, 10, 1 + round, name, .n_args = 1, .args = &one);
			if (!round)
				tracks[i] = see(x, FACT_TRACK, 1, name)->track;
			assert_int_equal(see(x, FACT_COUNTER, 1 + round, name)->track, tracks[i]);
		}
	}
	assert_int_equal(x->account.written, 3 * 4 * RECENT_COUNTERS);
	test_done(x);
}

static void test_steps(void **state)
{
	struct test *x = test_started();
	const struct arg own[] = { { .key = nm(x, "k"), .type = ARG_INT, .i = 1 } };
	const struct arg same[] = { { .key = nm(x, "batch"), .type = ARG_INT, .i = 9 } };
	const struct seen_fact *f;

	(void)state;
	PUT(x, EVENT_STEP, 10, 2, NULL, .id = 3, .size = 40);
	assert_string_equal(see(x, FACT_TRACK, 2, "step")->first_track.key->text, "epoch");
	assert_string_equal(see(x, FACT_TRACK, 2, "step")->first_track.key->text, "batch");
	f = see(x, FACT_COUNTER, 2, "step");
	assert_int_equal(f->n_args, 2);
	assert_int_equal(f->args[0].u, 3);
	assert_int_equal(f->args[1].u, 40);
	/* any thread of the process */
	PUT(x, EVENT_BEGIN, 11, 3, "a", .n_args = 1, .args = own);
	next(x, FACT_THREAD);
	f = see(x, FACT_BEGIN, 3, "a");
	assert_int_equal(f->n_args, 3);
	assert_string_equal(f->args[0].key->text, "k");
	assert_string_equal(f->args[1].key->text, "epoch");
	assert_int_equal(f->args[1].type, ARG_UINT);
	assert_int_equal(f->args[1].u, 3);
	assert_string_equal(f->args[2].key->text, "batch");
	assert_int_equal(f->args[2].u, 40);
	PUT(x, EVENT_STEP, 10, 4, NULL, .id = 3, .size = 41);
	next(x, FACT_COUNTER);
	PUT(x, EVENT_END, 11, 5, NULL);
	assert_int_equal(next(x, FACT_END)->n_args, 0);
	PUT(x, EVENT_INSTANT, 10, 6, "i");
	assert_int_equal(see(x, FACT_INSTANT, 6, "i")->args[1].u, 41);
	PUT(x, EVENT_ASYNC_BEGIN, 10, 7, "as", .id = 1);
	next(x, FACT_TRACK);
	assert_int_equal(see(x, FACT_ASYNC_BEGIN, 7, "as")->args[1].u, 41);
	PUT(x, EVENT_ASYNC_END, 10, 8, "as", .id = 1);
	assert_int_equal(see(x, FACT_ASYNC_END, 8, "as")->n_args, 0);
	PUT(x, EVENT_COUNTER, 10, 9, "c", .n_args = 1, .args = own);
	next(x, FACT_TRACK);
	assert_int_equal(see(x, FACT_COUNTER, 9, "c")->n_args, 1);
	/* what it says itself is left alone */
	PUT(x, EVENT_INSTANT, 10, 10, "i", .n_args = 1, .args = same);
	f = see(x, FACT_INSTANT, 10, "i");
	assert_int_equal(f->n_args, 1);
	assert_int_equal(f->args[0].i, 9);
	/* a child is at no step yet */
	put(x, &(struct event){ .kind = EVENT_FORK, .pid = 20, .tid = 20, .id = 10, .ts_ns = 11 });
	put(x,
	    &(struct event){
		    .kind = EVENT_INSTANT, .pid = 20, .tid = 20, .ts_ns = 12, .name = nm(x, "i") });
	next(x, FACT_PROCESS);
	next(x, FACT_THREAD);
	assert_int_equal(see(x, FACT_INSTANT, 12, "i")->n_args, 0);
	test_done(x);
}

static void see_async(struct test *x, enum fact_kind kind, uint64_t ts_ns, const char *name,
		      uint64_t id, unsigned lane)
{
	const struct seen_fact *f = see(x, kind, ts_ns, name);

	assert_int_equal(f->id, id);
	assert_int_equal(f->first_track.lane, lane);
}

static void test_lanes(void **state)
{
	struct test *x = test_started();
	const struct seen_fact *f;

	(void)state;
	PUT(x, EVENT_ASYNC_BEGIN, 10, 10, "r", .id = 1);
	f = see(x, FACT_TRACK, 10, "r");
	assert_int_equal(f->first_track.kind, TRACK_ASYNC);
	see_async(x, FACT_ASYNC_BEGIN, 10, "r", 1, 0);
	PUT(x, EVENT_ASYNC_BEGIN, 10, 11, "r", .id = 2);
	next(x, FACT_TRACK);
	see_async(x, FACT_ASYNC_BEGIN, 11, "r", 2, 1);
	/* another name has lanes of its own */
	PUT(x, EVENT_ASYNC_BEGIN, 10, 12, "s", .id = 1);
	next(x, FACT_TRACK);
	see_async(x, FACT_ASYNC_BEGIN, 12, "s", 1, 0);
	/* ends on another thread; its lane is used again */
	PUT(x, EVENT_ASYNC_END, 11, 13, "r", .id = 1);
	next(x, FACT_THREAD);
	see_async(x, FACT_ASYNC_END, 13, "r", 1, 0);
	assert_int_equal(x->facts.all[x->next - 1].begin_ns, 10);
	assert_int_equal(x->facts.all[x->next - 1].tid, 11);
	PUT(x, EVENT_ASYNC_BEGIN, 10, 14, "r", .id = 3);
	see_async(x, FACT_ASYNC_BEGIN, 14, "r", 3, 0);
	PUT(x, EVENT_ASYNC_BEGIN, 10, 15, "r", .id = 4);
	next(x, FACT_TRACK);
	see_async(x, FACT_ASYNC_BEGIN, 15, "r", 4, 2);
	/* two with the same id: the latest ends first */
	PUT(x, EVENT_ASYNC_BEGIN, 10, 16, "r", .id = 4);
	next(x, FACT_TRACK);
	see_async(x, FACT_ASYNC_BEGIN, 16, "r", 4, 3);
	PUT(x, EVENT_ASYNC_END, 10, 17, "r", .id = 4);
	see_async(x, FACT_ASYNC_END, 17, "r", 4, 3);
	PUT(x, EVENT_ASYNC_END, 10, 18, "r", .id = 4);
	see_async(x, FACT_ASYNC_END, 18, "r", 4, 2);
	/* a category is part of what it is */
	PUT(x, EVENT_ASYNC_BEGIN, 10, 19, "r", .id = 5, .category = nm(x, "c"));
	see_async(x, FACT_ASYNC_BEGIN, 19, "r", 5, 2);
	PUT(x, EVENT_ASYNC_END, 10, 20, "r", .id = 5);
	f = see(x, FACT_INSTANT, 20, "r");
	assert_int_equal(f->scope, SCOPE_THREAD);
	assert_int_equal(x->account.async_unmatched, 1);
	/* without a name: by id alone, the latest */
	PUT(x, EVENT_ASYNC_BEGIN, 10, 21, "s", .id = 5);
	next(x, FACT_TRACK);
	see_async(x, FACT_ASYNC_BEGIN, 21, "s", 5, 1);
	PUT(x, EVENT_ASYNC_END, 0, 22, NULL, .id = 5);
	see_async(x, FACT_ASYNC_END, 22, "s", 5, 1);
	PUT(x, EVENT_ASYNC_END, 0, 23, NULL, .id = 5);
	see_async(x, FACT_ASYNC_END, 23, "r", 5, 2);
	assert_string_equal(x->facts.all[x->next - 1].category, "c");
	PUT(x, EVENT_ASYNC_END, 0, 24, NULL, .id = 5);
	assert_int_equal(see(x, FACT_INSTANT, 24, "(async end)")->scope, SCOPE_PROCESS);
	/* another thread's clock was read a little earlier */
	PUT(x, EVENT_ASYNC_END, 11, 13, "r", .id = 3);
	see_async(x, FACT_ASYNC_END, 14, "r", 3, 0);
	/* another process's id is another id */
	put(x,
	    &(struct event){
		    .kind = EVENT_ASYNC_END, .pid = 20, .ts_ns = 30, .name = nm(x, "r"), .id = 2 });
	next(x, FACT_PROCESS);
	next(x, FACT_INSTANT);
	assert_int_equal(x->account.async_unmatched, 3);
	assert_int_equal(account_lost(&x->account), 0);
	timeline_finish(x->timeline);
	assert_int_equal(x->account.open_at_end, 2);
	test_done(x);
}

/* The limit of those with one id is on what is open, however long it goes on. */
/* --- many at a time ---------------------------------------------------------------------------- */

static void put_async(struct test *x, enum event_kind kind, uint64_t id)
{
	put(x, &(struct event){ .kind = kind,
				.pid = 10,
				.tid = 1,
				.ts_ns = BASE,
				.id = id,
				.name = nm(x, "many") });
}

/* The CPU time of 20,000 slices, of which every other one takes a lane above those that are open. */
static uint64_t with_so_many_open(unsigned open)
{
	struct test *x = calloc(1, sizeof(*x));
	struct timespec begin, end;
	uint64_t i, other = open;

	assert_non_null(x);
	x->names = names_new(0);
	x->timeline = timeline_new(x->names, &x->account, BASE);
	assert_non_null(x->timeline);
	for (i = 0; i < open; i++)
		put_async(x, EVENT_ASYNC_BEGIN, i);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	for (i = 0; i < 10000; i++) {
		put_async(x, EVENT_ASYNC_END, 0);
		put_async(x, EVENT_ASYNC_BEGIN, 0);
		put_async(x, EVENT_ASYNC_BEGIN, other);
		put_async(x, EVENT_ASYNC_END, other);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	assert_int_equal(timeline_open_asyncs(x->timeline), open);
	timeline_free(x->timeline);
	names_free(x->names);
	free(x);
	return (uint64_t)(end.tv_sec - begin.tv_sec) * 1000000000 + (uint64_t)end.tv_nsec -
	       (uint64_t)begin.tv_nsec;
}

/* A slice costs about the same however many are open: one clean try of several is enough. */
static void test_many_asyncs(void **state)
{
	uint64_t few = UINT64_MAX, many = UINT64_MAX;
	unsigned i;

	(void)state;
	for (i = 0; i < 5 && (!i || many / 10 >= few); i++) {
		uint64_t one = with_so_many_open(10), other = with_so_many_open(60000);

		few = one < few ? one : few;
		many = other < many ? other : many;
	}
	assert_true(many / 10 < few);
}

static void test_asyncs_of_one_id(void **state)
{
	static const char *const names[] = { "a", "b", "c" };
	struct test *x = test_started();
	int i;

	(void)state;
	x->timeline->limits.asyncs_of_one_id = 2;
	PUT(x, EVENT_ASYNC_BEGIN, 10, 1, names[0], .id = 1);
	for (i = 1; i < 50; i++) {
		PUT(x, EVENT_ASYNC_BEGIN, 10, 2 * i, names[i % 3], .id = 1);
		PUT(x, EVENT_ASYNC_END, 10, 2 * i + 1, names[(i - 1) % 3], .id = 1);
		assert_int_equal(x->facts.all[x->facts.n - 1].kind, FACT_ASYNC_END);
	}
	assert_int_equal(account_lost(&x->account), 0);
	PUT(x, EVENT_ASYNC_BEGIN, 10, 200, "a", .id = 1);
	PUT(x, EVENT_ASYNC_BEGIN, 10, 200, "a", .id = 1);
	assert_int_equal(x->account.lost[LOST_LIMIT], 1);
	x->next = x->facts.n;
	test_done(x);
}

static void see_pool(struct test *x, uint64_t ts_ns, const char *name, int64_t live)
{
	const struct seen_fact *f = see(x, FACT_COUNTER, ts_ns, name);

	assert_int_equal(f->n_args, 1);
	assert_int_equal(f->args[0].type, ARG_INT);
	assert_null(f->args[0].key);
	assert_int_equal(f->args[0].i, live);
}

static void test_pools(void **state)
{
	struct test *x = test_started();

	(void)state;
	PUT(x, EVENT_ALLOC, 10, 2, "p", .id = 0x10, .size = 100);
	assert_string_equal(see(x, FACT_TRACK, 2, "p")->first_track.unit->text, "bytes");
	see_pool(x, 2, "p", 100);
	PUT(x, EVENT_ALLOC, 11, 3, "p", .id = 0x20, .size = 11);
	next(x, FACT_THREAD);
	see_pool(x, 3, "p", 111);
	PUT(x, EVENT_ALLOC, 10, 4, "q", .id = 0x30, .size = 5);
	next(x, FACT_TRACK);
	see_pool(x, 4, "q", 5);
	PUT(x, EVENT_FREE, 10, 5, "p", .id = 0x10);
	see_pool(x, 5, "p", 11);
	PUT(x, EVENT_FREE, 10, 6, "p", .id = 0x10);
	see_pool(x, 6, "p", 11);
	assert_int_equal(x->account.frees_unknown, 1);
	/* an address that is live already: the old one is over */
	PUT(x, EVENT_ALLOC, 10, 7, "p", .id = 0x20, .size = 1);
	see_pool(x, 7, "p", 1);
	PUT(x, EVENT_ALLOC, 10, 8, "q", .id = 0x20, .size = 2);
	see_pool(x, 8, "p", 0);
	see_pool(x, 8, "q", 7);
	/* freed to the wrong pool, it still came from the right one */
	PUT(x, EVENT_FREE, 10, 9, "p", .id = 0x20);
	see_pool(x, 9, "q", 5);
	/* nothing is at no address */
	PUT(x, EVENT_FREE, 10, 10, "p", .id = 0);
	see_pool(x, 10, "p", 0);
	PUT(x, EVENT_ALLOC, 10, 11, "p", .id = 0, .size = 1000);
	see_pool(x, 11, "p", 0);
	assert_int_equal(x->account.frees_unknown, 1);
	/* sizes nobody has */
	PUT(x, EVENT_ALLOC, 10, 12, "p", .id = 0x40, .size = UINT64_MAX);
	see_pool(x, 12, "p", INT64_MAX);
	PUT(x, EVENT_ALLOC, 10, 13, "p", .id = 0x50, .size = 1);
	see_pool(x, 13, "p", INT64_MAX);
	PUT(x, EVENT_FREE, 10, 14, "p", .id = 0x40);
	see_pool(x, 14, "p", 0);
	PUT(x, EVENT_FREE, 10, 15, "p", .id = 0x50);
	see_pool(x, 15, "p", 0);
	assert_int_equal(x->account.written, 14);
	assert_int_equal(account_lost(&x->account), 0);
	test_done(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters), cmocka_unit_test(test_steps),
		cmocka_unit_test(test_lanes),	 cmocka_unit_test(test_many_asyncs),
		cmocka_unit_test(test_lanes),	 cmocka_unit_test(test_asyncs_of_one_id),
		cmocka_unit_test(test_pools),	 cmocka_unit_test(test_many_counters),
	};

	return cmocka_run_group_tests_name("timeline, tracks", tests, NULL, NULL);
}
