/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many_events MEGABYTES
 *
 * Prints Chrome JSON of about that size, as profilers write it: an object around the events, slices when
 * they end, thread by thread in pieces, arguments of every type, counters, asynchronous slices and
 * arrows. Says on standard error how many slices there are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	THREADS = 16,
	PIECE = 1000, /* slices of a thread before the next one's turn */
	INNER = 4,    /* slices in each outer one */
	NAMES = 200,
};

static void slice(int thread, uint64_t n, uint64_t ts, uint64_t dur)
{
	printf(",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op::number_%d\",\"pid\":4000,"
	       "\"tid\":%d,"
	       "\"ts\":%" PRIu64 ".%03d,\"dur\":%" PRIu64 ".500,\"args\":{\"External id\":%" PRIu64
	       ",\"Input Dims\":[[1,3,224,224],[64,3,7,7],[]],\"share\":%d.25,\"name\":\"layer\"}}",
	       (int)(n % NAMES), 4001 + thread, ts, (int)(n % 1000), dur, n, (int)(n % 100));
}

static void others(int thread, uint64_t n, uint64_t ts)
{
	printf(",\n{\"ph\":\"C\",\"name\":\"bytes\",\"pid\":4000,\"ts\":%" PRIu64
	       ",\"args\":{\"live\":%" PRIu64 "}}",
	       ts, n * 64);
	printf(",\n{\"ph\":\"b\",\"cat\":\"net\",\"name\":\"request\",\"id\":\"0x%" PRIx64
	       "\",\"pid\":4000,\"tid\":%d,\"ts\":%" PRIu64 "}",
	       n, 4001 + thread, ts);
	printf(",\n{\"ph\":\"e\",\"cat\":\"net\",\"name\":\"request\",\"id\":\"0x%" PRIx64
	       "\",\"pid\":4000,\"tid\":%d,\"ts\":%" PRIu64 "}",
	       n, 4001 + thread, ts + 7);
	printf(",\n{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":%" PRIu64
	       ",\"pid\":4000,\"tid\":%d,\"ts\":%" PRIu64 "}",
	       n, 4001 + thread, ts);
}

int main(int argc, char **argv)
{
	uint64_t n = 0, piece, bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 1000000;
	static char buffer[1 << 20];
	int thread, i, k;

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	printf("{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
	       "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4000,\"args\":{\"name\":\"python\"}"
	       "}");
	/* A slice takes about 200 bytes. */
	for (piece = 0; n * 205 < bytes; piece++) {
		for (thread = 0; thread < THREADS; thread++) {
			for (i = 0; i < PIECE / (INNER + 1); i++) {
				uint64_t ts = 1000000 + (piece * PIECE + (uint64_t)i) * 100;

				for (k = 0; k < INNER; k++)
					slice(thread, n++, ts + 1 + (uint64_t)k * 10, 8);
				slice(thread, n++, ts, 90);
			}
			others(thread, n, 1000000 + piece * PIECE * 100);
		}
	}
	printf("\n],\"traceName\":\"many\"}\n");
	fprintf(stderr, "slices %" PRIu64 "\n", n);
	return fflush(stdout) ? 1 : 0;
}
