/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each operation of an object passes to its stub, and that none passes anything while its domain
 * is off. In C99 and in C++11. Exits 0, or says which line found something else.
 */
#include <proftrace.h>
#include <stdio.h>
#include <string.h>
#include "capture.h"
#ifdef __cplusplus
#include <utility>
#endif

static int failures;

#define CHECK(condition)                                                               \
	do {                                                                           \
		if (!(condition)) {                                                    \
			printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			failures++;                                                    \
		}                                                                      \
	} while (0)

#define CHECK_KIND(word, text)                                \
	CHECK(captured.kind && !strcmp(captured.kind, word)); \
	CHECK(captured.name && !strcmp(captured.name, text))

#define CHECK_END(of)                                                             \
	CHECK(captured.kind && !strcmp(captured.kind, "end") && !captured.name && \
	      captured.a == (of) && captured.b == 0 && captured.meta == 0);       \
	captured.kind = PROF_IMPL_NULL

#define CATEGORIES(text) \
	(captured.b && !strcmp(PROF_IMPL_CAST(const char *, text_at(captured.b)), text))

static const void *text_at(uint64_t address)
{
	const void *text;

	memcpy(&text, &address, sizeof(text));
	return text;
}

/* The options one by one: the order is fixed, but none of them has to be there. */
PROF_MARKER(plain, prof_default, "plain");
PROF_MARKER(twin, prof_default, "plain");
PROF_MARKER(many, prof_default, "many", .categories = "io,disk");
PROF_MARKER(starts, prof_default, "starts", .instant_on_start = 1);
PROF_MARKER(finishes, prof_default, "finishes", .categories = "io", .instant_on_finish = 1);
PROF_MARKER(warm, prof_default, "warm", .actions = PROF_ON_WARMUP);
PROF_MARKER_EXTERN(all, prof_default,
		   "a"
		   "ll",
		   .categories = "x", .instant_on_start = 1, .instant_on_finish = 1,
		   .actions = PROF_ON_ACTIVE | PROF_ON_ACTIVE_AND_SAVE);
PROF_TASK(task, prof_default, "task");
PROF_TASK_EXTERN(shared_task, prof_default, "shared task");
PROF_EVENT(event, "event");
PROF_EVENT_EXTERN(shared_event, "shared event");
PROF_FRAME(frame, prof_default, "frame");
PROF_FRAME_EXTERN(shared_frame, prof_default, "shared frame");
PROF_COUNTER_OBJECT(counter, prof_default, "counter", -5);
PROF_COUNTER_OBJECT_EXTERN(shared_counter, prof_default, "shared counter", INT64_MAX);

static void slices_of_markers(void)
{
	uint64_t token;

	prof_marker_start(&plain);
	CHECK_KIND("begin", "plain");
	token = captured.a;
	CHECK(token && captured.b == 0 && captured.meta == PROF_META_OBJECT(PROF_OBJECT_MARKER));
	prof_marker_start(&plain);
	CHECK(captured.a == token);
	prof_marker_start(&twin);
	CHECK(captured.a && captured.a != token);
	prof_marker_finish(&plain);
	CHECK_END(token);

	prof_marker_start(&many);
	CHECK_KIND("begin", "many");
	CHECK(captured.meta == (PROF_META_OBJECT(1) | PROF_META_HAS_CATEGORIES));
	CHECK(CATEGORIES("io,disk"));
	token = captured.a;
	prof_marker_finish(&many);
	CHECK_END(token);

	prof_marker_start(&starts);
	CHECK_KIND("instant", "starts");
	CHECK(captured.a == 0 && captured.meta == (PROF_META_OBJECT(1) | PROF_META_SCOPE(1)));
	prof_marker_finish(&starts);
	CHECK_END(captured.token);
	prof_marker_start(&finishes);
	CHECK_KIND("begin", "finishes");

	prof_marker_start(&warm);
	CHECK(captured.meta == (PROF_META_OBJECT(1) | (uint64_t)6 << 48));
	prof_marker_instant(&all);
	CHECK_KIND("instant", "all");
	CHECK(captured.meta == (PROF_META_OBJECT(1) | PROF_META_SCOPE(1) | (uint64_t)1 << 48 |
				PROF_META_HAS_CATEGORIES));
}

