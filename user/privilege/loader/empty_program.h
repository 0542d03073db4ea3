/* SPDX-License-Identifier: BSD-2-Clause */
/* A BPF program that does nothing, for trying kernel features. */
#ifndef PROFTRACE_PRIVILEGE_LOADER_EMPTY_PROGRAM_H
#define PROFTRACE_PRIVILEGE_LOADER_EMPTY_PROGRAM_H

/* Loads it as a program for uprobes. Returns its descriptor or negative errno. */
int empty_program_load(unsigned expected_attach_type, unsigned flags);

#endif
