/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree of a flame graph and its folded text. Stacks that share their outermost frames share
 * nodes, so the tree is limited by FLAME_MAX_FRAMES and not by the number of samples.
 */
#include "reports/flame/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/flame/flame_tree.h"

struct flame *flame_new(void)
{
	struct flame *flame = calloc(1, sizeof(*flame));

	if (flame)
		flame->root.kind = FLAME_OTHER;
	return flame;
}

void flame_free(struct flame *flame)
{
	if (!flame)
		return;
	hash_clear(hh, flame->nodes, node);
	free(flame);
}

/* NULL: too many frames, or out of memory. */
static struct flame_node *flame_child(struct flame *flame, struct flame_node *parent,
				      const struct flame_frame *frame)
{
	struct flame_key key;
	struct flame_node *node;

	memset(&key, 0, sizeof(key));
	key.parent = parent;
	key.name = frame->name;
	HASH_FIND(hh, flame->nodes, &key, sizeof(key), node);
	if (node) {
		/* A function that is inlined in one place and called in another is one frame. */
		if (node->kind == FLAME_INLINED)
			node->kind = frame->kind;
		return node;
	}
	if (HASH_COUNT(flame->nodes) == FLAME_MAX_FRAMES)
		return NULL;
	node = hash_add_new(hh, flame->nodes, key, key);
	if (!node)
		return NULL;
	node->kind = frame->kind;
	node->next = parent->children;
	parent->children = node;
	return node;
}

static void flame_node_add(struct flame_node *node, uint64_t weight, bool is_after)
{
	*(is_after ? &node->total : &node->before) += weight;
}

void flame_add_side(struct flame *flame, const struct flame_frame *frames, unsigned n,
		    uint64_t weight, bool is_after)
{
	struct flame_node *at = &flame->root;

	flame_node_add(at, weight, is_after);
	for (unsigned i = 0; i < n; i++) {
		struct flame_node *child =
			i < FLAME_MAX_DEPTH ? flame_child(flame, at, &frames[i]) : NULL;

		if (!child) {
			flame->cut += weight;
			break;
		}
		at = child;
		flame_node_add(at, weight, is_after);
	}
	*(is_after ? &at->self : &at->self_before) += weight;
}

void flame_add(struct flame *flame, const struct flame_frame *frames, unsigned n, uint64_t weight)
{
	flame_add_side(flame, frames, n, weight, !flame->adds_before);
}

void flame_add_to(struct flame *flame, bool is_after)
{
	flame->adds_before = !is_after;
}

void flame_compare(struct flame *flame, double ratio)
{
	flame->ratio = ratio;
}

double flame_growth(const struct flame *flame, const struct flame_node *node)
{
	if (!node->before)
		return INFINITY;
	return (double)node->total / ((double)node->before * flame->ratio) - 1;
}

uint64_t flame_cut(const struct flame *flame)
{
	return flame->cut;
}

void flame_weights(const struct flame *flame, uint64_t ret[2])
{
	ret[0] = flame->root.before;
	ret[1] = flame->root.total;
}

static int compare_node_names(const struct flame_node *a, const struct flame_node *b)
{
	return strcmp(a->key.name->text, b->key.name->text);
}

/* Merges two sorted lists. */
static struct flame_node *merge_node_lists(struct flame_node *a, struct flame_node *b)
{
	struct flame_node *first = NULL, **at = &first;

	while (a && b) {
		struct flame_node **less = compare_node_names(a, b) <= 0 ? &a : &b;

		*at = *less;
		at = &(*less)->next;
		*less = *at;
	}
	*at = a ? a : b;
	return first;
}

static struct flame_node *sort_node_list(struct flame_node *list)
{
	struct flame_node *runs[32] = { NULL }, *sorted = NULL;
	unsigned i;

	/* Merge sort without recursion: runs[i] is a sorted list of 2^i nodes. */
	while (list) {
		struct flame_node *one = list;

		list = list->next;
		one->next = NULL;
		for (i = 0; i < 31 && runs[i]; i++) {
			one = merge_node_lists(runs[i], one);
			runs[i] = NULL;
		}
		runs[i] = runs[i] ? merge_node_lists(runs[i], one) : one;
	}
	for (i = 0; i < 32; i++)
		sorted = merge_node_lists(runs[i], sorted);
	return sorted;
}

void flame_sort(struct flame_node *node)
{
	node->children = sort_node_list(node->children);
	for (node = node->children; node; node = node->next)
		flame_sort(node);
}

/* --- text -------------------------------------------------------------------------------------- */

/* In folded text a semicolon separates frames, so one in a name becomes a colon. */
static void write_folded_name(const struct name *name, FILE *out)
{
	const char *at;

	for (at = name->text; *at; at++)
		putc(*at == ';' ? ':' : *at, out);
}

/* The stacks of a differential graph have two numbers: before and after. */
static void write_folded_stacks(const struct flame_node *node, const struct flame_node **path,
				unsigned depth, bool both, FILE *out)
{
	const struct flame_node *child;

	if ((node->self || (both && node->self_before)) && depth) {
		for (unsigned i = 0; i < depth; i++) {
			if (i)
				putc(';', out);
			write_folded_name(path[i]->key.name, out);
		}
		if (both)
			fprintf(out, " %" PRIu64, node->self_before);
		fprintf(out, " %" PRIu64 "\n", node->self);
	}
	for (child = node->children; child; child = child->next) {
		path[depth] = child;
		write_folded_stacks(child, path, depth + 1, both, out);
	}
}

int flame_write_folded(struct flame *flame, FILE *out)
{
	const struct flame_node **path = calloc(FLAME_MAX_DEPTH + 1, sizeof(*path));

	if (!path)
		return -ENOMEM;
	flame_sort(&flame->root);
	write_folded_stacks(&flame->root, path, 0, flame->ratio > 0, out);
	free(path);
	return 0;
}
