/* SPDX-License-Identifier: BSD-2-Clause */
/* A selection between the two readings of a source and its outputs. */
#include "base/text.h"
#include "reports/select/select_cut.h"

#include <inttypes.h>

static struct consumer *cut_decide(void *context, struct names *names, uint64_t first_ns)
{
	struct select_cut *cut = context;

	cut->first_ns = first_ns;
	cut->select = select_new(&cut->options, names);
	if (cut->select)
		select_begin(cut->select, SELECT_DECIDE, first_ns, NULL);
	return cut->select;
}

static void cut_decided(void *context)
{
	struct select_cut *cut = context;

	select_end(cut->select);
	select_begin(cut->select, SELECT_CUT, cut->first_ns, NULL);
}

static int cut_add_output(void *context, struct consumer *output)
{
	return select_add_out(((struct select_cut *)context)->select, output);
}

static void cut_count(void *context, uint64_t *ret_left_out, uint64_t *ret_open)
{
	const struct select_count count = select_counts(((struct select_cut *)context)->select);

	*ret_left_out = count.marks_left_out;
	*ret_open = count.open;
}

void select_cut_attach(struct select_cut *cut, struct rewrite *rewrite)
{
	cut->cut = (struct rewrite_cut){ .context = cut,
					 .decide = cut_decide,
					 .decided = cut_decided,
					 .add_output = cut_add_output,
					 .count = cut_count };
	if (select_is_wanted(&cut->options))
		rewrite->cut = &cut->cut;
}

void select_cut_summary(const struct select_cut *cut)
{
	struct select_count n;

	if (!cut->select)
		return;
	n = select_counts(cut->select);
	print_visible(stderr,
		      "selected: %" PRIu64 " of %" PRIu64 " slices that ended, %" PRIu64
		      " of %" PRIu64 " instants and counter values\n",
		      n.selected, n.slices, n.others_selected, n.others);
	if (n.open)
		print_visible(stderr, "%12" PRIu64 "  selected slices have no end\n", n.open);
	if (n.flows_without_end)
		print_visible(stderr,
			      "%12" PRIu64
			      "  flows lost one of their ends: its slice is not selected\n",
			      n.flows_without_end);
	if (n.flows_not_followed)
		print_visible(stderr,
			      "%12" PRIu64
			      "  more ends of flows were not checked: there are too many\n",
			      n.flows_not_followed);
}

void select_cut_free(struct select_cut *cut)
{
	if (cut->select)
		cut->select->ops->free(cut->select);
}
