/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes on what is selected. */
#include "reports/select/select_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct select *select_of(struct consumer *consumer)
{
	return (struct select *)consumer;
}

/* --- what is passed on ------------------------------------------------------------------------- */

static int select_pass(struct select *s, const struct fact *fact)
{
	unsigned i, n_working = 0;
	int error, last = 0;

	for (i = 0; i < s->n_outs; i++) {
		struct consumer *out = s->outs[i];

		if (out->error)
			continue;
		error = out->ops->fact(out, fact);
		if (error)
			last = out->error = error < 0 ? error : -EIO;
		else
			n_working++;
	}
	return n_working || !last ? 0 : last;
}

static int select_pass_selected(struct select *s, const struct fact *fact)
{
	for (unsigned i = 0; s->set_group && i < s->n_outs; i++)
		s->set_group(s->outs[i], select_group_of(s, fact));
	return select_pass(s, fact);
}

static int select_pass_or_count(struct select *s, const struct fact *fact, bool selected)
{
	if (selected)
		return select_pass(s, fact);
	/* Counters of the machine are not marks. */
	s->count.marks_left_out += fact->kind != FACT_COUNTER || fact->process;
	return 0;
}

static struct select_track *select_track_of(struct select *s, const struct fact *fact)
{
	struct select_track *track;

	if (fact->kind == FACT_ASYNC_BEGIN || fact->kind == FACT_ASYNC_END)
		return select_track_get(s, fact->tracks[0]->uuid);
	track = fact->thread ? select_track_get(s, fact->thread->uuid) : NULL;
	if (track) {
		track->thread = fact->thread;
		track->process = fact->process;
	}
	return track;
}

static int select_begin_slice(struct select *s, const struct fact *fact)
{
	struct select_track *track = select_track_of(s, fact);
	int error = select_push(s, track, fact);

	if (error || s->mode == SELECT_DECIDE || s->mode == SELECT_SAMPLES ||
	    s->mode == SELECT_TABLE)
		return error;
	if (s->mode == SELECT_CUT)
		return select_pass_or_count(s, fact, track->frames[track->n_frames - 1].selected);
	return select_pass(s, fact);
}

/* Consumers that follow what is around a slice have to know that this one has ended. */
static int select_pass_place(struct select *s, const struct fact *fact)
{
	struct fact place = *fact;

	place.end_reason = END_UNFINISHED;
	return select_pass(s, &place);
}

static int select_end_slice(struct select *s, const struct fact *fact)
{
	struct select_track *track = select_track_of(s, fact);
	struct select_frame *frame;
	bool selected;
	int error = 0;

	if (!track || !track->n_frames)
		return s->mode == SELECT_ALL ? select_pass(s, fact) : 0;
	frame = &track->frames[track->n_frames - 1];
	if (s->mode >= SELECT_CUT)
		selected = frame->selected;
	else
		selected = select_wants_slice(s, track, fact);
	s->count.slices++;
	s->count.selected += selected;
	if (s->mode == SELECT_CUT)
		error = select_pass_or_count(s, fact, selected);
	else if (s->mode == SELECT_ALL)
		error = select_pass(s, fact);
	else if (s->mode == SELECT_DECIDE && selected)
		error = select_decide(s, frame->ordinal);
	else if (s->mode <= SELECT_TABLE && selected)
		error = select_pass_selected(s, fact);
	else if (s->mode == SELECT_PLACES)
		error = select_pass_place(s, fact);
	select_pop(track);
	return error;
}

/* --- what has no duration ---------------------------------------------------------------------- */

/* Counters of a thread's hardware are part of the slices that are open on it. */
static bool select_has_open(struct select *s, const struct thread *thread)
{
	const struct select_track *track = thread ? select_track_get(s, thread->uuid) : NULL;

	return !s->is_conditional || (track && track->n_selected);
}

static int select_counted(struct select *s, const struct fact *fact)
{
	if (s->mode == SELECT_CUT && (!select_in_range(s, fact->ts_ns, fact->ts_ns) ||
				      !select_has_open(s, fact->tracks[0]->thread)))
		return 0;
	return select_pass(s, fact);
}

static int select_moment(struct select *s, const struct fact *fact)
{
	if (s->mode == SELECT_ALL)
		return select_pass(s, fact);
	if (s->mode == SELECT_DECIDE || s->mode == SELECT_SAMPLES)
		return 0;
	if (fact->kind == FACT_COUNTER && fact->n_args && fact->tracks[0]->is_counted)
		return select_counted(s, fact);
	if (s->mode == SELECT_CUT)
		return select_pass_or_count(s, fact, select_wants_moment(s, fact));
	return select_wants_moment(s, fact) ? select_pass_selected(s, fact) : 0;
}

