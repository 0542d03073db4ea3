/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file that a sink writes. A new trace must not replace an older one before it can be loaded itself. So the bytes
 * go to a temporary file with an unpredictable name in the directory of the output, which is renamed later. Devices,
 * pipes and standard output cannot be replaced by a rename and are written directly.
 *
 * The rename can fail although it was possible at the start: in a sticky directory, such as /tmp, whoever may write to it can
 * take the name meanwhile. What was written is kept then, under another name.
 */
#ifndef PROFTRACE_FORMATS_TARGET_H
#define PROFTRACE_FORMATS_TARGET_H

#include <stdbool.h>

struct target {
	char *path;	  /* where it is, or will be */
	char *temporary;  /* name within the directory; NULL once renamed, or without a rename */
	const char *name; /* the last part of path */
	int directory;	  /* -1: written directly */
	int fd;		  /* -1: not open */
	int refused;	  /* negative errno: why `path` is another one than was asked for */
	bool regular;
};

/* Returns 0 or negative errno; target_close() is needed after both. sink_open() and sink_open_later() have the rules. */
int target_open(struct target *target, const char *path, bool later);
/*
 * Gives the temporary file, if there is one, its name, or else another one that nobody can have foreseen: NAME.XXXXXXXX.ENDING.
 * `path` and `refused` say so then. Returns 0, or negative errno: it still has the temporary name.
 */
int target_place(struct target *target);
/* The temporary name is the one that it keeps. */
void target_keep_temporary(struct target *target, int refused);
/* Removes the temporary file. */
void target_remove(struct target *target);
void target_close(struct target *target);

#endif
