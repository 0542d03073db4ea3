/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of the comparison: one for everything that is known of at least one slice; and which
 * values differ from those of the median slice.
 */
#include "reports/slowest/slowest_internal.h"
#include "base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/table/stats_view.h"

static bool add_slow_row(struct slow_comparison *c, struct slow_row row)
{
	if (!array_reserve(c->rows, c->n_rows, c->capacity, 64))
		return false;
	c->rows[c->n_rows++] = row;
	return true;
}

/* --- slices inside ------------------------------------------------------------------------------ */

static int join_tree(struct slow_comparison *c, unsigned instance, uint32_t *merged)
{
	const struct slow_tree *tree = &c->slowest->instances[instance].tree;
	uint32_t i, at;

	/* The slice around a slice comes before it. */
	for (i = 1, merged[0] = 0; i < tree->n; i++) {
		const struct slow_node *node = &tree->nodes[i];

		at = slow_child(&c->merged, merged[node->parent], node->category, node->name,
				UINT32_MAX);
		if (!at)
			return -ENOMEM;
		merged[i] = at;
		c->own_node[at][instance] = i + 1;
		if (c->merged.nodes[at].total_ns < node->total_ns)
			c->merged.nodes[at].total_ns = node->total_ns;
	}
	return 0;
}

static int join_trees(struct slow_comparison *c)
{
	const struct slowest *s = c->slowest;
	uint32_t *merged, most = 1, all = 1;
	int error = 0;

	for (unsigned i = 0; i < s->n_instances; i++) {
		if (most < s->instances[i].tree.n)
			most = s->instances[i].tree.n;
		all += s->instances[i].tree.n;
	}
	merged = calloc(most, sizeof(*merged));
	c->own_node = calloc(all, sizeof(*c->own_node));
	c->order = calloc(all, sizeof(*c->order));
	c->merged.nodes = calloc(all, sizeof(*c->merged.nodes));
	c->merged.n = 1;
	c->merged.capacity = all;
	if (!merged || !c->own_node || !c->order || !c->merged.nodes)
		error = -ENOMEM;
	for (unsigned i = 0; i < s->n_instances && !error; i++)
		error = join_tree(c, i, merged);
	free(merged);
	return error;
}

static int compare_totals(const void *left, const void *right, void *tree)
{
	const struct slow_node *nodes = ((const struct slow_tree *)tree)->nodes;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (nodes[a].total_ns != nodes[b].total_ns)
		return nodes[a].total_ns > nodes[b].total_ns ? -1 : 1;
	return a < b ? -1 : 1;
}

/*
 * Chooses the slices inside that took most time in at least one of the compared slices. The slice
 * around another one took no less and comes before it in the order, so it is chosen, too. `count`
 * of a merged node says whether it is chosen.
 */
static void choose_children(struct slow_comparison *c, unsigned max)
{
	uint32_t i, n = c->merged.n - 1;

	for (i = 0; i < n; i++)
		c->order[i] = i + 1;
	qsort_r(c->order, n, sizeof(*c->order), compare_totals, &c->merged);
	for (i = 0; i < n; i++)
		c->merged.nodes[c->order[i]].count = !max || i < max;
	c->n_left_out = max && n > max ? n - max : 0;
}

static bool add_child_rows(struct slow_comparison *c, uint32_t parent, unsigned depth)
{
	const struct slow_node *nodes = c->merged.nodes;
	uint32_t at, i, n = 0, *list;
	bool ok = true;

	for (at = nodes[parent].child; at; at = nodes[at].next)
		n += nodes[at].count;
	if (!n)
		return true;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return false;
	for (i = 0, at = nodes[parent].child; at; at = nodes[at].next) {
		if (nodes[at].count)
			list[i++] = at;
	}
	qsort_r(list, n, sizeof(*list), compare_totals, &c->merged);
	for (i = 0; i < n && ok; i++) {
		ok = add_slow_row(c, (struct slow_row){ .part = SLOW_CHILD,
							.depth = depth,
							.which = list[i],
							.name = nodes[list[i]].name }) &&
		     add_child_rows(c, list[i], depth + 1);
	}
	free(list);
	if (ok && parent)
		ok = add_slow_row(c, (struct slow_row){ .part = SLOW_CHILD_SELF,
							.depth = depth,
							.which = parent });
	return ok;
}

