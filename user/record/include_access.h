/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a program may have the recorder read a file. The recorder may have more privileges than
 * the program.
 */
#ifndef PROFTRACE_RECORD_INCLUDE_ACCESS_H
#define PROFTRACE_RECORD_INCLUDE_ACCESS_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Whether the user of the program may read the file (`fd` may be O_PATH). */
bool requester_may_read(uid_t requester, int fd, const struct stat *st);

/*
 * Checks the directories from `base`, or from the root if `place` is not beneath `base` or that is -1, to
 * `place` (all O_PATH), independent of the path that was named. Returns 0, or -EACCES if the user may not
 * enter one of them or there is no such path.
 */
int requester_may_open(uid_t requester, int base, int place);

#endif
