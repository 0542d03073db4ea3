/* SPDX-License-Identifier: BSD-2-Clause */
/* Where what happens in a slow slice was called from: marks with call stacks, and where it blocked. */
#include "handlers/slowest_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void slow_stack_note(struct slow_instance *in, const struct fact *fact)
{
	unsigned i, room = in->stacks_room ? in->stacks_room * 2 : 16;
	struct slow_stack *grown;

	if (!fact->callstack || !fact->name)
		return;
	for (i = 0; i < in->n_stacks; i++) {
		if (in->stacks[i].callstack == fact->callstack && in->stacks[i].name == fact->name)
			break;
	}
	if (i == SLOWEST_STACKS) {
		in->stacks_other++;
		return;
	}
	if (i == in->stacks_room) {
		grown = realloc(in->stacks, room * sizeof(*grown));
		if (!grown) {
			in->failed = true;
			return;
		}
		in->stacks = grown;
		in->stacks_room = room;
	}
	if (i == in->n_stacks)
		in->stacks[in->n_stacks++] =
			(struct slow_stack){ .name = fact->name, .callstack = fact->callstack };
	in->stacks[i].count++;
}

static bool is_kernels(const struct callstack *c)
{
	return c->frame->mapping && c->frame->mapping->kind == CODE_KERNEL;
}

static const struct callstack *without_kernel(const struct callstack *callstack)
{
	const struct callstack *c = callstack;

	while (c && is_kernels(c))
		c = c->caller;
	return c ? c : callstack;
}

/* What there is no room for is left out whole. */
static bool put(char text[SLOW_TEXT_MAX], const char *between, const char *what)
{
	if (strlen(text) + strlen(between) + strlen(what) >= SLOW_TEXT_MAX)
		return false;
	strcat(text, between);
	strcat(text, what);
	return true;
}

void slow_stack_text(const struct slow_stack *stack, char text[SLOW_TEXT_MAX])
{
	const struct callstack *c = without_kernel(stack->callstack);
	const char *between = ": ";
	uint32_t i;
	bool ok;

	text[0] = '\0';
	ok = put(text, "", stack->name->text);
	for (; c && ok; c = c->caller) {
		const struct code_frame *frame = c->frame;

		if (!frame->n_lines)
			ok = put(text, between, "(unknown)");
		for (i = 0; i < frame->n_lines && ok; i++, between = " < ") {
			const struct name *name = frame->lines[i].function;

			ok = put(text, between, name ? name->text : "(unknown)");
		}
		between = " < ";
	}
}

/* Places in code that are called alike are one. */
static struct slow_stacks *find(struct slow_comparison *c, const char *text)
{
	unsigned i;

	for (i = 0; i < c->n_stacks; i++) {
		if (!strcmp(c->stacks[i].text, text))
			return &c->stacks[i];
	}
	c->stacks[i].text = strdup(text);
	c->n_stacks += c->stacks[i].text != NULL;
	return c->stacks[i].text ? &c->stacks[i] : NULL;
}

static int by_most(const void *left, const void *right)
{
	const struct slow_stacks *a = left, *b = right;

	if (a->most != b->most)
		return a->most > b->most ? -1 : 1;
	return strcmp(a->text, b->text);
}

int slow_join_stacks(struct slow_comparison *c, unsigned max)
{
	const struct slowest *s = c->slowest;
	char text[SLOW_TEXT_MAX];
	unsigned i, j, all = 1;

	for (i = 0; i < s->n_instances; i++)
		all += s->instances[i].n_stacks;
	c->stacks = calloc(all, sizeof(*c->stacks));
	if (!c->stacks)
		return -ENOMEM;
	for (i = 0; i < s->n_instances; i++) {
		for (j = 0; j < s->instances[i].n_stacks; j++) {
			const struct slow_stack *stack = &s->instances[i].stacks[j];
			struct slow_stacks *joined;

			slow_stack_text(stack, text);
			joined = find(c, text);
			if (!joined)
				return -ENOMEM;
			joined->counts[i] += stack->count;
			if (joined->most < joined->counts[i])
				joined->most = joined->counts[i];
		}
	}
	qsort(c->stacks, c->n_stacks, sizeof(*c->stacks), by_most);
	c->n_stacks_left_out = max && c->n_stacks > max ? c->n_stacks - max : 0;
	return 0;
}