static void marks(void)
{
	static const int scopes[] = { PROF_SCOPE_THREAD, PROF_SCOPE_PROCESS, PROF_SCOPE_GLOBAL,
				      PROF_SCOPE_TASK, PROF_SCOPE_MARKER };

	for (unsigned int i = 0; i < 5; i++) {
		prof_marker_mark(&plain, scopes[i]);
		CHECK_KIND("instant", "plain");
		CHECK(captured.meta == (PROF_META_OBJECT(1) | (uint64_t)i << 40));
	}
	prof_marker_counter(&plain, "one", 1u);
	CHECK_KIND("counter", "plain");
	/* In memory, as b is for the categories. */
	CHECK(!strcmp(captured.keys, "one") && captured.values[0] == 1 && captured.b == 0);
	CHECK(captured.meta == (PROF_META_OBJECT(1) | 1 | PROF_VALUE_UINT << 8));
	prof_marker_counter(&many, "one", -1, "two", 2.0);
	CHECK(captured.values[0] == UINT64_MAX && CATEGORIES("io,disk") && captured.a == 0);
	CHECK(captured.meta == (PROF_META_OBJECT(1) | PROF_META_HAS_CATEGORIES | 2 |
				PROF_VALUE_INT << 8 | PROF_VALUE_DOUBLE << 12));
	prof_marker_counter(&many, "a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6);
	CHECK((captured.meta & 15) == 6 && captured.values[5] == 6 && CATEGORIES("io,disk"));
}

static void recursive(int depth, uint64_t outer)
{
	PROF_MARKER_SCOPE(&many);
	CHECK(captured.a && captured.a != outer);
	CHECK_KIND("begin", "many");
	if (depth)
		recursive(depth - 1, captured.a);
}

static void scopes(void)
{
	uint64_t outer, inner;

	{
		PROF_MARKER_SCOPE(&plain);
		outer = captured.a;
		{
			PROF_MARKER_SCOPE(&plain);
			inner = captured.a;
			CHECK(inner && inner != outer);
		}
		CHECK_END(inner);
		{
			PROF_MARKER_SCOPE(&finishes);
		}
		CHECK_END(captured.token);
	}
	CHECK_END(outer);
	recursive(2, 0);
	{
		PROF_MARKER_SCOPE(&plain);
		prof_default.on = 0;
	}
	CHECK(captured.kind && !strcmp(captured.kind, "end"));
	captured.kind = PROF_IMPL_NULL;
	{
		PROF_MARKER_SCOPE(&plain);
		prof_default.on = 1;
	}
	CHECK(!captured.kind);
}

#define CHECK_SLICE(type, object, text, number)                           \
	do {                                                              \
		uint64_t first;                                           \
		prof_##type##_start(&object);                             \
		CHECK_KIND("begin", text);                                \
		first = captured.a;                                       \
		CHECK(first &&captured.meta == PROF_META_OBJECT(number)); \
		prof_##type##_start(&object);                             \
		CHECK(captured.a == first);                               \
		prof_##type##_stop(&object);                              \
		CHECK_END(first);                                         \
	} while (0)

static void others(void)
{
	uint64_t token;

	CHECK_SLICE(task, task, "task", PROF_OBJECT_TASK);
	CHECK_SLICE(task, shared_task, "shared task", PROF_OBJECT_TASK);
	CHECK_SLICE(event, event, "event", PROF_OBJECT_EVENT);
	CHECK_SLICE(event, shared_event, "shared event", PROF_OBJECT_EVENT);
	prof_frame_start(&frame);
	CHECK_KIND("async_begin", "frame");
	token = captured.a;
	CHECK(token && captured.meta == PROF_META_OBJECT(PROF_OBJECT_FRAME));
	prof_frame_stop(&frame);
	CHECK_KIND("async_end", "frame");
	CHECK(captured.a == token && captured.meta == PROF_META_OBJECT(PROF_OBJECT_FRAME));
	prof_frame_start(&shared_frame);
	CHECK(captured.a && captured.a != token);
}

static void counters(void)
{
	captured.kind = PROF_IMPL_NULL;
	CHECK(prof_counter_value(&counter) == -5 && !captured.kind);
	prof_counter_increment(&counter, 7);
	CHECK_KIND("counter", "counter");
	CHECK(captured.a == 2 && captured.keys == PROF_IMPL_NULL);
	CHECK(captured.meta == (PROF_META_OBJECT(PROF_OBJECT_COUNTER) | PROF_VALUE_INT << 4));
	prof_counter_decrement(&counter, 3);
	CHECK(captured.a == UINT64_MAX && prof_counter_value(&counter) == -1);
	prof_counter_set(&counter, INT64_MIN);
	CHECK(captured.a == (uint64_t)1 << 63 && prof_counter_value(&counter) == INT64_MIN);
	CHECK(prof_counter_value(&shared_counter) == INT64_MAX);
	prof_counter_set(&shared_counter, 0);
	prof_default.on = 0;
	captured.kind = PROF_IMPL_NULL;
	prof_counter_increment(&shared_counter, 10);
	prof_counter_decrement(&shared_counter, 1);
	CHECK(!captured.kind && prof_counter_value(&shared_counter) == 9);
	prof_default.on = 1;
}

static void run_time(void)
{
	const prof_marker_t *m = prof_marker_get("made", "x,y");
	char name[32];

	CHECK(m == prof_marker_get("made", "x,y"));
	CHECK(m != prof_marker_get("made", "x") && m != prof_marker_get("made", PROF_IMPL_NULL));
	CHECK(prof_marker_get("made", "") == prof_marker_get("made", PROF_IMPL_NULL));
	prof_marker_start(m);
	CHECK_KIND("begin", "made");
	CHECK(CATEGORIES("x,y") && captured.a);
	CHECK(captured.meta == (PROF_META_OBJECT(PROF_OBJECT_MARKER) | PROF_META_HAS_CATEGORIES |
				PROF_META_NAME_DYNAMIC));
	prof_marker_finish(m);
	CHECK_END(captured.token);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "number %d", i);
		prof_marker_instant(prof_marker_get(name, PROF_IMPL_NULL));
		CHECK_KIND("instant", name);
	}
	CHECK(prof_marker_get("number 7", "") == prof_marker_get("number 7", ""));
}

