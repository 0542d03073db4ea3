/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Critical paths on tracks of their own: "critical path of request". Each part is a slice that says which
 * thread the request depended on, and what that thread did. The parts of a path follow each other without
 * holes; paths at the same time are on different tracks.
 */
#include "reports/critical/critical_tracks.h"

#include <inttypes.h>

#include "base/text.h"
#include "reports/critical/critical_internal.h"

enum {
	MAX_TRACKS = 64, /* paths at the same time; all others are on the last track */
	MAX_TEXT = 512,
};

struct track_writer {
	struct critical *c;
	struct rewrite *rewrite;
	uint64_t ends_ns[MAX_TRACKS]; /* of the last path on each */
	const struct name *category;
	const struct name *thread, *tid, *slice, *on, *woken_by;
};

static const struct name *part_name(struct track_writer *w, const struct critical_part *part)
{
	const struct critical_row_key *key = &part->row->key;
	char text[MAX_TEXT];

	if (part->row == &w->c->other)
		return names_intern_string(w->rewrite->names, "(other)");
	snprintf(text, sizeof(text), "%.200s: %s", key->thread ? key->thread->text : "?",
		 critical_row_doing(key));
	return names_intern_string(w->rewrite->names, text);
}

static void add_text(struct arg *args, unsigned *n, const struct name *key, const struct name *text)
{
	if (text)
		args[(*n)++] = (struct arg){
			.key = key, .type = ARG_STRING, .s = text->text, .length = text->length
		};
}

static int write_part(struct track_writer *w, const struct critical_instance *in,
		      const struct critical_part *part, const struct name *track)
{
	const struct critical_row_key *key = &part->row->key;
	struct arg args[5];
	struct event e = {
		.kind = EVENT_SLICE_AT,
		.ts_ns = part->to_ns,
		.pid = in->pid,
		.level = -1,
		.name = part_name(w, part),
		.category = w->category,
		.args = args,
		.given = { .track = track, .begin = part->from_ns, .end = part->to_ns },
	};

	add_text(args, &e.n_args, w->thread, key->thread);
	if (part->tid)
		args[e.n_args++] = (struct arg){ .key = w->tid, .type = ARG_UINT, .u = part->tid };
	add_text(args, &e.n_args, w->slice, key->slice);
	add_text(args, &e.n_args, w->on, key->on);
	add_text(args, &e.n_args, w->woken_by, key->woken_by);
	return rewrite_event(w->rewrite, &e);
}

/* The lowest track on which no path is at that time; paths come in the order of their begins. */
static unsigned free_track(struct track_writer *w, const struct critical_instance *in)
{
	unsigned i;

	for (i = 0; i + 1 < MAX_TRACKS && w->ends_ns[i] > in->from_ns; i++)
		;
	w->ends_ns[i] = in->to_ns;
	return i;
}

static int write_path(struct track_writer *w, const struct critical_instance *in)
{
	unsigned number = free_track(w, in) + 1;
	char text[MAX_TEXT], *at;
	const struct name *track;
	int error = 0;

	snprintf(text, sizeof(text),
		 number > 1 ? "critical path of %.200s %u" : "critical path of %.200s",
		 in->name->text, number);
	/* It would be a track within another. */
	for (at = text; *at; at++)
		*at = *at == '/' ? ':' : *at;
	track = names_intern_string(w->rewrite->names, text);
	for (uint32_t i = in->n_parts; i-- && !error;)
		error = write_part(w, in, &in->parts[i], track);
	return error;
}

int critical_write_tracks(struct consumer *consumer, struct rewrite *rewrite, struct failure *f)
{
	struct critical *c = (struct critical *)consumer;
	struct track_writer w = { .c = c, .rewrite = rewrite };
	int error;

	critical_next_trace(consumer);
	c->complete = true;
	error = critical_ready(c, f);
	if (error)
		return error;
	w.category = names_intern_string(rewrite->names, "critical");
	w.thread = names_intern_string(rewrite->names, "thread");
	w.tid = names_intern_string(rewrite->names, "tid");
	w.slice = names_intern_string(rewrite->names, "slice");
	w.on = names_intern_string(rewrite->names, "on");
	w.woken_by = names_intern_string(rewrite->names, "woken by");
	critical_sort_by_begin(c);
	for (uint32_t i = 0; i < c->n_instances && !error; i++)
		error = write_path(&w, &c->instances[i]);
	/* Errors of outputs are reported by rewrite_end(). */
	return 0;
}

void critical_tracks_summary(const struct consumer *consumer)
{
	const struct critical *c = (const struct critical *)consumer;

	print_visible(stderr, "critical paths: %" PRIu32 " of slices that match '%s'%s\n",
		      c->n_instances, c->name,
		      c->n_instances && !c->had_states
			      ? "; the trace has no thread states, so all is unknown"
			      : "");
}
