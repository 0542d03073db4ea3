/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The linking test: three files and two domains with many markers, in C99 as well as in C++11. It
 * plays the tracer itself by turning the semaphores, and exits 0 if no argument was evaluated while
 * they were off, each was exactly once while they were on, and the parts see the semaphores they should.
 */
#include "shared.h"

static int evaluated;

static int count(int x)
{
	evaluated++;
	return x;
}

static int scopes(int x)
{
	int i;

	PROF_FUNCTION("x", count(x));
	for (i = 0; i < 3; i++) {
		PROF_SCOPE("one");
		PROF_SCOPE("two", "i", count(i));
		if (i == 1)
			continue;
		{
			PROF_SCOPE_IN(net, "three", "i", i, "twice", 2 * i);
			if (i == 2)
				return x + i;
		}
	}
	return x;
}

static void markers(int x)
{
	const char *text = "text";
	double real = 0.5;
	void *self = &x;

	PROF_BEGIN("b", "k", count(x));
	if (x)
		PROF_INSTANT("i", "a", count(x), "b", text, "c", real, "d", x == 3, "e", self, "f",
			     1ull << 63);
	else
		PROF_INSTANT("zero");
	PROF_COUNTER("c", count(x));
	PROF_COUNTERS("cs", "a", count(x), "b", real, "c", 3u);
	PROF_ASYNC_BEGIN("a", count(x), "k", count(x));
	PROF_ASYNC_END("a", count(x));
	PROF_FLOW_OUT(count(x));
	PROF_FLOW_IN(count(x));
	PROF_ALLOC("p", &x, count(4));
	PROF_FREE("p", &x);
	PROF_STEP(count(1), count(2));
	PROF_END("k", count(x));
	PROF_BEGIN_IN(net, "b", "k", count(x));
	PROF_INSTANT_IN(net, "i");
	PROF_COUNTER_IN(net, "c", real);
	PROF_COUNTERS_IN(net, "c", "k", count(x));
	PROF_ASYNC_BEGIN_IN(net, "a", x);
	PROF_ASYNC_END_IN(net, "a", x);
	PROF_FLOW_OUT_IN(net, x);
	PROF_FLOW_IN_IN(net, x);
	PROF_ALLOC_IN(net, "p", &x, sizeof(x));
	PROF_FREE_IN(net, "p", &x);
	PROF_END_IN(net);
}

PROF_MARKER(own, net, "own", .categories = "x");

static int objects(int x)
{
	int y;

	PROF_MARKER_SCOPE(&own);
	prof_scope_push("stage");
	y = PROF_CALL("count", count(x)) + PROF_CALL_IN(net, "twice", 2 * x);
	prof_marker_mark(&own, PROF_SCOPE_GLOBAL);
	prof_marker_counter(&own, "x", count(x));
	prof_scope_pop();
	return y;
}

#if PROF_IMPL_OFF
#define SEMAPHORE(domain, value) (void)(value)
#define EXPECT(n)		 0
#else
#define SEMAPHORE(domain, value) (domain).on = (value)
#define EXPECT(n)		 (n)
#endif

int main(void)
{
	PROF_THREAD_NAME("main");
	prof_pause();
	prof_resume();
	prof_dump();
	prof_stop();
	prof_include_chrome_json("trace.json");

	markers(3);
	if (scopes(1) != 3 || second_work(4) != 8 || library_work(5) != 15)
		return 1;
	if (evaluated || second_evaluated || prof_is_enabled(&net) ||
	    prof_is_enabled(&prof_default))
		return 2;

	/* This file's default is the built-in domain; the second file's is net. */
	SEMAPHORE(prof_default, 1);
	markers(3);
	if (evaluated != EXPECT(11) || second_work(4) != 8 || second_evaluated)
		return 3;
	evaluated = 0;
	if (scopes(1) != 3 || evaluated != EXPECT(4))
		return 4;
	SEMAPHORE(prof_default, 0);

	SEMAPHORE(net, 0x10000); /* the batch half counts as well */
	evaluated = 0;
	markers(3);
	if (evaluated != EXPECT(2) || prof_is_enabled(&net) != EXPECT(1))
		return 5;
	if (second_work(4) != 8 || second_evaluated != EXPECT(2))
		return 6;

	/* The switches of a library are its own. */
	if (library_is_on() && EXPECT(1) && !LIBRARY_IS_LINKED_IN)
		return 7;
	if (library_work(5) != 15)
		return 8;
	evaluated = second_evaluated = 0;
	if (objects(2) != 6 || evaluated != 1 + EXPECT(1))
		return 9;
	if (!second_object(&request) || second_evaluated != EXPECT(1) ||
	    prof_counter_value(&sent) != 42)
		return 10;
	SEMAPHORE(net, 0);
	if (objects(2) != 6 || evaluated != 2 + EXPECT(1) || !second_object(&request) ||
	    second_evaluated != EXPECT(1) || prof_counter_value(&sent) != 44)
		return 11;
	PROF_THREAD_NAME("end");
	return 0;
}