#define CHECK_TRACK(text) \
	CHECK(!strcmp(PROF_IMPL_CAST(const char *, text_at(captured.values[0])), text))

static void times(void)
{
	const prof_track_t *gpu = prof_track_get("GPU", PROF_IMPL_NULL);
	const prof_track_t *stream = prof_track_get("stream", gpu);
	const uint64_t slice = PROF_META_OBJECT(PROF_OBJECT_SLICE_AT) | PROF_META_HAS_STRINGS |
			       PROF_VALUE_STRING << 8 | PROF_VALUE_UINT << 12;
	const prof_arg_t args[] = { prof_arg_int("a", 1), prof_arg_int("b", 2),
				    prof_arg_int("c", 3) };
	int i, readings = 0;
	char path[400];

	CHECK(stream == prof_track_get("GPU/stream", PROF_IMPL_NULL) && gpu != stream);
	CHECK(stream == prof_track_get("stream", gpu));
	PROF_SLICE_AT("alone", failures, failures + 5);
	CHECK_KIND("instant", "alone");
	CHECK(captured.meta == (slice | 2) && captured.a == 0);
	CHECK(!captured.values[0] && captured.values[1] == 5 && !memcmp(captured.keys, "\0\0", 2));
	PROF_SLICE_ON(stream, "four", 1, 2, "k", 1, "l", 2.0, "m", "text", "flow", 9u);
	CHECK_KIND("instant", "four");
	CHECK((captured.meta & 0xffff) == (6 | (slice & 0xff00) | 0) && captured.a == 1);
	CHECK_TRACK("GPU/stream");
	CHECK(captured.values[1] == 2 && captured.values[2] == 1 && captured.values[5] == 9);
	CHECK(!memcmp(captured.keys, "\0\0k\0l\0m\0flow", 13));
	PROF_INSTANT_ON(gpu, "tick", 3);
	CHECK_KIND("instant", "tick");
	CHECK((captured.meta >> 44 & 15) == PROF_OBJECT_INSTANT_AT && captured.a == 3);
	/* Made at run time: with one argument in one mark, and with more in several. */
	prof_slice_at_args(PROF_IMPL_NULL, stream, "made", 10, 20, args, 1);
	CHECK_KIND("instant", "made");
	CHECK((captured.meta & 15) == 6 && captured.values[3] == 20 && captured.values[5] == 1);
	prof_slice_at_args(PROF_IMPL_NULL, stream, "made", 10, 20, args, 3);
	CHECK((captured.meta & 15) == 6 && captured.a == 10 && captured.values[5] == 20);
	prof_instant_at_args(PROF_IMPL_NULL, stream, "made", 11, PROF_IMPL_NULL, 0);
	CHECK((captured.meta & 15) == 4 && captured.a == 11);
	CHECK(!(captured.meta >> 40 & 15));
	/* With a clock, of the track or of one around it: its readings come first, and again. */
	prof_track_sync(gpu, 1000, 2000);
	prof_track_sync(gpu, 1500, 3000);
	for (i = 0; i < 32; i++) {
		PROF_SLICE_ON(stream, "clocked", 1, 2);
		CHECK_KIND("instant", "clocked");
		CHECK((captured.meta >> 40 & 15) == PROF_SCOPE_TICKS);
		readings += captured.readings;
		captured.readings = 0;
	}
	CHECK(readings == 2 + 2 * 2);
	/* What is longer than the limit is cut. */
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	PROF_INSTANT_ON(prof_track_get(path, stream), "deep", 1);
	path[256 - strlen("GPU/stream/")] = '\0';
	PROF_INSTANT_ON(prof_track_get(path, stream), "deep", 1);
	prof_track_sync(PROF_IMPL_NULL, 1, 1);
}

