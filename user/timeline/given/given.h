/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks that come with their times: slices, instants and readings of a track's own clock (PROF_SLICE_AT). */
#ifndef PROFTRACE_TIMELINE_GIVEN_GIVEN_H
#define PROFTRACE_TIMELINE_GIVEN_GIVEN_H

#include "timeline/state.h"

int slice_at(struct timeline *t, const struct mark *m);
int instant_at(struct timeline *t, const struct mark *m);
int clock_reading_mark(struct timeline *t, const struct mark *m);
void given_each_track(const struct process_state *p,
		      void (*each)(void *context, const struct track *track), void *context);
void given_forget_clocks(struct timeline *t, struct process_state *p);
void given_release(struct timeline *t, struct process_state *p);

/* held.c: marks of a clock without a reading so far */
int held_add(struct timeline *t, const struct mark *m); /* an outcome */
void held_emit(struct timeline *t, struct process_state *p);
void held_lose(struct timeline *t, struct process_state *p);

/* clock.c: the clock of a track, by readings of it and of CLOCK_MONOTONIC at the same moment */
#define CLOCK_READINGS 64
struct track_clock {
	unsigned n;
	bool is_used; /* by a mark: those before it are emitted */
	struct {
		uint64_t ticks;
		uint64_t ns;
	} readings[CLOCK_READINGS]; /* both ascend */
};

/* False: it contradicts the readings that are known. */
bool clock_add_reading(struct track_clock *clock, uint64_t ticks, uint64_t ns);
/* Of a clock with at least one reading. Limited to the range of the result. */
uint64_t clock_to_ns(const struct track_clock *clock, uint64_t ticks);

#endif
