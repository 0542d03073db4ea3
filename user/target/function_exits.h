/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a function is left: its return instructions, and jumps out of it, which are calls of other
 * functions that return in its place (tail calls).
 *
 * A breakpoint that does not stand at the first byte of an instruction ruins the program, and so does one
 * in data, which hand-written code has between its instructions. So nothing is an instruction because it
 * looks like one, but because the function gets there from its beginning: by going on, by jumps, by
 * tables of jumps as compilers write them (switch), and by exceptions. What it does not get to is never
 * touched. Where it is not known where it goes, and there is something left that this may be, it is
 * refused: an exit would be missing.
 */
#ifndef PROFTRACE_TARGET_FUNCTION_EXITS_H
#define PROFTRACE_TARGET_FUNCTION_EXITS_H

#include "target/elf_file.h"
#include "target/unwind_table.h"
#include "usdt_spec.h"

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
	uint64_t to; /* of jumps that say where to; else 0 */
};

/*
 * Code of one function. Compilers put what is hardly ever executed elsewhere (gcc's name.cold): the
 * first part is the function itself.
 */
struct function_part {
	uint64_t vaddr, size;
};

struct function_exits {
	unsigned n;
	struct function_exit exits[FUNCTION_MAX_EXITS];
	uint64_t entry; /* where to put the probe: behind what must not have one */
	/* 0, or code that it goes on with, by a table or an exception, and that no part has. */
	uint64_t elsewhere;
};

/*
 * Returns NULL, or why the function cannot be recorded. `skip_nop5`: the kernel makes something harmful
 * of a 5-byte nop that a probe is put on.
 */
const char *function_exits_find(const struct elf_file *elf, const struct unwind_table *unwind,
				const struct function_part *parts, unsigned n_parts, bool skip_nop5,
				struct function_exits *ret);

/* The first return instruction at `vaddr` or behind it: 0, or -ENOENT when there is none before a jump. */
int function_next_return(const struct elf_file *elf, uint64_t vaddr, uint64_t *ret_vaddr);

#endif
