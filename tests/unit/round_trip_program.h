/* SPDX-License-Identifier: BSD-2-Clause */
/* A random program: marks of all kinds, and what the kernel tells of its threads. */
#ifndef ROUND_TRIP_PROGRAM_H
#define ROUND_TRIP_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timeline/callstack.h"
#include "timeline/timeline.h"

#define N_NAMES	 24
#define THREADS	 4
#define DEPTH	 12
#define N_STACKS 40
#define COUNTERS 2
#define START	 5000000123ull

struct program {
	uint64_t seed, now;
	uint64_t more; /* the seed of what was added later: earlier seeds stay what they were */
	struct names *names;
	const struct name *name[N_NAMES];
	const struct name *category[N_NAMES];
	struct account account;
	struct timeline *timeline;
	struct callstacks *callstacks;
	const struct callstack *stack[N_STACKS];
	const struct name *counter[COUNTERS];
	uint64_t counts[COUNTERS];
	struct {
		uint64_t counted[COUNTERS];
		unsigned depth;
		bool ended[DEPTH + 1];
	} threads[3][THREADS];
	struct {
		uint32_t pid;
		uint64_t id;
		const struct name *name;
	} asyncs[16];
	bool levels;   /* as the kernel tells them: then ENDs may be missing */
	bool counting; /* counters of threads are read with each begin and end */
	struct arg args[6];
	char texts[6][256 * 6 + 1];
};

static uint32_t pick_from(uint64_t *seed, uint32_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (uint32_t)((*seed * 0x2545f4914f6cdd1dull) >> 33) % below;
}

static uint32_t pick(struct program *p, uint32_t below)
{
	return pick_from(&p->seed, below);
}

static uint32_t pick_more(struct program *p, uint32_t below)
{
	return pick_from(&p->more, below);
}

static uint64_t any_number(struct program *p)
{
	static const uint64_t odd[] = {
		0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX, 1ull << 53, (1ull << 53) + 1
	};
	uint64_t n = (uint64_t)pick(p, 1u << 31) << 33 ^ pick(p, 1u << 31);

	return pick(p, 3) ? n >> pick(p, 63) : odd[pick(p, 7)];
}

static double any_double(struct program *p)
{
	static const double odd[] = { 0.0,   -0.0,   0.1,
				      1e300, 5e-324, -1.5,
				      2.0,   1e21,   123456789012345678.0 };
	uint64_t bits = (uint64_t)pick(p, 1u << 31) << 33 ^ pick(p, 1u << 31);
	double d;

	if (pick(p, 2))
		return odd[pick(p, 9)];
	memcpy(&d, &bits, sizeof(d));
	return d;
}

static size_t any_bytes(struct program *p, char *out, size_t most)
{
	static const char *const pieces[] = { "a",
					      "\"",
					      "\\",
					      "\n",
					      "\033[31m",
					      "\xff",
					      "\xc3\xa9",
					      "\xe2\x82\xac",
					      "\xf0\x9f\x98\x80",
					      "/",
					      " ",
					      "%s",
					      "\xc2\x9b",
					      "0",
					      ",",
					      "\xed\xa0\x80",
					      "<b>",
					      "\x7f" };
	size_t n = 0, wanted = pick(p, (uint32_t)most);

	while (n < wanted) {
		const char *piece = pieces[pick(p, sizeof(pieces) / sizeof(pieces[0]))];

		if (n + strlen(piece) > most)
			break;
		memcpy(out + n, piece, strlen(piece));
		n += strlen(piece);
	}
	return n;
}

static const struct name *any_name(struct program *p)
{
	return p->name[pick(p, N_NAMES)];
}

