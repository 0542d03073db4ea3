/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flight recorder uses two timelines with a delay line between them.
 *
 * The first timeline handles each event at once, and the triggers watch its facts. The delay line keeps the event
 * until it is older than the window, or until the memory is full. Then the second timeline handles it, with no
 * file open. So the second timeline always knows the state at the beginning of the window: names, tracks, open
 * slices, counter values. A trigger opens files, which begin with that state, then passes all events of the delay
 * line through the second timeline, and closes the files.
 */
#include "record/flight.h"
#include "base/clock.h"
#include "base/quantity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/record.h"
#include "timeline/delay.h"

struct flight {
	struct consumer consumer; /* of the first timeline: evaluates the triggers */
	const struct record_options *options;
	const struct name *names[MAX_TRIGGERS];
	const struct trigger *fired; /* by the event that is being handled */
	struct delay *delay;
	uint64_t newest_ns; /* time of the latest mark */
	/* Time of the latest event that was released early because the memory was full; 0: none. */
	uint64_t evicted_ns;
	uint64_t emptied_ns;   /* when the delay line was last written; 0: never */
	uint64_t dumped_ns;    /* when a trigger last wrote files; 0: never */
	uint64_t requested_ns; /* when a program last made it write files; 0: never */
	struct flight_count count;
};

bool trigger_parse(const char *text, struct trigger *t)
{
	const char *name, *end;

	*t = (struct trigger){ .text = text };
	if (!strncmp(text, "slice:", 6)) {
		t->is_slice = true;
		name = text + 6;
		end = strrchr(name, '>');
		if (!end || !parse_duration(end + 1, &t->longer_ns))
			return false;
	} else if (!strncmp(text, "instant:", 8)) {
		name = text + 8;
		end = name + strlen(name);
	} else {
		return false;
	}
	if (end == name || (size_t)(end - name) >= sizeof(t->name))
		return false;
	memcpy(t->name, name, end - name);
	return true;
}

/* --- triggers ---------------------------------------------------------------------------------- */

static bool trigger_matches(const struct flight *f, unsigned i, const struct fact *fact)
{
	const struct trigger *t = &f->options->triggers[i];

	if (fact->name != f->names[i])
		return false;
	if (fact->kind == FACT_INSTANT)
		return !t->is_slice;
	/* The end time of a slice whose END was lost is unknown. */
	return t->is_slice && fact->end_reason != END_LOST &&
	       fact->ts_ns - fact->begin_ns > t->longer_ns;
}

static int flight_watch_fact(struct consumer *consumer, const struct fact *fact)
{
	struct flight *f = (struct flight *)consumer;

	if (fact->kind != FACT_END && fact->kind != FACT_INSTANT && fact->kind != FACT_ASYNC_END)
		return 0;
	for (unsigned i = 0; i < f->options->n_triggers && !f->fired; i++) {
		if (trigger_matches(f, i, fact))
			f->fired = &f->options->triggers[i];
	}
	return 0;
}

static const struct consumer_ops flight_watch_ops = { .fact = flight_watch_fact };

int flight_new(struct recording *r, struct flight **ret_flight, struct failure *failure)
{
	struct flight *f = calloc(1, sizeof(*f));
	char size[32];

	if (!f)
		return failure_set(failure, -ENOMEM, "cannot start", "", NULL);
	f->consumer.ops = &flight_watch_ops;
	f->options = r->options;
	f->delay = delay_new(r->options->flight_bytes);
	if (!f->delay) {
		free(f);
		print_size(size, sizeof(size), r->options->flight_bytes);
		failure_set(failure, -ENOMEM, "cannot keep in memory", size, NULL);
		failure_hint(failure, "use a smaller --flight-memory");
		return -ENOMEM;
	}
	for (unsigned i = 0; i < r->options->n_triggers; i++)
		f->names[i] = names_intern_string(r->names, r->options->triggers[i].name);
	*ret_flight = f;
	return timeline_add_consumer(r->timeline, &f->consumer);
}

void flight_free(struct flight *f)
{
	if (!f)
		return;
	delay_free(f->delay);
	free(f);
}

/* --- the delay --------------------------------------------------------------------------------- */

static void flight_release_oldest(struct recording *r)
{
	struct event event;

	if (delay_pop(r->flight->delay, &event) && outputs_write_event(r, &event))
		r->write_failed = true;
}

static void flight_release_expired(struct recording *r, uint64_t now_ns)
{
	uint64_t window = r->options->flight_ns;

	while (delay_count(r->flight->delay) && now_ns > window &&
	       delay_oldest_ns(r->flight->delay) < now_ns - window)
		flight_release_oldest(r);
}

static void flight_keep_event(struct recording *r, const struct event *event)
{
	struct flight *f = r->flight;

	while (!delay_push(f->delay, event)) {
		if (!delay_count(f->delay)) {
			/* The event is larger than the whole memory. */
			f->evicted_ns = event->ts_ns;
			outputs_write_event(r, event);
			return;
		}
		f->evicted_ns = delay_oldest_ns(f->delay);
		flight_release_oldest(r);
	}
}

/* --- writing ---------------------------------------------------------------------------- */

