/* SPDX-License-Identifier: BSD-2-Clause */
/* The target for LTTng-UST. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"

#include "target.h"

LOOP(instant_1, lttng_ust_tracepoint(proftrace_bench, instant, i))

static const struct loop loops_lttng[] = {
	{ "instant_1", 1, instant_1 },
	{ 0 },
};
const struct loop *const target_loops[] = { loops_lttng, NULL };
const struct verb target_verbs[] = { { 0 } };
