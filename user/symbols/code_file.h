/* SPDX-License-Identifier: BSD-2-Clause */
/* One file of code, or two with its debug file, as libdwfl reads them. Inside the parser only. */
#ifndef PROFTRACE_SYMBOLS_CODE_FILE_H
#define PROFTRACE_SYMBOLS_CODE_FILE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

#include "symbols/wire.h"

/* Lines on their way out. */
struct answer {
	uint32_t max;
	size_t used;		 /* of the bytes */
	struct symbol_head head; /* with the bytes, what is sent */
	char bytes[SYMBOL_MAX_ANSWER - sizeof(struct symbol_head)];
};

/* function: mangled or not. file: NULL: not known. */
void answer_line(struct answer *answer, const char *function, const char *file, int line);

/* Another file: the first from number want->first on that is there. Its descriptor or -1. */
typedef int (*want_fn)(void *context, const struct symbol_want *want, uint32_t *ret_index);

struct code_file;

/* Takes over the descriptor. Never NULL but out of memory: what is no ELF file has no lines. */
struct code_file *code_file_open(int fd, want_fn want, void *context);
void code_file_close(struct code_file *file);
void code_file_lines(struct code_file *file, uint64_t address, struct answer *answer);

/* --- what its symbols say ----------------------------------------------------------------------- */

struct symbol_table;

/* NULL when out of memory. */
struct symbol_table *symbol_table_new(Dwfl_Module *module);
void symbol_table_free(struct symbol_table *table);
/* Mangled or not; NULL: none. */
const char *symbol_table_find(const struct symbol_table *table, uint64_t address);

/* --- what its debug information says ------------------------------------------------------------ */

struct dwarf_code;

/* The units of it by their addresses. NULL when out of memory. */
struct dwarf_code *dwarf_code_new(Dwarf *dwarf);
void dwarf_code_free(struct dwarf_code *code);
/*
 * `symbol`: what the symbol table says, may be NULL: used where the debug information knows the line and
 * no name. False: nothing is known of the address.
 */
bool dwarf_code_lines(struct dwarf_code *code, uint64_t address, const char *symbol,
		      struct answer *answer);

#endif
