/* SPDX-License-Identifier: BSD-2-Clause */
/* An LTTng-UST tracepoint that says what PROF_INSTANT("instant", "a", i) says. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER proftrace_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_provider.h"

#if !defined(BENCH_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_PROVIDER_H

#include <stdint.h>
#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(proftrace_bench, instant,
	LTTNG_UST_TP_ARGS(uint64_t, a),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, a)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
