/* SPDX-License-Identifier: BSD-2-Clause */
/* The features of the running kernel. Each is tried and never guessed from a version number. */
#ifndef PROFTRACE_PRIVILEGE_LOADER_FEATURES_H
#define PROFTRACE_PRIVILEGE_LOADER_FEATURES_H

#include <stdbool.h>

#include "privilege/broker/uprobe_multi.h"

struct kernel_types;
struct trial;

bool kernel_has_uprobe_multi(void);
/* Whether one program can run at the entry and at the return of a function, and forgo the latter. */
bool kernel_has_return_sessions(void);
bool kernel_has_bpf_loop(void);
/* Whether a program can ask what is mapped at an address. */
bool kernel_has_find_vma(void);
bool kernel_has_sleepable_uprobes(void);
/*
 * The number of the function by which a program for uprobes asks for another one, before its thread returns to user space;
 * 0: there is none; or negative errno. `types` may be NULL.
 */
int kernel_turn_function(const struct kernel_types *types);
/*
 * Whether a probe may be on a call instruction, which kernels for x86-64 emulate: no program may have a shadow stack, since
 * most kernels that know these put the return address onto the other stack alone, and the program dies as the function returns.
 */
bool kernel_emulates_calls(void);
/* Whether a program can run when this function of the kernel is called. */
bool kernel_can_enter(const struct kernel_types *types, const char *function);
/* Whether a thread still has its memory when the kernel reports its exit, so that buffers in it can be read. */
bool kernel_exits_with_memory(void);

/* Whether records of a ring buffer can overlap if its reader wants that (CVE-2024-41009). */
enum records_overlap {
	RECORDS_UNKNOWN,
	RECORDS_OVERLAP,
	RECORDS_APART,
};

enum records_overlap kernel_records_overlap(void);

/* Whether nobody may look into a process that exits, if nobody may before (CVE-2026-46333). */
enum exiting_process {
	EXITING_UNKNOWN,
	EXITING_PROTECTED,
	EXITING_OPEN,
};

enum exiting_process kernel_exiting_process(void);

/*
 * How the kernel treats the 10-byte nop of a probe site (include/proftrace.h, "Probe sites"). A
 * kernel that correctly replaces it with a call halves the cost of the entry.
 */
enum optimised_nop {
	OPTIMISED_NOP_NONE,	  /* breakpoints only */
	OPTIMISED_NOP_FIVE_BYTES, /* this kernel replaces 5-byte nops, incorrectly: not used */
	OPTIMISED_NOP_WRONG,	  /* the trial failed: not used */
	OPTIMISED_NOP_UNTRIED,	  /* it could not be made: not used */
	OPTIMISED_NOP_CORRECT,
};

/* `trial` may be NULL only if the kernel has no uprobe_multi links. */
enum optimised_nop kernel_optimised_nop(struct trial *trial);
const char *optimised_nop_text(enum optimised_nop nop);

#endif