/* --- rows --------------------------------------------------------------------------------------- */

static bool has_row(const struct slow_comparison *c, enum slow_part part, const struct name *name)
{
	for (unsigned i = 0; i < c->n_rows; i++) {
		if (c->rows[i].part == part && c->rows[i].name == name)
			return true;
	}
	return false;
}

/* Whether at least one slice has the data of this part. */
static bool any_slice_has(const struct slow_comparison *c, enum slow_part part)
{
	const struct slowest *s = c->slowest;

	for (unsigned i = 0; i < s->n_instances; i++) {
		const struct slow_instance *in = &s->instances[i];

		if (part == SLOW_NAME &&
		    (in->identity.name != s->instances[0].identity.name ||
		     in->identity.category != s->instances[0].identity.category))
			return true;
		if ((part == SLOW_STEP && in->stepped) || (part == SLOW_STATE && in->has_states) ||
		    (part == SLOW_WAIT && in->wait_ns) || (part == SLOW_LOST && in->marks_lost) ||
		    (part == SLOW_SELF && in->tree.n > 1))
			return true;
	}
	return false;
}

static bool add_row_if(struct slow_comparison *c, enum slow_part part, bool wanted)
{
	return !wanted || add_slow_row(c, (struct slow_row){ .part = part });
}

/* The heading of the rows of `part`. */
static bool add_heading_row(struct slow_comparison *c, enum slow_part part, bool wanted)
{
	return !wanted || add_slow_row(c, (struct slow_row){ .part = SLOW_HEADING, .which = part });
}

/* The reasons for which one of the slices at least was blocked. */
static bool add_reason_rows(struct slow_comparison *c)
{
	const struct slowest *s = c->slowest;
	unsigned i;
	bool ok = true;

	for (unsigned reason = 0; reason < WAIT_REASONS && ok; reason++) {
		for (i = 0; i < s->n_instances && !s->instances[i].states.blocked_in[reason]; i++)
			;
		if (i < s->n_instances)
			ok = add_slow_row(c, (struct slow_row){ .part = SLOW_STATE,
								.which = SLOW_REASONS + reason });
	}
	return ok && add_row_if(c, SLOW_WAIT, any_slice_has(c, SLOW_WAIT));
}

static bool add_state_rows(struct slow_comparison *c)
{
	const struct slowest *s = c->slowest;
	uint64_t unknown = 0;
	bool ok = true;

	if (!any_slice_has(c, SLOW_STATE))
		return true;
	for (unsigned i = 0; i < s->n_instances; i++)
		unknown += s->instances[i].states.unknown;
	for (unsigned i = 0; i < 3 + (unknown > 0) && ok; i++) {
		ok = add_slow_row(c, (struct slow_row){ .part = SLOW_STATE, .which = i });
		if (i == 2)
			ok = ok && add_reason_rows(c);
	}
	return ok;
}

static bool add_named_row(struct slow_comparison *c, enum slow_part part, const struct name *name)
{
	return has_row(c, part, name) ||
	       (add_heading_row(c, part, c->rows[c->n_rows - 1].part != part) &&
		add_slow_row(c, (struct slow_row){ .part = part, .name = name }));
}

static bool add_counters_and_args(struct slow_comparison *c)
{
	const struct slowest *s = c->slowest;
	bool ok = true;

	for (unsigned i = 0; i < s->n_instances; i++) {
		for (unsigned j = 0; j < s->instances[i].n_counters && ok; j++)
			ok = add_named_row(c, SLOW_COUNTER, s->instances[i].counters[j]);
	}
	for (unsigned i = 0; i < s->n_instances; i++) {
		for (unsigned j = 0; j < s->instances[i].n_args && ok; j++)
			ok = add_named_row(c, SLOW_ARG, s->instances[i].args[j].key);
	}
	return ok;
}

