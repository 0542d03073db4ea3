/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of the registers of a program, and what one instruction makes of it.
 */
#ifndef PROFTRACE_PRIVILEGE_LOADER_DEAD_CODE_STEP_H
#define PROFTRACE_PRIVILEGE_LOADER_DEAD_CODE_STEP_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "privilege/loader/dead_code.h"

#define KNOWN_REGISTERS 10 /* without that of the stack */

enum known_kind {
	KNOWN_NOTHING,
	KNOWN_NUMBER,
	KNOWN_CONSTANT, /* the number is the offset of what the register points to */
};

struct known {
	uint64_t numbers[KNOWN_REGISTERS];
	uint8_t kinds[KNOWN_REGISTERS];
};

enum branch {
	BRANCH_UNKNOWN,
	BRANCH_NEVER,
	BRANCH_ALWAYS,
};

/* Whether the rest of this header, and dead_code.c, understand the instruction. */
bool known_follows(const struct bpf_insn *insn);
/* Of an instruction after which the next one follows. */
void known_step(struct known *known, const struct bpf_insn *insn,
		const struct program_constants *constants);
enum branch known_branch(const struct known *known, const struct bpf_insn *insn);
/* Keeps what both know. Returns whether `known` has become less. */
bool known_meet(struct known *known, const struct known *other);

#endif
