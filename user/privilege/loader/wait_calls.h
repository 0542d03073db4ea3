/* SPDX-License-Identifier: BSD-2-Clause */
/* Classes of system calls for the BPF programs: what a thread waits for that is blocked in one. */
#ifndef PROFTRACE_PRIVILEGE_LOADER_WAIT_CALLS_H
#define PROFTRACE_PRIVILEGE_LOADER_WAIT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/sched/wait_reasons.h"

/* The table by the number of a system call: enum wait_reason and WAIT_OF_FILE. */
void wait_calls_fill(uint8_t calls[WAIT_CALLS]);

#endif
