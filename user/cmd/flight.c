/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flight recorder.
 *
 * Events go through a timeline at once, where the triggers look at what becomes of them, and into a
 * delay line. They come out of it when they are older than the window, or when it is full, and go
 * through a second timeline, which writes no file: so it knows, at any moment, what held when the window
 * began. A trigger opens files, which are told that first, then sends all that is in the delay line
 * after it, and closes them.
 */
#include "cmd/flight.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/record.h"
#include "timeline/delay.h"

struct flight {
	struct handler handler; /* in front: it watches for triggers */
	const struct record_options *options;
	const struct name *names[MAX_TRIGGERS];
	const struct trigger *fired; /* by the event that is being taken */
	struct delay *delay;
	uint64_t newest_ns;  /* of all marks so far */
	uint64_t evicted_ns; /* the latest that had to go before its time; 0: none */
	uint64_t emptied_ns; /* when it was last written out; 0: never */
	uint64_t dumped_ns;  /* when a trigger was last obeyed; 0: never */
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

/* --- in front ---------------------------------------------------------------------------------- */

static bool fires(const struct flight *f, unsigned i, const struct fact *fact)
{
	const struct trigger *t = &f->options->triggers[i];

	if (fact->name != f->names[i])
		return false;
	if (fact->kind == FACT_INSTANT)
		return !t->is_slice;
	/* When one ended whose END was lost is not known. */
	return t->is_slice && fact->end_reason != END_LOST &&
	       fact->ts_ns - fact->begin_ns > t->longer_ns;
}

static int watch(struct handler *handler, const struct fact *fact)
{
	struct flight *f = (struct flight *)handler;
	unsigned i;

	if (fact->kind != FACT_END && fact->kind != FACT_INSTANT && fact->kind != FACT_ASYNC_END)
		return 0;
	for (i = 0; i < f->options->n_triggers && !f->fired; i++) {
		if (fires(f, i, fact))
			f->fired = &f->options->triggers[i];
	}
	return 0;
}

static const struct handler_ops watch_ops = { .name = "triggers", .fact = watch };

int flight_new(struct recording *r, struct flight **ret_flight, struct failure *failure)
{
	struct flight *f = calloc(1, sizeof(*f));
	char size[32];
	unsigned i;

	if (!f)
		return failure_set(failure, -ENOMEM, "cannot start", "", NULL);
	f->handler.ops = &watch_ops;
	f->options = r->options;
	f->delay = delay_new(r->options->flight_bytes);
	if (!f->delay) {
		free(f);
		print_size(size, sizeof(size), r->options->flight_bytes);
		failure_set(failure, -ENOMEM, "cannot keep in memory", size, NULL);
		failure_hint(failure, "a smaller --flight-memory");
		return -ENOMEM;
	}
	for (i = 0; i < r->options->n_triggers; i++)
		f->names[i] = names_intern_string(r->names, r->options->triggers[i].name);
	*ret_flight = f;
	return timeline_add_handler(r->timeline, &f->handler);
}

void flight_free(struct flight *f)
{
	if (!f)
		return;
	delay_free(f->delay);
	free(f);
}

/* --- the delay --------------------------------------------------------------------------------- */

static void pass_on(struct recording *r)
{
	struct event event;

	if (delay_take(r->flight->delay, &event) && outputs_event(r, &event))
		r->write_failed = true;
}

static void expire(struct recording *r, uint64_t now_ns)
{
	uint64_t window = r->options->flight_ns;

	while (delay_count(r->flight->delay) && now_ns > window &&
	       delay_oldest_ns(r->flight->delay) < now_ns - window)
		pass_on(r);
}

static void keep(struct recording *r, const struct event *event)
{
	struct flight *f = r->flight;

	while (!delay_put(f->delay, event)) {
		if (!delay_count(f->delay)) {
			/* It is larger than all of the memory. */
			f->evicted_ns = event->ts_ns;
			outputs_event(r, event);
			return;
		}
		f->evicted_ns = delay_oldest_ns(f->delay);
		pass_on(r);
	}
}

/* --- writing it out ---------------------------------------------------------------------------- */

static void note(struct recording *r, uint64_t ts_ns, const char *name, const char *trigger,
		 uint64_t reached_ns)
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

static void tell(struct recording *r, const char *trigger, uint64_t reached_ns)
{
	unsigned i;

	if (r->options->verbosity < 0)
		return;
	status_clear(r);
	fprintf(stderr, "proftrace: %s: the last %.3f s are in", trigger, reached_ns / 1e9);
	for (i = 0; i < r->n_files; i++) {
		if (r->files[i].set == r->sets)
			fprintf(stderr, " %s", r->files[i].path);
	}
	fputc('\n', stderr);
}

/* How far back everything is there: not farther than the recording goes, or the files before. */
static uint64_t reach(const struct recording *r, uint64_t now_ns, bool is_short)
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

static void count_short(struct flight *f, uint64_t reached_ns)
{
	if (!f->count.dumps_short++ || reached_ns < f->count.shortest_ns)
		f->count.shortest_ns = reached_ns;
}

static void dump(struct recording *r, const char *trigger, uint64_t now_ns)
{
	struct flight *f = r->flight;
	struct failure failure = { 0 };
	uint64_t reached_ns, oldest_ns;
	bool is_short;

	expire(r, now_ns);
	is_short = f->evicted_ns && f->evicted_ns + r->options->flight_ns > now_ns;
	reached_ns = reach(r, now_ns, is_short);
	oldest_ns = now_ns - reached_ns;
	/* What could not be opened has been said. It stays in memory: another time, perhaps. */
	if (outputs_begin(r, NULL, &failure))
		return;
	f->count.dumps++;
	if (is_short) {
		count_short(f, reached_ns);
		note(r, oldest_ns, "flight recorder fell short", trigger, reached_ns);
	}
	while (delay_count(f->delay))
		pass_on(r);
	f->emptied_ns = now_ns;
	note(r, now_ns, "flight recorder", trigger, reached_ns);
	if (!outputs_end(r, NULL))
		tell(r, trigger, reached_ns);
	/* It goes on all the same: the disk may have room by then. */
	r->all_outputs_failed = false;
}

void flight_dump(struct recording *r, uint64_t now_ns)
{
	dump(r, "asked for", now_ns);
}

/* A window that another trigger has just written the beginning of is not worth files of its own. */
static void fire(struct recording *r, const struct trigger *t, uint64_t ts_ns)
{
	struct flight *f = r->flight;

	if (f->dumped_ns && ts_ns < f->dumped_ns + r->options->flight_ns) {
		f->count.suppressed++;
		return;
	}
	f->dumped_ns = ts_ns;
	dump(r, t->text, ts_ns);
}

void flight_take(struct recording *r, const struct event *event)
{
	struct flight *f = r->flight;
	const struct trigger *t = f->fired;

	/* What the recorder reads itself comes ahead of marks that it has not taken yet. */
	if (!event->sampled && event->kind != EVENT_CLOCK && event->ts_ns > f->newest_ns)
		f->newest_ns = event->ts_ns;
	expire(r, f->newest_ns);
	keep(r, event);
	if (!t)
		return;
	f->fired = NULL;
	fire(r, t, event->ts_ns);
}

void flight_finish(struct recording *r)
{
	while (delay_count(r->flight->delay))
		pass_on(r);
}

const struct flight_count *flight_count(const struct flight *f)
{
	return &f->count;
}
