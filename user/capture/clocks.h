/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The differences between the kernel's clocks.
 *
 * The scheduler counts CPU time with the processor's own clock. Marks carry CLOCK_MONOTONIC, whose
 * rate NTP adjusts to follow the real time, by 20 us per second for example. A CPU time that is
 * read with a mark is made of both clocks (bpf/counters/counters.h). Before it can be compared with another,
 * the drift between the clocks must be known. Programs can read the processor's clock as
 * CLOCK_MONOTONIC_RAW.
 */
#ifndef PROFTRACE_CAPTURE_CLOCKS_H
#define PROFTRACE_CAPTURE_CLOCKS_H

#include <stdint.h>

#include "timeline/event.h"

/* Two samples of both clocks and the straight line through them. */
struct clocks {
	uint64_t since; /* CLOCK_MONOTONIC of the first sample; 0: none */
	uint64_t at;	/* CLOCK_MONOTONIC of the latest sample */
	int64_t apart;	/* RAW minus MONOTONIC at the first sample, ns */
	double ahead;	/* what RAW has gained from the first to the latest sample, ns */
	double rate;	/* what RAW gains per nanosecond */
};

/* Samples the clocks, if the last sample is old enough. */
void clocks_sample(struct clocks *k);
/* Adds a sample, for tests: `raw` is CLOCK_MONOTONIC_RAW at `monotonic`. */
void clocks_add(struct clocks *k, uint64_t monotonic, uint64_t raw);
/* How many nanoseconds the processor's clock had gained at `ts`. */
int64_t clocks_ahead(const struct clocks *k, uint64_t ts);

/*
 * Reads the clocks that relate traces to each other. `moment` contains the previous reading, or
 * zeros. The differences between the clocks only change when a clock is set or the machine sleeps.
 * So as long as they agree with the new reading, they are kept to the nanosecond. Otherwise context
 * switches, written with one of these clocks, and slices, written with another, would shift against
 * each other.
 */
void clocks_snapshot(struct clock_reading *moment);
/* Processes one reading that took `width` ns, for tests. */
void clocks_adjust(struct clock_reading *moment, const struct clock_reading *read, uint64_t width);

#endif
