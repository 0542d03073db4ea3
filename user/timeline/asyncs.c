/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous slices: they may begin on one thread, end on another and overlap. Each runs on a lane,
 * a track of its own, so that slices on one track never overlap; of the lanes of its name it takes
 * the lowest that is free.
 *
 * Open ones are found by process and id. Those with the same id form a chain, the latest first, which
 * is searched for category and name.
 */
#include "timeline/state.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

int asyncs_init(struct timeline *t)
{
	/* No process has this uuid. */
	t->async_anchor.key.process = UINT64_MAX;
	HASH_ADD(hh, t->asyncs, key, sizeof(t->async_anchor.key), &t->async_anchor);
	return hash_added(hh, &t->async_anchor) ? 0 : -1;
}

static struct async *latest_of(const struct timeline *t, const struct number_key *key)
{
	struct async *async;

	HASH_FIND(hh, t->asyncs, key, sizeof(*key), async);
	return async;
}

static struct lanes *lanes_get(struct process_state *p, const struct name *name)
{
	struct lanes *lanes;

	HASH_FIND_PTR(p->lanes, &name, lanes);
	if (lanes)
		return lanes;
	lanes = calloc(1, sizeof(*lanes));
	if (!lanes)
		return NULL;
	lanes->name = name;
	HASH_ADD_PTR(p->lanes, name, lanes);
	if (!hash_added(hh, lanes)) {
		free(lanes);
		return NULL;
	}
	return lanes;
}

static bool grow(struct lanes *lanes)
{
	uint32_t room = lanes->room ? lanes->room * 2 : 4;
	struct track **tracks;
	uint32_t *free_lanes;

	if (lanes->n < lanes->room)
		return true;
	tracks = realloc(lanes->tracks, room * sizeof(struct track *));
	if (tracks)
		lanes->tracks = tracks;
	free_lanes = realloc(lanes->free_lanes, room * sizeof(*free_lanes));
	if (free_lanes)
		lanes->free_lanes = free_lanes;
	if (!tracks || !free_lanes)
		return false;
	lanes->room = room;
	return true;
}

/*
 * The free lanes are a heap, whose first is the lowest: with many slices open at a time, looking for it
 * from one lane to the next would take longer than all the rest. It has room for all of them.
 */
static void lane_give_back(struct lanes *lanes, uint32_t lane)
{
	uint32_t i = lanes->n_free++, parent;

	for (; i > 0; i = parent) {
		parent = (i - 1) / 2;
		if (lanes->free_lanes[parent] < lane)
			break;
		lanes->free_lanes[i] = lanes->free_lanes[parent];
	}
	lanes->free_lanes[i] = lane;
}

static uint32_t lowest_free(struct lanes *lanes)
{
	uint32_t lowest = lanes->free_lanes[0], last = lanes->free_lanes[--lanes->n_free], i = 0,
		 child;

	while ((child = 2 * i + 1) < lanes->n_free) {
		if (child + 1 < lanes->n_free &&
		    lanes->free_lanes[child + 1] < lanes->free_lanes[child])
			child++;
		if (last < lanes->free_lanes[child])
			break;
		lanes->free_lanes[i] = lanes->free_lanes[child];
		i = child;
	}
	lanes->free_lanes[i] = last;
	return lowest;
}

/* Takes the lowest free lane, declaring it at its first use. */
static bool lane_take(struct timeline *t, const struct mark *m, struct lanes *lanes,
		      uint32_t *ret_lane)
{
	uint32_t lane = lanes->n;

	if (lanes->n_free) {
		*ret_lane = lowest_free(lanes);
		return true;
	}
	if (!grow(lanes))
		return false;
	lanes->tracks[lane] = lane_track_new(t, m->process, m->ts_ns, lanes->name, lane);
	if (!lanes->tracks[lane])
		return false;
	lanes->n++;
	*ret_lane = lane;
	return true;
}

static struct async *async_new(struct timeline *t)
{
	struct async *async = t->spare_asyncs;

	if (async)
		t->spare_asyncs = async->next;
	else
		async = malloc(sizeof(*async));
	if (async)
		memset(async, 0, sizeof(*async));
	return async;
}

