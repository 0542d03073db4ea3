/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flight recorder: the last while is kept in memory, and written when something happens that
 * somebody wants to know more about.
 */
#ifndef PROFTRACE_CMD_FLIGHT_H
#define PROFTRACE_CMD_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "failure.h"
#include "timeline/event.h"

struct recording;
struct flight;

/* When to write. */
struct trigger {
	const char *text; /* as it was given */
	bool is_slice;	  /* longer than `longer_ns`; else an instant */
	char name[128 + 1];
	uint64_t longer_ns;
};

/* slice:NAME>TIME or instant:NAME; the NAME may have a > in it. `text` is borrowed. */
bool trigger_parse(const char *text, struct trigger *ret_trigger);

struct flight_count {
	uint64_t dumps;
	uint64_t dumps_short; /* that do not reach back as far as they should */
	uint64_t shortest_ns; /* of these, the one that reaches back the least */
	uint64_t suppressed;  /* triggers so soon after another that their window would be cut */
};

/*
 * Before anything is attached. r->timeline is in front: it sees events at once, knows the triggers and
 * feeds the statistics. r->writer comes behind the delay: the files are written from it.
 */
int flight_new(struct recording *r, struct flight **ret_flight, struct failure *f);
void flight_free(struct flight *flight);

/* One event that r->timeline has taken: it is kept, and a trigger may fire. */
void flight_take(struct recording *r, const struct event *event);
/* Writes what is in memory, since somebody asks for it. */
void flight_dump(struct recording *r, uint64_t now_ns);
/* The recording is over: what nothing triggered passes by. */
void flight_finish(struct recording *r);
const struct flight_count *flight_count(const struct flight *flight);

#endif
