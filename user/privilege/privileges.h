/* SPDX-License-Identifier: BSD-2-Clause */
/* The capabilities(7) of this process: which it has, which it keeps, and how to get missing ones. */
#ifndef PROFTRACE_PRIVILEGE_PRIVILEGES_H
#define PROFTRACE_PRIVILEGE_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"

bool privilege_held(int capability);

/*
 * Irrevocably gives up all other capabilities. If the real user is not root, the effective user becomes the real one.
 * `also_children`: programs that it executes later cannot get them either, if it may change the bounding set. Returns
 * 0 or negative errno.
 */
int privileges_keep(const int *capabilities, unsigned n, bool also_children);

/*
 * Gives up all, with those of children, but keeps one permitted that its user lacks, and which is not in effect: the guard. A
 * process that ends, also by SIGKILL, first loses its memory and then its descriptors. In between, kernels without the fix of
 * CVE-2026-46333 have forgotten that nobody may look into it, and let whoever has its user's number and all capabilities that it
 * is permitted take the descriptors. For processes that have what their user must not get. Called by root, whose processes
 * nobody else may look into, it keeps none. Returns 0 or negative errno.
 */
int privileges_keep_guard(void);

/*
 * The calling thread gives up all, or all but the guard; its process does not. Its user stays the same. Returns 0 or negative
 * errno.
 */
int privileges_drop_of_thread(bool guard);

/*
 * The names of capabilities that recording needs and this process lacks; "" if none. Kernels before 6.6 (without
 * `uprobe_multi`) need more.
 */
void privileges_missing(bool uprobe_multi, char *out, size_t size);

/*
 * Makes the calling thread, and threads that it creates later, real-time ones (which needs CAP_SYS_NICE), or ordinary
 * ones again. Not while RLIMIT_RTTIME is limited.
 */
int privileges_use_priority(bool real_time);

/* Why the capabilities of the program file have no effect, or NULL. */
const char *privileges_ignored(void);

/* Whether its capabilities are those of a user namespace, which do not permit to load BPF programs. */
bool privileges_in_namespace(void);
/* If so, sets the failure and returns true. */
bool privileges_of_namespace(struct failure *f);

/* Adds the hint how to get missing ones. */
void privileges_hint(bool uprobe_multi, struct failure *f);

#endif
