/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables for walking the stack of code that has no frame pointers. The compiler describes in
 * .eh_frame where the caller's frame is, for each instruction; the parser process turns that into
 * rows (user/symbols/unwind_rows.c), the recorder puts them into the maps described here
 * (user/capture/stacks/unwind.c), and bpf/stacks/unwind_walk.h follows them.
 *
 * A row is 4 bytes: it says from which address on which rule holds. Rules are few, since thousands
 * of functions have the same ones, and all files share them. The rows of a file are divided into
 * pages of 64 KiB of code, so a row needs only the low 16 bits of its address:
 *
 *	process ──▶ ranges (executable mappings) ──▶ pages of the file ──▶ rows ──▶ rule
 */
#ifndef PROFTRACE_BPF_UNWIND_MAPS_H
#define PROFTRACE_BPF_UNWIND_MAPS_H

/* What the caller's frame address (CFA) is, the stack pointer before the call. */
enum unwind_cfa {
	UNWIND_NONE = 0,    /* not described */
	UNWIND_REGISTER,    /* register + offset */
	UNWIND_DEREF,	    /* *(register + offset) + second */
	UNWIND_INDEXED,	    /* *(register + 8 * r9 + offset) + second: libcrypto's bn_mul_mont */
	UNWIND_PLT,	    /* register + offset, 8 more from byte `second` of each 16 on */
	UNWIND_SIGNAL,	    /* the kernel has saved all registers at the stack pointer */
	UNWIND_END,	    /* the outermost frame */
	UNWIND_UNSUPPORTED, /* described by an expression that nobody here knows */
	UNWIND_CFAS,
};

/* Where the caller's value of a register is. */
enum unwind_saved {
	UNWIND_SAME = 0, /* in the register */
	UNWIND_AT_CFA,	 /* in memory at the CFA + an offset */
	UNWIND_AT_FRAME, /* in memory at the frame pointer + an offset */
	UNWIND_LOST,
	UNWIND_SAVEDS,
};

/*
 * Registers that are followed from frame to frame: the frame pointer, and one more, which on x86-64 is the
 * one that the dynamic linker's functions use instead of it, and on arm64 the return address, which a
 * function that calls none leaves there. Other callee-saved registers hardly ever matter here.
 */
enum {
	UNWIND_FP, /* rbp, x29 */
	UNWIND_RBX,
	UNWIND_LR = UNWIND_RBX, /* x30 */
	UNWIND_FOLLOWED
};

/* On x86-64 the return address is always directly below the CFA. */
struct unwind_rule {
	__u8 cfa;
	__u8 reg; /* its number in instructions, as in bpf/registers.h; below UNWIND_REGISTERS */
	__u8 saved[UNWIND_FOLLOWED];
	__s32 offset;
	__s32 second;
	__s16 at[UNWIND_FOLLOWED]; /* in words: arm64 saves registers below local variables */
};

#define UNWIND_REGISTERS 32

#define UNWIND_PAGE_BITS 16

/* A row: the low bits of its address, and above them the number of its rule. */
#define UNWIND_ROW(at, rule)  ((__u32)(rule) << UNWIND_PAGE_BITS | ((at)&0xffff))
#define UNWIND_ROW_RULE(row)  ((row) >> UNWIND_PAGE_BITS)
#define UNWIND_ROW_PLACE(row) ((row)&0xffff)

/* The sizes of the maps: 16 MiB of rows, and 2.3 MiB of what leads to them. */
enum {
	UNWIND_ROWS = 4 << 20,
	UNWIND_ROWS_EACH = 1024, /* in one value of the map */
#ifdef SMALL_WINDOWS		 /* inputs of fuzzers shall reach the limit, too */
	UNWIND_RULES = 64,
#else
	UNWIND_RULES = 32768,
#endif
	UNWIND_PAGES = 65536,
	UNWIND_RANGES = 32768,
	UNWIND_RANGES_MOST = 2048, /* of one process */
	UNWIND_RANGES_STEPS = 12,  /* of a binary search among them */
	UNWIND_ROWS_STEPS = 17,	   /* of one in a page */
};

struct unwind_rows_value {
	__u32 rows[UNWIND_ROWS_EACH];
};

/* The rows of a page of code. The first one is at its beginning, if there is any. */
struct unwind_page {
	__u32 first, n;
};

/* What is known of the code in a range. */
enum unwind_table {
	UNWIND_TABLE_NONE,    /* the file has none */
	UNWIND_TABLE_JIT,     /* code that was generated at run time */
	UNWIND_TABLE_PENDING, /* the file has not been read yet */
	UNWIND_TABLE_REFUSED, /* its table is malformed or too large */
	UNWIND_TABLE_THERE,
};

/*
 * An executable mapping. `pages` counts from `first_page` on, and `base` is where the first page of
 * the file's code would be; both are 0 without a table. The first range of a process is not a
 * mapping, but only has the `base` that all users of the process's ranges must find there: it
 * changes when they are given to another process.
 */
struct unwind_range {
	__u64 start, end;
	__u64 base;
	__u32 first_page;
	__u16 pages;
	__u16 table; /* enum unwind_table */
};

/*
 * The ranges of a process, in a hash table that the recorder writes: a process is in one of the
 * UNWIND_PROCESSES_ON slots from UNWIND_PROCESS_PLACE on. When it executes a program, the kernel
 * adds to `execs`, so that the ranges of the old program no longer count.
 */
struct unwind_process {
	__u32 tgid;  /* 0: free */
	__u32 first; /* its number in the map of ranges */
	__u32 n;     /* ranges, sorted, without the first */
	__u32 execs;
	__u32 execs_seen; /* before the recorder read the mappings */
	__u32 python;	  /* number of its struct python_setup; 0: none */
	__u64 number;
};

#define UNWIND_PROCESSES_BITS	   13
#define UNWIND_PROCESSES	   (1 << UNWIND_PROCESSES_BITS)
#define UNWIND_PROCESSES_ON	   16
#define UNWIND_PROCESS_PLACE(tgid) ((__u32)(tgid)*0x9e3779b1u >> (32 - UNWIND_PROCESSES_BITS))

/* How the walk of a stack ended. In a record it is the low byte of `types`. */
enum stack_end {
	STACK_WHOLE = 0,      /* at the beginning of the process or of the thread */
	STACK_TOO_DEEP,	      /* STACK_FRAMES, or the time limit of the walk */
	STACK_NO_PROCESS,     /* the recorder has not seen the process's mappings yet */
	STACK_NO_MAPPING,     /* an address that is in no known mapping */
	STACK_NO_TABLE,	      /* code without a table, and no frame pointer leads on */
	STACK_TABLE_PENDING,  /* its table was not read yet */
	STACK_TABLE_REFUSED,  /* its table is malformed, or there is no space for it */
	STACK_NOT_DESCRIBED,  /* the table does not describe this instruction */
	STACK_UNSUPPORTED,    /* in a way that is not supported */
	STACK_REGISTER_LOST,  /* the rule needs a register whose value is not known */
	STACK_UNREADABLE,     /* memory of the stack could not be read */
	STACK_NOT_MONOTONIC,  /* the caller's frame would be below this one */
	STACK_CHANGED,	      /* the process's mappings changed meanwhile */
	STACK_FRAME_POINTERS, /* walked by frame pointers alone */
	STACK_ENDS,
};

#define STACK_END(types)	((types)&0xff)
#define STACK_BY_FRAME_POINTERS 0x100 /* in `types`: some frames were found by frame pointers */
#define STACK_BY_TABLES		0x200 /* the others by tables */

#endif
