/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timed N
 *
 * N slices `timed` of a millisecond each, measured by CLOCK_MONOTONIC inside of the marks and around them. Prints
 * `inside NS` and `around NS`, the sums: what a trace says lies in between.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <proftrace.h>

static int64_t monotonic_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	const struct timespec ms = { 0, 1000000 };
	int64_t inside = 0, around = 0;
	int i, n = argc > 1 ? atoi(argv[1]) : 0;

	for (i = 0; i < n; i++) {
		int64_t outer = monotonic_now(), inner;

		PROF_BEGIN("timed", "n", i);
		inner = monotonic_now();
		clock_nanosleep(CLOCK_MONOTONIC, 0, &ms, NULL);
		inside += monotonic_now() - inner;
		PROF_END();
		around += monotonic_now() - outer;
	}
	printf("inside %" PRId64 "\naround %" PRId64 "\n", inside, around);
	return 0;
}
