/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which processes are recorded, if the user has not named their PIDs: those that match each kind of condition that was
 * given, and of each kind at least one. The broker writes the conditions before the programs are loaded; both it and
 * the kernel apply them by the functions here.
 *
 * A glob is compiled into a bit for each position of the pattern, so that matching takes one step for each byte of
 * the text whatever the pattern is: a BPF program may not backtrack, and a process chooses its own name.
 */
#ifndef PROFTRACE_BPF_TARGETS_H
#define PROFTRACE_BPF_TARGETS_H

#ifndef __bpf__
#include <linux/types.h>
#endif

enum {
	TARGET_GLOBS = 8, /* a power of two */
	TARGET_USERS = 16,
	TARGET_POSITIONS = 63, /* of a glob: characters, [sets] and ?, not stars */
	TARGET_TEXT = 128,     /* a longer name is compared up to here; a power of two */
};

struct target_glob {
	__u64 next[256]; /* for each byte the positions that it leads on from */
	__u64 stays;	 /* positions with a star: any byte may come there */
	__u64 final;	 /* the position after the last one; 0: no glob */
	__u32 is_path;	 /* the whole path of the program is compared, else names */
	__u32 pad;
};

struct target_filter {
	__u32 waits; /* processes that execute a matching program later are recorded, too */
	__u32 n_globs;
	__u32 n_users;
	__u32 pad;
	__u32 users[TARGET_USERS];
	struct target_glob globs[TARGET_GLOBS];
};

static inline __attribute__((always_inline)) __u64
target_glob_step(const volatile struct target_glob *glob, __u64 positions, __u8 byte)
{
	return (positions & glob->next[byte]) << 1 | (positions & glob->stays);
}

#endif
