/* SPDX-License-Identifier: BSD-2-Clause */
/* Sampling the clocks and following the drift between them: clocks.h explains why. */
#include "capture/clocks.h"

#include <math.h>

#include "base/clock.h"

/* a reading is accurate to about 20 ns, so a rate needs some distance */
#define LOOK_NS	 100000000ull
#define ATTEMPTS 5
/* ns between two readings of MONOTONIC around RAW that are good enough */
#define GOOD_NS	       60
#define GOOD_MOMENT_NS 500  /* the same for a snapshot of three clocks */
#define SLACK_NS       1000 /* setting a clock changes it by more */
#define STEEPEST       1e-2 /* the kernel corrects a clock's rate by no more than a tenth of this */

void clocks_add(struct clocks *k, uint64_t monotonic, uint64_t raw)
{
	int64_t apart = (int64_t)(raw - monotonic);
	double ahead, rate;

	if (!k->since) {
		k->since = k->at = monotonic;
		k->apart = apart;
		return;
	}
	if (monotonic <= k->at)
		return;
	ahead = (double)(apart - k->apart);
	rate = (ahead - k->ahead) / (double)(monotonic - k->at);
	k->at = monotonic;
	k->ahead = ahead;
	if (fabs(rate) < STEEPEST)
		k->rate = rate;
}

void clocks_sample(struct clocks *k)
{
	uint64_t best = UINT64_MAX, monotonic = 0, raw = 0, before, middle, after;

	before = clock_ns(CLOCK_MONOTONIC);
	if (k->since && before - k->at < LOOK_NS)
		return;
	/* Another thread may run in between. */
	for (int i = 0; i < ATTEMPTS && best > GOOD_NS; i++) {
		middle = clock_ns(CLOCK_MONOTONIC_RAW);
		after = clock_ns(CLOCK_MONOTONIC);
		if (after - before < best) {
			best = after - before;
			monotonic = before + best / 2;
			raw = middle;
		}
		before = after;
	}
	clocks_add(k, monotonic, raw);
}

int64_t clocks_ahead(const struct clocks *k, uint64_t ts)
{
	if (!k->since)
		return 0;
	return llrint(k->ahead + (double)(int64_t)(ts - k->at) * k->rate);
}

/*
 * The expected value of a clock if nobody has set it. If what was read is too far from it, somebody
 * has, and it is used.
 */
static uint64_t follow_clock(uint64_t last, uint64_t passed, uint64_t read, uint64_t slack)
{
	uint64_t expected = last + passed;

	return last && read - expected + slack <= 2 * slack ? expected : read;
}

void clocks_adjust(struct clock_reading *moment, const struct clock_reading *read, uint64_t width)
{
	uint64_t passed = read->monotonic - moment->monotonic;
	uint64_t slack = SLACK_NS + width;

	moment->boottime = follow_clock(moment->boottime, passed, read->boottime, slack);
	moment->realtime = follow_clock(moment->realtime, passed, read->realtime, slack);
	moment->monotonic = read->monotonic;
}

void clocks_snapshot(struct clock_reading *moment)
{
	struct clock_reading best = { 0 }, now;
	uint64_t width = UINT64_MAX, after;

	/* Another thread may run in between. */
	for (int i = 0; i < ATTEMPTS && width > GOOD_MOMENT_NS; i++) {
		now.monotonic = clock_ns(CLOCK_MONOTONIC);
		now.boottime = clock_ns(CLOCK_BOOTTIME);
		now.realtime = clock_ns(CLOCK_REALTIME);
		after = clock_ns(CLOCK_MONOTONIC);
		if (after - now.monotonic < width) {
			width = after - now.monotonic;
			best = now;
		}
	}
	clocks_adjust(moment, &best, width);
}
