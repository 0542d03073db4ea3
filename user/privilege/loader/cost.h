/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of entering the kernel at a probe site, measured and not guessed from a version number.
 */
#ifndef PROFTRACE_PRIVILEGE_LOADER_COST_H
#define PROFTRACE_PRIVILEGE_LOADER_COST_H

#include <stdbool.h>
#include <stdint.h>

struct loaded_programs;

/* The offset of this code in the program file; 0: unknown. */
uint64_t self_offset(const void *code);

/*
 * The time in ns until the program for marks knows which process was hit: the call, the entry into
 * the kernel and the return, and the first steps of the program. `fast`: by the optimised nop.
 * `recording` must be set, and the calling process must not be traced. 0: the cost could not be
 * measured.
 */
uint64_t cost_of_entry(const struct loaded_programs *programs, bool fast);

#endif
