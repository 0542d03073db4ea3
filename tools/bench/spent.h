/* SPDX-License-Identifier: BSD-2-Clause */
/* CPU time of processes that the bench started. */
#ifndef BENCH_SPENT_H
#define BENCH_SPENT_H

#include <stdint.h>
#include <sys/types.h>

/* A child of this process, or 0. */
pid_t spent_child(pid_t parent);
/* The CPU time in ns of a process and its live descendants. */
uint64_t spent_by(pid_t pid);

#endif
