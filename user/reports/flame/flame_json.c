/* SPDX-License-Identifier: BSD-2-Clause */
/* A flame graph as the data from which a script makes the same picture as flame_svg.c. */
#include <inttypes.h>

#include "reports/flame/flame_tree.h"
#include "reports/table/stats_print.h"

struct json_frames {
	FILE *out;
	uint64_t least; /* the weight of the lightest frame that is written */
	uint64_t n, left_out;
	unsigned rows;
};

static void put_json_frame(struct json_frames *j, const char *name, enum flame_kind kind,
			   unsigned depth, uint64_t begin, uint64_t weight)
{
	put_json_string(j->out, j->n++ ? ",\n[" : "\n[", name);
	fputs(",\"", j->out);
	flame_put_class(kind, name, j->out);
	fprintf(j->out, "\",%u,%" PRIu64 ",%" PRIu64 "]", depth, begin, weight);
	if (depth >= j->rows)
		j->rows = depth + 1;
}

static void put_json_children(struct json_frames *j, const struct flame_node *node, uint64_t begin,
			      unsigned depth)
{
	const struct flame_node *child;

	for (child = node->children; child; child = child->next) {
		if (child->total < j->least) {
			j->left_out++;
			continue;
		}
		put_json_frame(j, child->key.name->text, child->kind, depth, begin, child->total);
		put_json_children(j, child, begin, depth + 1);
		begin += child->total;
	}
}

void flame_write_json(struct flame *flame, double least_share, FILE *out)
{
	struct json_frames j = { .out = out,
				 .least = (uint64_t)(least_share * (double)flame->root.total) };

	flame_sort(&flame->root);
	fprintf(out, "{\"total\":%" PRIu64 ",\"cut\":%" PRIu64 ",\"frames\":[", flame->root.total,
		flame->cut);
	put_json_frame(&j, "all", FLAME_OTHER, 0, 0, flame->root.total);
	put_json_children(&j, &flame->root, 0, 1);
	fprintf(out, "],\"rows\":%u,\"left_out\":%" PRIu64 "}", j.rows, j.left_out);
}
