/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spans [N [MS]]: N requests (100) of another service's traces, with a pause of MS behind each. It says what it did: each
 * request has the number of its trace.
 *
 *	request (traceparent, number)	in the trace of a caller
 *	  step				is not sent
 *	    query (rows)		inside it an instant "hit"
 *	alone				without a caller; an arrow goes from it to the next query
 *	quiet (traceparent)		of a trace that its service does not sample; inside it a query
 *	job				an asynchronous slice that begins in the request
 *	left_open			has no end
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <proftrace.h>

static void query(uint64_t i, uint64_t arrow)
{
	PROF_BEGIN("query", "rows", i);
	if (arrow)
		PROF_FLOW_IN(arrow);
	PROF_INSTANT("hit", "key", "red");
	PROF_END("found", 3);
}

int main(int argc, char **argv)
{
	uint64_t i, n = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
	long ms = argc > 2 ? atol(argv[2]) : 0;
	const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };
	char context[64];

	for (i = 1; i <= n; i++) {
		PROF_BEGIN("alone", "weight", 0.5);
		PROF_FLOW_OUT(i);
		PROF_END();
		snprintf(context, sizeof(context), "00-%032" PRIx64 "-%016" PRIx64 "-01", i, i + 7);
		PROF_BEGIN("request", "traceparent", context, "number", i);
		PROF_ASYNC_BEGIN("job", i);
		PROF_BEGIN("step");
		query(i, i);
		PROF_END();
		PROF_END();
		PROF_ASYNC_END("job", i);
		context[54] = '0';
		PROF_BEGIN("quiet", "traceparent", context);
		query(i, 0);
		PROF_END();
		if (ms)
			nanosleep(&pause, NULL);
	}
	PROF_BEGIN("left_open");
	printf("requests %" PRIu64 "\n", n);
	return 0;
}
