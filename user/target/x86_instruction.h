/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions of x86-64, as far as it takes to walk through a function: how long each is, and where it
 * goes. What compilers do not emit (privileged instructions, input and output, what has been invalid
 * since there are 64 bits) is refused: it is data, or code that is not meant to be walked through.
 */
#ifndef PROFTRACE_TARGET_X86_INSTRUCTION_H
#define PROFTRACE_TARGET_X86_INSTRUCTION_H

#include <stddef.h>
#include <stdint.h>

#include "usdt_spec.h"

enum x86_flow {
	X86_ON, /* to the next one, calls included */
	X86_RETURN,
	X86_JUMP,
	X86_BRANCH,   /* a jump if `condition` holds */
	X86_LOOP,     /* a jump under another condition: on the register rcx */
	X86_INDIRECT, /* to where `target` says */
};

struct x86_instruction {
	uint8_t length;
	uint8_t flow;
	uint8_t condition;
	int32_t distance; /* JUMP, BRANCH, LOOP: from the next instruction */
	/* INDIRECT; of a RELATIVE one the offset counts from this instruction's own beginning. */
	struct usdt_arg target;
};

enum {
	X86_LONGEST = 15
};

/* Returns the length, or 0: it is none, or none of those above, or does not end within n bytes. */
unsigned x86_decode(const uint8_t *bytes, size_t n, struct x86_instruction *ret);

#endif
