/* SPDX-License-Identifier: BSD-2-Clause */
/* What each event means, one rule at a time. test_timeline_random.c throws everything at it at once. */
#include "facts.h"

#include <errno.h>

#include "timeline/state.h"

#define BASE 1000

struct test {
	struct names *names;
	struct account account;
	struct timeline *timeline;
	struct facts facts;
	size_t next; /* the next fact to look at */
};

static struct test *test_new(void)
{
	struct test *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->names = names_new(0);
	x->timeline = timeline_new(x->names, &x->account, BASE);
	assert_non_null(x->timeline);
	facts_init(&x->facts, BASE);
	assert_int_equal(timeline_add_handler(x->timeline, &x->facts.handler), 0);
	return x;
}

/* Every fact must have been looked at. */
static void test_done(struct test *x)
{
	assert_int_equal(x->next, x->facts.n);
	timeline_free(x->timeline);
	names_free(x->names);
	facts_free(&x->facts);
	free(x);
}

static const struct name *nm(struct test *x, const char *text)
{
	return text ? names_intern_string(x->names, text) : NULL;
}

static void put(struct test *x, const struct event *event)
{
	assert_int_equal(timeline_event(x->timeline, event), 0);
}

/* Events of process 10: as the kernel has them, with a level, and as a file has them, without. */
#define PUT_AT(x, k, t, time, l, text, ...)          \
	put(x, &(struct event){ .kind = (k),         \
				.pid = 10,           \
				.tid = (t),          \
				.ts_ns = (time),     \
				.level = (l),        \
				.name = nm(x, text), \
				##__VA_ARGS__ })
#define PUT(x, k, t, time, text, ...)  PUT_AT(x, k, t, time, -1, text, ##__VA_ARGS__)
#define PUT_LEVEL(x, k, time, l, text) PUT_AT(x, k, 10, time, l, text)

static const struct seen_fact *next(struct test *x, enum fact_kind kind)
{
	assert_true(x->next < x->facts.n);
	assert_int_equal(x->facts.all[x->next].kind, kind);
	return &x->facts.all[x->next++];
}

/* The next fact is of this kind, time and name. */
static const struct seen_fact *see(struct test *x, enum fact_kind kind, uint64_t ts_ns,
				   const char *name)
{
	const struct seen_fact *f = next(x, kind);

	assert_int_equal(f->ts_ns, ts_ns);
	if (name)
		assert_string_equal(f->name, name);
	else
		assert_null(f->name);
	return f;
}

static void see_end(struct test *x, uint64_t ts_ns, const char *name, uint64_t begin_ns,
		    uint64_t self_ns, enum end_reason reason)
{
	const struct seen_fact *f = see(x, FACT_END, ts_ns, name);

	assert_int_equal(f->begin_ns, begin_ns);
	assert_int_equal(f->self_ns, self_ns);
	assert_int_equal(f->end_reason, reason);
}

/* Process 10 with its main thread, and nothing else about them. */
static struct test *test_started(void)
{
	struct test *x = test_new();

	PUT(x, EVENT_COMM, 10, 1, "main");
	see(x, FACT_PROCESS, 1, "main");
	see(x, FACT_THREAD, 1, "main");
	return x;
}

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
	assert_int_equal(see(x, FACT_GONE, 15, NULL)->thread, first);
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
	see(x, FACT_GONE, 18, NULL);
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
	assert_int_equal(see(x, FACT_GONE, 21, NULL)->tid, 20);
	f = see(x, FACT_GONE, 21, NULL);
	assert_int_equal(f->pid, 20);
	assert_int_equal(f->thread, 0);
	see(x, FACT_THREAD, 21, "main");
	/* and 12, a thread of 10, becomes a process */
	put(x, &(struct event){ .kind = EVENT_FORK, .pid = 12, .tid = 12, .ts_ns = 22 });
	assert_int_equal(see(x, FACT_GONE, 22, NULL)->pid, 10);
	see(x, FACT_PROCESS, 22, NULL);
	see(x, FACT_THREAD, 22, NULL);
	PUT(x, EVENT_PROCESS_EXIT, 10, 30, NULL);
	assert_int_equal(see(x, FACT_GONE, 30, NULL)->tid, 10);
	assert_int_equal(see(x, FACT_GONE, 30, NULL)->tid, 20);
	assert_int_equal(see(x, FACT_GONE, 30, NULL)->tid, 0);
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
	see(x, FACT_GONE, 2, NULL);
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
	assert_int_equal(see(x, FACT_GONE, 10, NULL)->tid, 11);
	f = see(x, FACT_ASYNC_END, 10, "async");
	assert_int_equal(f->end_reason, END_UNFINISHED);
	assert_int_equal(f->begin_ns, 6);
	assert_int_equal(f->thread, 0);
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
	assert_int_equal(see(x, FACT_GONE, 2, NULL)->tid, 11);
	see(x, FACT_THREAD, 2, "new");
	see(x, FACT_PROCESS, 2, "new");
	/* of a process never heard of */
	put(x, &(struct event){
		       .kind = EVENT_EXEC, .pid = 30, .tid = 30, .ts_ns = 3, .name = nm(x, "e") });
	see(x, FACT_PROCESS, 3, "e");
	see(x, FACT_THREAD, 3, "e");
	test_done(x);
}

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
	see(x, FACT_GONE, 100, NULL);
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
	see(x, FACT_PROCESS, 51, "x");
	see(x, FACT_THREAD, 51, "x");
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
	assert_false(f->first_track.is_double);
	f = see(x, FACT_TRACK, 2, "net");
	assert_string_equal(f->first_track.key->text, "tx");
	assert_true(f->first_track.is_double);
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
	timeline_finish(x->timeline, 99);
	assert_int_equal(x->account.open_at_end, 2);
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
	assert_int_equal(timeline_finish(x->timeline, 100), 0);
	assert_int_equal(timeline_finish(x->timeline, 100), 0);
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
	assert_int_equal(timeline_add_handler(x->timeline, &second.handler), 0);
	assert_int_equal(timeline_event(x->timeline, &instant), -ENOSPC);
	assert_int_equal(second.handler.error, -ENOSPC);
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
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_time_does_not_go_back),
		cmocka_unit_test(test_lost_ends),
		cmocka_unit_test(test_levels_and_none),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_instants),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_many_args),
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_notices),
		cmocka_unit_test(test_open_at_end),
		cmocka_unit_test(test_handlers_that_fail),
		cmocka_unit_test(test_no_handler),
		cmocka_unit_test(test_thread_churn),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
