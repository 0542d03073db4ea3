/* SPDX-License-Identifier: BSD-2-Clause */
/* The rank and the role of a process in a parallel job. */
#ifndef PROFTRACE_TRACEE_RANK_H
#define PROFTRACE_TRACEE_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Reads the rank from the environment of `pid` (0: our own, which a command inherits): the variable of torchrun
 * (RANK), Open MPI (OMPI_COMM_WORLD_RANK) or Slurm (SLURM_PROCID). Only digits are accepted, because the rank becomes
 * part of file names. `out` is empty if there is none or it may not be read. Returns 0, or -EAGAIN if it cannot be read for
 * now, because the process holds the lock of its memory.
 */
int target_rank(pid_t pid, char *out, size_t size);

/*
 * The number of ranks that the launcher of this process starts on this machine, as its environment says: that of Open
 * MPI, Slurm or torchrun. 0: it does not say so, or this process has no rank.
 */
unsigned target_local_ranks(void);

/*
 * Whether the role of `pid` is `role` (1 or 0; -EAGAIN: it cannot be read for now): the value of PROFTRACE_ROLE in the
 * environment with which it was started, or else of DMLC_ROLE, which MXNet sets ("server", "worker", "scheduler").
 */
int target_has_role(pid_t pid, const char *role);

#endif
