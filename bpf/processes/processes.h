/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the broker hears of processes that have links of their own. It has a ring buffer of its own, which the
 * recorder does not get: what becomes of links does not depend on the recorder.
 */
#ifndef PROFTRACE_BPF_PROCESSES_H
#define PROFTRACE_BPF_PROCESSES_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define FOLLOW_BYTES (256 << 10) /* of the ring buffer: some 6000 records */

enum follow_kind {
	FOLLOW_FORK = 1, /* a child that is traced, too: it needs the links of its parent */
	FOLLOW_CLEAN,	 /* a child that is not: it has inherited the breakpoints of its parent */
	/*
	 * A thread that was not the first one has executed a program. It has the process's number now, but a link
	 * stays with the thread that was the first.
	 */
	FOLLOW_EXEC,
	FOLLOW_UNTRACED, /* it has executed a program that the user may not look into */
	FOLLOW_EXIT,	 /* its last thread has ended */
};

struct follow_record {
	__u64 ts;
	__u32 kind;
	__u32 pid;
	__u32 parent; /* of FOLLOW_FORK */
	__u32 pad;
};

#endif
