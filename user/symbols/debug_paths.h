/* SPDX-License-Identifier: BSD-2-Clause */
/* Where debug files lie that were separated from the code. */
#ifndef PROFTRACE_SYMBOLS_DEBUG_PATHS_H
#define PROFTRACE_SYMBOLS_DEBUG_PATHS_H

#include <stdbool.h>
#include <stddef.h>

struct symbol_want;

/*
 * The place number `index`, 0 first, for the debug file of `path`; false: there is none of this number,
 * others may follow. What is wanted are foreign bytes, `link` NUL-terminated: where it would lead out of
 * the places for such files, there is none.
 */
bool debug_path(const struct symbol_want *want, const char *path, unsigned index, char *out,
		size_t size);

#endif
