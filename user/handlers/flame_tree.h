/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROFTRACE_HANDLERS_FLAME_TREE_H
#define PROFTRACE_HANDLERS_FLAME_TREE_H

#include "handlers/flame.h"
#include "timeline/hash_key.h"

struct flame_key {
	struct flame_node *parent;
	const struct name *name;
};

struct flame_node {
	struct flame_key key;
	enum flame_kind kind;
	uint64_t total; /* with those that it called */
	uint64_t self;
	struct flame_node *children; /* in the order of their names once it is sorted */
	struct flame_node *next;
	UT_hash_handle hh;
};

struct flame {
	struct flame_node root; /* everything; without a name */
	struct flame_node *nodes;
	uint64_t cut;
};

/* Brings children into the order in which they are drawn. */
void flame_sort(struct flame_node *node);

#endif
