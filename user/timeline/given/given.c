/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slices and instants with times that the program gives: what a device, another clock or a finished
 * request tells afterwards. They are on tracks that the program names, "GPU 0/stream 7", and come
 * in any order, also with slices that overlap.
 *
 * A slice is over when it comes, so both of its facts are emitted at once: files may have events in
 * any order of time. But a viewer cannot show slices that overlap on one track. So a track has
 * lanes, and a slice gets the lowest one on which nothing else is at that time. For this a lane
 * remembers the end of its last slice and the gaps before. Of many gaps the oldest are forgotten:
 * a slice that would fit there gets another lane, and never shares one.
 *
 * Viewers sort by time and leave events of the same time in the order of the file. So a slice must
 * end before the one after it on its lane begins, which was written earlier: otherwise the END
 * would close that one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#include "timeline/given/given.h"

#define MAX_LEVELS 8 /* tracks within tracks; the rest of the path is one name */
/* Further ahead of the mark than clocks differ: a viewer could show nothing else beside such a time. */
#define MAX_AHEAD_NS 3600000000000ull

struct gap {
	uint64_t from, to;
};

struct given_lane {
	struct track *track;
	uint64_t end_ns; /* of its last slice */
	struct gap *gaps;
	uint32_t n_gaps, capacity;
};

struct given_track {
	struct given_key {
		const struct name *path;
		uint64_t whole; /* the path is the name of slices without a track */
	} key;
	struct given_track *parent;
	const struct name *name;
	struct given_lane *lanes;
	uint32_t n_lanes;
	struct track_clock *clock; /* NULL: none, but its parent may have one */
	UT_hash_handle hh;
};

/* --- gaps ------------------------------------------------------------------------------------ */

/* Of the lane: the first gap that ends after `ns`. */
static uint32_t gap_find(const struct given_lane *lane, uint64_t ns)
{
	return (uint32_t)array_count_before(lane->n_gaps, i, lane->gaps[i].to <= ns);
}

static void lane_remove_gap(struct timeline *t, struct given_lane *lane, uint32_t i)
{
	memmove(lane->gaps + i, lane->gaps + i + 1, (--lane->n_gaps - i) * sizeof(*lane->gaps));
	t->n_gaps--;
}

/* A gap that cannot be remembered is taken as occupied. */
static void lane_add_gap(struct timeline *t, struct given_lane *lane, uint32_t i, struct gap gap)
{
	if (gap.from >= gap.to)
		return;
	if (lane->n_gaps >= LIMIT_GAPS_OF_LANE) {
		if (!i)
			return;
		lane_remove_gap(t, lane, 0);
		i--;
	}
	if (t->n_gaps >= LIMIT_GAPS || !array_reserve(lane->gaps, lane->n_gaps, lane->capacity, 4))
		return;
	memmove(lane->gaps + i + 1, lane->gaps + i, (lane->n_gaps - i) * sizeof(gap));
	lane->gaps[i] = gap;
	lane->n_gaps++;
	t->n_gaps++;
}

/* Occupies the time on the lane, if nothing is there. */
static bool lane_occupy(struct timeline *t, struct given_lane *lane, uint64_t begin_ns,
			uint64_t end_ns)
{
	struct gap gap;
	uint32_t i;

	if (begin_ns >= lane->end_ns) {
		gap = (struct gap){ lane->end_ns, begin_ns };
		lane->end_ns = end_ns;
		lane_add_gap(t, lane, lane->n_gaps, gap);
		return true;
	}
	i = gap_find(lane, begin_ns);
	if (i == lane->n_gaps || lane->gaps[i].from > begin_ns || lane->gaps[i].to <= end_ns)
		return false;
	gap = lane->gaps[i];
	lane_remove_gap(t, lane, i);
	lane_add_gap(t, lane, i, (struct gap){ end_ns, gap.to });
	lane_add_gap(t, lane, i, (struct gap){ gap.from, begin_ns });
	return true;
}

/* --- tracks ---------------------------------------------------------------------------------- */

