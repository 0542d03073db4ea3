/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens in the slices that were chosen: the trace is read again, and from the begin of each of
 * them to its end all that its thread tells belongs to it.
 */
#include "handlers/slowest_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- slices inside ------------------------------------------------------------------------------ */

static uint32_t node_new(struct slow_tree *tree, uint32_t parent, const struct name *category,
			 const struct name *name)
{
	uint32_t at = tree->n, room = tree->room ? tree->room * 2 : 16;
	struct slow_node *grown;

	if (tree->n == tree->room) {
		grown = realloc(tree->nodes, room * sizeof(*grown));
		if (!grown)
			return 0;
		tree->nodes = grown;
		tree->room = room;
	}
	tree->nodes[tree->n++] =
		(struct slow_node){ .parent = parent, .category = category, .name = name };
	if (at) {
		tree->nodes[at].next = tree->nodes[parent].child;
		tree->nodes[parent].child = at;
	}
	return at;
}

uint32_t slow_child(struct slow_tree *tree, uint32_t parent, const struct name *category,
		    const struct name *name, uint32_t max)
{
	struct slow_node *nodes = tree->nodes;
	uint32_t at = nodes[parent].recent;

	if (!at || nodes[at].name != name || nodes[at].category != category) {
		for (at = nodes[parent].child; at; at = nodes[at].next) {
			if (nodes[at].name == name && nodes[at].category == category)
				break;
		}
	}
	if (!at && tree->n < max)
		at = node_new(tree, parent, category, name);
	tree->nodes[parent].recent = at;
	return at;
}

/* What there is no room for is one more slice, without a name, in which nothing is inside of others. */
static uint32_t inside_of(struct slow_tree *tree, uint32_t parent, const struct name *category,
			  const struct name *name)
{
	uint32_t at = slow_child(tree, parent, category, name, SLOWEST_NODES);

	if (!at && tree->n >= SLOWEST_NODES)
		at = slow_child(tree, 0, NULL, NULL, SLOWEST_NODES + 1);
	return at;
}

static void inside_begins(struct slow_instance *in, const struct fact *fact)
{
	uint32_t around = in->open[in->n_open - 1], room = in->open_room * 2, at;
	uint32_t *grown;

	if (in->n_open == in->open_room) {
		grown = realloc(in->open, room * sizeof(*grown));
		if (!grown) {
			in->failed = true;
			return;
		}
		in->open = grown;
		in->open_room = room;
	}
	slow_stack_note(in, fact);
	at = inside_of(&in->tree, around, fact->category, fact->name);
	in->failed |= !at;
	in->open[in->n_open++] = at;
}

static void inside_ends(struct slow_instance *in, const struct fact *fact)
{
	struct slow_node *node = &in->tree.nodes[in->open[--in->n_open]];

	node->count++;
	node->self_ns += fact->self_ns;
	node->total_ns += node->name ? fact->ts_ns - fact->begin_ns : fact->self_ns;
}

/* --- the slice itself --------------------------------------------------------------------------- */

static bool take_arg(struct slow_instance *in, const struct arg *arg)
{
	struct arg *own = &in->args[in->n_args];

	if (in->n_args == SLOWEST_ARGS)
		return true;
	*own = *arg;
	if (arg->type == ARG_STRING) {
		own->s = strndup(arg->s, arg->length);
		if (!own->s)
			return false;
	}
	in->n_args++;
	return true;
}

static bool is_called(const struct arg *arg, const char *name)
{
	return arg->key && !strcmp(arg->key->text, name);
}

/* What is told elsewhere: states and counters, which the timeline adds to the arguments. */
static bool is_told(const struct slow_instance *in, const struct arg *arg)
{
	unsigned i;

	for (i = 0; i < in->n_counters; i++) {
		if (arg->key == in->counters[i])
			return true;
	}
	return in->has_states && (is_called(arg, "running_ns") || is_called(arg, "runnable_ns") ||
				  is_called(arg, "blocked_ns") || is_called(arg, "unknown_ns"));
}

static void take_args(struct slow_instance *in, const struct fact *fact)
{
	unsigned i;

	for (i = 0; i < fact->n_args; i++) {
		const struct arg *arg = &fact->args[i];
		bool is_number = arg->type == ARG_INT || arg->type == ARG_UINT;

		if (!arg->key || is_told(in, arg))
			continue;
		if (is_called(arg, "epoch") && is_number)
			in->epoch = *arg;
		else if (is_called(arg, "batch") && is_number)
			in->batch = *arg;
		else
			in->failed |= !take_arg(in, arg);
	}
	in->stepped = in->epoch.type && in->batch.type;
}

void slow_forget(struct slow_instance *in)
{
	const struct slow_identity is = in->is;
	unsigned i;

	for (i = 0; i < in->n_args; i++) {
		if (in->args[i].type == ARG_STRING)
			free((char *)in->args[i].s);
	}
	free(in->tree.nodes);
	free(in->frames);
	free(in->stacks);
	free(in->open);
	*in = (struct slow_instance){ .is = is };
}

