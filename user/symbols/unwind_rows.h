/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the call frame information of a file (.eh_frame, .debug_frame) to the rows by which the
 * kernel walks stacks (bpf/stacks/unwind_maps.h). Used inside the parser process only.
 *
 * The bytes are foreign. Whatever they say, the work is bounded by their size and the memory by
 * UNWIND_MAX_FUNCTIONS and UNWIND_MAX_ROWS; wrong tables give wrong rows and nothing else.
 *
 * Private to the folder and its tests.
 */
#ifndef PROFTRACE_SYMBOLS_UNWIND_ROWS_H
#define PROFTRACE_SYMBOLS_UNWIND_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/types.h>

#include "tracee/elf_file.h"
#include "bpf/stacks/unwind_maps.h"

enum {
	UNWIND_MAX_SECTION = 128 << 20, /* bytes; that of the largest programs has 40 MB */
	UNWIND_MAX_FUNCTIONS = 1 << 20,
	UNWIND_MAX_ROWS = 2 << 20,
};

/* From `base` + `distance` on, to the next row, the rule holds. */
struct unwind_row {
	uint32_t distance;
	uint32_t rule; /* index in `rules` */
};

struct unwind_rows {
	uint64_t base; /* an address of the file; a multiple of a page (UNWIND_PAGE_BITS) */
	struct unwind_row *rows;
	uint32_t n, capacity;
	struct unwind_rule *rules; /* the first is UNWIND_NONE */
	uint32_t n_rules;
};

/* One section as it is in the file. */
struct cfi_section {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
	bool is_debug; /* .debug_frame */
	bool is_arm64;
};

/*
 * Makes the rows of a section for the code from `low` to `high`. Returns 0, -ENOENT: the section
 * describes nothing there, -E2BIG: it describes too much, or -ENOMEM.
 */
int unwind_rows_make(const struct cfi_section *section, uint64_t low, uint64_t high,
		     struct unwind_rows *ret);
/* The same for a file, from .eh_frame or else .debug_frame. */
int unwind_rows_read(const struct elf_file *elf, struct unwind_rows *ret);
void unwind_rows_free(struct unwind_rows *rows);

/* --- cfi.c: the entries of a section --- */

/* The numbers that DWARF gives to registers: of x86-64, and of arm64, where they are those of instructions. */
enum {
	DWARF_RBX = 3,
	DWARF_RBP = 6,
	DWARF_RSP = 7,
	DWARF_REGISTERS = 16,
	DWARF_RETURN = 16,
	DWARF_X29 = 29,
	DWARF_X30 = 30,
	DWARF_ARM64_REGISTERS = 32, /* with the stack pointer */
};

/* Reads values; `failed` is sticky, so callers check it once at the end. */
struct cfi_cursor {
	const uint8_t *at, *end;
	bool failed;
};

/* Inline, since a library has a million values, and a copy of as many bytes as a parameter says is a call. */
static inline uint64_t cfi_read_fixed(struct cfi_cursor *c, unsigned size)
{
	uint64_t value = 0;

	if ((size_t)(c->end - c->at) < size) {
		c->failed = true;
		c->at = c->end;
		return 0;
	}
	memcpy(&value, c->at, size);
	c->at += size;
	return value;
}

uint64_t cfi_read_uleb128(struct cfi_cursor *c);
int64_t cfi_read_sleb128(struct cfi_cursor *c);
/* A block: its size, then its bytes. */
struct cfi_cursor cfi_read_block(struct cfi_cursor *c);
/* 0: omitted or indirect. */
uint64_t cfi_read_encoded(const struct cfi_section *section, struct cfi_cursor *c,
			  uint8_t encoding);

/* What several functions have in common. */
struct cfi_common {
	size_t offset; /* of its entry + 1; 0: none */
	bool is_usable;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool is_augmented;
	bool is_signal;
	struct cfi_cursor program;
};

/* An entry that describes a function. */
struct cfi_function {
	uint64_t start, end;
	size_t offset; /* of its entry in the section */
};

/*
 * Lists the functions of a section between two addresses, in its order. Returns how many or
 * negative errno.
 */
int64_t cfi_list_functions(const struct cfi_section *section, uint64_t low, uint64_t high,
			   struct cfi_function **ret);
/*
 * The instructions of a function, and the entry that it shares with others. False: malformed.
 * `common` keeps what was read for the function before.
 */
bool cfi_function_program(const struct cfi_section *section, const struct cfi_function *function,
			  struct cfi_common *common, struct cfi_cursor *ret_program);

/* --- cfi_program.c: what the instructions of an entry say --- */

/* A rule as the instructions describe it. */
struct cfi_state {
	uint8_t cfa; /* enum unwind_cfa */
	uint8_t reg; /* DWARF's number */
	int64_t offset, second;
	uint8_t saved[UNWIND_FOLLOWED + 1]; /* the last is the return address of x86-64 */
	int64_t at[UNWIND_FOLLOWED + 1];
};

/* Called for each address where another rule begins to hold; false ends the function. */
typedef bool (*cfi_row_fn)(void *context, uint64_t address, const struct cfi_state *state);

/* Runs the instructions of a function. */
void cfi_run(const struct cfi_section *section, const struct cfi_function *function,
	     const struct cfi_common *common, struct cfi_cursor program, cfi_row_fn row,
	     void *context);

#endif