/* Declares one more lane. */
static bool track_add_lane(struct timeline *t, struct process_state *p, struct given_track *track,
			   uint64_t ts_ns)
{
	const struct track described = {
		.name = track->name,
		.lane = track->n_lanes,
		.is_given = true,
		.path = track->key.whole ? NULL : track->key.path,
		.parent = track->parent ? track->parent->lanes[0].track : NULL,
	};
	struct given_lane *lanes;

	if (track->n_lanes >= LIMIT_LANES_OF_TRACK)
		return false;
	/* Its size is a power of two. */
	if (!(track->n_lanes & (track->n_lanes - 1))) {
		lanes = realloc(track->lanes,
				(track->n_lanes ? track->n_lanes * 2 : 1) * sizeof(*lanes));
		if (!lanes)
			return false;
		track->lanes = lanes;
	}
	track->lanes[track->n_lanes] =
		(struct given_lane){ .track = lane_track_new(t, p, ts_ns, &described) };
	if (!track->lanes[track->n_lanes].track)
		return false;
	track->n_lanes++;
	return true;
}

static struct given_track *given_track_find(const struct process_state *p,
					    const struct given_key *key)
{
	struct given_track *track;

	HASH_FIND(hh, p->given_tracks, key, sizeof(*key), track);
	return track;
}

/* Makes a track within `parent`, with its first lane. */
static struct given_track *given_track_new(struct timeline *t, const struct mark *m,
					   const struct given_key *key, struct given_track *parent,
					   const struct name *name)
{
	struct given_track *track;

	/* A program can invent any number of tracks. */
	if (t->n_tracks >= t->limits.tracks)
		return NULL;
	track = hash_add_new(hh, m->process->given_tracks, key, *key);
	if (!track)
		return NULL;
	track->parent = parent;
	track->name = name;
	if (track_add_lane(t, m->process, track, m->ts_ns))
		return track;
	HASH_DEL(m->process->given_tracks, track);
	free(track->lanes);
	free(track);
	return NULL;
}

/* The track of a path, and those around it. NULL: there are too many. */
static struct given_track *given_track_at_path(struct timeline *t, const struct mark *m,
					       const struct name *path)
{
	const struct given_key key = { .path = path };
	struct given_track *track = given_track_find(m->process, &key), *parent = NULL;
	uint32_t from = 0, to, level;

	for (level = 1; !track; level++, from = to + 1) {
		struct given_key part = { .path = path };

		for (to = from; to < path->length && path->text[to] != '/'; to++)
			;
		if (level == MAX_LEVELS)
			to = path->length;
		if (to < path->length)
			part.path = names_intern(t->names, path->text, to, EVENT_MAX_STRING);
		track = given_track_find(m->process, &part);
		if (!track)
			track = given_track_new(t, m, &part, parent,
						names_intern(t->names, path->text + from, to - from,
							     EVENT_MAX_STRING));
		if (!track || to == path->length)
			break;
		parent = track;
		track = NULL;
	}
	return track;
}

/* A mark without a track is on the track of its own name. */
static struct given_track *given_track_get(struct timeline *t, const struct mark *m)
{
	const struct given_key key = { .path = m->name, .whole = 1 };
	struct given_track *track;

	if (m->event->given.track && m->event->given.track->length)
		return given_track_at_path(t, m, m->event->given.track);
	track = given_track_find(m->process, &key);
	return track ? track : given_track_new(t, m, &key, NULL, m->name);
}

/* The lane for a slice of this time. NULL: there are too many. */
static struct given_lane *given_lane_for(struct timeline *t, const struct mark *m,
					 struct given_track *track, uint64_t begin_ns,
					 uint64_t end_ns)
{
	for (uint32_t i = 0; i < track->n_lanes || track_add_lane(t, m->process, track, m->ts_ns);
	     i++) {
		if (lane_occupy(t, &track->lanes[i], begin_ns, end_ns))
			return &track->lanes[i];
	}
	return NULL;
}

/* --- times ----------------------------------------------------------------------------------- */

static struct track_clock *given_clock(const struct given_track *track)
{
	while (track && !track->clock)
		track = track->parent;
	return track ? track->clock : NULL;
}

/* Converts and checks the times. An instant has no end. */
static int given_times(struct timeline *t, const struct mark *m, const struct given_track *track,
		       uint64_t *begin, uint64_t *end)
{
	const struct event *e = m->event;
	bool of_clock = e->size == GIVEN_TICKS, from_file = e->level < 0;
	struct track_clock *clock = of_clock ? given_clock(track) : NULL;

	*begin = e->given.begin;
	*end = e->kind == EVENT_SLICE_AT ? e->given.end : *begin;
	if (of_clock && !clock)
		return held_add(t, m);
	if (clock && !clock->is_used) {
		clock->is_used = true;
		held_emit(t, m->process);
	}
	if (*end < *begin)
		return LOST_TIMES;
	if (clock) {
		*begin = clock_to_ns(clock, *begin);
		*end = clock_to_ns(clock, *end);
	}
	if (*end > INT64_MAX || (!from_file && *end > e->ts_ns + MAX_AHEAD_NS))
		return LOST_TIMES;
	return *begin < t->start_ns ? LOST_CUT : MARK_WRITTEN;
}

