/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clocks of tracks: from ticks of a device, or of another machine, to CLOCK_MONOTONIC. The program
 * reads both clocks at the same moment every now and then. Between two readings time is linear, so
 * a clock may run at any rate, and drift. Before the first and after the last one it goes on at the
 * rate that the readings of at least a second say: two that lie closer together differ by little
 * more than the error of each.
 *
 * Readings come from the program, so they may say anything. Both times of them ascend; a clock that
 * goes back has been set anew, and what was known of it is forgotten.
 */
#include <string.h>

#include "timeline/given/given.h"

#define RATE_BASE_NS 1000000000ull

static void clock_insert(struct track_clock *c, unsigned at, uint64_t ticks, uint64_t ns)
{
	if (c->n == CLOCK_READINGS) {
		at -= at > 0;
		memmove(c->readings, c->readings + 1, --c->n * sizeof(c->readings[0]));
	}
	memmove(c->readings + at + 1, c->readings + at, (c->n - at) * sizeof(c->readings[0]));
	c->readings[at].ticks = ticks;
	c->readings[at].ns = ns;
	c->n++;
}

bool clock_add_reading(struct track_clock *c, uint64_t ticks, uint64_t ns)
{
	unsigned at = c->n;

	/* Marks of other threads may tell of earlier readings, and tell of them again. */
	while (at && c->readings[at - 1].ns > ns)
		at--;
	if (at && c->readings[at - 1].ns == ns)
		return c->readings[at - 1].ticks == ticks;
	if (at == c->n && at && c->readings[at - 1].ticks >= ticks)
		at = c->n = 0;
	if ((at && c->readings[at - 1].ticks >= ticks) ||
	    (at < c->n && c->readings[at].ticks <= ticks))
		return false;
	clock_insert(c, at, ticks, ns);
	return true;
}

/* The time at `ticks` on the line through two readings. */
static uint64_t clock_on_line(const struct track_clock *c, unsigned a, unsigned b, uint64_t ticks)
{
	uint64_t base = c->readings[a].ns, rise, run;
	unsigned __int128 distance;

	if (a == b) { /* nothing but that ticks are nanoseconds */
		rise = run = 1;
	} else {
		rise = c->readings[b].ns - base;
		run = c->readings[b].ticks - c->readings[a].ticks;
	}
	if (ticks >= c->readings[a].ticks) {
		distance = (unsigned __int128)(ticks - c->readings[a].ticks) * rise / run;
		return distance > UINT64_MAX - base ? UINT64_MAX : base + (uint64_t)distance;
	}
	distance = (unsigned __int128)(c->readings[a].ticks - ticks) * rise / run;
	return distance > base ? 0 : base - (uint64_t)distance;
}

uint64_t clock_to_ns(const struct track_clock *c, uint64_t ticks)
{
	unsigned a = 0, b = c->n - 1;

	if (ticks < c->readings[0].ticks) {
		while (b > 1 && c->readings[b - 1].ns - c->readings[0].ns >= RATE_BASE_NS)
			b--;
		return clock_on_line(c, 0, b, ticks);
	}
	if (ticks >= c->readings[b].ticks) {
		while (a + 1 < b && c->readings[b].ns - c->readings[a + 1].ns >= RATE_BASE_NS)
			a++;
		return clock_on_line(c, a, b, ticks);
	}
	while (b - a > 1) {
		unsigned middle = (a + b) / 2;

		if (c->readings[middle].ticks <= ticks)
			a = middle;
		else
			b = middle;
	}
	return clock_on_line(c, a, b, ticks);
}
