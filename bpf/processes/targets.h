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
	TARGET_CGROUPS = 8,
	TARGET_CGROUP_PATH = 256,
	TARGET_CGROUP_DEPTH =
		16, /* a process further down is not compared with TARGET_UNIT and TARGET_CONTAINER */
	TARGET_POSITIONS = 63, /* of a glob: characters, [sets] and ?, not stars */
	TARGET_TEXT = 128,     /* a longer name is compared up to here; a power of two */
	TARGET_CONTAINERS = 8,
	TARGET_CONTAINER_NAME = 64,
	TARGET_CONTAINER_ID = 64, /* hexadecimal digits */
	TARGET_CONTAINERS_FOUND = 1024,
};

/* What a glob is compared with. */
enum target_kind {
	TARGET_NAME = 1,      /* the name of the command, or that of its executable */
	TARGET_PATH = 2,      /* the whole path of the executable */
	TARGET_UNIT = 4,      /* the name of a cgroup around the process that is in slices alone */
	TARGET_CONTAINER = 8, /* the name of any cgroup around it */
};

struct target_glob {
	__u64 next[256]; /* for each byte the positions that it leads on from */
	__u64 stays;	 /* positions with a star: any byte may come there */
	__u64 final;	 /* the position after the last one; 0: no glob */
	__u32 kind;	 /* enum target_kind */
	__u32 pad;
};

struct target_filter {
	__u32 waits; /* processes that execute a matching program later are recorded, too */
	__u32 all;   /* every process */
	__u32 n_globs;
	__u32 n_users;
	__u32 n_cgroups;
	__u32 n_containers;
	__u32 kinds; /* enum target_kind of all globs; a name or a path is one condition */
	__u64 cgroup_root; /* the cgroup from which paths are seen: in a container not the outermost one; 0: not known */
	__u32 users[TARGET_USERS];
	/* Of the unified hierarchy; the processes of those below belong to them, too. */
	struct target_cgroup {
		__u64 id;
		__u32 level; /* its distance from the root */
		__u32 pad;
		char path
			[TARGET_CGROUP_PATH]; /* as /proc/PID/cgroup shows it; the kernel compares numbers */
	} cgroups[TARGET_CGROUPS];
	struct target_glob globs[TARGET_GLOBS];
	/* Names, which count as one more TARGET_CONTAINER; the broker gives the kernel their IDs as it finds them. */
	char containers[TARGET_CONTAINERS][TARGET_CONTAINER_NAME];
};

static inline __attribute__((always_inline)) __u64
target_glob_step(const volatile struct target_glob *glob, __u64 positions, __u8 byte)
{
	return (positions & glob->next[byte]) << 1 | (positions & glob->stays);
}

#endif