static void begins(struct slow_instance *in, const struct fact *fact)
{
	in->open = calloc(16, sizeof(*in->open));
	in->open_room = 16;
	node_new(&in->tree, 0, in->is.category, in->is.name);
	if (!in->open || !in->tree.n) {
		in->failed = true;
		return;
	}
	in->n_open = 1;
	in->state = SLOW_OPEN;
	slow_stack_note(in, fact);
	take_args(in, fact);
}

static void ends(struct slowest *s, struct slow_instance *in, const struct fact *fact)
{
	unsigned i;

	/* Of several that begin at once the first may be another one. */
	if (fact->ts_ns - fact->begin_ns != in->is.duration_ns || fact->end_reason != END_NORMAL) {
		slow_forget(in);
		return;
	}
	in->state = SLOW_SEEN;
	in->trace = s->n_traces;
	in->pid = fact->process ? fact->process->pid : 0;
	in->process = fact->process ? fact->process->name : NULL;
	in->tid = fact->thread->tid;
	in->thread = fact->thread->name;
	in->self_ns = fact->self_ns;
	in->has_states = fact->states;
	if (fact->states)
		in->states = *fact->states;
	in->n_counters = fact->counter_deltas ? fact->n_counters : 0;
	for (i = 0; i < in->n_counters; i++) {
		in->counters[i] = fact->counter_tracks[i]->name;
		in->deltas[i] = fact->counter_deltas[i];
		in->selves[i] = fact->counter_selves[i];
	}
	take_args(in, fact);
}

/* --- samples ------------------------------------------------------------------------------------ */

static void sampled(struct slow_instance *in, const struct code_frame *frame)
{
	unsigned i, room = in->frames_room ? in->frames_room * 2 : 16;
	struct slow_frame *grown;

	in->samples++;
	for (i = 0; i < in->n_frames && in->frames[i].frame != frame; i++)
		;
	if (i == SLOWEST_FRAMES) {
		in->samples_other++;
		return;
	}
	if (i == in->frames_room) {
		grown = realloc(in->frames, room * sizeof(*grown));
		if (!grown) {
			in->failed = true;
			return;
		}
		in->frames = grown;
		in->frames_room = room;
	}
	if (i == in->n_frames)
		in->frames[in->n_frames++] = (struct slow_frame){ .frame = frame };
	in->frames[i].count++;
}

uint64_t slow_samples_in(const struct slow_instance *in, const struct name *function)
{
	uint64_t count = function ? 0 : in->samples_other;
	unsigned i;

	for (i = 0; i < in->n_frames; i++) {
		if (code_frame_function(in->frames[i].frame) == function)
			count += in->frames[i].count;
	}
	return count;
}

unsigned slow_functions(const struct slow_instance *in,
			const struct name *functions[SLOWEST_FRAMES + 1])
{
	bool unknown = in->samples_other > 0;
	unsigned i, j, n = 0;

	for (i = 0; i < in->n_frames; i++) {
		const struct name *function = code_frame_function(in->frames[i].frame);

		for (j = 0; j < n && functions[j] != function; j++)
			;
		unknown |= !function;
		if (j == n && function)
			functions[n++] = function;
	}
	if (unknown)
		functions[n++] = NULL;
	return n;
}

/* --- facts -------------------------------------------------------------------------------------- */

static bool is_its_begin(const struct slow_instance *in, const struct fact *fact)
{
	return in->state == SLOW_AWAITED && fact->ts_ns == in->is.begin_ns &&
	       fact->name == in->is.name && fact->category == in->is.category;
}

static void tell(struct slowest *s, struct slow_instance *in, const struct fact *fact)
{
	switch (fact->kind) {
	case FACT_BEGIN:
		if (in->state == SLOW_OPEN)
			inside_begins(in, fact);
		else if (is_its_begin(in, fact))
			begins(in, fact);
		break;
	case FACT_END:
		if (in->state == SLOW_OPEN && in->n_open > 1)
			inside_ends(in, fact);
		else if (in->state == SLOW_OPEN)
			ends(s, in, fact);
		break;
	case FACT_INSTANT:
		if (in->state == SLOW_OPEN)
			slow_stack_note(in, fact);
		break;
	case FACT_LOST:
		if (in->state == SLOW_OPEN)
			in->marks_lost += fact->count;
		break;
	case FACT_SAMPLE:
		/* Its time is the kernel's: it may be told in the midst of a mark that began before. */
		if (in->state == SLOW_OPEN && fact->callstack && fact->ts_ns >= in->is.begin_ns)
			sampled(in, fact->callstack->frame);
		break;
	default:
		break;
	}
}

int slow_watch(struct slowest *s, const struct fact *fact)
{
	unsigned i;

	if (!fact->thread)
		return 0;
	for (i = 0; i < s->n_instances; i++) {
		struct slow_instance *in = &s->instances[i];

		if (in->is.thread == fact->thread->uuid && in->state != SLOW_SEEN)
			tell(s, in, fact);
		if (in->failed)
			return -ENOMEM;
	}
	return 0;
}
