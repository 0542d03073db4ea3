/* SPDX-License-Identifier: BSD-2-Clause */
/* Which names and categories are wanted, by globs: the rules of --domain and --name. */
#ifndef PROFTRACE_HANDLERS_GLOBS_H
#define PROFTRACE_HANDLERS_GLOBS_H

#include <stdbool.h>

/*
 * Without a glob that includes, all is included; !GLOB leaves out. `is_list`: the text is several
 * categories, separated by commas, of which one has to fit.
 */
bool globs_want(const char *const *globs, unsigned n, const char *text, bool is_list);

#endif
