/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc/PID/maps: the mappings of a process and their files.
 *
 * The kernel writes the text, but the process chooses the paths in it. The kernel writes a newline in a path as \012
 * and does not escape a backslash, so the path is ambiguous: open a mapped file by /proc/PID/map_files, or check the
 * inode of the file that a path leads to.
 */
#ifndef PROFTRACE_TRACEE_MAPS_H
#define PROFTRACE_TRACEE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MAPS_MAX_LINES = 1000000,
	MAPS_MAX_PATH = 8192, /* longer paths are cut; twice PATH_MAX */
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
	bool deleted;	  /* the path ended in " (deleted)": the file was removed */
	bool path_cut;	  /* it was longer than MAPS_MAX_PATH */
};

/* Any return value but 0 ends the walk and is returned by maps_read(). */
typedef int (*mapping_fn)(void *context, const struct mapping *mapping);

/*
 * Reads the file, by a thread that can be left, and calls `each` for every mapping. The
 * process may map and unmap meanwhile: mappings that exist during the whole call are reported, perhaps in parts or
 * twice. Malformed lines are skipped.
 *
 * Returns the number of mappings (0: the process has exited or is a kernel thread), -E2BIG if there are more than
 * MAPS_MAX_LINES, -EBUSY if the process holds the lock of its memory (memory/target_memory.h), or another negative errno if
 * reading failed.
 */
struct target_memory;
int maps_read(struct target_memory *maps, mapping_fn each, void *context);

/*
 * The same of executable mappings alone, for which the kernel is asked one by one (since Linux 6.11): of a process with 360 mappings
 * that takes 0.13 ms, and its text 0.55. Where it cannot be asked, all others are reported, too. What is no mapping of the
 * process, but the same in all of them (vsyscall), is only in the text.
 */
int maps_read_executable(struct target_memory *maps, mapping_fn each, void *context);

/* Replaces \012 by a newline, in place. */
void maps_unescape(char *path);

/*
 * Opens a mapped file by its path, for users without CAP_CHECKPOINT_RESTORE, which /proc/PID/map_files needs.
 * `directory` is /proc/PID; the path is resolved below the root and in the mounts of that process, or in ours if those may
 * not be entered. The program of the process is opened even if it was deleted. Returns the descriptor, -ESTALE if the path
 * leads to another file now, or negative errno.
 */
int open_mapped_path(int directory, const char *path, uint64_t inode);

/*
 * Opens a path below the root of the process with O_PATH. The root also applies to absolute symbolic links. Returns
 * -1 and sets errno on failure.
 */
int path_within_root(int directory, const char *path);
/*
 * The same for a relative path; `at` is "cwd" or "fd/N". If the process has another root than we do, a link or ".." may
 * lead out of it here, where it does not for the process: then the file has to be beneath the directory.
 */
int path_within_directory(int directory, const char *at, const char *path);
/* Whether paths lead it where they lead us. */
bool process_has_our_root(int directory);

#endif
