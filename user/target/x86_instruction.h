/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions of x86-64, as far as it takes to walk through a function: how long each is, and where it
 * goes. What compilers do not emit (privileged instructions, input and output, what has been invalid
 * since there are 64 bits) is refused: it is data, or code that is not meant to be walked through.
 */
#ifndef PROFTRACE_TARGET_X86_INSTRUCTION_H
#define PROFTRACE_TARGET_X86_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "usdt_spec.h"

enum x86_flow {
	X86_ON, /* to the next one */
	X86_RETURN,
	X86_JUMP,
	X86_BRANCH,   /* a jump if `condition` holds */
	X86_LOOP,     /* a jump under another condition: on the register rcx */
	X86_INDIRECT, /* to where `target` says */
	X86_CALL, /* to the next one, if what is called returns; `direct`: it is at `distance` */
	X86_STOP, /* nowhere: it is there to fail */
};

/* What it takes to find tables of jumps. */
enum x86_use {
	X86_OTHER,
	X86_LEA,     /* the address that `target` is, to the register `reg` */
	X86_LOAD,    /* a number of 32 bits, with its sign, from `target` to `reg` */
	X86_COMPARE, /* with the number `value`: cmp, sub */
	X86_NOP,     /* for nothing but the room it takes */
};

struct x86_instruction {
	uint8_t length;
	uint8_t flow;
	uint8_t condition;
	uint8_t probe; /* enum x86_probe */
	uint8_t use;   /* enum x86_use */
	uint8_t reg;
	bool direct;
	uint32_t value;
	int32_t distance; /* JUMP, BRANCH, LOOP, direct CALL: from the next instruction */
	/* The operand; of a RELATIVE one the offset counts from this instruction's own beginning. */
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
