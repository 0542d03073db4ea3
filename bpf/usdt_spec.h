/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes that other people have put into their programs (USDT): what a site's arguments are and what
 * becomes of its hits. The recorder reads that out of the notes (user/target/usdt_args.c) and writes
 * it into a map; a site's attach cookie says where: bits 32-63, above the number of the site. Sites
 * with the same have one in common.
 *
 * Functions that nobody marked (-f) are sites of the same kind: one where the function begins, and one
 * at each instruction that leaves it. Nothing is put on the program's stack: a return probe of the
 * kernel exchanges the return address for one of its own, and whoever walks the stack stumbles over it.
 * An exception that is thrown through such a function ends the program.
 */
#ifndef PROFTRACE_BPF_USDT_SPEC_H
#define PROFTRACE_BPF_USDT_SPEC_H

#include "event.h"

enum {
	USDT_MAX_SPECS = 16384,
	USDT_SPEC_SHIFT = 32,  /* in the cookie */
	USDT_NO_REGISTER = 32, /* reads as 0 */
};

/*
 * Tokens of pairs, above all addresses that a program may have: a pair's END closes its own slice and
 * nothing that is around it.
 */
#define USDT_TOKEN 0xffff800000000000ull

/*
 * A call of a function is told from others by where the stack pointer was when it began, which no two
 * calls that last have in common. Bits 0-55 of its token; above them, what no other token has.
 */
#define CALL_TOKEN	0x8000000000000000ull
#define CALL_TOKEN_MASK 0xff00000000000000ull
#define CALL_STACK_MOST (8ull << 20) /* further apart, two calls are on two stacks */

/* By which instruction a function is left; what is none of a return, only if it leaves indeed. */
enum call_exit {
	CALL_RETURN = 1,
	CALL_JUMP,   /* to another function, or its own beginning */
	CALL_BRANCH, /* the same, if `condition` holds (x86-64: as the instructions number them) */
	CALL_INDIRECT, /* to where `target` says, unless that is between `from` and `to` */
};

/* Where an argument is. */
enum usdt_form {
	USDT_UNREADABLE, /* or not understood */
	USDT_CONSTANT,	 /* `offset` */
	USDT_REGISTER,	 /* shifted right by `scale` bits (ah, bh) */
	USDT_MEMORY,	 /* at reg + (index << scale) + offset */
	USDT_RELATIVE,	 /* in memory at the site's own address + offset */
	USDT_ADDRESS,	 /* that address itself */
};

struct usdt_arg {
	__u8 form;
	__u8 reg;   /* x86-64: as the instructions number them; arm64: x0-x30, 31 is sp */
	__u8 index; /* the same */
	__u8 scale;
	__u8 bits; /* 8, 16, 32, 64 */
	__u8 is_signed;
	__u8 type; /* enum value_type */
	__u8 pad;
	__s64 offset;
};

enum usdt_flags {
	USDT_BY_THREAD = 1,   /* the id of an asynchronous slice is its thread's number */
	USDT_HAS_STRINGS = 2, /* among the arguments */
	USDT_CALL = 4,	      /* a function */
};

struct usdt_spec {
	__u64 token; /* of a slice: which ones belong together */
	__u32 types; /* as in struct record */
	__u8 kind;   /* BEGIN, END, INSTANT, ASYNC_BEGIN, ASYNC_END */
	__u8 flags;
	__u8 exit; /* enum call_exit */
	__u8 condition;
	__s32 from, to; /* of the function's code, as distances from the site; `to` is past it */
	union {
		struct usdt_arg id; /* of an asynchronous slice */
		struct usdt_arg target;
	};
	struct usdt_arg args[MAX_ARGS];
};

#endif