static int compare_sample_counts(const void *left, const void *right, void *context)
{
	const struct slow_comparison *c = context;
	const struct slow_row *a = left, *b = right;
	uint64_t most_a = 0, most_b = 0, n;

	for (unsigned i = 0; i < c->slowest->n_instances; i++) {
		n = slow_samples_in(&c->slowest->instances[i], a->name);
		most_a = n > most_a ? n : most_a;
		n = slow_samples_in(&c->slowest->instances[i], b->name);
		most_b = n > most_b ? n : most_b;
	}
	if (most_a != most_b)
		return most_a > most_b ? -1 : 1;
	if (!a->name || !b->name)
		return !a->name - !b->name;
	return strcmp(a->name->text, b->name->text);
}

/* The functions that samples were in, those with the most samples first. */
static bool add_sample_rows(struct slow_comparison *c, unsigned max)
{
	const struct name *functions[SLOWEST_FRAMES + 1];
	const struct slowest *s = c->slowest;
	unsigned i, j, n, first = c->n_rows + 1;
	bool ok = true;

	for (i = 0; i < s->n_instances; i++) {
		n = slow_functions(&s->instances[i], functions);
		for (j = 0; j < n && ok; j++)
			ok = add_named_row(c, SLOW_SAMPLE, functions[j]);
	}
	if (!ok || c->n_rows < first)
		return ok;
	n = c->n_rows - first;
	qsort_r(c->rows + first, n, sizeof(*c->rows), compare_sample_counts, c);
	c->n_functions_left_out = max && n > max ? n - max : 0;
	c->n_rows -= c->n_functions_left_out;
	return true;
}

/* Call stacks, the most frequent first. */
static bool add_stack_rows(struct slow_comparison *c)
{
	unsigned i, n = c->n_stacks - c->n_stacks_left_out;
	bool ok = add_heading_row(c, SLOW_STACK, n > 0);

	for (i = 0; i < n && ok; i++)
		ok = add_slow_row(c, (struct slow_row){ .part = SLOW_STACK, .which = i });
	return ok;
}

int slow_compare(struct slow_comparison *c, const struct slowest *slowest,
		 const struct stats_file *files, unsigned n_files, unsigned max_children)
{
	int error;

	*c = (struct slow_comparison){ .slowest = slowest, .files = files, .n_files = n_files };
	error = join_trees(c);
	error = error ?: slow_join_stacks(c, max_children);
	if (error)
		return error;
	choose_children(c, max_children);
	if (add_row_if(c, SLOW_NAME, any_slice_has(c, SLOW_NAME)) &&
	    add_row_if(c, SLOW_FILE, n_files > 1) && add_row_if(c, SLOW_AT, true) &&
	    add_row_if(c, SLOW_PROCESS, true) && add_row_if(c, SLOW_THREAD, true) &&
	    add_row_if(c, SLOW_STEP, any_slice_has(c, SLOW_STEP)) &&
	    add_row_if(c, SLOW_DURATION, true) && add_state_rows(c) &&
	    add_heading_row(c, SLOW_CHILD, any_slice_has(c, SLOW_SELF)) &&
	    add_row_if(c, SLOW_SELF, any_slice_has(c, SLOW_SELF)) && add_child_rows(c, 0, 0) &&
	    add_sample_rows(c, max_children) && add_stack_rows(c) && add_counters_and_args(c) &&
	    add_row_if(c, SLOW_LOST, any_slice_has(c, SLOW_LOST)))
		return 0;
	return -ENOMEM;
}

void slow_comparison_free(struct slow_comparison *c)
{
	for (unsigned i = 0; i < c->n_stacks; i++)
		free(c->stacks[i].text);
	free(c->stacks);
	free(c->rows);
	free(c->own_node);
	free(c->order);
	free(c->merged.nodes);
}

/* --- values ------------------------------------------------------------------------------------- */

static struct slow_value slow_time_value(uint64_t ns)
{
	return (struct slow_value){ .kind = SLOW_TIME, .ns = ns };
}

static struct slow_value slow_number_value(uint64_t number)
{
	return (struct slow_value){ .kind = SLOW_NUMBER, .arg = { .type = ARG_UINT, .u = number } };
}

/* `text` is part of the comparison, or lives as long as names do. */
static struct slow_value slow_text_value(const char *text)
{
	return (struct slow_value){
		.kind = SLOW_TEXT,
		.arg = { .type = ARG_STRING, .s = text, .length = (uint32_t)strlen(text) },
	};
}

