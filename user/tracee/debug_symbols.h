/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the symbols that were stripped from a file: in a separate debug file, found by the build id
 * as distributions install it, or compressed in the file itself (.gnu_debugdata).
 */
#ifndef PROFTRACE_TRACEE_DEBUG_SYMBOLS_H
#define PROFTRACE_TRACEE_DEBUG_SYMBOLS_H

#include "tracee/elf_functions.h"

enum {
	DEBUG_MAX_COMPRESSED = 64 << 20,
	DEBUG_MAX_DATA = 256 << 20, /* uncompressed */
};

/* Opens the separate debug file. Returns a descriptor or negative errno. */
int debug_symbols_open(const struct elf_file *elf);

/*
 * Adds the functions of the debug file (-1: there is none) and of .gnu_debugdata. Returns 0, also
 * if there are none, or -ENOMEM.
 */
int debug_symbols_add(struct elf_functions *functions, const struct elf_file *elf, int debug_fd);

/* Unpacks .gnu_debugdata into a memfd. Returns its descriptor or negative errno. */
int debug_symbols_unpack(const struct elf_file *elf);

#endif
