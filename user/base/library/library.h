/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared libraries that many runs of proftrace do not use: `make` links their functions from tools/stubs.c, and the library
 * is loaded here, before the first of them is called. Linked in the ordinary way, they took half of the time in which
 * proftrace starts, which each rank of a job does. What is confined by a filter of system calls cannot load any more.
 *
 * Tests, and a static program, are linked with the libraries themselves: nothing is loaded there.
 */
#ifndef PROFTRACE_BASE_LIBRARY_LIBRARY_H
#define PROFTRACE_BASE_LIBRARY_LIBRARY_H

#include <stdbool.h>

#include "base/failure.h"

struct library_function {
	const char *name;
	void **address;
};

struct library {
	const char *file;    /* as the linker names it: "libdw.so.1" */
	const char *package; /* of Debian */
	const struct library_function *functions;
	unsigned n_functions;
	bool is_loaded;
};

extern struct library library_deflate __attribute__((weak));
extern struct library library_dw __attribute__((weak));
extern struct library library_lzma __attribute__((weak));
extern struct library library_ncurses __attribute__((weak));
extern struct library library_yajl __attribute__((weak));

/* Returns 0, also if it is loaded or linked already; -EMFILE or -ENFILE for want of descriptors, otherwise -ELIBACC. */
int library_load(struct library *library, struct failure *f);

/* The same of what dlerror() said: errno says nothing if the library was opened, and one that it needs was not. */
int library_error(const char *reason);

/* What a stub calls if its library is not loaded, which is an error of this program. */
_Noreturn void library_is_missing(void);

#endif
