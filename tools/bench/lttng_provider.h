/* SPDX-License-Identifier: BSD-2-Clause */
/* LTTng-UST tracepoints that say what PROF_INSTANT("instant", "a", i, ...) says. */
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
LTTNG_UST_TRACEPOINT_EVENT(proftrace_bench, instant_0, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(proftrace_bench, instant_2,
	LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, a)
			    lttng_ust_field_integer(uint64_t, b, b)))
LTTNG_UST_TRACEPOINT_EVENT(proftrace_bench, instant_3,
	LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b, uint64_t, c),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, a)
			    lttng_ust_field_integer(uint64_t, b, b)
			    lttng_ust_field_integer(uint64_t, c, c)))
LTTNG_UST_TRACEPOINT_EVENT(proftrace_bench, instant_6,
	LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b, uint64_t, c, uint64_t, d, uint64_t, e, uint64_t, f),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, a)
			    lttng_ust_field_integer(uint64_t, b, b)
			    lttng_ust_field_integer(uint64_t, c, c)
			    lttng_ust_field_integer(uint64_t, d, d)
			    lttng_ust_field_integer(uint64_t, e, e)
			    lttng_ust_field_integer(uint64_t, f, f)))
LTTNG_UST_TRACEPOINT_EVENT(proftrace_bench, instant_string,
	LTTNG_UST_TP_ARGS(const char *, text),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_string(text, text)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
