/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A loop for each kind of marker. Compiled twice into the same target: with markers as MARKERS
 * `loops`, and with -DPROFTRACE_DISABLE as `loops_compiled_out`, whose names begin with "out:".
 */
#include <proftrace.h>

#include "target.h"

#if PROF_IMPL_OFF
#define TABLE  loops_compiled_out
#define PREFIX "out:"
#else
#define TABLE  loops
#define PREFIX ""
#endif

static const char *const text = "twelve bytes";

LOOP(begin_end, PROF_BEGIN("slice"); PROF_END())
LOOP(begin_end_1, PROF_BEGIN("slice", "n", i); PROF_END())
LOOP(instant, PROF_INSTANT("instant"))
LOOP(instant_1, PROF_INSTANT("instant", "a", i))
LOOP(instant_2, PROF_INSTANT("instant", "a", i, "b", i))
LOOP(instant_3, PROF_INSTANT("instant", "a", i, "b", i, "c", i))
LOOP(instant_6, PROF_INSTANT("instant", "a", i, "b", i, "c", i, "d", i, "e", i, "f", i))
LOOP(instant_string, PROF_INSTANT("instant", "text", text))
LOOP(counter, PROF_COUNTER("counter", i))
LOOP(counters, PROF_COUNTERS("counters", "a", i, "b", i))
LOOP(async, PROF_ASYNC_BEGIN("async", i); PROF_ASYNC_END("async", i))
LOOP(flow, PROF_FLOW_OUT(i); PROF_FLOW_IN(i))
LOOP(memory, PROF_ALLOC("pool", (void *)(64 + (i << 6)), 64);
     PROF_FREE("pool", (void *)(64 + (i << 6))))
LOOP(step, PROF_STEP(0, i))

extern const struct loop TABLE[];
const struct loop TABLE[] = {
	{ PREFIX "begin_end", 2, begin_end, false, NULL },
	{ PREFIX "begin_end_1", 2, begin_end_1, false, NULL },
	{ PREFIX "instant", 1, instant, false, NULL },
	{ PREFIX "instant_1", 1, instant_1, false, NULL },
	{ PREFIX "instant_2", 1, instant_2, false, NULL },
	{ PREFIX "instant_3", 1, instant_3, false, NULL },
	{ PREFIX "instant_6", 1, instant_6, false, NULL },
	{ PREFIX "instant_string", 1, instant_string, false, NULL },
	{ PREFIX "counter", 1, counter, false, NULL },
	{ PREFIX "counters", 1, counters, false, NULL },
	{ PREFIX "async", 2, async, false, NULL },
	{ PREFIX "flow", 2, flow, false, NULL },
	{ PREFIX "memory", 2, memory, false, NULL },
	{ PREFIX "step", 1, step, false, NULL },
	{ 0 },
};
