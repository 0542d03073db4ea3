/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One file of code, or two with its debug file, as libdwfl reads them, and what is at an address in
 * it. Used inside the parser process only.
 */
#ifndef PROFTRACE_SYMBOLS_CODE_FILE_H
#define PROFTRACE_SYMBOLS_CODE_FILE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

#include "symbols/wire.h"

/* A reply that is being put together. */
struct reply {
	uint32_t max;
	size_t used;		 /* of `bytes` */
	struct symbol_head head; /* sent together with the bytes */
	char bytes[SYMBOL_MAX_REPLY - sizeof(struct symbol_head)];
};

/* function: mangled or not. file: NULL: not known. */
void line_reply_add(struct reply *reply, const char *function, const char *file, int line);

/*
 * Requests another file: the first candidate from number wanted->first on that exists. Returns its
 * descriptor or -1.
 */
typedef int (*file_request_fn)(void *context, const struct symbol_file_request *wanted,
			       uint32_t *ret_index);

struct code_file;

/*
 * Owns the descriptor from then on. NULL only when out of memory: a file that is not ELF has no
 * lines.
 */
struct code_file *code_file_open(int fd, file_request_fn wanted, void *context);
void code_file_close(struct code_file *file);
void code_file_lines(struct code_file *file, uint64_t address, struct reply *reply);

/* --- symbol_table.c: the symbols of the file --- */

struct symbol_table;

/* NULL when out of memory. */
struct symbol_table *symbol_table_new(Dwfl_Module *module);
void symbol_table_free(struct symbol_table *table);
/* Mangled or not; NULL: none. */
const char *symbol_table_find(const struct symbol_table *table, uint64_t address);

/* --- dwarf_code.c: the debug information of the file --- */

struct dwarf_code;

/* Indexes the units by their addresses. NULL when out of memory. */
struct dwarf_code *dwarf_code_new(Dwarf *dwarf);
void dwarf_code_free(struct dwarf_code *code);
/*
 * `symbol`: the name in the symbol table, may be NULL; it is used when the debug information has
 * the line and no name. False: nothing is known of the address.
 */
bool dwarf_code_lines(struct dwarf_code *code, uint64_t address, const char *symbol,
		      struct reply *reply);

/* --- ranges.c: what is at an address; ranges may be nested --- */

enum {
	RANGES_MAX = 1 << 22,
};

struct range {
	uint64_t low, high;
	size_t index; /* the caller's */
	uint32_t rank;
};

struct ranges {
	struct range *ranges;
	uint32_t n, capacity;
};

/* Empty ranges, and those beyond RANGES_MAX or the memory, are left out. */
void ranges_add(struct ranges *r, uint64_t low, uint64_t high, size_t index, uint32_t rank);
/* Call it after the last ranges_add() and before the first search. */
void ranges_sort(struct ranges *r);
/*
 * The innermost range that contains the address; of equal ranges, the one with the highest rank.
 * NULL: none.
 */
const struct range *ranges_find(const struct ranges *r, uint64_t address);
/*
 * The last range that begins at the address or before it, whether it contains it or not. NULL:
 * none.
 */
const struct range *ranges_before(const struct ranges *r, uint64_t address);
void ranges_free(struct ranges *r);

#endif
