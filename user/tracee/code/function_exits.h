/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the exits of a function: its return instructions, and the jumps out of it, which are calls
 * of other functions that return in its place (tail calls).
 *
 * A breakpoint that is not at the first byte of an instruction corrupts the program, and so does
 * one in data, which hand-written code has between its instructions. So bytes are taken as an
 * instruction only if control flow reaches them from the beginning of the function: by the
 * instruction before, by a jump, by a jump table of a compiler, or by an exception. Bytes that are
 * not reached are never touched. If the target of a jump is unknown and there are bytes left that
 * may contain an exit, the function is refused, because an exit would be missing.
 */
#ifndef PROFTRACE_TRACEE_CODE_FUNCTION_EXITS_H
#define PROFTRACE_TRACEE_CODE_FUNCTION_EXITS_H

#include "privilege/prover/prover.h"
#include "tracee/elf_file.h"
#include "tracee/code/unwind_table.h"
#include "bpf/marks/usdt_spec.h"

enum {
	FUNCTION_MAX_SIZE = 1 << 20,
	FUNCTION_MAX_EXITS = 1024,
	FUNCTION_MAX_PARTS = 2,
};

struct function_exit {
	uint64_t vaddr;
	uint8_t exit; /* enum call_exit */
	uint8_t condition;
	struct usdt_arg target;
	uint64_t to; /* target of a direct jump; else 0 */
};

/*
 * A range of code of one function. The first part contains its beginning; the second is rarely
 * executed code.
 */
struct function_part {
	uint64_t vaddr, size;
};

struct function_exits {
	unsigned n;
	struct function_exit exits[FUNCTION_MAX_EXITS];
	uint64_t entry; /* where to put the entry probe: behind instructions that cannot have one */
	/* The target of a table or an exception outside of all parts, or 0. */
	uint64_t elsewhere;
};

/* Returns NULL, or why the function cannot be recorded. `rules`: of enum prover_rule. */
const char *function_exits_find(const struct elf_file *elf, const struct unwind_table *unwind,
				const struct function_part *parts, unsigned n_parts, unsigned rules,
				struct function_exits *ret);

/*
 * Finds the first return instruction from `vaddr` on. Returns 0, or -ENOENT if a jump comes first.
 */
int function_next_return(const struct elf_file *elf, uint64_t vaddr, uint64_t *ret_vaddr);

#endif