static void flight_emit_note(struct recording *r, uint64_t ts_ns, const char *name,
			     const char *trigger, uint64_t reached_ns)
{
	char text[512];
	bool changed;
	struct arg args[] = {
		{ .key = names_intern_string(r->names, "trigger"), .type = ARG_STRING, .s = text },
		{ .key = names_intern_string(r->names, "reaches_back_ns"),
		  .type = ARG_UINT,
		  .u = reached_ns },
		{ .key = names_intern_string(r->names, "wanted_ns"),
		  .type = ARG_UINT,
		  .u = r->options->flight_ns },
	};

	args[0].length = text_clean(text, sizeof(text), trigger, strlen(trigger), &changed);
	timeline_note(r->writer, names_intern_string(r->names, name), ts_ns, args, 3);
}

static void flight_report_dump(struct recording *r, const char *trigger, uint64_t reached_ns)
{
	if (r->options->verbosity < 0)
		return;
	status_clear(r);
	print_visible(stderr, "proftrace: %s: the last %.3f s are in", trigger, reached_ns / 1e9);
	for (unsigned i = 0; i < r->n_files; i++) {
		if (r->files[i].set == r->sets)
			print_visible(stderr, " %s", r->files[i].path);
	}
	fputc('\n', stderr);
}

/* The length of the window that is complete: at most back to the start of the recording or to the previous files. */
static uint64_t flight_covered_ns(const struct recording *r, uint64_t now_ns, bool is_short)
{
	const struct flight *f = r->flight;
	uint64_t begin = f->emptied_ns ? f->emptied_ns : r->started_ns;
	uint64_t window = r->options->flight_ns;

	if (is_short)
		begin = delay_oldest_ns(f->delay);
	if (begin > now_ns)
		return 0;
	return now_ns - begin < window ? now_ns - begin : window;
}

static void flight_count_short(struct flight *f, uint64_t reached_ns)
{
	if (!f->count.dumps_short++ || reached_ns < f->count.shortest_ns)
		f->count.shortest_ns = reached_ns;
}

static void flight_write_files(struct recording *r, const char *trigger, uint64_t now_ns)
{
	struct flight *f = r->flight;
	struct failure failure = { 0 };
	uint64_t reached_ns, oldest_ns;
	bool is_short;

	flight_release_expired(r, now_ns);
	is_short = f->evicted_ns && f->evicted_ns + r->options->flight_ns > now_ns;
	reached_ns = flight_covered_ns(r, now_ns, is_short);
	oldest_ns = now_ns - reached_ns;
	/* outputs_begin() has reported why. The events stay in memory for the next trigger. */
	if (outputs_begin(r, NULL, &failure)) {
		f->count.failed++;
		return;
	}
	f->count.dumps++;
	if (is_short) {
		flight_count_short(f, reached_ns);
		flight_emit_note(r, oldest_ns, "flight recorder fell short", trigger, reached_ns);
	}
	while (delay_count(f->delay))
		flight_release_oldest(r);
	f->emptied_ns = now_ns;
	flight_emit_note(r, now_ns, "flight recorder", trigger, reached_ns);
	if (outputs_end(r, NULL))
		f->count.failed++;
	else
		flight_report_dump(r, trigger, reached_ns);
	/* The recording goes on: the disk may have free space by the next trigger. */
	r->all_outputs_failed = false;
}

void flight_dump(struct recording *r, uint64_t now_ns)
{
	flight_write_files(r, "requested", now_ns);
}

static bool flight_is_within_window(const struct recording *r, uint64_t begin_ns, uint64_t now_ns)
{
	return begin_ns && now_ns < begin_ns + r->options->flight_ns;
}

/*
 * Programs get at most one file per window by prof_dump(), by the recorder's own clock. Requests do not
 * suppress triggers: otherwise a program could prevent the file of another program.
 */
bool flight_accepts_request(struct recording *r)
{
	struct flight *f = r->flight;
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (recording_is_of_others(r) || flight_is_within_window(r, f->dumped_ns, now_ns) ||
	    flight_is_within_window(r, f->requested_ns, now_ns)) {
		f->count.ignored++;
		return false;
	}
	f->requested_ns = now_ns;
	return true;
}

/* Most of the window was written by the previous trigger if that fired less than a window ago. */
static void flight_fire(struct recording *r, const struct trigger *t, uint64_t ts_ns)
{
	struct flight *f = r->flight;

	if (flight_is_within_window(r, f->dumped_ns, ts_ns)) {
		f->count.suppressed++;
		return;
	}
	f->dumped_ns = ts_ns;
	flight_write_files(r, t->text, ts_ns);
}

void flight_handle_event(struct recording *r, const struct event *event)
{
	struct flight *f = r->flight;
	const struct trigger *t = f->fired;

	/* Readings of the recorder itself are newer than marks that are still in the ring buffer. */
	if (!event->sampled && event->kind != EVENT_CLOCK && event->ts_ns > f->newest_ns)
		f->newest_ns = event->ts_ns;
	flight_release_expired(r, f->newest_ns);
	flight_keep_event(r, event);
	if (!t)
		return;
	f->fired = NULL;
	flight_fire(r, t, event->ts_ns);
}

void flight_finish(struct recording *r)
{
	while (delay_count(r->flight->delay))
		flight_release_oldest(r);
}

const struct flight_count *flight_count(const struct flight *f)
{
	return &f->count;
}
