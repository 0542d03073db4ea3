/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes instructions of x86-64 as far as following a function needs it: their length and their control flow.
 * Instructions that compilers do not emit (privileged ones, input and output, those that are invalid in 64-bit mode)
 * are refused: such bytes are data, or code that must not be analysed.
 */
#ifndef PROFTRACE_TRACEE_CODE_X86_INSTRUCTION_H
#define PROFTRACE_TRACEE_CODE_X86_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/marks/usdt_spec.h"

enum x86_flow {
	X86_ON, /* continues with the next instruction */
	X86_RETURN,
	X86_JUMP,
	X86_BRANCH,   /* a jump if `condition` holds */
	X86_LOOP,     /* a jump under another condition: on the register rcx */
	X86_INDIRECT, /* a jump to `target` */
	X86_CALL,     /* continues if the callee returns; `direct`: the callee is at `distance` */
	X86_STOP,     /* raises an exception */
};

/* What finding jump tables needs. */
enum x86_use {
	X86_OTHER,
	X86_LEA,     /* the address of `target` to the register `reg` */
	X86_LOAD,    /* a signed number of 32 bits from `target` to `reg` */
	X86_COMPARE, /* with the number `value`: cmp, sub */
	X86_NOP,     /* padding */
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
	/* The operand; the offset of a RELATIVE one counts from the beginning of this instruction. */
	struct usdt_arg target;
};

/*
 * Whether a probe can be on it. The kernel executes the instruction out of line or emulates it, and recognises some
 * by their opcode byte alone without looking at the opcode map: it takes `vpor`, eb after VEX, for a jump, and the
 * program continues wherever that leads (6.18 and all earlier kernels).
 */
enum x86_probe {
	X86_PROBE,
	X86_NO_PROBE, /* refused, or wrongly executed */
	X86_NO_PROBE_SKIP, /* the same, but a probe behind it is equivalent, since it does not change the stack */
};

enum {
	X86_MAX_LENGTH = 15,
};

/* Returns the length, or 0 if it is not a supported instruction or exceeds `n` bytes. */
unsigned x86_decode(const uint8_t *bytes, size_t n, struct x86_instruction *ret);

#endif
