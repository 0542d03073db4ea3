/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous slices: they may begin on one thread and end on another, and they may overlap.
 * Viewers cannot show overlapping slices on one track, so each runs on a lane, which is a track of
 * its own: it gets the lowest lane of its name that is free.
 *
 * Open slices are found by process and id. Those with the same id form a chain, the latest first,
 * which is searched for category and name.
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

static struct async *latest_async(const struct timeline *t, const struct number_key *key)
{
	struct async *async;

	HASH_FIND(hh, t->asyncs, key, sizeof(*key), async);
	return async;
}

static struct lanes *lanes_get(struct process_state *p, const struct name *name)
{
	struct lanes *lanes;

	HASH_FIND_PTR(p->lanes, &name, lanes);
	return lanes ? lanes : hash_add_new(hh, p->lanes, name, name);
}

static bool grow_lanes(struct lanes *lanes)
{
	uint32_t capacity = lanes->capacity ? lanes->capacity * 2 : 4;
	struct track **tracks;
	uint32_t *free_lanes;

	if (lanes->n < lanes->capacity)
		return true;
	tracks = realloc(lanes->tracks, capacity * sizeof(struct track *));
	if (tracks)
		lanes->tracks = tracks;
	free_lanes = realloc(lanes->free_lanes, capacity * sizeof(*free_lanes));
	if (free_lanes)
		lanes->free_lanes = free_lanes;
	if (!tracks || !free_lanes)
		return false;
	lanes->capacity = capacity;
	return true;
}

/*
 * The free lanes are a binary heap with the lowest lane first: a linear search would dominate the
 * cost when many slices are open. Its array has space for all lanes.
 */
static void release_lane(struct lanes *lanes, uint32_t lane)
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

static uint32_t pop_lowest_lane(struct lanes *lanes)
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

