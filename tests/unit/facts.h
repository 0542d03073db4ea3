/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of the timeline: a handler that keeps every fact, and checks of each what must hold of all:
 * processes, threads and tracks are declared before they are used and not used when they are gone,
 * uuids are never used twice, slices nest, and no two slices share a lane at one time.
 */
#ifndef PROFTRACE_TESTS_FACTS_H
#define PROFTRACE_TESTS_FACTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "timeline/consumer.h"
#include "timeline/timeline.h"

#define FACTS_MAX_ARGS (EVENT_MAX_ARGS + 2)

struct seen_fact {
	enum fact_kind kind;
	enum event_scope scope;
	enum end_reason end_reason;
	uint64_t ts_ns, begin_ns, self_ns, id, count;
	uint64_t process, thread; /* uuids, 0 = NULL */
	uint32_t pid, tid;
	uint64_t start_ns; /* PROCESS */
	const char *name;  /* of TRACK, PROCESS and THREAD too; NULL = none */
	const char *category;
	uint64_t flow, end_ns; /* ASYNC_BEGIN on a track that is_given */
	bool nested_in_itself, in_slice, continued;
	struct clock_reading clock;
	unsigned n_args;
	struct arg args[FACTS_MAX_ARGS];
	uint64_t track; /* uuid of the first */
	struct track first_track;
	unsigned n_counters;
	uint64_t counters[EVENT_MAX_COUNTERS], selves[EVENT_MAX_COUNTERS];
};

/* Something with a uuid, and what is open on it. */
struct seen_object {
	enum fact_kind kind;
	uint64_t owner;
	bool gone;
	uint32_t n_open;
	struct seen_slice {
		const char *name, *category;
		uint64_t begin_ns, children_ns;
		bool continued; /* what was in it before is not known here */
	} open[64];
};

#define FACTS_MAX_OBJECTS 200000

struct facts {
	struct consumer consumer;
	bool only_check; /* do not keep them */
	bool midway;	 /* it began with timeline_replay(): in any order, without what is gone */
	struct seen_fact *all;
	size_t n, capacity;
	struct seen_object **objects; /* by uuid minus base */
	uint64_t uuid_base;
	uint64_t n_objects;
	int fail_with; /* the error to return from now on */
	unsigned calls;
};

static inline const char *facts_text(const struct name *name)
{
	return name ? name->text : NULL;
}

static inline struct seen_object *facts_object(struct facts *facts, uint64_t uuid,
					       enum fact_kind kind)
{
	struct seen_object *object;

	assert_true(uuid > facts->uuid_base && uuid - facts->uuid_base < FACTS_MAX_OBJECTS);
	object = facts->objects[uuid - facts->uuid_base];
	assert_non_null(object);
	assert_int_equal(object->kind, kind);
	assert_false(object->gone);
	return object;
}

/* A declaration, or for what may have a new name, another one. */
static inline void facts_declare(struct facts *facts, uint64_t uuid, enum fact_kind kind,
				 uint64_t owner)
{
	struct seen_object **slot;

	assert_true(uuid > facts->uuid_base && uuid - facts->uuid_base < FACTS_MAX_OBJECTS);
	slot = &facts->objects[uuid - facts->uuid_base];
	if (*slot) {
		assert_true(kind != FACT_TRACK);
		assert_int_equal((*slot)->kind, kind);
		assert_false((*slot)->gone);
		return;
	}
	/* 1, 2, 3, ... */
	if (!facts->midway)
		assert_int_equal(uuid - facts->uuid_base, facts->n_objects + 1);
	if (uuid - facts->uuid_base > facts->n_objects)
		facts->n_objects = uuid - facts->uuid_base;
	*slot = calloc(1, sizeof(**slot));
	(*slot)->kind = kind;
	(*slot)->owner = owner;
}

static inline void facts_begin(struct seen_object *on, const struct fact *f)
{
	assert_true(on->n_open < 64);
	on->open[on->n_open++] = (struct seen_slice){ .name = facts_text(f->name),
						      .category = facts_text(f->category),
						      .begin_ns = f->ts_ns,
						      .continued = f->continued };
}

