/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removes what a program never executes in this recording.
 *
 * The constants by which the programs are configured are known before the kernel verifies them. Its verifier would find out
 * what is dead, too, but only after it has read all of it, and it moves the rest of the program once for each piece. For most
 * recordings that is a quarter of the time that loading takes.
 */
#ifndef PROFTRACE_PRIVILEGE_LOADER_DEAD_CODE_H
#define PROFTRACE_PRIVILEGE_LOADER_DEAD_CODE_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

/* The map of constants that the kernel does not let anybody change. */
struct program_constants {
	int fd;
	const uint8_t *data;
	size_t size;
};

/*
 * What remains does the same. It is written to `code`, its number of instructions to *n, and the functions that remain to
 * the list of functions that `opts` refers to. A program that cannot be understood, or without memory, stays as it is.
 */
void dead_code_remove(struct bpf_insn *code, size_t *n, struct bpf_prog_load_opts *opts,
		      const struct program_constants *constants);
/* Before libbpf loads the program: `constants` has been created. Returns 0 or a negative errno. */
int dead_code_remove_from(struct bpf_program *program, struct bpf_prog_load_opts *opts,
			  struct bpf_map *constants);

#endif