/* Gets the lowest free lane, which is declared at its first use. */
static bool acquire_lane(struct timeline *t, const struct mark *m, struct lanes *lanes,
			 uint32_t *ret_lane)
{
	uint32_t lane = lanes->n;

	if (lanes->n_free) {
		*ret_lane = pop_lowest_lane(lanes);
		return true;
	}
	if (!grow_lanes(lanes))
		return false;
	lanes->tracks[lane] = lane_track_new(t, m->process, m->ts_ns,
					     &(struct track){ .name = lanes->name, .lane = lane });
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

static void recycle_async(struct timeline *t, struct async *async)
{
	async->next = t->spare_asyncs;
	t->spare_asyncs = async;
}

/*
 * Puts the slice at the head of the chain of its id, in place of `latest`, which may be NULL.
 * `hash`: of its key.
 */
static bool chain_async(struct timeline *t, struct async *async, struct async *latest,
			unsigned hash)
{
	if (latest)
		HASH_DEL(t->asyncs, latest);
	HASH_ADD_BYHASHVALUE(hh, t->asyncs, key, sizeof(async->key), hash, async);
	if (hash_added(hh, async)) {
		async->older = latest;
		async->nth = latest ? latest->nth + 1 : 1;
		return true;
	}
	if (latest) /* cannot fail: its place was free a moment ago */
		HASH_ADD(hh, t->asyncs, key, sizeof(latest->key), latest);
	return false;
}

static void unchain_async(struct timeline *t, struct async *latest, struct async *async)
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

/* Frames of an object share one token; overlapping ones are told apart by their lane. */
uint64_t async_id(const struct async *async)
{
	return async->frame ? async->lanes->tracks[async->lane]->uuid : async->key.number;
}

/* In a file this argument is all that distinguishes a frame from other asynchronous slices. */
static bool has_frame_number(const struct timeline *t, const struct fact *fact)
{
	for (unsigned i = 0; i < fact->n_args; i++) {
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
	if (!lanes || !acquire_lane(t, m, lanes, &lane))
		return LOST_LIMIT;
	async = async_new(t);
	if (async)
		async->key = key;
	if (!async || !chain_async(t, async, latest, hash)) {
		release_lane(lanes, lane);
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

	fact = fact_from_mark(m, FACT_ASYNC_BEGIN);
	track = lanes->tracks[lane];
	fact.tracks = &track;
	if (m->event->object == OBJECT_FRAME) {
		async->frame = frame_begin(t, lanes, &fact);
		fact.id = async_id(async);
	}
	async->is_frame = has_frame_number(t, &fact);
	stamp_step(t, m, &fact);
	emit_fact(t, &fact);
	if (async->frame)
		frame_rate(t, m, lanes);
	return MARK_WRITTEN;
}

/* Ends the slice. `fact` has the time, the owner of the END, and its arguments. */
static void end_async_slice(struct timeline *t, struct process_state *p, struct async *async,
			    struct fact *fact)
{
	const struct track *track = async->lanes->tracks[async->lane];

	fact->kind = FACT_ASYNC_END;
	fact->name = async->name;
	fact->category = async->category;
	fact->id = async_id(async);
	fact->begin_ns = async->begin_ns;
	fact->is_frame = async->is_frame;
	/* Events of different threads may be a little out of order. */
	if (fact->ts_ns < async->begin_ns)
		fact->ts_ns = async->begin_ns;
	fact->tracks = &track;
	release_lane(async->lanes, async->lane);
	DL_DELETE(p->asyncs, async);
	t->n_asyncs--;
	emit_fact(t, fact);
	recycle_async(t, async);
}

static int emit_unmatched_end(struct timeline *t, const struct mark *m)
{
	struct fact fact = fact_from_mark(m, FACT_INSTANT);

	if (!m->event->name)
		fact.name = t->async_end;
	fact.scope = fact.thread ? SCOPE_THREAD : fact.process ? SCOPE_PROCESS : SCOPE_GLOBAL;
	stamp_step(t, m, &fact);
	t->account->async_unmatched++;
	emit_fact(t, &fact);
	return MARK_WRITTEN;
}

/* A program may use the token of its frames as the id of other asynchronous slices, too. */
static struct async *find_oldest_frame(struct async *latest)
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
	struct async *latest = latest_async(t, &key), *async = latest;
	struct fact fact;

	if (m->event->object == OBJECT_FRAME)
		async = find_oldest_frame(latest);
	else if (m->event->name)
		while (async && (async->name != m->name || async->category != m->event->category))
			async = async->older;
	/* It may have begun while it was not recorded. */
	if (!async && (m->event->left_out || m->process->paused_once || t->has_gaps))
		return MARK_LEFT_OUT;
	if (!async)
		return m->event->object == OBJECT_FRAME ? LOST_CUT : emit_unmatched_end(t, m);
	unchain_async(t, latest, async);
	fact = fact_from_mark(m, FACT_ASYNC_END);
	fact.end_reason = m->event->end_reason;
	account_end_reason(t, m->event->end_reason);
	end_async_slice(t, m->process, async, &fact);
	return MARK_WRITTEN;
}

void asyncs_unfinished(struct timeline *t, struct process_state *p, uint64_t ts_ns)
{
	while (p->asyncs) {
		struct async *async = p->asyncs;
		struct fact fact = { .ts_ns = ts_ns,
				     .end_reason = END_UNFINISHED,
				     .process = public_process(p) };

		/* The process's list has the latest first, as the chain of each id does. */
		unchain_async(t, async, async);
		end_async_slice(t, p, async, &fact);
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
				     .process = public_process(p) };

		if (!is_of_domain(async->category, domain))
			continue;
		unchain_async(t, latest_async(t, &async->key), async);
		end_async_slice(t, p, async, &fact);
		t->account->ended_off++;
	}
}

void asyncs_release(struct timeline *t, struct process_state *p)
{
	while (p->asyncs) {
		struct async *async = p->asyncs;

		unchain_async(t, async, async);
		DL_DELETE(p->asyncs, async);
		t->n_asyncs--;
		recycle_async(t, async);
	}
	hash_each (p->lanes, lanes) {
		HASH_DEL(p->lanes, lanes);
		for (uint32_t i = 0; i < lanes->n; i++)
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