/* A few of all types; no key twice. */
static unsigned any_args(struct program *p)
{
	unsigned i, n = pick(p, 3) ? 0 : pick(p, 6), first = pick(p, N_NAMES);

	for (i = 0; i < n; i++) {
		struct arg *arg = &p->args[i];
		bool changed = false;
		char bytes[256];

		*arg = (struct arg){ .type = (enum arg_type)(ARG_INT + pick(p, ARG_NULL)) };
		arg->key = p->name[(first + i) % N_NAMES];
		arg->u = any_number(p);
		if (arg->type == ARG_DOUBLE)
			arg->d = any_double(p);
		if (arg->type == ARG_BOOL)
			arg->u &= 1;
		if (arg->type != ARG_STRING)
			continue;
		arg->length = (uint32_t)text_clean(p->texts[i], sizeof(p->texts[i]), bytes,
						   any_bytes(p, bytes, sizeof(bytes)), &changed);
		arg->s = p->texts[i];
	}
	return n;
}

static void put(struct program *p, struct event e)
{
	e.ts_ns = p->now;
	if (e.n_args)
		e.args = p->args;
	assert_int_equal(timeline_event(p->timeline, &e), 0);
}

/* As the kernel tells them: what the thread had counted by then, seldom not known. */
static void count(struct program *p, struct event *e, uint64_t *counted)
{
	unsigned i;

	if (!p->counting)
		return;
	for (i = 0; i < COUNTERS; i++) {
		counted[i] += pick_more(p, 3) ? pick_more(p, 100000) : 0;
		p->counts[i] = pick_more(p, 50) ? counted[i] : EVENT_NO_VALUE;
	}
	e->n_counters = COUNTERS;
	e->counters = p->counts;
}

static const struct callstack *any_stack(struct program *p)
{
	return pick_more(p, 4) ? NULL : p->stack[pick_more(p, N_STACKS)];
}

static void slice(struct program *p, struct event e, unsigned process, unsigned thread)
{
	unsigned *depth = &p->threads[process][thread].depth;

	count(p, &e, p->threads[process][thread].counted);

	if (pick(p, 2) && *depth < DEPTH) {
		e.kind = EVENT_BEGIN;
		e.level = p->levels ? (int)*depth : -1;
		e.callstack = any_stack(p);
		++*depth;
		put(p, e);
		return;
	}
	if (!*depth)
		return;
	--*depth;
	/* Without its END it is told by the next mark at its level or above. */
	if (p->levels && !pick(p, 20))
		return;
	e.kind = EVENT_END;
	e.level = p->levels ? (int)*depth : -1;
	e.name = e.category = NULL;
	put(p, e);
}

static void counter(struct program *p, struct event e)
{
	static const enum arg_type types[] = { ARG_INT, ARG_UINT, ARG_DOUBLE };
	unsigned i, which = pick(p, 8);

	/* A counter has the same series always, and the same unit. */
	e.kind = EVENT_COUNTER;
	e.name = p->name[which];
	e.category = NULL;
	e.unit = which % 3 ? NULL : p->name[which + 1];
	e.n_args = which % 2 ? 1 : 3;
	if (!pick(p, 6)) {
		e.pid = e.tid = 0;
		e.sampled = true;
	}
	for (i = 0; i < e.n_args; i++) {
		p->args[i] = (struct arg){ .type = types[pick(p, 3)],
					   .key = which % 2 ? NULL : p->name[10 + i],
					   .u = any_number(p) };
		if (p->args[i].type == ARG_DOUBLE)
			p->args[i].d = any_double(p);
	}
	put(p, e);
}

static void asynchronous(struct program *p, struct event e)
{
	unsigned i = pick(p, 16);

	if (p->asyncs[i].pid) {
		e.kind = EVENT_ASYNC_END;
		e.pid = e.tid = p->asyncs[i].pid;
		e.id = p->asyncs[i].id;
		e.name = p->asyncs[i].name;
		e.category = NULL;
		p->asyncs[i].pid = 0;
		put(p, e);
		return;
	}
	e.kind = EVENT_ASYNC_BEGIN;
	e.category = NULL;
	e.id = any_number(p);
	p->asyncs[i].pid = e.pid;
	p->asyncs[i].id = e.id;
	p->asyncs[i].name = e.name;
	put(p, e);
}

