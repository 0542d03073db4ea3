/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of one file and their exits. A function may have a second part, the rarely executed
 * code that compilers move elsewhere (gcc calls it name.cold).
 */
#ifndef PROFTRACE_TRACEE_CODE_FILE_FUNCTIONS_H
#define PROFTRACE_TRACEE_CODE_FILE_FUNCTIONS_H

#include "tracee/code/function_exits.h"
#include "tracee/elf_functions.h"

struct file_functions {
	const struct elf_file *elf;
	struct elf_functions all;
	struct unwind_table unwind;
	uint64_t *probe_sites; /* offsets of sites at which no function may be recorded, sorted */
	unsigned n_probe_sites;
	struct function_exits exits; /* of the function that was analysed last */
	struct function_part parts[FUNCTION_MAX_PARTS];
	unsigned n_parts;
};

/* `debug_fd` is the debug file or -1, and stays the caller's. Returns 0 or -ENOMEM. */
int file_functions_open(struct file_functions *f, const struct elf_file *elf, int debug_fd);
void file_functions_close(struct file_functions *f);

/* The names of the function that begins at `vaddr`, or NULL. */
const struct elf_function *file_functions_at(const struct file_functions *f, uint64_t vaddr,
					     unsigned *ret_n);

/*
 * `names` are all of one address. Returns NULL, or why the function cannot be recorded: see
 * function_exits_find().
 */
const char *file_functions_exits(struct file_functions *f, const struct elf_function *names,
				 unsigned n, unsigned rules);

#endif
