/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --quota: how many bytes of traces there may be in the directory of the outputs, those of earlier recordings included.
 *
 * Only files that recordings with a quota made are removed: a list in the directory (QUOTA_LIST) has their names, devices
 * and inodes, the oldest first. One recording at a time holds the directory.
 */
#ifndef PROFTRACE_RECORD_QUOTA_H
#define PROFTRACE_RECORD_QUOTA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/failure.h"

#define QUOTA_LIST	".proftrace-kept"
#define QUOTA_LIST_NEXT QUOTA_LIST ".new"
#define QUOTA_LOCK	QUOTA_LIST ".lock" /* an empty file */

struct quota;

/* Opens the directory of `output`, and removes files until the rest is within the limit. Returns 0 or negative errno. */
int quota_open(const char *output, uint64_t limit, struct quota **ret_quota, struct failure *f);
/* Frees everything; the files stay. */
void quota_close(struct quota *quota);
/* The reason of an error of quota_add() if strerror() does not describe it, else NULL. */
const char *quota_refusal(int error);
/* A finished file, by its path. It is not removed before quota_apply(). Returns 0 or negative errno. */
int quota_add(struct quota *quota, const char *path, dev_t device, ino_t inode);
/*
 * Removes the oldest files until the rest is within the limit, and saves the list. `removed` is called for each. Returns 0
 * or negative errno: the list could not be saved, and files that are not in it will not be removed by a later recording.
 */
int quota_apply(struct quota *quota, void (*removed)(void *context, dev_t device, ino_t inode),
		void *context);
uint64_t quota_bytes(const struct quota *quota);
uint64_t quota_removed(const struct quota *quota); /* number of files */

#endif
