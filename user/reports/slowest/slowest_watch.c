/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The second reading: from the BEGIN of each chosen slice to its END, every fact of its thread
 * belongs to it.
 */
#include "reports/slowest/slowest_internal.h"
#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- slices inside ------------------------------------------------------------------------------ */

static uint32_t slow_node_new(struct slow_tree *tree, uint32_t parent, const struct name *category,
			      const struct name *name)
{
	uint32_t at = tree->n;

	if (!array_reserve(tree->nodes, tree->n, tree->capacity, 16))
		return 0;
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
		at = slow_node_new(tree, parent, category, name);
	tree->nodes[parent].recent = at;
	return at;
}

/* Beyond SLOWEST_NODES, all slices count in one more node without a name. */
static uint32_t slow_child_or_other(struct slow_tree *tree, uint32_t parent,
				    const struct name *category, const struct name *name)
{
	uint32_t at = slow_child(tree, parent, category, name, SLOWEST_NODES);

	if (!at && tree->n >= SLOWEST_NODES)
		at = slow_child(tree, 0, NULL, NULL, SLOWEST_NODES + 1);
	return at;
}

static void nested_begins(struct slow_instance *in, const struct fact *fact)
{
	uint32_t around = in->open[in->n_open - 1], at;

	if (!array_reserve(in->open, in->n_open, in->open_capacity, 16)) {
		in->failed = true;
		return;
	}
	slow_add_stack(in, fact);
	at = slow_child_or_other(&in->tree, around, fact->category, fact->name);
	in->failed |= !at;
	in->open[in->n_open++] = at;
}

static void nested_ends(struct slow_instance *in, const struct fact *fact)
{
	struct slow_node *node = &in->tree.nodes[in->open[--in->n_open]];

	node->count++;
	node->self_ns += fact->self_ns;
	node->total_ns += node->name ? fact->ts_ns - fact->begin_ns : fact->self_ns;
}

/* --- the slice itself --------------------------------------------------------------------------- */

static bool copy_slice_arg(struct slow_instance *in, const struct arg *arg)
{
	struct arg *own_node = &in->args[in->n_args];

	if (in->n_args == SLOWEST_ARGS)
		return true;
	*own_node = *arg;
	if (arg->type == ARG_STRING) {
		own_node->s = strndup(arg->s, arg->length);
		if (!own_node->s)
			return false;
	}
	in->n_args++;
	return true;
}

static bool arg_has_key(const struct arg *arg, const char *name)
{
	return arg->key && !strcmp(arg->key->text, name);
}

/* Whether the timeline added this argument: states and counters have rows of their own. */
static bool is_timeline_arg(const struct slow_instance *in, const struct arg *arg)
{
	for (unsigned i = 0; i < in->n_counters; i++) {
		if (arg->key == in->counters[i])
			return true;
	}
	return in->has_states &&
	       (arg_has_key(arg, "running_ns") || arg_has_key(arg, "runnable_ns") ||
		arg_has_key(arg, "blocked_ns") || arg_has_key(arg, "unknown_ns") ||
		!strncmp(arg->key->text, "blocked_in.", 11));
}

static void copy_slice_args(struct slow_instance *in, const struct fact *fact)
{
	for (unsigned i = 0; i < fact->n_args; i++) {
		const struct arg *arg = &fact->args[i];
		bool is_number = arg->type == ARG_INT || arg->type == ARG_UINT;

		if (!arg->key || is_timeline_arg(in, arg))
			continue;
		if (arg_has_key(arg, "epoch") && is_number)
			in->epoch = *arg;
		else if (arg_has_key(arg, "batch") && is_number)
			in->batch = *arg;
		else
			in->failed |= !copy_slice_arg(in, arg);
	}
	in->stepped = in->epoch.type && in->batch.type;
}

void slow_instance_clear(struct slow_instance *in)
{
	const struct slow_identity identity = in->identity;

	for (unsigned i = 0; i < in->n_args; i++) {
		if (in->args[i].type == ARG_STRING)
			free((char *)in->args[i].s);
	}
	free(in->tree.nodes);
	free(in->frames);
	free(in->stacks);
	free(in->open);
	*in = (struct slow_instance){ .identity = identity };
}

static void instance_begins(struct slow_instance *in, const struct fact *fact)
{
	in->open = calloc(16, sizeof(*in->open));
	in->open_capacity = 16;
	slow_node_new(&in->tree, 0, in->identity.category, in->identity.name);
	if (!in->open || !in->tree.n) {
		in->failed = true;
		return;
	}
	in->n_open = 1;
	in->state = SLOW_OPEN;
	slow_add_stack(in, fact);
	copy_slice_args(in, fact);
}

