/* SPDX-License-Identifier: BSD-2-Clause */
/* A BPF program that does nothing, on the probe sites that proftrace would take. */
#ifndef BENCH_EMPTY_H
#define BENCH_EMPTY_H

#include <stdint.h>

#include "failure.h"

struct empty {
	int program;
	int *links;
	unsigned n_links, n_sites;
	uint64_t attach_ns; /* what the one system call (one per site before 6.6) took */
};

/* Attaches to every marker of the ELF file at `path`, for all processes, as proftrace does. */
int empty_attach(struct empty *e, const char *path, struct failure *f);
void empty_detach(struct empty *e);

#endif
