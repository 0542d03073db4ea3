/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this folder have in common: searching for the libraries that a file is linked with (linked.c). */
#ifndef PROFTRACE_CAPTURE_LIBRARIES_INTERNAL_H
#define PROFTRACE_CAPTURE_LIBRARIES_INTERNAL_H

#include "capture/internal.h"

/*
 * Looking up a path takes microseconds, or tens of milliseconds if it leads through links to long links: so long may all of a
 * search take, while a thread is held or may be, and otherwise.
 */
#define LOOKUPS_HELD_NS 100000000
#define LOOKUPS_NS	2000000000

struct linked_file {
	const struct file *file;
	char *path;
};

struct linked_search {
	struct capture *c;
	pid_t pid;
	struct requester requester; /* of the process; `pid` 0: the owner of the program */
	const char *directory; /* where relative paths begin, with a '/'; "": the present one */
	struct linked_file *files;
	unsigned n, at; /* whose libraries are searched for */
	char **names; /* under which libraries were found; the linker does not search for one again */
	unsigned n_names;
	const char *name; /* of a library */
	bool found;
	dev_t device;	  /* with `cached_only`: where the file lies that names them */
	bool cached_only; /* paths that the kernel would ask a file system for are not looked up */
	/* Makes a library that was found known, closes `fd`, and sets `found` if it is one. */
	void (*expect)(struct linked_search *l, int fd, const char *path);
	unsigned tries;
	uint64_t until_ns;
	uint64_t lookups_ns, lookups_within_ns;
};

/* What is not in it is 0, but for the members up to `directory`, `expect` and the limits. False: out of memory. */
bool linked_begin(struct linked_search *l);
/* Adds a file whose libraries are to be searched for, unless there are too many. */
void linked_add(struct linked_search *l, const struct file *file, const char *path);
/* Searches for the libraries of the next file; there is one as long as `at` is less than `n`. */
void linked_search_next(struct linked_search *l);
void linked_end(struct linked_search *l);
/* Whose permissions count. Returns false if there are none, or the process has another root: its paths lead elsewhere. */
bool linked_find_requester(struct requester *r, pid_t pid, const struct stat *program);

#endif