/* --- marks ----------------------------------------------------------------------------------- */

/* The fact belongs to the process: the thread that tells of it had no part in it. */
static struct fact given_fact(const struct mark *m, enum fact_kind kind, uint64_t ts_ns)
{
	struct fact fact = fact_from_mark(m, kind);

	fact.ts_ns = ts_ns;
	fact.thread = NULL;
	fact.callstack = NULL;
	fact.continued = false;
	return fact;
}

/* The argument `flow`: the arrow that ends at the slice. */
static uint64_t given_flow(const struct timeline *t, const struct event *e)
{
	for (unsigned i = 0; i < e->n_args; i++) {
		if (e->args[i].key == t->flow &&
		    (e->args[i].type == ARG_UINT || e->args[i].type == ARG_INT))
			return e->args[i].u;
	}
	return 0;
}

int slice_at(struct timeline *t, const struct mark *m)
{
	struct given_track *track = given_track_get(t, m);
	struct given_lane *lane;
	const struct track *on;
	uint64_t begin_ns, end_ns;
	struct fact fact;
	int outcome;

	if (!track)
		return LOST_LIMIT;
	outcome = given_times(t, m, track, &begin_ns, &end_ns);
	if (outcome != MARK_WRITTEN)
		return outcome;
	lane = given_lane_for(t, m, track, begin_ns, end_ns);
	if (!lane)
		return LOST_LIMIT;
	on = lane->track;

	fact = given_fact(m, FACT_ASYNC_BEGIN, begin_ns);
	fact.tracks = &on;
	fact.id = on->uuid;
	fact.end_ns = end_ns;
	fact.flow = given_flow(t, m->event);
	emit_fact(t, &fact);

	fact = given_fact(m, FACT_ASYNC_END, end_ns);
	fact.tracks = &on;
	fact.id = on->uuid;
	fact.begin_ns = begin_ns;
	fact.n_args = 0;
	emit_fact(t, &fact);
	return MARK_WRITTEN;
}

/* It is on the first lane, where it disturbs no slice. */
int instant_at(struct timeline *t, const struct mark *m)
{
	struct given_track *track = given_track_get(t, m);
	const struct track *on;
	uint64_t ns, end_ns;
	struct fact fact;
	int outcome;

	if (!track)
		return LOST_LIMIT;
	outcome = given_times(t, m, track, &ns, &end_ns);
	if (outcome != MARK_WRITTEN)
		return outcome;
	on = track->lanes[0].track;
	fact = given_fact(m, FACT_INSTANT, ns);
	fact.tracks = &on;
	fact.scope = fact.process ? SCOPE_PROCESS : SCOPE_GLOBAL;
	emit_fact(t, &fact);
	return MARK_WRITTEN;
}

int clock_reading_mark(struct timeline *t, const struct mark *m)
{
	struct given_track *track = given_track_get(t, m);

	if (track && !track->clock)
		track->clock = calloc(1, sizeof(*track->clock));
	if (!track || !track->clock)
		return LOST_LIMIT;
	t->account->readings_refused +=
		!clock_add_reading(track->clock, m->event->given.begin, m->event->given.end);
	return MARK_WRITTEN;
}

/* --- processes --------------------------------------------------------------------------------- */

void given_each_track(const struct process_state *p,
		      void (*each)(void *context, const struct track *track), void *context)
{
	const struct given_track *track;

	/* In the order in which they were made, so that those around come first. */
	for (track = p->given_tracks; track; track = track->hh.next) {
		for (uint32_t i = 0; i < track->n_lanes; i++)
			each(context, track->lanes[i].track);
	}
}

void given_forget_clocks(struct timeline *t, struct process_state *p)
{
	struct given_track *track;

	held_lose(t, p);
	for (track = p->given_tracks; track; track = track->hh.next) {
		free(track->clock);
		track->clock = NULL;
	}
}

void given_release(struct timeline *t, struct process_state *p)
{
	given_forget_clocks(t, p);
	hash_each (p->given_tracks, track) {
		HASH_DEL(p->given_tracks, track);
		for (uint32_t i = 0; i < track->n_lanes; i++) {
			free(track->lanes[i].track);
			free(track->lanes[i].gaps);
			t->n_gaps -= track->lanes[i].n_gaps;
		}
		t->n_tracks -= track->n_lanes;
		free(track->lanes);
		free(track);
	}
}
