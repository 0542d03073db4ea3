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
 */
struct record_stack {
	struct record head;
	struct record_operands ops;
	__u64 addresses[2 * STACK_FRAMES + 2]; /* as many as there are */
};

#define STACK_BYTES	(STACK_FRAMES * sizeof(__u64))
#define STACK_IN_KERNEL 1 /* head.level */

#endif
