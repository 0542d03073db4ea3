/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `convert` and `merge` with --where, --from or --to: a smaller trace. This is a header to include
 * from outside; it also calls merge/.
 */
#ifndef PROFTRACE_REPORTS_SELECT_SELECT_CUT_H
#define PROFTRACE_REPORTS_SELECT_SELECT_CUT_H

#include "merge/rewrite.h"
#include "reports/select/select.h"

struct select_cut {
	struct select_options options;
	struct rewrite_cut cut;
	struct consumer *select;
	uint64_t first_ns;
};

/* Makes `rewrite` write only what is selected; call it after rewrite_init(). */
void select_cut_attach(struct select_cut *cut, struct rewrite *rewrite);
/* Prints on standard error how much that was. */
void select_cut_summary(const struct select_cut *cut);
void select_cut_free(struct select_cut *cut);

#endif
