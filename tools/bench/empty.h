/* SPDX-License-Identifier: BSD-2-Clause */
/* BPF programs that do next to nothing, on the probe sites that proftrace would take. */
#ifndef BENCH_EMPTY_H
#define BENCH_EMPTY_H

#include <stdint.h>

#include "base/failure.h"

enum empty_program {
	PROGRAM_EMPTY,
	PROGRAM_CLOCK,	/* takes the time */
	PROGRAM_RECORD, /* and puts it into a ring buffer: 32 bytes, which nobody takes out */
};

struct empty {
	int program, ring;
	int *links;
	unsigned n_links, n_sites;
	uint64_t attach_ns; /* what the one system call (one per site before 6.6) took */
};

/* Attaches to every marker of the ELF file at `path`, for all processes, as proftrace does. */
int empty_attach(struct empty *e, const char *path, enum empty_program program, struct failure *f);
void empty_detach(struct empty *e);

#endif
