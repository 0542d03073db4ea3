/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of the processes of a parallel program a process is. */
#ifndef PROFTRACE_TARGET_RANK_H
#define PROFTRACE_TARGET_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define RANK_SIZE 20

/*
 * What RANK, OMPI_COMM_WORLD_RANK or SLURM_PROCID, the first that is a number, is in the environment
 * of a process (0: in our own). False: none is, or it may not be looked at.
 */
bool rank_of_process(pid_t pid, char ret_rank[RANK_SIZE]);
/* The same in a block of NUL-terminated "NAME=value". */
bool rank_in_environment(const char *block, size_t size, char ret_rank[RANK_SIZE]);
bool rank_is_valid(const char *text);

#endif