static void select_follow_flow(struct select *s, uint64_t id, bool kept)
{
	struct select_flow *flow;

	HASH_FIND(hh, s->flows, &id, sizeof(id), flow);
	if (!flow && HASH_CNT(hh, s->flows) < SELECT_MAX_FLOWS)
		flow = hash_add_new(hh, s->flows, id, id);
	if (!flow) {
		s->count.flows_not_followed++;
		return;
	}
	s->count.flows_without_end += !(flow->kept && flow->left_out);
	flow->kept |= kept;
	flow->left_out |= !kept;
	s->count.flows_without_end -= !(flow->kept && flow->left_out);
}

/* An arrow belongs to the slice that is open where it begins or ends. */
static int select_flow(struct select *s, const struct fact *fact)
{
	const struct select_track *track = select_track_of(s, fact);
	bool kept = !s->is_conditional;

	if (s->mode == SELECT_ALL || s->mode <= SELECT_PLACES)
		return select_pass(s, fact);
	if (s->mode != SELECT_CUT)
		return 0;
	if (track && track->n_frames)
		kept = track->frames[track->n_frames - 1].selected;
	else
		kept &= select_in_range(s, fact->ts_ns, fact->ts_ns);
	select_follow_flow(s, fact->id, kept);
	return select_pass_or_count(s, fact, kept);
}

/*
 * Samples are passed on with those of the slices around them that are selected. A sample in the middle of a begin comes after
 * it and has an earlier time: it is in none of the slices that are open by then.
 */
static int select_sample(struct select *s, const struct fact *fact)
{
	const struct select_track *track =
		fact->thread ? select_track_get(s, fact->thread->uuid) : NULL;
	const struct name *slices[64];
	struct sample sample = *fact->sample;
	struct fact own = *fact;

	if (s->mode < SELECT_CUT || s->mode == SELECT_ALL)
		return s->mode == SELECT_DECIDE ? 0 : select_pass(s, fact);
	if (!select_in_range(s, fact->ts_ns, fact->ts_ns) || !select_has_open(s, fact->thread))
		return 0;
	if (!s->is_conditional)
		return select_pass(s, fact);
	sample.slices = slices;
	sample.n_slices = 0;
	for (unsigned i = 0; track && i < fact->sample->n_slices && i < track->n_frames && i < 64;
	     i++) {
		if (track->frames[i].selected)
			slices[sample.n_slices++] = fact->sample->slices[i];
	}
	own.sample = &sample;
	if (!sample.n_slices)
		return 0;
	return select_pass(s, s->mode == SELECT_CUT ? fact : &own);
}

/*
 * A wait belongs to the slices that are open. In a single reading it is not known yet whether these
 * are selected.
 */
static bool select_keeps_wait(struct select *s, const struct fact *fact)
{
	return s->mode == SELECT_CUT ? select_has_open(s, fact->thread) : !s->is_conditional;
}

/* Facts that are not marks: the context of everything else. */
static int select_context(struct select *s, const struct fact *fact)
{
	bool in_range = select_in_range(s, fact->ts_ns, fact->ts_ns);

	if (s->mode == SELECT_DECIDE || s->mode == SELECT_SAMPLES)
		return 0;
	switch (fact->kind) {
	case FACT_READING:
		in_range &= s->mode != SELECT_CUT || select_has_open(s, fact->thread);
		break;
	case FACT_LOST:
	case FACT_SWITCH:
	case FACT_WAKING:
	case FACT_SCHED_GAP:
		break;
	case FACT_WAIT:
		in_range &= select_keeps_wait(s, fact);
		break;
	case FACT_LEAK:
		in_range &= !s->is_conditional;
		break;
	default:
		in_range = true;
	}
	return in_range || s->mode == SELECT_ALL ? select_pass(s, fact) : 0;
}

static int select_exit(struct select *s, const struct fact *fact)
{
	struct select_track *track = NULL;

	if (fact->thread)
		HASH_FIND(hh, s->tracks, &fact->thread->uuid, sizeof(fact->thread->uuid), track);
	if (track)
		select_track_free(s, track);
	return select_context(s, fact);
}

/* --- the consumer ------------------------------------------------------------------------------ */

static void select_extend_span(struct select *s, uint64_t ts_ns)
{
	if (ts_ns - 1 < s->span_first - 1) /* 0 means none */
		s->span_first = ts_ns;
	if (ts_ns > s->span_last)
		s->span_last = ts_ns;
}

static int select_fact(struct consumer *consumer, const struct fact *fact)
{
	struct select *s = select_of(consumer);

	if (fact->kind >= FACT_BEGIN && fact->kind <= FACT_FLOW_IN && fact->kind != FACT_READING)
		select_extend_span(s, fact->ts_ns);
	switch (fact->kind) {
	case FACT_BEGIN:
	case FACT_ASYNC_BEGIN:
		return select_begin_slice(s, fact);
	case FACT_END:
	case FACT_ASYNC_END:
		return select_end_slice(s, fact);
	case FACT_INSTANT:
	case FACT_COUNTER:
		return select_moment(s, fact);
	case FACT_FLOW_OUT:
	case FACT_FLOW_IN:
		return select_flow(s, fact);
	case FACT_SAMPLE:
		return select_sample(s, fact);
	case FACT_EXIT:
		return select_exit(s, fact);
	default:
		return select_context(s, fact);
	}
}

