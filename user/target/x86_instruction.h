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
	uint8_t probe;	  /* enum x86_probe */
	int32_t distance; /* JUMP, BRANCH, LOOP: from the next instruction */
	/* INDIRECT; of a RELATIVE one the offset counts from this instruction's own beginning. */
	struct usdt_arg target;
};

/*
 * What becomes of a probe on it. The kernel executes the instruction elsewhere, or emulates it, and tells
 * some apart by their opcode alone, without a look at what kind of opcode it is: `vpor`, eb behind VEX, is
 * taken for a jump, and the program goes wherever that leads (6.18 and all before it).
 */
enum x86_probe {
	X86_PROBE,
	X86_NO_PROBE,	   /* refused, or something else happens */
	X86_NO_PROBE_SKIP, /* the same, but behind it is as good: it has nothing to do with the stack */
};

enum {
	X86_LONGEST = 15,
};

/* Returns the length, or 0: it is none, or none of those above, or does not end within n bytes. */
unsigned x86_decode(const uint8_t *bytes, size_t n, struct x86_instruction *ret);

#endif