static void instance_ends(struct slowest *s, struct slow_instance *in, const struct fact *fact)
{
	/* Of several slices that begin at the same time, the first may not be the chosen one. */
	if (fact->ts_ns - fact->begin_ns != in->identity.duration_ns ||
	    fact->end_reason != END_NORMAL) {
		slow_instance_clear(in);
		return;
	}
	in->state = SLOW_SEEN;
	in->trace = s->n_traces;
	in->pid = fact->process ? fact->process->pid : 0;
	in->process = fact->process ? fact->process->name : NULL;
	in->tid = fact->thread ? fact->thread->tid : 0;
	in->thread = fact->thread ? fact->thread->name : NULL;
	/* Nothing is nested in an asynchronous slice, which has no states either. */
	in->self_ns = fact->kind == FACT_END ? fact->self_ns : in->identity.duration_ns;
	in->has_states = fact->kind == FACT_END && fact->states;
	if (in->has_states)
		in->states = *fact->states;
	in->n_counters = fact->counter_deltas ? fact->n_counters : 0;
	for (unsigned i = 0; i < in->n_counters; i++) {
		in->counters[i] = fact->counter_tracks[i]->name;
		in->deltas[i] = fact->counter_deltas[i];
		in->selves[i] = fact->counter_selves[i];
	}
	copy_slice_args(in, fact);
}

/* --- samples ------------------------------------------------------------------------------------ */

static void count_sample(struct slow_instance *in, const struct code_frame *frame)
{
	unsigned i;

	in->samples++;
	for (i = 0; i < in->n_frames && in->frames[i].frame != frame; i++)
		;
	if (i == SLOWEST_FRAMES) {
		in->samples_other++;
		return;
	}
	if (!array_reserve(in->frames, i, in->frames_capacity, 16)) {
		in->failed = true;
		return;
	}
	if (i == in->n_frames)
		in->frames[in->n_frames++] = (struct slow_frame){ .frame = frame };
	in->frames[i].count++;
}

uint64_t slow_samples_in(const struct slow_instance *in, const struct name *function)
{
	uint64_t count = function ? 0 : in->samples_other;

	for (unsigned i = 0; i < in->n_frames; i++) {
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

static bool is_begin_of(const struct slow_instance *in, const struct fact *fact)
{
	return in->state == SLOW_AWAITED && fact->ts_ns == in->identity.begin_ns &&
	       fact->name == in->identity.name && fact->category == in->identity.category;
}

static void slice_waited(struct slow_instance *in, const struct fact *fact)
{
	uint64_t ns = fact->ts_ns - fact->begin_ns;
	struct wait_about about;

	if (ns <= in->wait_ns)
		return;
	in->wait_ns = ns;
	wait_describe(fact, &about);
	snprintf(in->wait, sizeof(in->wait), "%s%s%s%s%s%s%s", wait_reason_text(fact->wait_reason),
		 about.on[0] ? " " : "", about.on, about.by[0] ? ", woken by " : "", about.by,
		 about.by_slice[0] ? " in " : "", about.by_slice);
}

static void watch_fact(struct slowest *s, struct slow_instance *in, const struct fact *fact)
{
	switch (fact->kind) {
	case FACT_BEGIN:
	case FACT_ASYNC_BEGIN:
		if (in->state == SLOW_OPEN)
			nested_begins(in, fact);
		else if (is_begin_of(in, fact))
			instance_begins(in, fact);
		break;
	case FACT_END:
	case FACT_ASYNC_END:
		if (in->state == SLOW_OPEN && in->n_open > 1)
			nested_ends(in, fact);
		else if (in->state == SLOW_OPEN)
			instance_ends(s, in, fact);
		break;
	case FACT_INSTANT:
		if (in->state == SLOW_OPEN)
			slow_add_stack(in, fact);
		break;
	case FACT_LOST:
		if (in->state == SLOW_OPEN)
			in->marks_lost += fact->count;
		break;
	case FACT_WAIT:
		if (in->state == SLOW_OPEN)
			slice_waited(in, fact);
		break;
	case FACT_SAMPLE:
		/*
		 * The kernel takes the time of a sample, which may come in the middle of a mark
		 * with an earlier time.
		 */
		if (in->state == SLOW_OPEN && fact->callstack &&
		    fact->ts_ns >= in->identity.begin_ns)
			count_sample(in, fact->callstack->frame);
		break;
	default:
		break;
	}
}

int slow_watch(struct slowest *s, const struct fact *fact)
{
	uint64_t track = slow_track(fact);

	if (!track)
		return 0;
	for (unsigned i = 0; i < s->n_instances; i++) {
		struct slow_instance *in = &s->instances[i];

		if (in->identity.track == track && in->state != SLOW_SEEN)
			watch_fact(s, in, fact);
		if (in->failed)
			return -ENOMEM;
	}
	return 0;
}
