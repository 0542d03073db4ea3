/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program may make the recorder read, which may have more privileges than the program. */
#ifndef PROFTRACE_RECORD_INCLUDE_REACH_H
#define PROFTRACE_RECORD_INCLUDE_REACH_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The user of the program. Unknown: only what everybody may read, and with `or_us` also files of our own user. */
struct asker {
	bool known;
	uid_t uid;
	bool or_us;
};

/* By the file's own mode. */
bool asker_may_read(const struct asker *asker, const struct stat *st);

/*
 * By the directories: from `base`, or from the root where it is not beneath that, to `place` (all O_PATH),
 * wherever links and dots of the path that was named have led. Returns 0, or -EACCES: there is one that
 * the asker may not enter, or no such way.
 */
int asker_may_reach(const struct asker *asker, int base, int place);

#endif
