/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of the timeline, one rule at a time: events go in, and every fact that comes out is looked at. */
#ifndef PROFTRACE_TESTS_TIMELINE_TEST_H
#define PROFTRACE_TESTS_TIMELINE_TEST_H

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

static inline struct test *test_new(void)
{
	struct test *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->names = names_new(0);
	x->timeline = timeline_new(x->names, &x->account, BASE);
	assert_non_null(x->timeline);
	facts_init(&x->facts, BASE);
	assert_int_equal(timeline_add_consumer(x->timeline, &x->facts.consumer), 0);
	return x;
}

/* Every fact must have been looked at. */
static inline void test_done(struct test *x)
{
	assert_int_equal(x->next, x->facts.n);
	timeline_free(x->timeline);
	names_free(x->names);
	facts_free(&x->facts);
	free(x);
}

static inline const struct name *nm(struct test *x, const char *text)
{
	return text ? names_intern_string(x->names, text) : NULL;
}

static inline void put(struct test *x, const struct event *event)
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

static inline const struct seen_fact *next(struct test *x, enum fact_kind kind)
{
	assert_true(x->next < x->facts.n);
	assert_int_equal(x->facts.all[x->next].kind, kind);
	return &x->facts.all[x->next++];
}

/* The next fact is of this kind, time and name. */
static inline const struct seen_fact *see(struct test *x, enum fact_kind kind, uint64_t ts_ns,
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

static inline void see_end(struct test *x, uint64_t ts_ns, const char *name, uint64_t begin_ns,
			   uint64_t self_ns, enum end_reason reason)
{
	const struct seen_fact *f = see(x, FACT_END, ts_ns, name);

	assert_int_equal(f->begin_ns, begin_ns);
	assert_int_equal(f->self_ns, self_ns);
	assert_int_equal(f->end_reason, reason);
}

/* Process 10 with its main thread, and nothing else about them. */
static inline struct test *test_started(void)
{
	struct test *x = test_new();

	PUT(x, EVENT_COMM, 10, 1, "main");
	see(x, FACT_PROCESS, 1, "main");
	see(x, FACT_THREAD, 1, "main");
	return x;
}

#endif
