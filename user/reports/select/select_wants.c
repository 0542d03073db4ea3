/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a slice or a moment is selected, and the group of --by that it belongs to. */
#include "reports/select/select_internal.h"

#include <inttypes.h>
#include <stdio.h>

bool select_in_range(const struct select *s, uint64_t begin_ns, uint64_t end_ns)
{
	return begin_ns < s->to_ns && end_ns >= s->from_ns;
}

static bool select_wants(struct select *s, const struct fact *fact, enum condition_kind kind,
			 uint64_t begin_ns)
{
	if (!select_in_range(s, begin_ns, fact->ts_ns))
		return false;
	if (!s->where)
		return true;
	s->subject.kind = kind;
	s->subject.fact = fact;
	s->subject.start_ns = begin_ns > s->first_ns ? begin_ns - s->first_ns : 0;
	return condition_matches(s->where, &s->subject);
}

/* A slice ends, or (`fact` of kind BEGIN) stays open. */
bool select_wants_slice(struct select *s, struct select_track *track, const struct fact *fact)
{
	const struct select_frame *frame = &track->frames[track->n_frames - 1];
	enum condition_kind kind = track->thread    ? CONDITION_SLICE
				   : fact->is_frame ? CONDITION_FRAME
						    : CONDITION_ASYNC;

	s->subject.has_duration = fact->kind != FACT_BEGIN && fact->end_reason == END_NORMAL;
	s->subject.duration_ns = fact->ts_ns - frame->begin_ns;
	s->subject.in = track->n_frames > 1 ? frame[-1].in : 0;
	s->subject.saved = select_saved_args(s, track);
	return select_wants(s, fact, kind, frame->begin_ns);
}

bool select_wants_moment(struct select *s, const struct fact *fact)
{
	const struct select_track *track =
		fact->thread ? select_track_get(s, fact->thread->uuid) : NULL;
	bool wanted;

	s->subject.has_duration = false;
	s->subject.in = track && track->n_frames ? track->frames[track->n_frames - 1].in : 0;
	s->subject.saved = NULL;
	wanted = select_wants(s, fact,
			      fact->kind == FACT_COUNTER ? CONDITION_COUNTER : CONDITION_INSTANT,
			      fact->ts_ns);
	s->count.others++;
	s->count.others_selected += wanted;
	return wanted;
}

/* --- groups ------------------------------------------------------------------------------------ */

static const struct name *select_name_number(struct select *s, const struct arg *arg)
{
	struct select_group *group = &s->groups[(uint64_t)(arg->u * 0x9e3779b97f4a7c15ull) >> 54];
	char text[40];

	if (group->name && group->type == arg->type && group->u == arg->u)
		return group->name;
	if (arg->type == ARG_INT)
		snprintf(text, sizeof(text), "%" PRId64, arg->i);
	else if (arg->type == ARG_DOUBLE)
		snprintf(text, sizeof(text), "%.12g", arg->d);
	else if (arg->type == ARG_BOOL)
		snprintf(text, sizeof(text), "%s", arg->u ? "true" : "false");
	else if (arg->type == ARG_POINTER)
		snprintf(text, sizeof(text), "0x%" PRIx64, arg->u);
	else
		snprintf(text, sizeof(text), "%" PRIu64, arg->u);
	*group = (struct select_group){ arg->type, arg->u, names_intern_string(s->names, text) };
	return group->name;
}

static const struct name *select_group_of_owner(struct select *s, const struct fact *fact)
{
	const struct name *name = NULL;
	char text[LIMIT_KEY];
	uint32_t id = 0;

	if (s->options->by == BY_RANK) {
		const char *rank;
		int length;

		if (s->rank || !fact->process)
			return s->rank;
		rank = process_rank(fact->process, &length);
		return rank ? names_intern(s->names, rank, (size_t)length, LIMIT_KEY) : NULL;
	}
	if (s->options->by == BY_THREAD && fact->thread) {
		name = fact->thread->name;
		id = fact->thread->tid;
	} else if (s->options->by == BY_PROCESS && fact->process) {
		name = fact->process->name;
		id = fact->process->pid;
	}
	if (name || !id)
		return name;
	snprintf(text, sizeof(text), "%" PRIu32, id);
	return names_intern_string(s->names, text);
}

/* The value by which the table is split, NULL: the fact has none. */
const struct name *select_group_of(struct select *s, const struct fact *fact)
{
	const struct arg *arg = NULL;
	unsigned i, key = (unsigned)s->by_key;

	if (s->options->by != BY_ARGUMENT)
		return select_group_of_owner(s, fact);
	if (s->subject.saved && s->subject.saved[key].type)
		arg = &s->subject.saved[key];
	for (i = 0; !arg && i < fact->n_args; i++) {
		if (fact->args[i].key == condition_key(s->where, key))
			arg = &fact->args[i];
	}
	if (!arg || arg->type == ARG_NULL)
		return NULL;
	if (arg->type == ARG_STRING)
		return names_intern(s->names, arg->s, arg->length, LIMIT_KEY);
	return select_name_number(s, arg);
}
