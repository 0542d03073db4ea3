/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user who called proftrace, perhaps by sudo, pkexec or doas. The recorder becomes this user once the broker
 * has the privileges.
 */
#ifndef PROFTRACE_PRIVILEGE_INVOKER_H
#define PROFTRACE_PRIVILEGE_INVOKER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/failure.h"

/* Fails if what the environment of root says of its caller is contradictory, or names nobody. */
int invoker_check(struct failure *f);
/*
 * Gives up all privileges: under sudo, pkexec or doas becomes the user who called it, and drops the
 * capabilities of the program file. Root without them stays root. Sets HOME, USER and LOGNAME to those of the user.
 * Returns 0 or negative errno.
 */
int invoker_become(struct failure *f);
/*
 * Opens a file for reading as that user, without giving up anything: whoever may call proftrace by sudo does not see files
 * of root's by it, and opens no device. Returns a descriptor or negative errno.
 */
int invoker_open(const char *path);
/* The same without opening it (O_PATH): what a message or an exit status says of a path, this user could find out as well. */
int invoker_place(const char *path);
/* Calls `open_it` as that user, and returns what it returns: a descriptor, or negative errno. */
typedef int invoker_open_fn(const void *context);
int invoker_open_by(invoker_open_fn *open_it, const void *context);
/* The user that invoker_become() makes this process one of, or has made it. */
uid_t invoker_uid(void);

/*
 * For a process that talks to the network: the same, and nobody instead of root, without any capability, also in what it
 * executes. Returns whether nothing is left.
 */
bool invoker_drop_all(void);

#endif
