/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flight recorder keeps the latest events in memory and writes them to files when a trigger fires, so that
 * a rare problem can be seen together with what led to it.
 */
#ifndef PROFTRACE_RECORD_FLIGHT_H
#define PROFTRACE_RECORD_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "timeline/event.h"

struct recording;
struct flight;

/* A condition under which files are written. */
struct trigger {
	const char *text; /* as on the command line */
	bool is_slice;	  /* longer than `longer_ns`; else an instant */
	char name[128 + 1];
	uint64_t longer_ns;
};

/* slice:NAME>TIME or instant:NAME; the NAME may contain a >. `text` is borrowed. */
bool trigger_parse(const char *text, struct trigger *ret_trigger);

struct flight_count {
	uint64_t dumps;
	uint64_t dumps_short; /* whose window did not fit into the memory */
	uint64_t shortest_ns; /* the shortest window of these */
	uint64_t failed;      /* for which a file could not be written */
	uint64_t suppressed;  /* triggers within one window after another trigger */
	uint64_t ignored;     /* requests of programs */
};

/*
 * Call before anything is attached. r->timeline handles events at once: it evaluates the triggers and feeds the
 * statistics. r->writer handles them after the delay, and the files are written from it.
 */
int flight_new(struct recording *r, struct flight **ret_flight, struct failure *f);
void flight_free(struct flight *flight);

/* Keeps an event that r->timeline has handled, and writes files if it fired a trigger. */
void flight_handle_event(struct recording *r, const struct event *event);
/* Whether the window is to be written because a program requests it: not soon again, and not in a service. */
bool flight_accepts_request(struct recording *r);
/* Writes the window on request, without a trigger. */
void flight_dump(struct recording *r, uint64_t now_ns);
/* The recording ends: events that no trigger asked for are released unwritten. */
void flight_finish(struct recording *r);
const struct flight_count *flight_count(const struct flight *flight);

#endif
