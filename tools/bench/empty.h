/* SPDX-License-Identifier: BSD-2-Clause */
/* BPF programs that do almost nothing, attached to the probe sites that proftrace uses. */
#ifndef BENCH_EMPTY_H
#define BENCH_EMPTY_H

#include <stdint.h>

#include "base/failure.h"
#include "privilege/loader/features.h"

enum empty_program {
	PROGRAM_EMPTY,
	PROGRAM_CLOCK,	/* takes the time */
	PROGRAM_RECORD, /* also writes it into a ring buffer: 32 bytes that nobody reads */
};

struct empty {
	int program, ring;
	int *links;
	unsigned n_links, n_sites;
	uint64_t attach_ns; /* the time of the system call (one per site before 6.6) */
};

/* As kernel_optimised_nop(), tried in a process of its own. */
enum optimised_nop try_optimised_nop(void);

/* Attaches to every marker of the ELF file at `path`, for all processes, as proftrace does. */
int empty_attach(struct empty *e, const char *path, enum empty_program program, struct failure *f);
/* Attaches an empty program to the beginning and one to the end of all system calls. Returns 0 or negative errno. */
int empty_attach_calls(struct empty *e);
void empty_detach(struct empty *e);

#endif
