/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The work of a prover (privilege/prover/prover.h): answers requests for the exits of functions of
 * one file.
 */
#ifndef PROFTRACE_TRACEE_CODE_PROVE_H
#define PROFTRACE_TRACEE_CODE_PROVE_H

/* Returns when the peer closes the socket or the file is malformed. */
void prove_functions(int socket, int elf_fd);

#endif
