/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Passes each event from capture to the timeline, and counts its marks for each open file. Every event takes this
 * path, so its functions are in one file where the compiler can inline them.
 */
#include <stdio.h>

#include "record/include.h"
#include "record/metrics/labels.h"
#include "record/record.h"
#include "reports/table/stats.h"
#include "base/clock.h"
#include "base/rare.h"

#define SIZE_CHECK_EVENTS 256 /* file sizes are compared with --max-size after this many events */

static inline int intake_write(struct recording *r, const struct event *event)
{
	uint64_t before = r->accounting.written;
	int error = timeline_event(r->writer, event);
	uint64_t marks = r->accounting.written - before;

	for (unsigned i = 0; marks && i < r->n_outputs; i++) {
		if (!r->outputs[i].consumer->error)
			sink_count_marks(r->outputs[i].sink, marks);
	}
	return error;
}

int outputs_write_event(struct recording *r, const struct event *event)
{
	return intake_write(r, event);
}

static inline int intake_handle(struct recording *r, const struct event *event)
{
	int error = r->timeline == r->writer ? intake_write(r, event)
					     : timeline_event(r->timeline, event);

	if (rare(r->flight))
		flight_handle_event(r, event);
	if (rare(error))
		r->write_failed = true;
	return error;
}

int recording_emit_event(struct recording *r, const struct event *event)
{
	return intake_handle(r, event);
}

void recording_emit_instant(struct recording *r, pid_t pid, const char *text,
			    const struct arg *args, unsigned n_args)
{
	struct event e = { .kind = EVENT_INSTANT,
			   .level = -1,
			   .scope = pid ? SCOPE_PROCESS : SCOPE_GLOBAL,
			   .pid = (uint32_t)pid,
			   .tid = (uint32_t)pid,
			   .sampled = true,
			   .n_args = n_args,
			   .args = args };

	e.ts_ns = clock_ns(CLOCK_MONOTONIC);
	e.name = names_intern_string(r->names, text);
	recording_emit_event(r, &e);
}

/*
 * Programs are not trusted. A service writes files when one of its triggers fires; those that a program could request
 * would push the files of others out of the quota.
 */
static bool intake_may_dump(struct recording *r)
{
	if (r->flight)
		return flight_accepts_request(r);
	if (!recording_is_of_others(r))
		return true;
	r->controls_ignored++;
	return false;
}

/* One program of many does not end the recording of the others. The kernel's side has ended its own. */
static bool intake_may_stop(struct recording *r, const struct event *event)
{
	char line[160];

	if (!recording_is_of_others(r))
		return true;
	r->controls_ignored++;
	if (!r->stop_said) {
		r->stop_said = true;
		snprintf(line, sizeof(line),
			 "process %u called prof_stop(): this ends the recording of that process "
			 "alone",
			 event->pid);
		recording_log(r, 0, line);
	}
	return false;
}

/* prof_stop(), prof_dump() and prof_include_chrome_json() of the program. */
static void intake_handle_control(struct recording *r, const struct event *event)
{
	if (event->kind == EVENT_STOP && intake_may_stop(r, event))
		r->stop_requested = true;
	if (event->kind == EVENT_DUMP && intake_may_dump(r))
		r->dump_requested = true;
	if (event->kind == EVENT_INCLUDE_JSON)
		include_add_named(r, event);
}

/* To whom the event's row in the metrics belongs. */
static void intake_label(struct recording *r, const struct event *event)
{
	if (event->kind == EVENT_EXEC)
		labels_forget(r->labels, event->pid);
	if (event->kind == EVENT_FORK)
		labels_forget(r->labels, (uint32_t)event->id);
	if (event->kind == EVENT_COMM && event->tid == event->pid && event->name)
		labels_rename(r->labels, event->pid, event->name->text);
	if (event->pid)
		stats_set_group(r->stats, labels_text(r->labels, labels_of(r->labels, event->pid)));
}

int recording_handle_event(void *recording, const struct event *event)
{
	struct recording *r = recording;
	int error;

	if (rare(r->scheduler))
		scheduler_handle_event(r, event);
	if (rare(event->kind == EVENT_THREAD_EXIT))
		killed_handle_exit(r, event);
	if (rare(r->labels))
		intake_label(r, event);
	error = intake_handle(r, event);
	if (rare(event->kind >= EVENT_PAUSE && event->kind <= EVENT_INCLUDE_JSON))
		intake_handle_control(r, event);
	if (rare(r->options->max_size) && ++r->since_sizes >= SIZE_CHECK_EVENTS) {
		r->since_sizes = 0;
		outputs_rotate(r);
	}
	return error;
}
