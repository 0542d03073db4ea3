/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of a local copy of the viewer. */
#ifndef PROFTRACE_VIEWER_UI_FILES_H
#define PROFTRACE_VIEWER_UI_FILES_H

#include <stdint.h>

#include "base/failure.h"

/* Returns a descriptor of the directory, or negative errno if it is none, or others than its owner can write to it. */
int ui_open_directory(const char *path, struct failure *f);
/*
 * Opens the file that a URL's path names, "/" index.html. It lies within the directory, whatever the path and whatever
 * symbolic links say. Returns a descriptor or negative errno.
 */
int ui_open_file(int directory, const char *path, uint64_t *ret_size, const char **ret_type);

#endif
