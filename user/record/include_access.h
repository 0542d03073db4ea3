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

/*
 * The user of the program. If it is unknown, only files that everybody may read are allowed and,
 * with `or_us`, files of our own user.
 */
struct requester {
	bool known;
	uid_t uid;
	bool or_us;
};

/* Checks the permissions of the file (`fd` may be O_PATH). */
bool requester_may_read(const struct requester *requester, int fd, const struct stat *st);

/*
 * Checks the directories from `base`, or from the root if `place` is not beneath `base`, to `place`
 * (all O_PATH), independent of the path that was named. Returns 0, or -EACCES if the user may not
 * enter one of them or there is no such path.
 */
int requester_may_open(const struct requester *requester, int base, int place);

#endif
