/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits to the files that a process can open, and to the other processes that it can reach. */
#ifndef PROFTRACE_PRIVILEGE_LANDLOCK_H
#define PROFTRACE_PRIVILEGE_LANDLOCK_H

#include <stdbool.h>

bool landlock_available(void);

/*
 * From now on the process can write, make and remove files in this directory alone (NULL: nowhere), execute nothing, and
 * not open the memory of other processes, or send them signals (Linux 6.12). Descriptors that are open stay as they are.
 * Returns 0 or negative errno, if the kernel has no Landlock.
 */
int landlock_writes(const char *beneath);

#endif
