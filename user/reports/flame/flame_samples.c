/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts samples by call stack and process while traces are read. The names of functions are known
 * only at the end of a trace, so stacks are turned into named frames after the last one.
 */
#include "reports/flame/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "timeline/callstack.h"
#include "base/hash_key.h"

/* The names of the slices that were open: that of the innermost one, and those around it. Equal sets share their nodes. */
struct slices_key {
	const struct slices *around; /* NULL: it is the outermost one */
	const struct name *name;
};

struct slices {
	struct slices_key key;
	UT_hash_handle hh;
};

enum {
	MAX_SLICES = 64, /* names around a sample, as many as the kernel follows */
};

struct stack_key {
	const struct callstack *callstack; /* NULL: not known */
	const struct name *process;	   /* may be NULL */
	const struct slices *slices;	   /* NULL: none, or they do not matter */
};

struct stack_count {
	struct stack_key key;
	uint64_t n;
	UT_hash_handle hh;
};

struct flame_samples {
	struct consumer consumer;
	const char *slice;
	bool keeps_slices;
	struct flame_samples_count count;
	struct slices *slices;
	struct stack_count *stacks;
	/* By the id of a name: 0 not matched yet, 1 does not match, 2 matches. */
	uint8_t *fits;
	uint32_t n_fits;
};

static struct flame_samples *flame_samples_of(struct consumer *consumer)
{
	return (struct flame_samples *)consumer;
}

static bool slice_matches(struct flame_samples *s, const struct name *name)
{
	if (name->id >= s->n_fits) {
		uint32_t n = 2 * name->id + 64;
		uint8_t *grown = realloc(s->fits, n);

		if (!grown)
			return globs_select(&s->slice, 1, name->text, false);
		memset(grown + s->n_fits, 0, n - s->n_fits);
		s->fits = grown;
		s->n_fits = n;
	}
	if (!s->fits[name->id])
		s->fits[name->id] = globs_select(&s->slice, 1, name->text, false) ? 2 : 1;
	return s->fits[name->id] == 2;
}

static bool sample_is_within(struct flame_samples *s, const struct sample *sample)
{
	if (!s->slice)
		return true;
	for (unsigned i = 0; i < sample->n_slices; i++) {
		if (sample->slices[i] && slice_matches(s, sample->slices[i]))
			return true;
	}
	return false;
}

static bool slices_have(const struct slices *slices, const struct name *name)
{
	while (slices && slices->key.name != name)
		slices = slices->key.around;
	return slices != NULL;
}

/* A name inside itself is one. Beyond the limits the inner ones are left out, which is counted. */
static const struct slices *slices_of_sample(struct flame_samples *s, const struct sample *sample)
{
	struct slices *at = NULL;
	struct slices_key key;
	unsigned i, n = 0;

	memset(&key, 0, sizeof(key));
	for (i = 0; i < sample->n_slices; i++) {
		struct slices *inner = NULL;

		if (!sample->slices[i] || slices_have(at, sample->slices[i]))
			continue;
		key.around = at;
		key.name = sample->slices[i];
		if (n++ < MAX_SLICES)
			HASH_FIND(hh, s->slices, &key, sizeof(key), inner);
		if (!inner && n <= MAX_SLICES && HASH_COUNT(s->slices) < FLAME_MAX_FRAMES)
			inner = hash_add_new(hh, s->slices, key, key);
		if (!inner) {
			s->count.slices_cut++;
			break;
		}
		at = inner;
	}
	return at;
}

static int flame_samples_fact(struct consumer *consumer, const struct fact *fact)
{
	struct flame_samples *s = flame_samples_of(consumer);
	struct stack_count *stack;
	struct stack_key key;

	if (fact->kind != FACT_SAMPLE)
		return 0;
	s->count.samples++;
	if (!sample_is_within(s, fact->sample))
		return 0;
	s->count.within++;
	memset(&key, 0, sizeof(key));
	key.callstack = fact->callstack;
	key.process = fact->process ? fact->process->name : NULL;
	if (s->keeps_slices)
		key.slices = slices_of_sample(s, fact->sample);
	HASH_FIND(hh, s->stacks, &key, sizeof(key), stack);
	if (!stack) {
		stack = hash_add_new(hh, s->stacks, key, key);
		if (!stack)
			return -ENOMEM;
	}
	stack->n++;
	return 0;
}

