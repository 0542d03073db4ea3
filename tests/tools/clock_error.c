/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock_error SECONDS
 *
 * How far the times that batch mode makes of the processor's counter are from CLOCK_MONOTONIC: reads
 * both together at many moments between those at which a recording would compare them, and places the
 * counter's readings as the recording does. A reading during which the machine was busy with something
 * else says nothing; such are left out, and counted. Exit status 1: one was 1 us off, or more.
 */
#include "capture/batch/batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	READINGS = 20, /* in each round of 100 ms, as of a recording */
	ALLOWED_NS = 1000,
	EXACT_TICKS = 1500, /* the widest reading that is taken */
	BINS = 4096,
};

static struct batch_clock clock_now;
static uint64_t bins[BINS], n, too_wide;

static uint64_t quantile(double share)
{
	uint64_t sum = 0, i;

	for (i = 0; i < BINS - 1; i++) {
		sum += bins[i];
		if ((double)sum >= share * (double)n)
			break;
	}
	return i;
}

static void pause_ns(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static void one_round(void)
{
	struct batch_moment readings[READINGS];
	uint64_t widths[READINGS];
	int i;

	for (i = 0; i < READINGS; i++) {
		readings[i] = batch_clock_read(&widths[i]);
		pause_ns(5000000);
	}
	batch_clock_sample(&clock_now);
	for (i = 0; i < READINGS; i++) {
		int64_t error =
			(int64_t)(batch_clock_ns(&clock_now, readings[i].ticks) - readings[i].ns);

		if (widths[i] > EXACT_TICKS) {
			too_wide++;
			continue;
		}
		if (error < 0)
			error = -error;
		bins[error < BINS ? error : BINS - 1]++;
		n++;
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	uint64_t until = monotonic_now() + (uint64_t)(seconds * 1e9);
	const char *why = batch_clock_unusable();

	if (why) {
		printf("no clock: %s\n", why);
		return 2;
	}
	batch_clock_sample(&clock_now);
	do
		one_round();
	while (monotonic_now() < until);
	printf("%" PRIu64 " readings, median %" PRIu64 " ns, 99.9 %% %" PRIu64
	       " ns, largest %" PRIu64 " ns; said of itself %" PRIu64 " ns; %" PRIu64
	       " readings were disturbed\n",
	       n, quantile(0.5), quantile(0.999), quantile(1), clock_now.error_ns, too_wide);
	return !n || quantile(1) >= ALLOWED_NS;
}
