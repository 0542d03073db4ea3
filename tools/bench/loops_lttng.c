/* SPDX-License-Identifier: BSD-2-Clause */
/* The target for LTTng-UST. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"

#include "target.h"

static const char *const text = "twelve bytes";

LOOP(instant, lttng_ust_tracepoint(proftrace_bench, instant_0))
LOOP(instant_1, lttng_ust_tracepoint(proftrace_bench, instant, i))
LOOP(instant_2, lttng_ust_tracepoint(proftrace_bench, instant_2, i, i))
LOOP(instant_3, lttng_ust_tracepoint(proftrace_bench, instant_3, i, i, i))
LOOP(instant_6, lttng_ust_tracepoint(proftrace_bench, instant_6, i, i, i, i, i, i))
LOOP(instant_string, lttng_ust_tracepoint(proftrace_bench, instant_string, text))

static const struct loop loops_lttng[] = {
	{ "instant", 1, instant, false, NULL },
	{ "instant_1", 1, instant_1, false, NULL },
	{ "instant_2", 1, instant_2, false, NULL },
	{ "instant_3", 1, instant_3, false, NULL },
	{ "instant_6", 1, instant_6, false, NULL },
	{ "instant_string", 1, instant_string, false, NULL },
	{ 0 },
};
const struct loop *const target_loops[] = { loops_lttng, NULL };
const struct verb target_verbs[] = { { 0 } };
