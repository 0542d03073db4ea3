/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instructions of a dynamic linker that call a function of its own, _dl_debug_state().
 *
 * A probe in the function, which only returns, costs ten times as much as one at a call on x86-64: the kernel emulates a
 * call, but executes a return out of line and lets the processor stop after it, which takes 9 us in a virtual machine. A
 * library that is opened and closed passes the function four times.
 */
#ifndef PROFTRACE_TRACEE_CODE_LINKER_CALLS_H
#define PROFTRACE_TRACEE_CODE_LINKER_CALLS_H

#include "tracee/elf_file.h"

enum {
	LINKER_MAX_CALLS = 16, /* glibc has six */
};

/*
 * Finds all calls of the function at `function`. Returns their number and their addresses, or 0 if the function may also
 * be reached in another way, and for other processors.
 */
unsigned linker_calls_find(const struct elf_file *elf, uint64_t function,
			   uint64_t ret_calls[LINKER_MAX_CALLS]);

#endif
