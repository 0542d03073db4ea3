/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduler counts CPU time by the processor's own clock. Marks carry CLOCK_MONOTONIC, which NTP
 * makes run faster or slower than that, to stay with the time of the world: by 20 us a second, say. A
 * CPU time that was read with a mark is made of both clocks (bpf/counters.h), so one that is to be
 * compared with another needs to know how far the two have come apart in between. CLOCK_MONOTONIC_RAW
 * is the processor's clock, for programs.
 */
#ifndef PROFTRACE_CAPTURE_CLOCKS_H
#define PROFTRACE_CAPTURE_CLOCKS_H

#include <stdint.h>

#include "timeline/event.h"

/* Two looks at both clocks, and what lies between and after them: a straight line. */
struct clocks {
	uint64_t since; /* CLOCK_MONOTONIC of the first look of all; 0: none */
	uint64_t at;	/* and of the latest */
	int64_t apart;	/* RAW minus MONOTONIC, ns, at the first look of all */
	double ahead;	/* by how much RAW has gained until `at`, ns */
	double rate;	/* and gains on each nanosecond */
};

/* Looks at the clocks, if the last look is old enough for it to tell something. */
void clocks_look(struct clocks *k);
/* What a look is, for tests: `raw` is what CLOCK_MONOTONIC_RAW was at `monotonic`. */
void clocks_add(struct clocks *k, uint64_t monotonic, uint64_t raw);
/* By how many nanoseconds the processor's clock had gained at the moment `ts`. */
int64_t clocks_ahead(const struct clocks *k, uint64_t ts);

/*
 * Now, by the clocks that traces are compared by. `moment` holds what was read before, or zeros. The
 * distances between the clocks change when one is set, or the machine sleeps, and never otherwise: where
 * they fit what is read now they stay what they were, to the nanosecond. The times of switches are written
 * by one of these clocks and those of slices by another, so that they would shift against one another.
 */
void clocks_moment(struct clock_reading *moment);
/* What is made of one reading, for tests; it took `width` ns. */
void clocks_move(struct clock_reading *moment, const struct clock_reading *read, uint64_t width);

#endif
