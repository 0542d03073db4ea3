/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening a file that a process has mapped by the path that /proc/PID/maps gives, for those who may not
 * use /proc/PID/map_files, which wants CAP_CHECKPOINT_RESTORE.
 */
#ifndef PROFTRACE_TARGET_BY_PATH_H
#define PROFTRACE_TARGET_BY_PATH_H

#include <stdint.h>

/*
 * As the process sees it that `directory` (/proc/PID) belongs to: below its root, in its mounts; its own
 * program also where that was deleted. Returns the descriptor, -ESTALE when the path leads to another
 * file by now, or what opening it said.
 */
int open_by_path(int directory, const char *path, uint64_t inode);

/*
 * The place that the path leads to there, not opened (O_PATH): what is absolute in the path or in its links
 * is meant from the process's root. Negative: errno says why not.
 */
int look_by_path(int directory, const char *path);

#endif
