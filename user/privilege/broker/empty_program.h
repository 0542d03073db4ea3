/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROFTRACE_PRIVILEGE_BROKER_EMPTY_PROGRAM_H
#define PROFTRACE_PRIVILEGE_BROKER_EMPTY_PROGRAM_H

/* A program for uprobes that does nothing. Returns its descriptor or negative errno. */
int empty_program_load(unsigned expected_attach_type, unsigned flags);

#endif