static void make_spare(struct timeline *t, struct async *async)
{
	async->next = t->spare_asyncs;
	t->spare_asyncs = async;
}

/* Puts it at the head of the chain of its id, in place of `latest`, which may be NULL. `hash`: of its key. */
static bool chain(struct timeline *t, struct async *async, struct async *latest, unsigned hash)
{
	if (latest)
		HASH_DEL(t->asyncs, latest);
	HASH_ADD_BYHASHVALUE(hh, t->asyncs, key, sizeof(async->key), hash, async);
	if (hash_added(hh, async)) {
		async->older = latest;
		async->nth = latest ? latest->nth + 1 : 1;
		return true;
	}
	if (latest) /* goes where there was room a moment ago */
		HASH_ADD(hh, t->asyncs, key, sizeof(latest->key), latest);
	return false;
}

static void unchain(struct timeline *t, struct async *latest, struct async *async)
{
	struct async *newer;

	if (async == latest) {
		HASH_DEL(t->asyncs, async);
		if (async->older)
			HASH_ADD(hh, t->asyncs, key, sizeof(async->key), async->older);
		return;
	}
	for (newer = latest; newer != async; newer = newer->older) {
		newer->nth--;
		if (newer->older == async) {
			newer->older = async->older;
			break;
		}
	}
}

/* Frames of an object have one token: what tells those apart that overlap is their lane. */
uint64_t async_id(const struct async *async)
{
	return async->frame ? async->lanes->tracks[async->lane]->uuid : async->key.number;
}

/* In a file this is all that tells a frame from other asynchronous slices. */
static bool has_number(const struct timeline *t, const struct fact *fact)
{
	unsigned i;

	for (i = 0; i < fact->n_args; i++) {
		if (fact->args[i].key == t->frame)
			return fact->args[i].type == ARG_UINT || fact->args[i].type == ARG_INT;
	}
	return false;
}

int async_begin(struct timeline *t, const struct mark *m)
{
	struct number_key key = { .process = m->process->pub.uuid, .number = m->event->id };
	struct async *latest, *async;
	const struct track *track;
	struct lanes *lanes;
	struct fact fact;
	uint32_t lane;
	unsigned hash;

	HASH_VALUE(&key, sizeof(key), hash);
	HASH_FIND_BYHASHVALUE(hh, t->asyncs, &key, sizeof(key), hash, latest);
	if (t->n_asyncs >= t->limits.asyncs ||
	    (latest && latest->nth >= t->limits.asyncs_of_one_id))
		return LOST_LIMIT;
	lanes = lanes_get(m->process, m->name);
	if (!lanes || !lane_take(t, m, lanes, &lane))
		return LOST_LIMIT;
	async = async_new(t);
	if (async)
		async->key = key;
	if (!async || !chain(t, async, latest, hash)) {
		lane_give_back(lanes, lane);
		free(async);
		return LOST_LIMIT;
	}
	async->name = m->name;
	async->category = m->event->category;
	async->begin_ns = m->ts_ns;
	async->lanes = lanes;
	async->lane = lane;
	DL_PREPEND(m->process->asyncs, async);
	t->n_asyncs++;

	fact = fact_of(m, FACT_ASYNC_BEGIN);
	track = lanes->tracks[lane];
	fact.tracks = &track;
	if (m->event->object == OBJECT_FRAME) {
		async->frame = frame_begin(t, lanes, &fact);
		fact.id = async_id(async);
	}
	async->is_frame = has_number(t, &fact);
	stamp_step(t, m, &fact);
	emit(t, &fact);
	if (async->frame)
		frame_rate(t, m, lanes);
	return MARK_WRITTEN;
}

/* Ends it. `fact` has the time, whose the END was, and its arguments. */
static void finish(struct timeline *t, struct process_state *p, struct async *async,
		   struct fact *fact)
{
	const struct track *track = async->lanes->tracks[async->lane];

