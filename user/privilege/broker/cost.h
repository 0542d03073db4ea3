/* SPDX-License-Identifier: BSD-2-Clause */
/* What it costs a program to come to ours from a probe site: tried, as all else about a kernel. */
#ifndef PROFTRACE_PRIVILEGE_BROKER_COST_H
#define PROFTRACE_PRIVILEGE_BROKER_COST_H

#include <stdbool.h>
#include <stdint.h>

struct loaded_programs;

/* Where code of this program lies in its file; 0: not known. */
uint64_t self_offset(const void *code);

/*
 * What a mark costs, ns, until the program that takes marks knows whose it is: the call, the kernel's
 * entry and exit, and the program's first steps. `fast`: by the optimised door. The program must find
 * `recording` set and the process that runs this not traced. 0: it could not be measured.
 */
uint64_t cost_of_entry(const struct loaded_programs *programs, bool fast);

#endif
