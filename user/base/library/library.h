/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared libraries that some runs of proftrace do not use: `make` links their functions from tools/stubs.c, and the library
 * is loaded here, before the first of them is called. Linked in the ordinary way, they took most of the time in which
 * proftrace starts, which each rank of a job does, even if it only hands its process over. What is confined by a filter of system calls cannot load any more.
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

extern struct library library_bpf __attribute__((weak));
extern struct library library_deflate __attribute__((weak));
extern struct library library_dw __attribute__((weak));
extern struct library library_elf __attribute__((weak));
extern struct library library_lzma __attribute__((weak));
extern struct library library_m __attribute__((weak));
extern struct library library_ncurses __attribute__((weak));
extern struct library library_protobuf_c __attribute__((weak));
extern struct library library_seccomp __attribute__((weak));
extern struct library library_yajl __attribute__((weak));
extern struct library library_z __attribute__((weak));

/* Returns 0, also if it is loaded or linked already; -EMFILE or -ENFILE for want of descriptors, otherwise -ELIBACC. */
int library_load(struct library *library, struct failure *f);

/*
 * Loads libbpf, libelf, zlib, protobuf-c, libseccomp and libm, of which every verb may use any. They are loaded first of all; by
 * `record` as soon as it is known that this process records, which that of another rank of a job may do instead.
 */
int library_load_common(struct failure *f);

/* The same of what dlerror() said: errno says nothing if the library was opened, and one that it needs was not. */
int library_error(const char *reason);

/* What a stub calls if its library is not loaded, which is an error of this program. */
_Noreturn void library_is_missing(void);

#endif
