/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of the processes that run together a program is. */
#ifndef PROFTRACE_TARGET_RANK_H
#define PROFTRACE_TARGET_RANK_H

#include <stddef.h>
#include <sys/types.h>

/*
 * The rank that the environment of `pid` names, as torchrun (RANK), Open MPI (OMPI_COMM_WORLD_RANK) or
 * Slurm (SLURM_PROCID) set it; 0: our own, which a command inherits. Digits only: it becomes part of
 * names. Empty where there is none, or it may not be read.
 */
void target_rank(pid_t pid, char *out, size_t size);

#endif