static int double_of(int x)
{
	return 2 * x;
}

static void calls(void)
{
	char name[] = "named later";

	CHECK(PROF_CALL("twice", double_of(4)) == 8);
	CHECK_END(captured.token);
	CHECK(PROF_CALL(name, double_of(4)) == 8);
	CHECK_END(captured.token);
	CHECK(PROF_CALL("outer", double_of(PROF_CALL("inner", double_of(1)))) == 4);
	CHECK(captured.a && captured.a != captured.token);
	PROF_CALL("nothing", (void)double_of(2));
	prof_default.on = 0;
	captured.kind = PROF_IMPL_NULL;
	CHECK(PROF_CALL(PROF_IMPL_NULL, double_of(4)) == 8 && !captured.kind);
	prof_default.on = 1;
}

static void pools(void)
{
	char name[] = "stage";

	captured.kind = PROF_IMPL_NULL;
	prof_scope_push(name);
	CHECK(!captured.kind);
	prof_domain_in_prof_control.on = 1;
	prof_scope_push(name);
	CHECK_KIND("scope_push", "stage");
	CHECK(captured.meta == PROF_META_NAME_DYNAMIC);
	prof_scope_pop();
	CHECK(!strcmp(captured.kind, "scope_pop") && !captured.name && captured.meta == 0);
}

#ifdef __cplusplus
static proftrace::marker_scope make_guard()
{
	proftrace::marker_scope guard(many);

	return guard;
}

static void guards()
{
	uint64_t outer, inner, moved;

	{
		proftrace::task_scope first(task);
		outer = captured.a;
		CHECK_KIND("begin", "task");
		proftrace::task_scope second(task);
		inner = captured.a;
		CHECK(outer && inner && outer != inner);
		/* They end in whatever order, each its own slice. */
		first.finish();
		CHECK_END(outer);
		first.finish();
		CHECK(!captured.kind);
		second.finish();
		CHECK_END(inner);
	}
	CHECK(!captured.kind);
	{
		proftrace::marker_scope guard = make_guard();
		moved = captured.a;
		CHECK_KIND("begin", "many");
		proftrace::marker_scope other(std::move(guard));
		CHECK_KIND("begin", "many");
		guard = proftrace::marker_scope(plain);
		CHECK_KIND("begin", "plain");
		inner = captured.a;
		other = std::move(guard);
		CHECK_END(moved);
	}
	CHECK_END(inner);
	{
		proftrace::frame_scope one(frame), two(frame);
		outer = captured.a;
		CHECK_KIND("async_begin", "frame");
		proftrace::event_scope of(event);
		proftrace::memory_scope pool("pool");
		CHECK_KIND("scope_push", "pool");
		one.finish();
		CHECK_KIND("async_end", "frame");
		CHECK(captured.a != outer);
		two.finish();
		CHECK(captured.a == outer);
	}
	CHECK_END(captured.token);
	/* Off when it began, on when it ends: no end. */
	prof_default.on = 0;
	{
		proftrace::marker_scope guard(finishes);
		prof_default.on = 1;
	}
	CHECK(!captured.kind);
}
#endif

int main(void)
{
	prof_marker_start(&all);
	prof_marker_finish(&all);
	prof_marker_instant(&all);
	prof_marker_counter(&all, "k", failures++);
	prof_task_start(&shared_task);
	prof_frame_stop(&frame);
	prof_event_start(&event);
	prof_marker_start(prof_marker_get("off", ""));
	PROF_SLICE_AT("off", failures++, failures++, "k", failures++);
	prof_slice_at_args(PROF_IMPL_NULL, PROF_IMPL_NULL, "off", 1, 2, PROF_IMPL_NULL, 0);
	CHECK(!captured.kind && !failures);
	prof_default.on = 1;
	slices_of_markers();
	marks();
	scopes();
	others();
	counters();
	run_time();
	times();
	calls();
	pools();
#ifdef __cplusplus
	guards();
#endif
	return failures != 0;
}
