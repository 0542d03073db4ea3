/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of an ELF file, by its symbol tables: both the one that the dynamic linker needs and
 * the one that a file has unless it is stripped. Each address once, however many names it has.
 */
#ifndef PROFTRACE_TARGET_ELF_FUNCTIONS_H
#define PROFTRACE_TARGET_ELF_FUNCTIONS_H

#include "target/elf_file.h"

enum {
	ELF_MAX_FUNCTIONS = 2000000,	    /* symbols of one table that are looked at */
	ELF_MAX_FUNCTION_NAMES = 256 << 20, /* bytes of one string table that are read */
	ELF_MAX_FUNCTION_NAME = 4096,	    /* of a longer one nobody knows what it would be */
};

struct elf_function {
	const char *name; /* bytes as found, NUL-terminated */
	uint64_t vaddr;
	uint64_t size; /* 0: not known */
	bool resolver; /* it only chooses the function that has this name (STT_GNU_IFUNC) */
	uint8_t rank;  /* of the name among those of its address: the lowest comes first */
};

struct elf_functions {
	unsigned n;
	struct elf_function *list; /* by address, and the names of each by their rank */
	unsigned malformed;	   /* symbols that make no sense */
	bool cut;		   /* there were more than the limits allow */
	char *strings[6];	   /* of two tables in each of three files */
	unsigned n_strings;
	unsigned room;
};

/* Adds those of one file: 0, or -ENOMEM. A file without any is no failure. */
int elf_functions_add(struct elf_functions *functions, const struct elf_file *elf);
/* Once all have been added. */
void elf_functions_sort(struct elf_functions *functions);
void elf_functions_free(struct elf_functions *functions);

/*
 * Compilers put what is hardly ever executed elsewhere and call it name.cold: where that begins in the
 * name, or NULL.
 */
const char *elf_function_cold(const char *name);

#endif
