/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the broker asks the program find_uprobe, and its answer: in the context of the program, which nobody else has. */
#ifndef PROFTRACE_BPF_FIND_UPROBE_H
#define PROFTRACE_BPF_FIND_UPROBE_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/*
 * The beginning of struct arch_uprobe. On x86-64 the copy of 16 bytes, which the kernel changes where it addresses memory
 * relative to itself, how the kernel executes it, and what is needed for that; on arm64 the copy of 4 bytes comes first.
 */
#define UPROBE_COPY 32

struct uprobe_query {
	__u64 sites;	 /* in the broker's memory: the address of the first offset */
	__u32 site_size; /* from one offset to the next */
	__u32 n;
	__u32 from;   /* the first of them that counts */
	__s32 anchor; /* a link of the broker's with one uprobe */
	/* A descriptor of the file; -1: the file of this link. */
	__s32 file;
	__s32 link;
	__u32 failed;	 /* nothing is known */
	__u32 at;	 /* the first site for which the kernel has a uprobe; n: there is none */
	__u32 is_copied; /* and it has copied the instruction */
	__u8 copy[UPROBE_COPY];
};

#endif
