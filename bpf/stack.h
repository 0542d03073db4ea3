/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records with call stacks. */
#ifndef PROFTRACE_BPF_STACK_H
#define PROFTRACE_BPF_STACK_H

#include "event.h"

/* As many as kernels follow, unless kernel.perf_event_max_stack says otherwise. */
#define STACK_FRAMES 127

/*
 * SAMPLE: where a thread was. In the head, `site` is the CPU, and `level` 1 in the kernel, 0 in the
 * program. ops.a: how many addresses are the kernel's, which come first; ops.b: how many the program's.
 * Innermost first.
 *
 * MARK_STACK: of the mark that is to come, whose site and name are in the head. ops.a: where the function
 * returns to that the site is in, which may not have made its own frame yet; ops.b as above.
 *
 * BLOCKED: where a thread was when it left its CPU, sent as it gets one again. For how long it had none, in
 * ns: `site`, and above its 32 bits `name`. ops as of a SAMPLE.
 */
struct record_stack {
	struct record head;
	struct record_operands ops;
	__u64 addresses[2 * STACK_FRAMES + 2]; /* as many as there are */
};

#define STACK_BYTES	(STACK_FRAMES * sizeof(__u64))
#define STACK_IN_KERNEL 1 /* head.level */

/*
 * Marks that no stack is asked for, by site and name: nobody in the kernel knows what a name says. Until
 * the recorder has put them here, stacks are taken of them as well; where there is no room, always.
 */
#define STACK_UNWANTED	     4096 /* a power of two */
#define STACK_UNWANTED_SHIFT 52
#define STACK_UNWANTED_ON    4 /* places to look at */

static inline __attribute__((always_inline)) __u64 stack_key(__u32 site, __s32 name)
{
	return (__u64)(site + 1) << 32 | (__u32)name;
}

static inline __attribute__((always_inline)) __u32 stack_place(__u64 key, __u32 on)
{
	return ((__u32)(key * 0x9e3779b97f4a7c15ull >> STACK_UNWANTED_SHIFT) + on) &
	       (STACK_UNWANTED - 1);
}

#endif
