/* SPDX-License-Identifier: BSD-2-Clause */
/* `proftrace report --flame`. */
#ifndef PROFTRACE_CMD_REPORT_FLAME_H
#define PROFTRACE_CMD_REPORT_FLAME_H

#include <stdbool.h>

#include "failure.h"
#include "handlers/handler.h"

struct flame_options {
	bool wanted;
	const char *slice;  /* samples within slices of such a name, a glob; NULL: all */
	const char *output; /* NULL or "-": folded stacks on standard output */
	bool quiet;
};

/* Why `output` is no name for one; NULL: it is. */
const char *flame_output_wrong(const char *output);

/* `paths`: the traces, which were all read by the handler (flame_samples.h). Returns 0 or negative errno. */
int report_flame(const struct flame_options *options, struct handler *handler, struct names *names,
		 char *const *paths, unsigned n_paths, struct failure *f);

#endif
