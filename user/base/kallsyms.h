/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of /proc/kallsyms, and where the kernel begins in it: who moves addresses and who names them must agree about that. */
#ifndef PROFTRACE_BASE_KALLSYMS_H
#define PROFTRACE_BASE_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

struct kallsyms_function {
	uint64_t address;
	const char *name, *module; /* in the line; NULL: of the kernel itself */
};

/* Cuts a line, which may end with a newline. False: it is not a function, or its address is hidden. */
bool kallsyms_parse(char *line, struct kallsyms_function *ret);

/* Call it for each function, in the order of the file, until *begin (at first 0) is known. */
void kallsyms_find_begin(const struct kallsyms_function *function, uint64_t *begin);

#endif
