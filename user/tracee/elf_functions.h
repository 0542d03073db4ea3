/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of an ELF file, from its symbol tables .dynsym and .symtab, the latter unless it is
 * stripped. A function may have several names.
 */
#ifndef PROFTRACE_TRACEE_ELF_FUNCTIONS_H
#define PROFTRACE_TRACEE_ELF_FUNCTIONS_H

#include "tracee/elf_file.h"

enum {
	ELF_MAX_FUNCTIONS = 2000000,	    /* symbols of one table that are read */
	ELF_MAX_FUNCTION_NAMES = 256 << 20, /* bytes of one string table that are read */
	ELF_MAX_FUNCTION_NAME = 4096,	    /* symbols with longer names are counted as malformed */
};

struct elf_function {
	const char *name; /* bytes as found, NUL-terminated */
	uint64_t vaddr;
	uint64_t size; /* 0: not known */
	bool resolver; /* STT_GNU_IFUNC: it only selects the function that has this name */
	uint8_t rank;  /* order of the names of one address, lowest first */
};

struct elf_functions {
	unsigned n;
	struct elf_function *list; /* sorted by address, then by rank */
	unsigned malformed;	   /* malformed symbols */
	bool cut;		   /* there are more symbols than the limits allow */
	char *strings[6];	   /* of two tables in each of three files */
	unsigned n_strings;
	unsigned capacity;
};

/* Adds the functions of one file. Returns 0, also if it has none, or -ENOMEM. */
int elf_functions_add(struct elf_functions *functions, const struct elf_file *elf);
/* Call it when all files have been added. */
void elf_functions_sort(struct elf_functions *functions);
void elf_functions_free(struct elf_functions *functions);

/*
 * The suffix ".cold" of a name, or NULL. Compilers move rarely executed code of NAME into a
 * function NAME.cold.
 */
const char *elf_function_cold_suffix(const char *name);

#endif
