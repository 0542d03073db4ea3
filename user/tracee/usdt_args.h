/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses where the arguments of a USDT probe are. The note has them as text, "8@%rdi -4@-20(%rbp) 4@$1": for each
 * argument its size, which is negative if it is signed and has an "f" if it is a floating-point number, and an
 * operand in the syntax of the assembler, which the compiler has chosen.
 */
#ifndef PROFTRACE_TRACEE_USDT_ARGS_H
#define PROFTRACE_TRACEE_USDT_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/marks/usdt_spec.h"

enum {
	USDT_MAX_ARGS = 12, /* the maximum of the macros of sys/sdt.h */
	USDT_MAX_SYMBOL = 128,
};

struct usdt_argument {
	struct usdt_arg arg;
	char symbol[USDT_MAX_SYMBOL]; /* whose address has to be added to arg.offset; empty: none */
	const char *unreadable;	      /* the reason; NULL: it can be read */
};

/* Returns how many there are, at most USDT_MAX_ARGS. `machine`: EM_X86_64 or EM_AARCH64. */
unsigned usdt_args_parse(uint16_t machine, const char *text,
			 struct usdt_argument ret_args[USDT_MAX_ARGS]);

/* "i32", "u64", "f32"; "?" for an unknown type. */
const char *usdt_arg_type(const struct usdt_arg *arg);

#endif