/* Memory of a few pools, at a few addresses. */
static void memory(struct program *p, struct event e)
{
	e.kind = pick(p, 2) ? EVENT_ALLOC : EVENT_FREE;
	e.name = p->name[12 + pick(p, 3)];
	e.category = NULL;
	e.id = 4096 + 16 * pick(p, 64);
	e.size = e.kind == EVENT_ALLOC ? any_number(p) >> 20 : 0;
	e.n_args = 0;
	put(p, e);
}

static void sample(struct program *p, struct event e)
{
	e.kind = EVENT_SAMPLE;
	e.level = -1;
	e.name = e.category = NULL;
	e.n_args = 0;
	e.callstack = p->stack[pick_more(p, N_STACKS)];
	e.sample = (struct event_sample){ .cpu = (uint16_t)pick_more(p, 4),
					  .mode = pick_more(p, 2) ? SAMPLE_KERNEL : SAMPLE_USER };
	put(p, e);
}

/* At times of its own, on tracks within tracks, whose names may be anything, or on none. */
static void given(struct program *p, struct event e)
{
	char path[600];

	e.kind = pick_more(p, 4) ? EVENT_SLICE_AT : EVENT_INSTANT_AT;
	e.scope = SCOPE_THREAD;
	e.n_args = 0;
	if (pick_more(p, 2)) {
		p->args[0] = (struct arg){ .key = names_intern_string(p->names, "flow"),
					   .type = ARG_UINT,
					   .u = pick_more(p, 1000) };
		e.args = p->args;
		e.n_args = 1;
	}
	snprintf(path, sizeof(path), "%s/%s", p->name[pick_more(p, 3)]->text,
		 p->name[pick_more(p, 3)]->text);
	e.given.track = pick_more(p, 4) ? names_intern_string(p->names, path) : NULL;
	/* Not before the file begins, as a recording sees to. */
	e.given.begin = p->now - START < 100000 ? p->now : p->now - pick_more(p, 100000);
	e.given.end = e.given.begin + pick_more(p, pick_more(p, 2) ? 3 : 20000);
	put(p, e);
}

static void frame(struct program *p, struct event e)
{
	e.kind = pick(p, 2) ? EVENT_ASYNC_BEGIN : EVENT_ASYNC_END;
	e.object = OBJECT_FRAME;
	e.name = p->name[15 + pick(p, 2)];
	e.category = NULL;
	e.id = pick(p, 4);
	e.n_args = 0;
	put(p, e);
}

static void told(struct program *p, struct event e)
{
	static const enum event_kind kinds[] = { EVENT_THREAD_NAME,    EVENT_PROCESS_NAME,
						 EVENT_PROCESS_LABELS, EVENT_COMM,
						 EVENT_FORK,	       EVENT_STEP };

	e.kind = kinds[pick(p, 6)];
	e.n_args = 0;
	e.category = NULL;
	if (e.kind == EVENT_STEP) {
		e.id = pick(p, 10);
		e.size = pick(p, 100);
		e.name = NULL;
	}
	if (e.kind == EVENT_FORK) {
		e.id = e.pid;
		e.tid += THREADS;
		e.level = -1;
	}
	put(p, e);
}

/* A thread or a process ends, or executes another program: what was open on it is no more. */
static void end(struct program *p, struct event e, unsigned process, unsigned thread)
{
	unsigned i;

	e.n_args = 0;
	e.level = -1;
	e.category = NULL;
	e.kind = pick(p, 3) ? EVENT_THREAD_EXIT : pick(p, 2) ? EVENT_PROCESS_EXIT : EVENT_EXEC;
	put(p, e);
	if (e.kind == EVENT_THREAD_EXIT) {
		p->threads[process][thread].depth = 0;
		return;
	}
	memset(p->threads[process], 0, sizeof(p->threads[process]));
	for (i = 0; i < 16; i++) {
		if (p->asyncs[i].pid == e.pid)
			p->asyncs[i].pid = 0;
	}
}

