/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames are asynchronous slices that are numbered per name, from the first one that is recorded.
 * The time from the start of one to the start of the next gives their rate, in Hz.
 *
 * All frames of an object have the same token. Overlapping frames are told apart by the lane they
 * are on, so a frame's id in the outputs is the uuid of its lane.
 */
#include "timeline/state.h"

#include <stdio.h>
#include <string.h>

uint64_t frame_begin(struct timeline *t, struct lanes *lanes, struct fact *fact)
{
	lanes->n_frames++;
	if (fact->n_args >= EVENT_MAX_ARGS)
		return lanes->n_frames;
	if (fact->n_args)
		memcpy(t->args, fact->args, fact->n_args * sizeof(*fact->args));
	t->args[fact->n_args++] =
		(struct arg){ .key = t->frame, .type = ARG_UINT, .u = lanes->n_frames };
	fact->args = t->args;
	return lanes->n_frames;
}

static struct counter *frame_rate_counter(struct timeline *t, const struct mark *m,
					  const struct lanes *lanes)
{
	char text[6 * 128 + sizeof(" rate")];
	int n = snprintf(text, sizeof(text), "%s rate", lanes->name->text);
	const struct name *name;

	if (n < 0 || (size_t)n >= sizeof(text))
		return NULL;
	name = names_intern(t->names, text, (size_t)n, sizeof(text));
	return counter_get(t, m, name, NULL, t->hz);
}

/*
 * There is no rate for the first frame, for a frame that started no later than the previous one,
 * and for the first frame after others may have been missed.
 */
void frame_rate(struct timeline *t, const struct mark *m, struct lanes *lanes)
{
	uint64_t last_ns = lanes->last_ns;
	const struct track *track;
	struct fact fact;
	struct arg rate = { .type = ARG_DOUBLE };

	if (lanes->n_frames > 1 && m->ts_ns <= last_ns)
		return;
	lanes->last_ns = m->ts_ns;
	if (lanes->n_frames == 1 || !last_ns)
		return;
	if (!lanes->rate)
		lanes->rate = frame_rate_counter(t, m, lanes);
	if (!lanes->rate)
		return;
	rate.d = 1e9 / (double)(m->ts_ns - last_ns);
	track = &lanes->rate->pub;
	fact = fact_from_mark(m, FACT_COUNTER);
	fact.name = track->name;
	fact.tracks = &track;
	fact.args = &rate;
	fact.n_args = 1;
	counter_keep(lanes->rate, &rate, &fact);
	emit_fact(t, &fact);
}

void frames_restart(struct process_state *p)
{
	struct lanes *lanes;

	for (lanes = p->lanes; lanes; lanes = lanes->hh.next)
		lanes->n_frames = 0;
}

static void forget_last_frame(struct process_state *p)
{
	struct lanes *lanes;

	for (lanes = p->lanes; lanes; lanes = lanes->hh.next)
		lanes->last_ns = 0;
}

void frames_missed(struct timeline *t, struct process_state *process)
{
	struct process_state *p;

	if (process) {
		forget_last_frame(process);
		return;
	}
	for (p = t->processes; p; p = p->hh.next)
		forget_last_frame(p);
}
