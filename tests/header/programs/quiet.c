/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every kind of marker once, in C99 as well as in C++11, to be compiled under all warnings that people turn
 * on (matrix.sh): what the macros of proftrace.h become must give none. It is not run.
 */
#include <proftrace.h>

PROF_DOMAIN(quiet, "quiet");
PROF_DOMAIN_DECLARE(quiet);
PROF_DEFAULT_DOMAIN(quiet);
PROF_DOMAIN(other, "other");

#ifndef __cplusplus
PROF_MARKER(marker, other, "marker", .categories = "a,b", .instant_on_start = 1);
#endif
PROF_MARKER(plain, other, "plain");
PROF_MARKER_EXTERN(shared_marker, other, "shared");
PROF_MARKER_DECLARE(shared_marker);
PROF_TASK(task, other, "task");
PROF_TASK_EXTERN(shared_task, other, "shared");
PROF_EVENT(event, "event");
PROF_FRAME(frame, other, "frame");
PROF_COUNTER_OBJECT(counter, other, "counter", 1);

int in_lines(int i, const char *text, void *place);
int in_function(int i);
int objects(int i);
void control(const char *text);
void *replaced(void *place);

int in_lines(int i, const char *text, void *place)
{
	const short small = 3;

	PROF_FUNCTION();
	PROF_SCOPE("scope", "i", i);
	PROF_SCOPE_IN(other, "scope", "i", i, "text", text, "place", place);
	PROF_SCOPE_DYN(text, "i", i);
	const double real = 0.5;

	PROF_BEGIN("begin", "a", small, "b", real, "c", text, "d", place, "e", i == 3, "f", 'c');
	PROF_END();
	PROF_END("i", i);
	PROF_INSTANT("instant");
	PROF_INSTANT("instant", "unsigned", 1u, "long", 2ul);
	PROF_BEGIN_DYN(text);
	PROF_INSTANT_DYN(text, "a", i, "b", text, "c", real);
	PROF_INSTANT_DYN_IN(other, text);
	PROF_COUNTER("counter", i);
	PROF_COUNTER("real", real);
	PROF_COUNTERS("counters", "a", i, "b", real);
	PROF_ASYNC_BEGIN("async", i);
	PROF_ASYNC_END("async", i, "k", 1);
	PROF_FLOW_OUT(i);
	PROF_FLOW_IN(i);
	PROF_SLICE_AT("slice", i, i + 1);
	PROF_SLICE_AT_IN(other, "slice", i, i + 1, "k", text);
	PROF_SLICE_ON(prof_track_get(text, PROF_IMPL_NULL), "slice", i, i + 1, "a", small, "b",
		      real, "c", text, "d", place);
	PROF_INSTANT_AT("instant", i, "k", i);
	PROF_INSTANT_ON_IN(other, prof_track_get(text, PROF_IMPL_NULL), "instant", i);
	PROF_ALLOC("pool", place, 10);
	PROF_FREE("pool", place);
	place = PROF_REALLOC("pool", place, 20, replaced(place));
	PROF_BEGIN_IN(other, "begin", "k", i);
	PROF_END_IN(other, "k", i);
	PROF_END_IN(other);
	PROF_INSTANT_IN(other, "instant");
	PROF_COUNTER_IN(other, "counter", i);
	PROF_COUNTERS_IN(other, "counters", "a", i);
	PROF_ASYNC_BEGIN_IN(other, "async", i);
	PROF_ASYNC_END_IN(other, "async", i);
	PROF_FLOW_OUT_IN(other, i);
	PROF_FLOW_IN_IN(other, i);
	PROF_ALLOC_IN(other, "pool", place, 10);
	PROF_FREE_IN(other, "pool", place);
	place = PROF_REALLOC_IN(other, "pool", place, 20u, replaced(place));
	return PROF_CALL("call", i + 1) + PROF_CALL_IN(other, text, i + 2);
}

int in_function(int i)
{
	PROF_FUNCTION_IN(other, "i", i);
	if (i)
		PROF_INSTANT("yes");
	else
		PROF_INSTANT("no");
	return i;
}

void made(int i, const char *text);
void made(int i, const char *text)
{
	const prof_runtime_domain_t *const domain = prof_domain_get(text);
	const prof_arg_t args[] = { prof_arg_int("a", i),      prof_arg_uint("b", 1),
				    prof_arg_double("c", 0.5), prof_arg_string("d", text),
				    prof_arg_bool("e", i > 1), prof_arg_pointer(text, text) };

	prof_begin_args(domain, text, args, 6);
	prof_end_args(domain, args, 2);
	prof_instant_args(domain, text, PROF_SCOPE_THREAD, args, 6);
	prof_async_begin_args(domain, text, 1, args, 6);
	prof_async_end_args(domain, text, 1, args, 1);
	prof_slice_at_args(domain, prof_track_get(text, prof_track_get(text, PROF_IMPL_NULL)), text,
			   1, 2, args, 6);
	prof_instant_at_args(domain, PROF_IMPL_NULL, text, 1, args, 1);
	prof_track_sync(prof_track_get(text, PROF_IMPL_NULL), 1, 2);
	prof_counter_args(domain, text, args, 3);
	prof_counter_arg(domain, text, args[0]);
	prof_marker_counter_args(prof_marker_get(text, text), args, 3);
	prof_scope_begin_args(domain, 1, text, args, 6);
	prof_scope_end_args(domain, 1, args, 1);
}

int objects(int i)
{
	PROF_MARKER_SCOPE(&plain);
	const prof_marker_t *const made = prof_marker_get("made", "a");
	const prof_runtime_domain_t *const domain = prof_domain_get("made");

#ifndef __cplusplus
	prof_marker_start(&marker);
	prof_marker_finish(&marker);
#else
	proftrace::marker_scope first(plain), second;
	proftrace::task_scope of_task(task);
	proftrace::memory_scope of_memory("memory");

	first.finish();
#endif
	prof_task_start(prof_task_get(domain, "made"));
	prof_event_start(prof_event_get("made"));
	prof_frame_start(prof_frame_get(domain, "made"));
	prof_counter_set(prof_counter_get(domain, "made", 1), prof_domain_is_enabled(domain));
	prof_marker_start(
		prof_marker_get_in(domain, "made", "a", PROF_INSTANT_ON_START, PROF_ON_WARMUP));
	prof_marker_start(made);
	prof_marker_finish(made);
	prof_marker_instant(&shared_marker);
	prof_marker_mark(&plain, PROF_SCOPE_GLOBAL);
	prof_marker_counter(&plain, "a", i, "b", 0.5);
	prof_task_start(&task);
	prof_task_stop(&task);
	prof_task_start(&shared_task);
	prof_task_stop(&shared_task);
	prof_event_start(&event);
	prof_event_stop(&event);
	prof_frame_start(&frame);
	prof_frame_stop(&frame);
	prof_counter_set(&counter, 1);
	prof_counter_increment(&counter, i);
	prof_counter_decrement(&counter, i);
	return prof_counter_value(&counter) == 1 && prof_is_enabled(&other);
}

void control(const char *text)
{
	PROF_STEP(1, 2);
	PROF_THREAD_NAME(text);
	prof_scope_push(text);
	prof_scope_pop();
	prof_pause();
	prof_resume();
	prof_dump();
	prof_stop();
	prof_include_chrome_json(text);
}
