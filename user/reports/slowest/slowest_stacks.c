/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call stacks inside a slow slice: of marks that were recorded with their stack, and of the places
 * where its thread blocked.
 */
#include "reports/slowest/slowest_internal.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void slow_add_stack(struct slow_instance *in, const struct fact *fact)
{
	unsigned i;

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
	if (!array_reserve(in->stacks, i, in->stacks_capacity, 16)) {
		in->failed = true;
		return;
	}
	if (i == in->n_stacks)
		in->stacks[in->n_stacks++] =
			(struct slow_stack){ .name = fact->name, .callstack = fact->callstack };
	in->stacks[i].count++;
}

static bool is_kernel_frame(const struct callstack *c)
{
	return c->frame->mapping && c->frame->mapping->kind == CODE_KERNEL;
}

static const struct callstack *skip_kernel_frames(const struct callstack *callstack)
{
	const struct callstack *c = callstack;

	while (c && is_kernel_frame(c))
		c = c->caller;
	return c ? c : callstack;
}

/* Appends both texts, or nothing when there is not enough space. Returns whether it did. */
static bool append_stack_text(char text[SLOW_TEXT_MAX], const char *between, const char *what)
{
	if (strlen(text) + strlen(between) + strlen(what) >= SLOW_TEXT_MAX)
		return false;
	strcat(text, between);
	strcat(text, what);
	return true;
}

void slow_stack_text(const struct slow_stack *stack, char text[SLOW_TEXT_MAX])
{
	const struct callstack *c = skip_kernel_frames(stack->callstack);
	const char *between = ": ";
	bool ok;

	text[0] = '\0';
	ok = append_stack_text(text, "", stack->name->text);
	for (; c && ok; c = c->caller) {
		const struct code_frame *frame = c->frame;

		if (!frame->n_lines)
			ok = append_stack_text(text, between, "(unknown)");
		for (uint32_t i = 0; i < frame->n_lines && ok; i++, between = " < ") {
			const struct name *name = frame->lines[i].function;

			ok = append_stack_text(text, between, name ? name->text : "(unknown)");
		}
		between = " < ";
	}
}

/* Finds or adds the stack with this text: places in the code with the same names count as one. */
static struct slow_stacks *find_joined_stack(struct slow_comparison *c, const char *text)
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

static int compare_stack_counts(const void *left, const void *right)
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
			struct slow_stacks *merged;

			slow_stack_text(stack, text);
			merged = find_joined_stack(c, text);
			if (!merged)
				return -ENOMEM;
			merged->counts[i] += stack->count;
			if (merged->most < merged->counts[i])
				merged->most = merged->counts[i];
		}
	}
	qsort(c->stacks, c->n_stacks, sizeof(*c->stacks), compare_stack_counts);
	c->n_stacks_left_out = max && c->n_stacks > max ? c->n_stacks - max : 0;
	return 0;
}
