/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of an event from capture into the timeline, and of the marks in it into the account of each
 * file. Every event comes by here, so all of it is in one file, for the compiler to put it together.
 */
#include "cmd/include.h"
#include "cmd/record.h"
#include "cmd/scheduler.h"
#include "rare.h"

#define LOOK_AT_SIZES 256 /* between so many events, the files' sizes are looked at */

static inline int write_event(struct recording *r, const struct event *event)
{
	uint64_t before = r->road.written;
	int error = timeline_event(r->writer, event);
	uint64_t marks = r->road.written - before;
	unsigned i;

	for (i = 0; marks && i < r->n_outputs; i++) {
		if (!r->outputs[i].handler->error)
			sink_note_marks(r->outputs[i].sink, marks);
	}
	return error;
}

int outputs_event(struct recording *r, const struct event *event)
{
	return write_event(r, event);
}

static inline int take_event(struct recording *r, const struct event *event)
{
	int error = r->timeline == r->writer ? write_event(r, event)
					     : timeline_event(r->timeline, event);

	if (rare(r->flight))
		flight_take(r, event);
	if (rare(error))
		r->write_failed = true;
	return error;
}

int recording_event(struct recording *r, const struct event *event)
{
	return take_event(r, event);
}

/* What a program asks of the recording that it is in. */
static void take_order(struct recording *r, const struct event *event)
{
	if (event->kind == EVENT_STOP)
		r->stop_asked = true;
	if (event->kind == EVENT_DUMP)
		r->dump_asked = true;
	if (event->kind == EVENT_INCLUDE_JSON)
		include_later(r, event);
}

int recording_take(void *recording, const struct event *event)
{
	struct recording *r = recording;
	int error;

	if (rare(r->scheduler))
		scheduler_event(r, event);
	if (rare(event->kind == EVENT_THREAD_EXIT))
		deaths_take(r, event);
	if (rare(event->kind == EVENT_EXEC))
		include_executed(r, event);
	error = take_event(r, event);
	if (rare(event->kind >= EVENT_PAUSE && event->kind <= EVENT_INCLUDE_JSON))
		take_order(r, event);
	if (event->ts_ns > r->last_ts_ns)
		r->last_ts_ns = event->ts_ns;
	if (rare(r->options->max_size) && ++r->since_sizes >= LOOK_AT_SIZES) {
		r->since_sizes = 0;
		outputs_rotate(r);
	}
	return error;
}
