/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the arguments of a USDT probe are, as its note says it: "8@%rdi -4@-20(%rbp) 4@$1", which is
 * what the compiler wrote as operands of an instruction. For each the size, negative for what is
 * signed, with an f for floating point, and the operand as the assembler of that machine writes it.
 */
#ifndef PROFTRACE_TARGET_USDT_ARGS_H
#define PROFTRACE_TARGET_USDT_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "usdt_spec.h"

enum {
	USDT_MAX_ARGS = 12, /* as many as the macros of sys/sdt.h go to */
	USDT_MAX_SYMBOL = 128,
};

struct usdt_argument {
	struct usdt_arg arg;
	char symbol[USDT_MAX_SYMBOL]; /* whose address is missing in arg.offset; empty: none */
	const char *unreadable;	      /* why; NULL: it can be read */
};

/* Returns how many there are, at most USDT_MAX_ARGS. `machine`: EM_X86_64 or EM_AARCH64. */
unsigned usdt_args_parse(uint16_t machine, const char *text,
			 struct usdt_argument ret_args[USDT_MAX_ARGS]);

/* "i32", "u64", "f32"; "?" for what is not understood. */
const char *usdt_arg_type(const struct usdt_arg *arg);

#endif
