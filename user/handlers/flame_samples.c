/* SPDX-License-Identifier: BSD-2-Clause */
#include "handlers/flame_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/globs.h"
#include "timeline/callstack.h"
#include "timeline/hash_key.h"

struct stack_key {
	const struct callstack *callstack; /* NULL: not known */
	const struct name *process;	   /* may be NULL */
};

struct stack_count {
	struct stack_key key;
	uint64_t n;
	UT_hash_handle hh;
};

struct flame_samples {
	struct handler handler;
	const char *slice;
	struct flame_samples_count count;
	struct stack_count *stacks;
	/* Whether the name with this id fits: 0 not asked yet, 1 no, 2 yes. */
	uint8_t *fits;
	uint32_t n_fits;
};

static struct flame_samples *samples_of(struct handler *handler)
{
	return (struct flame_samples *)handler;
}

static bool fits(struct flame_samples *s, const struct name *name)
{
	if (name->id >= s->n_fits) {
		uint32_t n = 2 * name->id + 64;
		uint8_t *grown = realloc(s->fits, n);

		if (!grown)
			return globs_want(&s->slice, 1, name->text, false);
		memset(grown + s->n_fits, 0, n - s->n_fits);
		s->fits = grown;
		s->n_fits = n;
	}
	if (!s->fits[name->id])
		s->fits[name->id] = globs_want(&s->slice, 1, name->text, false) ? 2 : 1;
	return s->fits[name->id] == 2;
}

static bool is_within(struct flame_samples *s, const struct sample *sample)
{
	unsigned i;

	if (!s->slice)
		return true;
	for (i = 0; i < sample->n_slices; i++) {
		if (sample->slices[i] && fits(s, sample->slices[i]))
			return true;
	}
	return false;
}

static int samples_fact(struct handler *handler, const struct fact *fact)
{
	struct flame_samples *s = samples_of(handler);
	struct stack_count *stack;
	struct stack_key key;

	if (fact->kind != FACT_SAMPLE)
		return 0;
	s->count.samples++;
	if (!is_within(s, fact->sample))
		return 0;
	s->count.within++;
	memset(&key, 0, sizeof(key));
	key.callstack = fact->callstack;
	key.process = fact->process ? fact->process->name : NULL;
	HASH_FIND(hh, s->stacks, &key, sizeof(key), stack);
	if (!stack) {
		stack = calloc(1, sizeof(*stack));
		if (!stack)
			return -ENOMEM;
		stack->key = key;
		HASH_ADD(hh, s->stacks, key, sizeof(key), stack);
	}
	stack->n++;
	return 0;
}

static int samples_flush(struct handler *handler)
{
	(void)handler;
	return 0;
}

static int samples_close(struct handler *handler, const struct account *account)
{
	(void)handler, (void)account;
	return 0;
}

static void samples_free(struct handler *handler)
{
	struct flame_samples *s = samples_of(handler);
	struct stack_count *stack, *next;

	HASH_ITER (hh, s->stacks, stack, next) {
		HASH_DEL(s->stacks, stack);
		free(stack);
	}
	free(s->fits);
	free(s);
}

static const struct handler_ops samples_ops = {
	.name = "flame graph",
	.fact = samples_fact,
	.flush = samples_flush,
	.close = samples_close,
	.free = samples_free,
};

struct handler *flame_handler_new(const char *slice)
{
	struct flame_samples *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->handler.ops = &samples_ops;
	s->slice = slice;
	return &s->handler;
}

/* --- frames' names ------------------------------------------------------------------------------- */

/* A stack on its way out, the innermost first. */
struct path {
	struct names *names;
	struct flame_frame *frames;
	unsigned n, size;
	bool has_unknown;
};

static void put_frame(struct path *path, const struct name *name, enum flame_kind kind)
{
	if (path->n < path->size)
		path->frames[path->n++] = (struct flame_frame){ name, kind };
}

static enum flame_kind kind_of(const struct code_frame *frame)
{
	if (!frame->mapping)
		return FLAME_NATIVE;
	switch (frame->mapping->kind) {
	case CODE_KERNEL:
		return FLAME_KERNEL;
	case CODE_JIT:
		return FLAME_JIT;
	default:
		return FLAME_NATIVE;
	}
}

/* At least which file it is in. */
static const struct name *unknown(struct names *names, const struct code_frame *frame)
{
	const char *path = frame->mapping && frame->mapping->path ? frame->mapping->path->text : "";
	const char *slash = strrchr(path, '/');
	char text[128];

	if (slash)
		path = slash + 1;
	snprintf(text, sizeof(text), "[%.120s]", path[0] ? path : "unknown");
	return names_intern_string(names, path[0] == '[' ? path : text);
}

static void put_lines(struct path *path, const struct code_frame *frame)
{
	enum flame_kind kind = kind_of(frame);
	uint32_t i;

	if (!frame->n_lines) {
		put_frame(path, unknown(path->names, frame), kind);
		path->has_unknown = true;
	}
	for (i = 0; i < frame->n_lines; i++) {
		bool is_inlined = i + 1 < frame->n_lines && kind == FLAME_NATIVE;

		put_frame(path, frame->lines[i].function, is_inlined ? FLAME_INLINED : kind);
	}
}

static void add_stack(struct path *path, const struct stack_count *stack, struct flame *flame)
{
	const struct callstack *at;
	unsigned i;

	path->n = 0;
	path->has_unknown = false;
	for (at = stack->key.callstack; at; at = at->caller)
		put_lines(path, at->frame);
	put_frame(path,
		  stack->key.process ? stack->key.process
				     : names_intern_string(path->names, "[unknown process]"),
		  FLAME_OTHER);
	for (i = 0; i < path->n / 2; i++) {
		struct flame_frame other = path->frames[i];

		path->frames[i] = path->frames[path->n - 1 - i];
		path->frames[path->n - 1 - i] = other;
	}
	flame_add(flame, path->frames, path->n, stack->n);
}

int flame_handler_fill(struct handler *handler, struct names *names, struct flame *flame)
{
	struct flame_samples *s = samples_of(handler);
	struct path path = { .names = names };
	const struct stack_count *stack;

	path.size = CALLSTACKS_MAX_DEPTH * CALLSTACKS_MAX_LINES + 1;
	path.frames = calloc(path.size, sizeof(*path.frames));
	if (!path.frames)
		return -ENOMEM;
	s->count.unnamed = 0;
	for (stack = s->stacks; stack; stack = stack->hh.next) {
		add_stack(&path, stack, flame);
		if (path.has_unknown)
			s->count.unnamed += stack->n;
	}
	free(path.frames);
	return 0;
}

void flame_handler_count(const struct handler *handler, struct flame_samples_count *ret)
{
	*ret = ((const struct flame_samples *)handler)->count;
}
