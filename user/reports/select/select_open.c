/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is open on each thread and in each lane of asynchronous slices.
 *
 * Arguments of a BEGIN are known only then, so those that the condition looks at are kept until the
 * END: numbers in the frame of the open slice, strings in a stack of bytes beside the frames.
 */
#include "reports/select/select_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct select_track *select_track_get(struct select *s, uint64_t uuid)
{
	struct select_track **recent = &s->recent[uuid & (SELECT_RECENT - 1)];
	struct select_track *track = *recent;

	if (track && track->uuid == uuid)
		return track;
	HASH_FIND(hh, s->tracks, &uuid, sizeof(uuid), track);
	if (!track)
		track = hash_add_new(hh, s->tracks, uuid, uuid);
	*recent = track;
	return track;
}

void select_track_free(struct select *s, struct select_track *track)
{
	HASH_DEL(s->tracks, track);
	s->recent[track->uuid & (SELECT_RECENT - 1)] = NULL;
	free(track->frames);
	free(track->saved);
	free(track->bytes);
	free(track);
}

void select_forget_tracks(struct select *s)
{
	hash_each (s->tracks, track)
		select_track_free(s, track);
}

/* A copy of a string on the track's stack. The offset becomes a pointer when it is looked at. */
static bool select_save_string(struct select_track *track, struct arg *arg)
{
	while (track->n_bytes + arg->length + 1 > track->bytes_capacity) {
		if (!array_grow(&track->bytes, &track->bytes_capacity, 1024, 1))
			return false;
	}
	memcpy(track->bytes + track->n_bytes, arg->s, arg->length);
	track->bytes[track->n_bytes + arg->length] = '\0';
	arg->u = track->n_bytes;
	track->n_bytes += arg->length + 1;
	return true;
}

/* Keeps the arguments of a BEGIN that the condition looks at. */
static bool select_save_args(struct select *s, struct select_track *track, const struct fact *fact)
{
	struct arg *saved;

	while ((track->n_frames + 1) * s->n_keys > track->saved_capacity) {
		if (!array_grow(&track->saved, &track->saved_capacity, 64, sizeof(*track->saved)))
			return false;
	}
	saved = track->saved + track->n_frames * s->n_keys;
	memset(saved, 0, s->n_keys * sizeof(*saved));
	for (unsigned i = 0; i < fact->n_args; i++) {
		for (unsigned k = 0; k < s->n_keys; k++) {
			if (fact->args[i].key != condition_key(s->where, k) || saved[k].type)
				continue;
			saved[k] = fact->args[i];
			if (saved[k].type == ARG_STRING && !select_save_string(track, &saved[k]))
				return false;
		}
	}
	return true;
}

/* The arguments of the innermost frame, with pointers to its strings. */
const struct arg *select_saved_args(struct select *s, struct select_track *track)
{
	struct arg *saved = track->saved + (track->n_frames - 1) * s->n_keys;

	for (unsigned k = 0; k < s->n_keys; k++) {
		if (saved[k].type == ARG_STRING)
			saved[k].s = track->bytes + saved[k].u;
	}
	return s->n_keys ? saved : NULL;
}

static bool select_was_decided(const struct select *s, uint64_t ordinal)
{
	return ordinal / 64 < s->n_words && s->decided[ordinal / 64] >> ordinal % 64 & 1;
}

int select_decide(struct select *s, uint64_t ordinal)
{
	uint64_t words = s->n_words;
	uint64_t *grown;

	if (ordinal / 64 >= words) {
		words = words ? words : 1024;
		while (ordinal / 64 >= words)
			words *= 2;
		grown = reallocarray(s->decided, words, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + s->n_words, 0, (words - s->n_words) * sizeof(*grown));
		s->decided = grown;
		s->n_words = words;
	}
	s->decided[ordinal / 64] |= 1ull << ordinal % 64;
	return 0;
}

int select_push(struct select *s, struct select_track *track, const struct fact *fact)
{
	struct select_frame *frame;

	if (!track || !array_reserve(track->frames, track->n_frames, track->capacity, 8))
		return -ENOMEM;
	frame = &track->frames[track->n_frames];
	*frame = (struct select_frame){
		.ordinal = s->next_ordinal++,
		.begin_ns = fact->ts_ns,
		.name = fact->name,
		.category = fact->category,
		.bytes = track->n_bytes,
	};
	if (s->where && fact->kind == FACT_BEGIN)
		frame->in =
			condition_in(s->where, fact->name) | (track->n_frames ? frame[-1].in : 0);
	if (s->n_keys && !select_save_args(s, track, fact))
		return -ENOMEM;
	if (s->mode >= SELECT_CUT)
		frame->selected = select_was_decided(s, frame->ordinal);
	track->n_selected += frame->selected;
	track->n_frames++;
	return 0;
}

void select_pop(struct select_track *track)
{
	const struct select_frame *frame = &track->frames[--track->n_frames];

	track->n_bytes = frame->bytes;
	track->n_selected -= frame->selected;
}