static struct slow_value slow_owner_value(char *text, const struct name *name, uint32_t id)
{
	snprintf(text, SLOW_TEXT_MAX, "%s%s%u", name ? name->text : "", name ? " " : "", id);
	return slow_text_value(text);
}

static const struct slow_node *slow_node_of(const struct slow_comparison *c,
					    const struct slow_row *row, unsigned instance)
{
	uint32_t own_node = c->own_node[row->which][instance];

	return own_node ? &c->slowest->instances[instance].tree.nodes[own_node - 1] : NULL;
}

static struct slow_value slow_child_value(const struct slow_node *node, bool self)
{
	if (!node)
		return (struct slow_value){ 0 };
	return (struct slow_value){ .kind = SLOW_TIME,
				    .ns = self ? node->self_ns : node->total_ns,
				    .count = self ? 0 : node->count,
				    .self_ns = node->self_ns };
}

static struct slow_value slow_counter_value(const struct slow_instance *in, const struct name *name)
{
	for (unsigned i = 0; i < in->n_counters; i++) {
		if (in->counters[i] != name || in->deltas[i] == EVENT_NO_VALUE)
			continue;
		return stats_is_time(name) ? slow_time_value(in->deltas[i])
					   : slow_number_value(in->deltas[i]);
	}
	return (struct slow_value){ 0 };
}

/* The argument of the END replaces that of the BEGIN. */
static struct slow_value slow_arg_value(char *text, const struct slow_instance *in,
					const struct name *key)
{
	for (unsigned i = in->n_args; i-- > 0;) {
		const struct arg *arg = &in->args[i];

		if (arg->key != key)
			continue;
		switch (arg->type) {
		case ARG_INT:
		case ARG_UINT:
		case ARG_DOUBLE:
			return (struct slow_value){ .kind = SLOW_NUMBER, .arg = *arg };
		case ARG_STRING:
			return slow_text_value(arg->s);
		case ARG_BOOL:
			return slow_text_value(arg->u ? "true" : "false");
		case ARG_POINTER:
			snprintf(text, SLOW_TEXT_MAX, "0x%" PRIx64, arg->u);
			return slow_text_value(text);
		case ARG_NULL:
			return slow_text_value("null");
		}
	}
	return (struct slow_value){ 0 };
}

static void format_step(char *out, size_t size, const struct arg *arg)
{
	if (arg->type == ARG_INT)
		snprintf(out, size, "%" PRId64, arg->i);
	else
		snprintf(out, size, "%" PRIu64, arg->u);
}

static struct slow_value slow_step_value(char *text, const struct slow_instance *in)
{
	char epoch[24], batch[24];

	if (!in->stepped)
		return (struct slow_value){ 0 };
	format_step(epoch, sizeof(epoch), &in->epoch);
	format_step(batch, sizeof(batch), &in->batch);
	snprintf(text, SLOW_TEXT_MAX, "%s/%s", epoch, batch);
	return slow_text_value(text);
}

static struct slow_value slow_state_value(const struct slow_instance *in, unsigned which)
{
	const uint64_t states[] = { in->states.running, in->states.runnable, in->states.blocked,
				    in->states.unknown };

	if (which >= SLOW_REASONS)
		return in->states.has_reasons || (in->has_states && !in->states.blocked)
			       ? slow_time_value(in->states.blocked_in[which - SLOW_REASONS])
			       : (struct slow_value){ 0 };
	return in->has_states ? slow_time_value(states[which]) : (struct slow_value){ 0 };
}

