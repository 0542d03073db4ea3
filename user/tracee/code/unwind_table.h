/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exception tables (.eh_frame, .gcc_except_table): the range of each function, and its landing
 * pads, where it continues after an exception was thrown through it, which no instruction shows.
 * Only the encodings that compilers emit are supported. The tables are as untrusted as the rest of
 * the file.
 */
#ifndef PROFTRACE_TRACEE_CODE_UNWIND_TABLE_H
#define PROFTRACE_TRACEE_CODE_UNWIND_TABLE_H

#include "tracee/elf_file.h"

/* Of one file. All 0: it has no table, or none in a supported form. */
struct unwind_table {
	uint64_t vaddr; /* of .eh_frame_hdr */
	uint32_t n;
};

struct unwind_range {
	uint64_t vaddr, size; /* the code */
	uint64_t lsda;	      /* its language-specific data, which has the landing pads; 0: none */
};

void unwind_table_open(struct unwind_table *ret, const struct elf_file *elf);

/*
 * Finds the function at `vaddr`. Returns 0, -ENOENT, or -EINVAL if its entry is not in a supported
 * form.
 */
int unwind_table_find(const struct unwind_table *table, const struct elf_file *elf, uint64_t vaddr,
		      struct unwind_range *ret);

/* Reads at most `n` landing pads. Returns how many, or -EINVAL. One may occur more than once. */
int unwind_landing_pads(const struct elf_file *elf, const struct unwind_range *range,
			uint64_t *pads, unsigned n);

#endif
