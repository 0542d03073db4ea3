/* SPDX-License-Identifier: BSD-2-Clause */
/* Who called us: the user behind sudo, whom the recorder becomes as soon as the broker has its privileges. */
#ifndef PROFTRACE_TARGET_INVOKER_H
#define PROFTRACE_TARGET_INVOKER_H

#include "failure.h"

/*
 * Gives up all privileges: becomes the user named by SUDO_UID where root was lent by sudo, drops
 * capabilities where the program has them from its file. Plain root stays root, since there is no one
 * else to be. Sets HOME, USER and LOGNAME to that user's. Returns 0 or negative errno.
 */
int invoker_become(struct failure *f);

#endif
