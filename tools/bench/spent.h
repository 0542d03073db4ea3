/* SPDX-License-Identifier: BSD-2-Clause */
/* CPU time of processes that the bench started. */
#ifndef BENCH_SPENT_H
#define BENCH_SPENT_H

#include <stdint.h>
#include <sys/types.h>

/* One that has this parent, or 0. */
pid_t spent_child(pid_t parent);
/* What a process and its descendants, those that are alive, have run so far: ns. */
uint64_t spent_by(pid_t pid);

#endif