static struct slow_value slow_plain_value(struct slow_comparison *c, const struct slow_row *row,
					  unsigned instance)
{
	const struct slow_instance *in = &c->slowest->instances[instance];
	char *text = c->text[instance > 0];

	switch (row->part) {
	case SLOW_HEADING:
		break;
	case SLOW_NAME:
		return slow_text_value(in->identity.name->text);
	case SLOW_FILE:
		return slow_text_value(in->trace < c->n_files ? c->files[in->trace].path : "");
	case SLOW_AT:
		return slow_time_value(in->offset_ns);
	case SLOW_PROCESS:
		return slow_owner_value(text, in->process, in->pid);
	case SLOW_THREAD:
		return slow_owner_value(text, in->thread, in->tid);
	case SLOW_STEP:
		return slow_step_value(text, in);
	case SLOW_DURATION:
		return slow_time_value(in->identity.duration_ns);
	case SLOW_STATE:
		return slow_state_value(in, row->which);
	case SLOW_WAIT:
		return in->wait_ns ? slow_text_value(in->wait) : (struct slow_value){ 0 };
	case SLOW_SELF:
		return slow_time_value(in->self_ns);
	case SLOW_CHILD:
	case SLOW_CHILD_SELF:
		return slow_child_value(slow_node_of(c, row, instance),
					row->part == SLOW_CHILD_SELF);
	case SLOW_SAMPLE:
		return in->samples ? slow_number_value(slow_samples_in(in, row->name))
				   : (struct slow_value){ 0 };
	case SLOW_STACK:
		return c->stacks[row->which].counts[instance]
			       ? slow_number_value(c->stacks[row->which].counts[instance])
			       : (struct slow_value){ 0 };
	case SLOW_COUNTER:
		return slow_counter_value(in, row->name);
	case SLOW_ARG:
		return slow_arg_value(text, in, row->name);
	case SLOW_LOST:
		return slow_number_value(in->marks_lost);
	}
	return (struct slow_value){ 0 };
}

/* --- what is different -------------------------------------------------------------------------- */

/*
 * A time explains why a slice took longer if it is at least a tenth of the difference in duration.
 * If that difference is less than a tenth of the duration, there is nothing to explain.
 */
static bool time_differs(const struct slow_comparison *c, unsigned instance, uint64_t ns,
			 uint64_t usual)
{
	uint64_t median = c->slowest->instances[0].identity.duration_ns;
	uint64_t duration = c->slowest->instances[instance].identity.duration_ns;

	if (duration <= median || duration - median < median / 10)
		return false;
	return ns > usual && ns - usual >= (duration - median + 9) / 10;
}

/* Any other number differs if it is at least twice, or at most half, that of the median slice. */
static bool number_differs(const struct arg *number, const struct arg *usual)
{
	long double a = stats_number(number), b = stats_number(usual);

	if (isnan(a) || isnan(b))
		return isnan(a) != isnan(b);
	if (a == b)
		return false;
	if ((a < 0) != (b < 0))
		return true;
	return fabsl(a) >= 2 * fabsl(b) || fabsl(b) >= 2 * fabsl(a);
}

/*
 * The samples in a function differ if there are more than in the median slice, by at least a tenth
 * of all samples of the slice.
 */
static bool samples_differ(const struct slow_comparison *c, const struct slow_row *row,
			   unsigned instance)
{
	const struct slow_instance *in = &c->slowest->instances[instance];
	uint64_t n = slow_samples_in(in, row->name);
	uint64_t usual = slow_samples_in(&c->slowest->instances[0], row->name);

	return n > usual && (n - usual) * 10 >= in->samples;
}

static bool value_differs(struct slow_comparison *c, const struct slow_row *row, unsigned instance,
			  const struct slow_value *value)
{
	struct slow_value usual;

	/* These rows differ by nature: they identify the slice, or are its duration. */
	if (!instance || (row->part <= SLOW_DURATION && row->part != SLOW_NAME))
		return false;
	if (row->part == SLOW_SAMPLE)
		return samples_differ(c, row, instance);
	usual = slow_plain_value(c, row, 0);
	switch (value->kind) {
	case SLOW_NONE:
		return false;
	case SLOW_TIME:
		return time_differs(c, instance, value->ns, usual.kind == SLOW_TIME ? usual.ns : 0);
	case SLOW_NUMBER:
		return usual.kind != SLOW_NUMBER || number_differs(&value->arg, &usual.arg);
	case SLOW_TEXT:
		return usual.kind != SLOW_TEXT || strcmp(usual.arg.s, value->arg.s);
	}
	return false;
}

struct slow_value slow_value(struct slow_comparison *c, const struct slow_row *row,
			     unsigned instance)
{
	struct slow_value value = slow_plain_value(c, row, instance);

	value.differs = value_differs(c, row, instance, &value);
	return value;
}
