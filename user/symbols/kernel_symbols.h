/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the kernel's functions: the text of /proc/kallsyms. */
#ifndef PROFTRACE_SYMBOLS_KERNEL_SYMBOLS_H
#define PROFTRACE_SYMBOLS_KERNEL_SYMBOLS_H

#include <stdint.h>

enum {
	KERNEL_MAX_SYMBOLS = 1 << 21,
	KERNEL_MAX_TEXT = 128 << 20, /* bytes that are read */
};

struct kernel_symbols;

/*
 * Reads to the end, from wherever the descriptor is. Returns 0 or negative errno; -EACCES when the kernel
 * hides the addresses (kernel.kptr_restrict): all of them are 0.
 */
int kernel_symbols_read(int fd, struct kernel_symbols **ret);
void kernel_symbols_free(struct kernel_symbols *symbols);

/* NULL: not known. *ret_module: without brackets; NULL: the kernel itself. Valid until it is freed. */
const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
				const char **ret_module);

#endif