static void step(struct program *p)
{
	unsigned process = pick(p, 3), thread = pick(p, THREADS), what = pick(p, 1000);
	struct event e = { .pid = 100 * (process + 1), .level = -1, .name = any_name(p) };

	p->now += pick(p, 4) ? pick(p, 100) : pick(p, 1000000);
	e.tid = e.pid + thread;
	e.level = p->levels ? (int)p->threads[process][thread].depth : -1;
	e.category = pick(p, 2) ? p->category[pick(p, N_NAMES)] : NULL;
	e.n_args = any_args(p);
	if (what < 500) {
		slice(p, e, process, thread);
	} else if (what < 650) {
		e.kind = EVENT_INSTANT;
		e.scope = (enum event_scope)pick(p, 3);
		e.callstack = any_stack(p);
		put(p, e);
	} else if (what < 770) {
		counter(p, e);
	} else if (what < 870) {
		asynchronous(p, e);
	} else if (what < 940) {
		e.kind = pick(p, 2) ? EVENT_FLOW_OUT : EVENT_FLOW_IN;
		e.id = any_number(p);
		e.n_args = 0;
		e.name = e.category = NULL;
		put(p, e);
	} else if (what < 960) {
		e.kind = EVENT_LOST;
		e.size = 1 + pick(p, 1000000);
		e.n_args = 0;
		e.name = e.category = NULL;
		put(p, e);
	} else if (what < 975) {
		memory(p, e);
	} else if (what < 983) {
		frame(p, e);
	} else if (what < 994) {
		told(p, e);
	} else {
		end(p, e, process, thread);
	}
	if (!pick_more(p, 50))
		sample(p, e);
	if (!pick_more(p, 20))
		given(p, e);
}

/* Several are separated by commas, and none of them is empty. */
static const struct name *any_category(struct program *p, char *bytes, size_t n)
{
	char *comma;

	bytes[n < 100 ? n : 100] = '\0';
	while ((comma = strchr(bytes, ',')))
		*comma = '+';
	n = strlen(bytes);
	if (pick(p, 2))
		n += (size_t)sprintf(bytes + n, ",%u", pick(p, 10));
	return names_intern(p->names, bytes, n, 128);
}

/* Of functions of the kernel and of a program, each called from another of them or from nowhere. */
static void make_stacks(struct program *p)
{
	const struct code_mapping kernel = { .path = names_intern_string(p->names, "[kernel]"),
					     .kind = CODE_KERNEL };
	const struct code_mapping program = { .path = names_intern_string(p->names, "/bin/p") };
	const struct code_mapping *mapping;
	unsigned i;

	p->callstacks = callstacks_new(p->names, 0);
	for (i = 0; i < N_STACKS; i++) {
		mapping = callstacks_mapping(p->callstacks, pick_more(p, 3) ? &program : &kernel);
		p->stack[i] = callstacks_push(
			p->callstacks, i && pick_more(p, 5) ? p->stack[pick_more(p, i)] : NULL,
			callstacks_frame(p->callstacks, mapping, pick_more(p, 1000),
					 p->name[pick_more(p, N_NAMES)]));
	}
}

static void program_init(struct program *p, uint64_t seed)
{
	char bytes[200];
	unsigned i;

	memset(p, 0, sizeof(*p));
	p->seed = seed * 0x9e3779b97f4a7c15ull + 1;
	p->more = ~p->seed;
	p->now = START;
	p->levels = seed & 1;
	p->names = names_new(0);
	for (i = 0; i < N_NAMES; i++) {
		size_t n = (size_t)snprintf(bytes, sizeof(bytes), "%c%u", 'a' + (int)i, i);

		n += any_bytes(p, bytes + n, pick(p, 8) ? 16 : sizeof(bytes) - n);
		p->name[i] = names_intern(p->names, bytes, n, 128);
		p->category[i] = any_category(p, bytes, n);
	}
	p->timeline = timeline_new(p->names, &p->account, 0);
	make_stacks(p);
	p->counting = seed & 2;
	p->counter[0] = names_intern_string(p->names, "cycles");
	p->counter[1] = names_intern_string(p->names, "instructions");
	if (p->counting)
		timeline_count(p->timeline, p->counter, COUNTERS);
}

static void program_free(struct program *p)
{
	timeline_free(p->timeline);
	callstacks_free(p->callstacks);
	names_free(p->names);
}

#endif
