/* SPDX-License-Identifier: BSD-2-Clause */
/* The included files: what include_list.c keeps of them until include.c reads them. */
#ifndef PROFTRACE_RECORD_INCLUDE_LIST_H
#define PROFTRACE_RECORD_INCLUDE_LIST_H

#include <sys/types.h>

#include "record/record.h"

enum {
	MAX_FROM_PROGRAMS = 64,
};

/* Why a file was not read completely. */
enum left_out {
	LEFT_NOTHING,
	LEFT_BY_SIZE,
	LEFT_BY_TIME,
	LEFT_BY_SIGNAL,
};

struct include {
	char *path;
	bool from_program;
	int base; /* of a program: the directory at which its path begins */
	bool absolute;
	bool beneath; /* do not leave that directory: a link would lead out of the program's root */
	bool base_is_theirs;
	uid_t requester; /* the user that the program was when it named the file */
	bool overrides;	 /* of file_access.h, if it could still be asked */
	uint32_t pid;
	dev_t device; /* of the opened file */
	ino_t inode;
	bool unreachable; /* the error concerns a directory on the path */
	int error;
	uint64_t events;
	uint64_t before; /* events from before the recording */
	uint64_t after;	 /* and from after its end: their clock is another */
	int64_t clock_shift_ns; /* of a program in a time namespace: its monotonic clock minus the kernel's */
	bool truncated;
	uint64_t skipped; /* events of kinds that are not represented */
	enum left_out left_out;
};

struct includes {
	struct include list[MAX_INCLUDES + MAX_FROM_PROGRAMS];
	unsigned n;
	unsigned refused; /* of programs, beyond MAX_FROM_PROGRAMS */
};

/* NULL: there is no memory. */
struct includes *includes_get(struct recording *r);
struct include *include_add(struct includes *in, const char *path);

/* Opens the file for reading, if its program may read it. Returns negative errno if not. */
int include_open(struct include *in);

#endif
