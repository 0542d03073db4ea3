/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of a flame graph, each once, whoever called them. A function that calls itself,
 * directly or not, is in a stack several times, but a sample of that stack counts once.
 */
#include "reports/flame/flame.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "reports/flame/flame_tree.h"

struct function_count {
	struct flame_function function;
	double most;   /* how much the samples grew in the caller that is named */
	unsigned open; /* how often it is in the stack that is visited */
	UT_hash_handle hh;
};

struct functions {
	struct function_count *counts;
	double ratio;
};

static struct function_count *function_get(struct functions *f, const struct flame_node *node)
{
	struct function_count *count;

	HASH_FIND(hh, f->counts, &node->key.name, sizeof(node->key.name), count);
	if (!count)
		count = hash_add_new(hh, f->counts, function.name, node->key.name);
	return count;
}

static void count_function(struct functions *f, struct function_count *count,
			   const struct flame_node *node)
{
	const struct flame_node *caller = node->key.parent;
	double grown = fabs((double)node->self - (double)node->self_before * f->ratio);

	count->function.self[0] += node->self_before;
	count->function.self[1] += node->self;
	if (!count->open) {
		count->function.total[0] += node->before;
		count->function.total[1] += node->total;
	}
	if (grown > count->most) {
		count->most = grown;
		count->function.caller = caller->kind == FLAME_OTHER ? NULL : caller->key.name;
	}
}

/* A process is a frame, too, but no function. */
static int visit_callees(struct functions *f, const struct flame_node *node)
{
	const struct flame_node *child;
	int error = 0;

	for (child = node->children; child && !error; child = child->next) {
		struct function_count *count = NULL;

		if (child->kind != FLAME_OTHER) {
			count = function_get(f, child);
			if (!count)
				return -ENOMEM;
			count_function(f, count, child);
			count->open++;
		}
		error = visit_callees(f, child);
		if (count)
			count->open--;
	}
	return error;
}

int flame_functions(const struct flame *flame, struct flame_function **ret, unsigned *ret_n)
{
	struct functions f = { .ratio = flame->ratio };
	unsigned n = 0;
	int error = visit_callees(&f, &flame->root);

	*ret = calloc(HASH_COUNT(f.counts) + 1, sizeof(**ret));
	if (!*ret)
		error = -ENOMEM;
	hash_each (f.counts, count) {
		if (!error)
			(*ret)[n++] = count->function;
	}
	hash_clear(hh, f.counts, count);
	*ret_n = n;
	return error;
}
