/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a file says for exceptions (.eh_frame, .gcc_except_table): which code belongs together, and where
 * in it a function goes on that an exception was thrown through (its landing pads), since no instruction
 * says so. Only the encodings that compilers emit; foreign bytes as all of the file.
 */
#ifndef PROFTRACE_TARGET_UNWIND_TABLE_H
#define PROFTRACE_TARGET_UNWIND_TABLE_H

#include "target/elf_file.h"

/* Of one file. All 0: it has none, or none that is understood. */
struct unwind_table {
	uint64_t vaddr; /* of the sorted list's header */
	uint32_t n;
};

struct unwind_range {
	uint64_t vaddr, size; /* the code */
	uint64_t lsda;	      /* where its landing pads are told; 0: it has none */
};

void unwind_table_open(struct unwind_table *ret, const struct elf_file *elf);

/* What is said of the code at `vaddr`: 0, -ENOENT (nothing), or -EINVAL (nothing that is understood). */
int unwind_table_find(const struct unwind_table *table, const struct elf_file *elf, uint64_t vaddr,
		      struct unwind_range *ret);

/* Its landing pads, `n` at most: how many, or -EINVAL. Some may be named more than once. */
int unwind_landing_pads(const struct elf_file *elf, const struct unwind_range *range,
			uint64_t *pads, unsigned n);

#endif
