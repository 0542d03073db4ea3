/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc/PID/maps: what a process has mapped, and from which files.
 *
 * The text comes from the kernel, but the paths in it are the process's own choice. The kernel writes
 * a newline in a path as \012 and leaves a backslash alone, so a path cannot always be told back:
 * open what is mapped through /proc/PID/map_files, or check device and inode of what a path leads to.
 */
#ifndef PROFTRACE_TARGET_MAPS_H
#define PROFTRACE_TARGET_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MAPS_MAX_LINES = 1000000,
	MAPS_MAX_PATH = 8192, /* bytes of a path that are kept: twice what a path may have */
};

struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	bool readable;
	bool writable;
	bool executable;
	bool shared;
	uint32_t device_major;
	uint32_t device_minor;
	uint64_t inode;	  /* 0 = no file */
	const char *path; /* as the kernel escapes it, without " (deleted)"; may be empty */
	bool deleted;	  /* the path ended in " (deleted)": the file has no name any more */
	bool path_cut;	  /* it was longer than MAPS_MAX_PATH */
};

/* Return 0 to go on; anything else ends the walk and is returned by maps_read(). */
typedef int (*mapping_fn)(void *context, const struct mapping *mapping);

/*
 * Reads the descriptor from its beginning, whatever its position, and calls `each` for every mapping.
 * The process may map and unmap meanwhile: what existed all the time is told, perhaps in pieces or
 * twice. Lines that make no sense are left out.
 *
 * Returns the number of mappings told (0: the process has ended or is a kernel thread), -E2BIG when
 * there were more than MAPS_MAX_LINES, other negative errno when reading failed.
 */
int maps_read(int fd, mapping_fn each, void *context);

/* Turns \012 back into a newline, in place. */
void maps_unescape(char *path);

#endif
