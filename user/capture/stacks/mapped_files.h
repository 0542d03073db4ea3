/* SPDX-License-Identifier: BSD-2-Clause */
/* The mappings of call stacks, each of which is one file whatever its path and build id say. */
#ifndef PROFTRACE_CAPTURE_STACKS_MAPPED_FILES_H
#define PROFTRACE_CAPTURE_STACKS_MAPPED_FILES_H

#include "timeline/callstack.h"

struct file;
struct mapped_files;

/* Both are borrowed. NULL: no memory. */
struct mapped_files *mapped_files_new(struct callstacks *store, struct names *names);
void mapped_files_free(struct mapped_files *files);

/*
 * The mapping of the file, which is not freed before this. `file` NULL: it could not be opened. If another file has this path and
 * build id, the mapping has another path. NULL: too many.
 */
const struct code_mapping *mapped_files_mapping(struct mapped_files *files,
						const struct code_mapping *like,
						const struct file *file);
/*
 * The file with its symbols, borrowed; -1: there is none. *ret_path and *ret_original: the path without a number, and the file there,
 * which may have another one with names beside it; -1: equal files of several users are one mapping, and none speaks for the others.
 */
int mapped_files_fd(const struct mapped_files *files, const struct code_mapping *mapping,
		    int *ret_original, const struct name **ret_path);
/* Files that may be equal to another one, and are a mapping of their own because there was no time to compare them. */
uint64_t mapped_files_uncompared(const struct mapped_files *files);

#endif
