/* SPDX-License-Identifier: BSD-2-Clause */
/* The capabilities(7) of this process: which it has, which it keeps, and how to come by others. */
#ifndef PROFTRACE_TARGET_PRIVILEGES_H
#define PROFTRACE_TARGET_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>

#include "failure.h"

bool privilege_held(int capability);

/*
 * Gives up all other capabilities, for good; without root, the effective user becomes the real one.
 * `also_children`: what it executes later shall never have any of them again, whoever owns it, if it may
 * say so. Returns 0 or negative errno.
 */
int privileges_keep(const int *capabilities, unsigned n, bool also_children);

/*
 * Those that recording needs and this process lacks, by name; "" when none. Kernels before 6.6 (without
 * `uprobe_multi`) want more.
 */
void privileges_missing(bool uprobe_multi, char *out, size_t size);

/* Why the file's own capabilities have no effect, where it has some; NULL. */
const char *privileges_ignored(void);

/* What to do about missing ones. */
void privileges_hint(bool uprobe_multi, struct failure *f);

#endif