static inline void facts_end(struct seen_object *on, const struct fact *f)
{
	struct seen_slice *s;
	bool nested = false;
	uint32_t i;

	assert_true(on->n_open > 0);
	s = &on->open[--on->n_open];
	assert_ptr_equal(s->name, facts_text(f->name));
	assert_ptr_equal(s->category, facts_text(f->category));
	assert_int_equal(s->begin_ns, f->begin_ns);
	assert_true(f->ts_ns >= f->begin_ns);
	if (f->kind == FACT_ASYNC_END) {
		assert_int_equal(on->n_open, 0);
		return;
	}
	if (s->continued)
		assert_true(f->self_ns <= f->ts_ns - s->begin_ns - s->children_ns);
	else
		assert_int_equal(f->self_ns, f->ts_ns - s->begin_ns - s->children_ns);
	for (i = 0; i < on->n_open; i++)
		nested |= on->open[i].name == s->name && on->open[i].category == s->category;
	assert_int_equal(f->nested_in_itself, nested);
	if (on->n_open)
		on->open[on->n_open - 1].children_ns += f->ts_ns - s->begin_ns;
}

static inline void facts_check_exited(struct facts *facts, const struct fact *f)
{
	uint64_t uuid = f->thread ? f->thread->uuid : f->process->uuid, i;
	struct seen_object *gone =
		facts_object(facts, uuid, f->thread ? FACT_THREAD : FACT_PROCESS);

	assert_int_equal(gone->n_open, 0);
	gone->gone = true;
	for (i = 1; !f->thread && i <= facts->n_objects; i++) {
		struct seen_object *object = facts->objects[i];

		if (!object || object->owner != uuid)
			continue;
		/* Threads are told one by one before their process is. */
		assert_true(object->gone || object->kind == FACT_TRACK);
		assert_int_equal(object->n_open, 0);
		object->gone = true;
	}
}

static inline void facts_check(struct facts *facts, const struct fact *f)
{
	struct seen_object *thread = NULL, *track;
	unsigned i;

	if (f->kind == FACT_PROCESS)
		facts_declare(facts, f->process->uuid, FACT_PROCESS, 0);
	if (f->process)
		facts_object(facts, f->process->uuid, FACT_PROCESS);
	if (f->kind == FACT_THREAD)
		facts_declare(facts, f->thread->uuid, FACT_THREAD, f->process->uuid);
	if (f->thread) {
		thread = facts_object(facts, f->thread->uuid, FACT_THREAD);
		assert_ptr_equal(f->thread->process, f->process);
	}
	if (f->kind == FACT_TRACK) {
		assert_ptr_equal(f->tracks[0]->process, f->process);
		facts_declare(facts, f->tracks[0]->uuid, FACT_TRACK,
			      f->process ? f->process->uuid : 0);
	}
	assert_true(f->n_args <= FACTS_MAX_ARGS);
	if (f->kind == FACT_COUNTER) {
		assert_true(f->n_args > 0);
		for (i = 0; i < f->n_args; i++) {
			track = facts_object(facts, f->tracks[i]->uuid, FACT_TRACK);
			assert_int_equal(track->owner, f->process ? f->process->uuid : 0);
			assert_int_equal(f->tracks[i]->kind, TRACK_COUNTER);
			assert_ptr_equal(f->tracks[i]->name, f->name);
			assert_ptr_equal(f->tracks[i]->key, f->args[i].key);
			assert_in_range(f->args[i].type, ARG_INT, ARG_DOUBLE);
		}
	}
	for (i = 0; i < f->n_counters; i++)
		assert_ptr_equal(f->counter_tracks[i]->thread, f->thread);
	for (i = 0; i < f->n_counters; i++)
		facts_object(facts, f->counter_tracks[i]->uuid, FACT_TRACK);
	if (f->kind == FACT_BEGIN)
		facts_begin(thread, f);
	if (f->kind == FACT_END)
		facts_end(thread, f);
	if (f->kind == FACT_FLOW_OUT || f->kind == FACT_FLOW_IN)
		assert_int_equal(f->in_slice, thread->n_open > 0);
	if (f->kind == FACT_ASYNC_BEGIN || f->kind == FACT_ASYNC_END) {
		track = facts_object(facts, f->tracks[0]->uuid, FACT_TRACK);
		assert_int_equal(f->tracks[0]->kind, TRACK_ASYNC);
		if (!f->tracks[0]->is_given)
			assert_ptr_equal(f->tracks[0]->name, f->name);
		if (f->kind == FACT_ASYNC_BEGIN) {
			assert_int_equal(track->n_open, 0);
			facts_begin(track, f);
		} else {
			facts_end(track, f);
		}
	}
	if (f->kind == FACT_EXIT)
		facts_check_exited(facts, f);
}