	fact->kind = FACT_ASYNC_END;
	fact->name = async->name;
	fact->category = async->category;
	fact->id = async_id(async);
	fact->begin_ns = async->begin_ns;
	fact->is_frame = async->is_frame;
	/* Threads' events may be a little out of order. */
	if (fact->ts_ns < async->begin_ns)
		fact->ts_ns = async->begin_ns;
	fact->tracks = &track;
	lane_give_back(async->lanes, async->lane);
	DL_DELETE(p->asyncs, async);
	t->n_asyncs--;
	emit(t, fact);
	make_spare(t, async);
}

static int end_without_begin(struct timeline *t, const struct mark *m)
{
	struct fact fact = fact_of(m, FACT_INSTANT);

	if (!m->event->name)
		fact.name = t->async_end;
	fact.scope = fact.thread ? SCOPE_THREAD : fact.process ? SCOPE_PROCESS : SCOPE_GLOBAL;
	stamp_step(t, m, &fact);
	t->account->async_unmatched++;
	emit(t, &fact);
	return MARK_WRITTEN;
}

/* Nothing else has a frame's token, but a program may choose it as the id of another slice. */
static struct async *oldest_frame(struct async *latest)
{
	struct async *async, *frame = NULL;

	for (async = latest; async; async = async->older) {
		if (async->frame)
			frame = async;
	}
	return frame;
}

int async_end(struct timeline *t, const struct mark *m)
{
	struct number_key key = { .process = m->process->pub.uuid, .number = m->event->id };
	struct async *latest = latest_of(t, &key), *async = latest;
	struct fact fact;

	if (m->event->object == OBJECT_FRAME)
		async = oldest_frame(latest);
	else if (m->event->name)
		while (async && (async->name != m->name || async->category != m->event->category))
			async = async->older;
	/* It may have begun while nobody recorded it. */
	if (!async && (m->event->left_out || m->process->paused_once || t->has_gaps))
		return MARK_LEFT_OUT;
	if (!async)
		return m->event->object == OBJECT_FRAME ? LOST_CUT : end_without_begin(t, m);
	unchain(t, latest, async);
	fact = fact_of(m, FACT_ASYNC_END);
	fact.end_reason = m->event->end_reason;
	count_end(t, m->event->end_reason);
	finish(t, m->process, async, &fact);
	return MARK_WRITTEN;
}

void asyncs_unfinished(struct timeline *t, struct process_state *p, uint64_t ts_ns)
{
	while (p->asyncs) {
		struct async *async = p->asyncs;
		struct fact fact = { .ts_ns = ts_ns,
				     .end_reason = END_UNFINISHED,
				     .process = process_of(p) };

		/* The process's list is the latest first, as the chain of each id is. */
		unchain(t, async, async);
		finish(t, p, async, &fact);
		t->account->unfinished++;
	}
}

void asyncs_off(struct timeline *t, struct process_state *p, const struct name *domain,
		uint64_t ts_ns)
{
	struct async *async, *next;

	DL_FOREACH_SAFE(p->asyncs, async, next)
	{
		struct fact fact = { .ts_ns = ts_ns,
				     .end_reason = END_UNFINISHED,
				     .process = process_of(p) };

		if (!is_of_domain(async->category, domain))
			continue;
		unchain(t, latest_of(t, &async->key), async);
		finish(t, p, async, &fact);
		t->account->ended_off++;
	}
}

void asyncs_release(struct timeline *t, struct process_state *p)
{
	struct lanes *lanes, *next;
	uint32_t i;

	while (p->asyncs) {
		struct async *async = p->asyncs;

		unchain(t, async, async);
		DL_DELETE(p->asyncs, async);
		t->n_asyncs--;
		make_spare(t, async);
	}
	HASH_ITER (hh, p->lanes, lanes, next) {
		HASH_DEL(p->lanes, lanes);
		for (i = 0; i < lanes->n; i++)
			free(lanes->tracks[i]);
		t->n_tracks -= lanes->n;
		free(lanes->tracks);
		free(lanes->free_lanes);
		free(lanes);
	}
}

void asyncs_free(struct timeline *t)
{
	while (t->spare_asyncs) {
		struct async *async = t->spare_asyncs;

		t->spare_asyncs = async->next;
		free(async);
	}
	if (t->asyncs)
		HASH_DEL(t->asyncs, &t->async_anchor);
}
