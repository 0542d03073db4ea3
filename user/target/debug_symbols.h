/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the symbols are that a file was stripped of: in a file of its own, found by the build id, as
 * distributions have them to be installed; or in the file, compressed (.gnu_debugdata).
 */
#ifndef PROFTRACE_TARGET_DEBUG_SYMBOLS_H
#define PROFTRACE_TARGET_DEBUG_SYMBOLS_H

#include "target/elf_functions.h"

enum {
	DEBUG_MAX_COMPRESSED = 64 << 20,
	DEBUG_MAX_DATA = 256 << 20, /* uncompressed */
};

/* Adds the functions that are found there: 0, or -ENOMEM. That there are none is no failure. */
int debug_symbols_add(struct elf_functions *functions, const struct elf_file *elf);

/* The uncompressed file, as a descriptor of it in memory, or negative errno. */
int debug_symbols_unpack(const struct elf_file *elf);

#endif