static inline int facts_take(struct consumer *consumer, const struct fact *f)
{
	struct facts *facts = (struct facts *)consumer;
	struct seen_fact *seen;

	facts->calls++;
	if (facts->fail_with)
		return facts->fail_with;
	facts_check(facts, f);
	if (facts->only_check)
		return 0;
	if (facts->n == facts->capacity) {
		facts->capacity = facts->capacity ? facts->capacity * 2 : 64;
		facts->all = realloc(facts->all, facts->capacity * sizeof(*facts->all));
		assert_non_null(facts->all);
	}
	seen = &facts->all[facts->n++];
	*seen = (struct seen_fact){
		.kind = f->kind,
		.scope = f->scope,
		.end_reason = f->end_reason,
		.ts_ns = f->ts_ns,
		.begin_ns = f->begin_ns,
		.self_ns = f->self_ns,
		.id = f->id,
		.count = f->count,
		.process = f->process ? f->process->uuid : 0,
		.thread = f->thread ? f->thread->uuid : 0,
		.pid = f->process ? f->process->pid : 0,
		.tid = f->thread ? f->thread->tid : 0,
		.start_ns = f->process ? f->process->start_ns : 0,
		.name = facts_text(f->name),
		.category = facts_text(f->category),
		.nested_in_itself = f->nested_in_itself,
		.in_slice = f->in_slice,
		.continued = f->continued,
		.clock = f->clock,
		.n_args = f->n_args,
	};
	if (f->n_args)
		memcpy(seen->args, f->args, f->n_args * sizeof(*f->args));
	seen->n_counters = f->n_counters;
	if (f->n_counters)
		memcpy(seen->counters, f->counters, sizeof(seen->counters));
	if (f->n_counters && f->counter_selves)
		memcpy(seen->selves, f->counter_selves, sizeof(seen->selves));
	if (f->tracks) {
		seen->track = f->tracks[0]->uuid;
		seen->first_track = *f->tracks[0];
	}
	if (f->kind == FACT_ASYNC_BEGIN) {
		seen->flow = f->flow;
		seen->end_ns = f->end_ns;
	}
	return 0;
}

static inline const struct consumer_ops *facts_ops(void)
{
	static const struct consumer_ops ops = { .fact = facts_take };

	return &ops;
}

static inline void facts_init(struct facts *facts, uint64_t uuid_base)
{
	memset(facts, 0, sizeof(*facts));
	facts->consumer.ops = facts_ops();
	facts->uuid_base = uuid_base;
	facts->objects = calloc(FACTS_MAX_OBJECTS, sizeof(*facts->objects));
	assert_non_null(facts->objects);
}

static inline void facts_free(struct facts *facts)
{
	uint64_t i;

	for (i = 1; i <= facts->n_objects; i++)
		free(facts->objects[i]);
	free(facts->objects);
	free(facts->all);
}

/* A deterministic source of chance: failures must be repeatable. */
static inline uint32_t chance(uint64_t *state, uint32_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)((*state * 0x2545f4914f6cdd1dull) >> 33) % below;
}

#endif
