/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The specs of existing USDT probes: where a site's arguments are, and what becomes of its hits.
 * The recorder derives the spec from the ELF note (user/tracee/usdt_args.c) and writes it into a
 * map. Bits 32-62 of a site's attach cookie are the index of its spec, bits 0-31 its site number.
 * Sites with equal specs share one.
 *
 * Functions selected by name (-f) use the same specs: one site where the function begins, and one
 * at each instruction that leaves it. Nothing on the program's stack is changed. A return probe of
 * the kernel replaces the return address, which misleads everything that walks the stack: an
 * exception that is thrown through such a function ends the program. It costs a tenth of a single step,
 * so it is used if the user asks for it (--return-probes), in place of the sites at return instructions.
 */
#ifndef PROFTRACE_BPF_USDT_SPEC_H
#define PROFTRACE_BPF_USDT_SPEC_H

#include "bpf/event.h"

enum {
	USDT_MAX_SPECS = 16384,
	USDT_SPEC_SHIFT = 32,  /* in the cookie */
	USDT_NO_REGISTER = 32, /* reads as 0 */
};

/*
 * Tokens of pairs. They are above all addresses of a program, so the END of a pair closes its own
 * slice and nothing around it.
 */
#define USDT_TOKEN 0xffff800000000000ull

/*
 * Tokens of calls. A call is identified by the stack pointer at its beginning, which no two open
 * calls share. Bits 0-55 are the stack pointer; the bits above are used by no other token.
 */
#define CALL_TOKEN	0x8000000000000000ull
#define CALL_TOKEN_MASK 0xff00000000000000ull
#define CALL_STACK_MOST (8ull << 20) /* calls further apart are on different stacks */

/*
 * The kind of instruction that leaves a function. Those other than a return only do if their target
 * is outside.
 */
enum call_exit {
	CALL_RETURN = 1,
	CALL_JUMP, /* to another function, or to its own beginning */
	/* as CALL_JUMP, if `condition` is met (x86-64: as in the instruction's encoding) */
	CALL_BRANCH,
	CALL_INDIRECT, /* to `target`, unless that is between `from` and `to` */
	CALL_RETURNED, /* the kernel's return probe; of a BEGIN: its call ends with one */
	/*
	 * Of no recorded function: where an unwinder continues in a caller, whose frame begins above the
	 * stack pointer. All calls below are left.
	 */
	CALL_LEFT,
	CALL_LONGJMP, /* the same at the entry of longjmp(): the new stack pointer is in `target` */
};

/* The location of an argument. */
enum usdt_form {
	USDT_UNREADABLE, /* or not understood */
	USDT_CONSTANT,	 /* `offset` */
	USDT_REGISTER,	 /* shifted right by `scale` bits (ah, bh) */
	USDT_MEMORY,	 /* at reg + (index << scale) + offset */
	USDT_RELATIVE,	 /* in memory at the site's own address + offset */
	USDT_ADDRESS,	 /* the site's own address + offset */
};

struct usdt_arg {
	__u8 form;
	__u8 reg;   /* x86-64: as in the instruction's encoding; arm64: x0-x30, 31 is sp */
	__u8 index; /* as reg */
	__u8 scale;
	__u8 bits; /* 8, 16, 32, 64 */
	__u8 is_signed;
	__u8 type; /* enum value_type */
	__u8 pad;
	__s64 offset;
};

enum usdt_flags {
	USDT_BY_THREAD = 1,   /* the thread number is the id of an asynchronous slice */
	USDT_HAS_STRINGS = 2, /* some arguments are strings */
	USDT_CALL = 4,	      /* the site is of a function */
};

struct usdt_spec {
	__u64 token; /* of a slice: identifies its END */
	__u32 types; /* as in struct record */
	__u8 kind;   /* BEGIN, END, INSTANT, ASYNC_BEGIN, ASYNC_END */
	__u8 flags;
	__u8 exit; /* enum call_exit */
	__u8 condition;
	/* Range of the function's code, as distances from the site. Of a BEGIN, `from` is the spec of its END. */
	__s32 from, to;
	union {
		struct usdt_arg id; /* id of an asynchronous slice */
		struct usdt_arg target;
	};
	struct usdt_arg args[MAX_ARGS];
};

#endif