static void flame_samples_free(struct consumer *consumer)
{
	struct flame_samples *s = flame_samples_of(consumer);

	hash_clear(hh, s->stacks, stack);
	hash_clear(hh, s->slices, slices);
	free(s->fits);
	free(s);
}

static const struct consumer_ops samples_ops = {
	.fact = flame_samples_fact,
	.free = flame_samples_free,
};

struct consumer *flame_samples_new(const char *slice)
{
	struct flame_samples *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->consumer.ops = &samples_ops;
	s->slice = slice;
	return &s->consumer;
}

void flame_samples_keep_slices(struct consumer *consumer)
{
	flame_samples_of(consumer)->keeps_slices = true;
}

/* --- frames' names ------------------------------------------------------------------------------- */

/* The named frames of a stack, the innermost first. */
struct path {
	struct names *names;
	struct flame_frame *frames;
	unsigned n, size;
	bool has_unknown;
};

static void push_frame(struct path *path, const struct name *name, enum flame_kind kind)
{
	if (path->n < path->size)
		path->frames[path->n++] = (struct flame_frame){ name, kind };
}

static enum flame_kind flame_kind_of(const struct code_frame *frame)
{
	if (!frame->mapping)
		return FLAME_NATIVE;
	switch (frame->mapping->kind) {
	case CODE_KERNEL:
		return FLAME_KERNEL;
	case CODE_JIT:
		return FLAME_JIT;
	case CODE_PYTHON:
		return FLAME_PYTHON;
	default:
		return FLAME_NATIVE;
	}
}

/* A frame without a function at least has the name of its file. */
static const struct name *unknown_frame_name(struct names *names, const struct code_frame *frame)
{
	const char *path = frame->mapping && frame->mapping->path ? frame->mapping->path->text : "";
	const char *slash = strrchr(path, '/');
	char text[128];

	if (slash)
		path = slash + 1;
	snprintf(text, sizeof(text), "[%.120s]", path[0] ? path : "unknown");
	return names_intern_string(names, path[0] == '[' ? path : text);
}

static void push_lines(struct path *path, const struct code_frame *frame)
{
	enum flame_kind kind = flame_kind_of(frame);

	if (!frame->n_lines) {
		push_frame(path, unknown_frame_name(path->names, frame), kind);
		path->has_unknown = true;
	}
	for (uint32_t i = 0; i < frame->n_lines; i++) {
		bool is_inlined = i + 1 < frame->n_lines && kind == FLAME_NATIVE;

		push_frame(path, frame->lines[i].function, is_inlined ? FLAME_INLINED : kind);
	}
}

static void add_sample_stack(struct path *path, const struct stack_count *stack,
			     struct flame *flame)
{
	const struct callstack *at;

	path->n = 0;
	path->has_unknown = false;
	for (at = stack->key.callstack; at; at = at->caller)
		push_lines(path, at->frame);
	push_frame(path,
		   stack->key.process ? stack->key.process
				      : names_intern_string(path->names, "[unknown process]"),
		   FLAME_OTHER);
	for (unsigned i = 0; i < path->n / 2; i++) {
		struct flame_frame other = path->frames[i];

		path->frames[i] = path->frames[path->n - 1 - i];
		path->frames[path->n - 1 - i] = other;
	}
	flame_add(flame, path->frames, path->n, stack->n);
}

int flame_samples_fill_within(struct consumer *consumer, struct names *names,
			      const struct name *slice, struct flame *flame, uint64_t *ret_unnamed)
{
	struct flame_samples *s = flame_samples_of(consumer);
	struct path path = { .names = names };
	const struct stack_count *stack;

	path.size = CALLSTACKS_MAX_DEPTH * CALLSTACKS_MAX_LINES + 1;
	path.frames = calloc(path.size, sizeof(*path.frames));
	if (!path.frames)
		return -ENOMEM;
	*ret_unnamed = 0;
	for (stack = s->stacks; stack; stack = stack->hh.next) {
		if (slice && !slices_have(stack->key.slices, slice))
			continue;
		add_sample_stack(&path, stack, flame);
		if (path.has_unknown)
			*ret_unnamed += stack->n;
	}
	free(path.frames);
	return 0;
}

int flame_samples_fill(struct consumer *consumer, struct names *names, struct flame *flame)
{
	return flame_samples_fill_within(consumer, names, NULL, flame,
					 &flame_samples_of(consumer)->count.unnamed);
}

void flame_samples_counts(const struct consumer *consumer, struct flame_samples_count *ret)
{
	*ret = ((const struct flame_samples *)consumer)->count;
}
