/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a file may be opened because somebody named it who has fewer privileges: a recorded program, or the owner of a file
 * that names others.
 */
#ifndef PROFTRACE_TRACEE_FILE_ACCESS_H
#define PROFTRACE_TRACEE_FILE_ACCESS_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

enum {
	REQUESTER_GROUPS = 256,
};

struct requester {
	uid_t uid;
	bool overrides; /* root, and not without its capabilities: modes of files do not matter */
	int n_groups;	/* -1: not known */
	gid_t groups[REQUESTER_GROUPS];
};

/* `directory` is /proc/PID: the user and the groups with which the process opens files. */
int requester_of_process(struct requester *r, int directory);
/* The owner of this file, or nobody if it cannot be found: the path may lead elsewhere by now. */
void requester_by_owner(struct requester *r, const struct stat *st);

/* Whether the user may read it (S_IROTH) or execute it (S_IXOTH). `fd` may be O_PATH. */
bool requester_may(const struct requester *r, int fd, const struct stat *st, mode_t of_others);

/*
 * Checks the directories from `base`, or from the root if `place` is not beneath `base` or that is -1, to
 * `place` (all O_PATH), independent of the path that was named. Returns 0, or -EACCES if the user may not
 * enter one of them or there is no such path.
 */
int requester_may_open(const struct requester *r, int base, int place);

/*
 * Whether it is a regular file with contents, and on a file system that stores files. Files by which the kernel is controlled look
 * like regular ones, and opening some of them has effects: free_buffer of tracefs empties a ring buffer.
 */
bool file_is_stored(int place);

/* Opens for reading what is open with O_PATH, if it is such a file; otherwise -ENODATA. Closes `place`. */
int open_stored_file(int place);

#endif
