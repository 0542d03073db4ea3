/* SPDX-License-Identifier: BSD-2-Clause */
/* The library that turns annotations of NVTX and ITT into marks (lib/annotations), and the environment that names it. */
#ifndef PROFTRACE_TRACEE_ANNOTATIONS_H
#define PROFTRACE_TRACEE_ANNOTATIONS_H

#include <limits.h>
#include <stdbool.h>

#include "base/failure.h"

struct annotations {
	bool itt, nvtx;
	char library[PATH_MAX];
};

/*
 * Finds the library that was installed or built with this program, if a protocol is wanted. Nobody may be able to change
 * it who cannot change the program. Returns 0 or negative errno.
 */
int annotations_find(struct annotations *a, struct failure *f);

/* Sets the variables of the protocols in this process. A tool that they name is passed on to the library. */
void annotations_set_environment(const struct annotations *a);

#endif
