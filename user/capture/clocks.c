/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/clocks.h"

#include <math.h>

#include "clock.h"

#define LOOK_NS	 100000000ull /* a look is right to 20 ns or so: a line needs some length */
#define ATTEMPTS 5
#define GOOD_NS	 60   /* RAW read between two MONOTONICs that are so close is good enough */
#define STEEPEST 1e-2 /* the kernel lets no clock run more wrongly than by a tenth of this */

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

void clocks_look(struct clocks *k)
{
	uint64_t best = UINT64_MAX, monotonic = 0, raw = 0, before, middle, after;
	int i;

	before = clock_ns(CLOCK_MONOTONIC);
	if (k->since && before - k->at < LOOK_NS)
		return;
	/* Somebody may be let in between. */
	for (i = 0; i < ATTEMPTS && best > GOOD_NS; i++) {
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
