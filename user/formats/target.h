/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file that a sink writes. A new trace must not replace an older one before it can be loaded itself. So the bytes
 * go to a temporary file with an unpredictable name in the directory of the output, which is renamed later. Devices,
 * pipes and standard output cannot be replaced by a rename and are written directly.
 */
#ifndef PROFTRACE_FORMATS_TARGET_H
#define PROFTRACE_FORMATS_TARGET_H

#include <stdbool.h>

struct target {
	char *path;
	char *temporary;  /* name within the directory; NULL once renamed, or without a rename */
	const char *name; /* the last part of path */
	int directory;	  /* -1: written directly */
	int fd;		  /* -1: not open */
	bool regular;
};

/* Returns 0 or negative errno; target_close() is needed after both. sink_open() has the rules. */
int target_open(struct target *target, const char *path);
/* Gives the temporary file, if there is one, its name. Returns 0 or negative errno. */
int target_rename(struct target *target);
/* Removes the temporary file. */
void target_remove(struct target *target);
void target_close(struct target *target);

#endif
