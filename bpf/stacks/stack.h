/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records with call stacks, and the table of marks whose stacks nobody wants. The kernel walks a
 * stack before anybody knows the name of the mark, since names are resolved by the recorder.
 */
#ifndef PROFTRACE_BPF_STACK_H
#define PROFTRACE_BPF_STACK_H

#include "bpf/event.h"

/* the kernel's default of kernel.perf_event_max_stack */
#define STACK_FRAMES	127
#define STACK_ADDRESSES 512 /* a power of two: both stacks, and two words for each Python frame */

/*
 * Addresses are in order from the innermost frame.
 *
 * SAMPLE: where a thread was. In the head, `site` is the CPU, and `level` is 1 in the kernel and 0
 * in the program. ops.a is the number of kernel addresses, which come first. ops.b has that of the
 * program's and, in its upper half, that of the Python frames (bpf/stacks/python_maps.h), which come last.
 *
 * MARK_STACK: the stack of the mark that follows, whose site and name are in the head. ops.a is the
 * return address of the function that contains the site, because the function may not have set up
 * its frame yet. ops.b as above.
 *
 * BLOCKED: where a thread was when it left its CPU, sent when it gets one again. `site` and, for
 * the bits above 32, `name` are the time without a CPU in ns. ops as for SAMPLE.
 */
struct record_stack {
	struct record head;
	struct record_operands ops;
	__u64 addresses[STACK_ADDRESSES]; /* only as many as there are */
};

/*
 * Where the code of the kernel begins in call stacks. The recorder's user must not learn the real address (KASLR), so all
 * addresses of the kernel are moved by the difference.
 */
#define STACK_KERNEL_BEGIN 0xffffffff81000000ull

#define STACK_PROGRAM(b) ((__u32)(b))
#define STACK_PYTHON(b)	 ((__u32)((b) >> 32))

#define STACK_BYTES	(STACK_FRAMES * sizeof(__u64))
#define STACK_IN_KERNEL 1 /* head.level */

/*
 * Marks whose stack is not wanted, as a hash table by site and name. Until the recorder has added a
 * mark here, its stacks are sent as well; if the table is full, always.
 */
#define STACK_UNWANTED	     4096 /* a power of two */
#define STACK_UNWANTED_SHIFT 52
#define STACK_UNWANTED_ON    4 /* slots to search */

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
