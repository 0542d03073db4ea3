/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree behind a flame graph, private to this folder: flame.c builds and sorts it, flame_svg.c
 * draws it.
 */
#ifndef PROFTRACE_REPORTS_FLAME_FLAME_TREE_H
#define PROFTRACE_REPORTS_FLAME_FLAME_TREE_H

#include "reports/flame/flame.h"
#include "base/hash_key.h"

struct flame_key {
	struct flame_node *parent;
	const struct name *name;
};

struct flame_node {
	struct flame_key key;
	enum flame_kind kind;
	uint64_t total; /* with its callees */
	uint64_t self;
	uint64_t before, self_before; /* of the other side of a differential graph */
	struct flame_node *children;  /* sorted by name after flame_sort() */
	struct flame_node *next;
	UT_hash_handle hh;
};

struct flame {
	struct flame_node root; /* all samples; it has no name */
	struct flame_node *nodes;
	uint64_t cut;
	bool adds_before; /* flame_add() adds to what the graph is compared with */
	double ratio;	  /* of units of work, after to before; 0: there is one side */
};

/* How much the frame grew, as a share of what it was before; INFINITY: it was not there. */
double flame_growth(const struct flame *flame, const struct flame_node *node);

/* Sorts children by name, which is the order in which they are drawn. */
void flame_sort(struct flame_node *node);

/* flame_svg.c: the class of its colour in flame.css. A name has the same one in every graph. */
void flame_put_class(enum flame_kind kind, const char *name, FILE *out);

#endif
