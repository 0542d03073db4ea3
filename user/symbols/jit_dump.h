/* SPDX-License-Identifier: BSD-2-Clause */
/* Names in a jitdump file. Private to the folder: jit_map.c reads both kinds of files and searches them. */
#ifndef PROFTRACE_SYMBOLS_JIT_DUMP_H
#define PROFTRACE_SYMBOLS_JIT_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function that a process generated. */
struct jit_entry {
	uint64_t start, end;
	uint64_t from_ns; /* when; 0: not known */
	uint32_t name;	  /* its offset in the text */
	uint32_t order;	  /* in the file */
};

bool jit_dump_is(int fd);
/*
 * Its functions, in the order of the file, and the text of their names, each with a NUL behind it; both are to be freed.
 * `size`: of the file. Returns 0 or negative errno.
 */
int jit_dump_read(int fd, uint64_t size, char **ret_text, struct jit_entry **ret_entries,
		  size_t *ret_n);

#endif