void select_end(struct consumer *consumer)
{
	struct select *s = select_of(consumer);
	struct select_track *track;

	for (track = s->tracks; track && s->mode == SELECT_DECIDE; track = track->hh.next) {
		while (track->n_frames) {
			const struct select_frame *frame = &track->frames[track->n_frames - 1];
			const struct fact open = {
				.kind = FACT_BEGIN,
				.ts_ns = UINT64_MAX, /* it overlaps everything that follows */
				.name = frame->name,
				.category = frame->category,
				.thread = track->thread,
				.process = track->process,
			};

			if (select_wants_slice(s, track, &open) && select_decide(s, frame->ordinal))
				consumer->error = -ENOMEM;
			select_pop(track);
		}
	}
	select_forget_tracks(s);
}

static uint64_t select_bound(const struct select *s, const struct select_time *time,
			     uint64_t unbounded)
{
	uint64_t ns;

	if (!time->is_set)
		return unbounded;
	if (time->absolute)
		return time->ns;
	return __builtin_add_overflow(s->first_ns, time->ns, &ns) ? UINT64_MAX : ns;
}

void select_begin(struct consumer *consumer, enum select_mode mode, uint64_t first_ns,
		  const char *rank)
{
	struct select *s = select_of(consumer);

	select_forget_tracks(s);
	if (mode == SELECT_DECIDE && s->n_words)
		memset(s->decided, 0, s->n_words * sizeof(*s->decided));
	s->mode = mode;
	s->first_ns = first_ns;
	s->from_ns = select_bound(s, &s->options->from, 0);
	s->to_ns = select_bound(s, &s->options->to, UINT64_MAX);
	s->rank = rank && *rank ? names_intern_string(s->names, rank) : NULL;
	s->span_first = s->span_last = 0;
	s->next_ordinal = 0;
	if (mode == SELECT_CUT)
		s->count = (struct select_count){ 0 };
}

struct select_count select_counts(const struct consumer *consumer)
{
	const struct select *s = (const struct select *)consumer;
	struct select_count count = s->count;
	const struct select_track *track;

	for (track = s->tracks; track; track = track->hh.next)
		count.open += track->n_selected;
	return count;
}

bool select_span(const struct consumer *consumer, uint64_t *ret_first_ns, uint64_t *ret_last_ns)
{
	const struct select *s = (const struct select *)consumer;
	uint64_t first = s->span_first > s->from_ns ? s->span_first : s->from_ns;
	uint64_t last = s->span_last < s->to_ns ? s->span_last : s->to_ns;

	if (!s->span_first || first > last)
		return false;
	*ret_first_ns = first;
	*ret_last_ns = last;
	return true;
}

void select_group_by(struct consumer *consumer,
		     void (*set_group)(struct consumer *out, const struct name *group))
{
	select_of(consumer)->set_group = set_group;
}

static int select_flush(struct consumer *consumer)
{
	(void)consumer;
	return 0;
}

static int select_close(struct consumer *consumer, const struct account *account)
{
	(void)consumer, (void)account;
	return 0;
}

static void select_free(struct consumer *consumer)
{
	struct select *s = select_of(consumer);

	select_forget_tracks(s);
	hash_clear(hh, s->flows, flow);
	condition_free(s->where);
	free(s->decided);
	free(s);
}

static const struct consumer_ops select_ops = {
	.fact = select_fact,
	.flush = select_flush,
	.close = select_close,
	.free = select_free,
};

/* The condition of --where, which also looks at the argument of --by. */
static bool select_compile(struct select *s)
{
	const struct select_options *o = s->options;
	struct condition_error error;

	if (!o->text && o->by != BY_ARGUMENT)
		return true;
	s->where = o->text ? condition_compile(o->text, &error) : condition_new();
	if (s->where && o->by == BY_ARGUMENT)
		s->by_key = condition_add_key(s->where, o->by_key);
	if (!s->where || s->by_key < 0)
		return false;
	condition_bind(s->where, s->names);
	s->n_keys = condition_keys(s->where);
	return true;
}

struct consumer *select_new(const struct select_options *options, struct names *names)
{
	struct select *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->consumer.ops = &select_ops;
	s->options = options;
	s->names = names;
	s->to_ns = UINT64_MAX;
	s->is_conditional = options->text != NULL;
	if (select_compile(s))
		return &s->consumer;
	select_free(&s->consumer);
	return NULL;
}

int select_add_out(struct consumer *consumer, struct consumer *out)
{
	struct select *s = select_of(consumer);

	if (s->n_outs == SELECT_OUTS)
		return -ENOSPC;
	s->outs[s->n_outs++] = out;
	return 0;
}

/* --- options ----------------------------------------------------------------------------------- */

bool select_is_wanted(const struct select_options *o)
{
	return o->text || o->from.is_set || o->to.is_set || o->by;
}

bool select_needs_start(const struct select_options *o)
{
	return o->uses_start || (o->from.is_set && !o->from.absolute) ||
	       (o->to.is_set && !o->to.absolute);
}
