/* SPDX-License-Identifier: BSD-2-Clause */
/* The rank of a process in a parallel job. */
#ifndef PROFTRACE_TRACEE_RANK_H
#define PROFTRACE_TRACEE_RANK_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads the rank from the environment of `pid` (0: our own, which a command inherits): the variable of torchrun
 * (RANK), Open MPI (OMPI_COMM_WORLD_RANK) or Slurm (SLURM_PROCID). Only digits are accepted, because the rank becomes
 * part of file names. `out` is empty if there is none or it may not be read.
 */
void target_rank(pid_t pid, char *out, size_t size);

#endif
