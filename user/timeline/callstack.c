/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three hash tables: mappings, frames of a mapping, and stacks, each of which is a frame pushed
 * onto another stack. The sizes of all three are limited, because stacks come by the thousand per
 * second; what is beyond the limit becomes one stack that says so.
 */
#include "timeline/callstack.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define DEFAULT_MAX_STACKS (1u << 19)
#define MAX_FRAMES	   (1u << 18)
#define MAX_MAPPINGS	   (1u << 16)
#define TOO_MANY	   "(too many stacks)"

struct mapping_key {
	uint64_t kind;
	const struct name *path, *build_id;
};

struct mapping_entry {
	struct code_mapping pub;
	struct mapping_key key;
	UT_hash_handle hh;
};

struct frame_key {
	const struct code_mapping *mapping;
	uint64_t rel_pc;
	const struct name *function, *file;
	uint64_t line;
};

struct frame_entry {
	struct code_frame pub;
	struct frame_key key;
	struct code_line *lines;
	UT_hash_handle hh;
};

struct stack_key {
	uint32_t caller, frame;
};

struct stack_entry {
	struct callstack pub;
	struct stack_key key;
	UT_hash_handle hh;
};

struct callstacks {
	struct mapping_entry *mappings;
	struct frame_entry *frames;
	struct stack_entry *stacks;
	uint32_t n_mappings, n_frames, n_stacks, max_stacks;
	uint64_t refused;
	struct frame_entry too_many_frame;
	struct stack_entry too_many;
	struct code_line too_many_line;
};

struct callstacks *callstacks_new(struct names *names, uint32_t max)
{
	struct callstacks *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->max_stacks = max ? max : DEFAULT_MAX_STACKS;
	/* Made now, so that it exists when the limit is reached or memory is short. */
	s->too_many_line.function = names_intern_string(names, TOO_MANY);
	s->too_many_frame.pub = (struct code_frame){
		.id = ++s->n_frames,
		.n_lines = 1,
		.lines = &s->too_many_line,
	};
	s->too_many.pub = (struct callstack){
		.frame = &s->too_many_frame.pub,
		.id = ++s->n_stacks,
		.depth = 1,
	};
	return s;
}

void callstacks_free(struct callstacks *s)
{
	if (!s)
		return;
	hash_clear(hh, s->stacks, c);
	hash_clear(hh, s->frames, f, free(f->lines));
	hash_clear(hh, s->mappings, m);
	free(s);
}

const struct code_mapping *callstacks_mapping(struct callstacks *s, const struct code_mapping *like)
{
	struct mapping_key key = { like->kind, like->path, like->build_id };
	struct mapping_entry *m;

	HASH_FIND(hh, s->mappings, &key, sizeof(key), m);
	if (m)
		return &m->pub;
	if (s->n_mappings >= MAX_MAPPINGS)
		return NULL;
	m = hash_add_new(hh, s->mappings, key, key);
	if (!m)
		return NULL;
	m->pub = *like;
	m->pub.id = s->n_mappings + 1;
	s->n_mappings++;
	return &m->pub;
}

static void set_frame_lines(struct frame_entry *f, const struct code_line *lines, unsigned n)
{
	struct code_line *copy;

	if (n > CALLSTACKS_MAX_LINES)
		n = CALLSTACKS_MAX_LINES;
	if (f->pub.n_lines >= n)
		return;
	copy = calloc(n, sizeof(*lines));
	if (!copy)
		return;
	memcpy(copy, lines, n * sizeof(*lines));
	free(f->lines);
	f->pub.lines = f->lines = copy;
	f->pub.n_lines = n;
}

const struct code_frame *callstacks_find_frame(struct callstacks *s,
					       const struct code_mapping *mapping, uint64_t rel_pc,
					       const struct name *function)
{
	const struct frame_key key = { mapping, rel_pc, function, NULL, 0 };
	struct frame_entry *f;

	HASH_FIND(hh, s->frames, &key, sizeof(key), f);
	return f ? &f->pub : NULL;
}

static struct frame_entry *frame_get(struct callstacks *s, const struct frame_key *key)
{
	struct frame_entry *f;

	HASH_FIND(hh, s->frames, key, sizeof(*key), f);
	if (f)
		return f;
	f = s->n_frames < MAX_FRAMES ? hash_add_new(hh, s->frames, key, *key) : NULL;
	if (!f)
		return &s->too_many_frame;
	f->pub.mapping = key->mapping;
	f->pub.rel_pc = key->rel_pc;
	f->pub.id = s->n_frames + 1;
	s->n_frames++;
	return f;
}

const struct code_frame *callstacks_frame(struct callstacks *s, const struct code_mapping *mapping,
					  uint64_t rel_pc, const struct name *function)
{
	const struct frame_key key = { mapping, rel_pc, function, NULL, 0 };
	struct frame_entry *f = frame_get(s, &key);

	if (function && f != &s->too_many_frame)
		set_frame_lines(f, &(struct code_line){ .function = function }, 1);
	return &f->pub;
}

const struct code_frame *callstacks_line_frame(struct callstacks *s,
					       const struct code_mapping *mapping, uint64_t rel_pc,
					       const struct code_line *line)
{
	const struct frame_key key = { mapping, rel_pc, line->function, line->file, line->line };
	struct frame_entry *f = frame_get(s, &key);

	callstacks_name(s, &f->pub, line, 1);
	return &f->pub;
}

static const struct callstack *refuse_callstack(struct callstacks *s)
{
	s->refused++;
	return &s->too_many.pub;
}

const struct callstack *callstacks_push(struct callstacks *s, const struct callstack *caller,
					const struct code_frame *frame)
{
	struct stack_key key = { caller ? caller->id : 0, frame->id };
	struct stack_entry *c;

	/* It was counted when its first frame was refused. */
	if (caller == &s->too_many.pub)
		return caller;
	HASH_FIND(hh, s->stacks, &key, sizeof(key), c);
	if (c)
		return &c->pub;
	if (s->n_stacks >= s->max_stacks || frame == &s->too_many_frame.pub ||
	    (caller && caller->depth >= CALLSTACKS_MAX_DEPTH))
		return refuse_callstack(s);
	c = hash_add_new(hh, s->stacks, key, key);
	if (!c)
		return refuse_callstack(s);
	c->pub = (struct callstack){
		.caller = caller,
		.frame = frame,
		.id = s->n_stacks + 1,
		.depth = caller ? caller->depth + 1 : 1,
	};
	s->n_stacks++;
	return &c->pub;
}

void callstacks_name(struct callstacks *s, const struct code_frame *frame,
		     const struct code_line *lines, unsigned n)
{
	/* The public part is the first member of the entry. */
	struct frame_entry *f = (struct frame_entry *)frame;

	if (f == &s->too_many_frame)
		return;
	set_frame_lines(f, lines, n);
	f->pub.looked_up = true;
}

/* uthash iterates in the order in which elements were added, which is that of the ids. */
void callstacks_each_frame(struct callstacks *s,
			   void (*each)(void *context, const struct code_frame *frame),
			   void *context)
{
	each(context, &s->too_many_frame.pub);
	hash_each (s->frames, f)
		each(context, &f->pub);
}

uint32_t callstacks_frames(const struct callstacks *s)
{
	return s->n_frames;
}

uint64_t callstacks_refused(const struct callstacks *s)
{
	return s->refused;
}

const struct name *code_frame_function(const struct code_frame *frame)
{
	return frame->n_lines ? frame->lines[0].function : NULL;
}
