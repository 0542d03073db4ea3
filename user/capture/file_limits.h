/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many files, sites of markers and links there may be: a program can map more files than anybody
 * wants to look at, and each link takes the kernel up to fifty milliseconds to take away.
 */
#ifndef PROFTRACE_CAPTURE_FILE_LIMITS_H
#define PROFTRACE_CAPTURE_FILE_LIMITS_H

#include "capture/internal.h"

/* Whether there is no room for one more file; for as many sites of markers; for one more link. */
bool files_full(const struct capture *c, struct failure *f);
bool files_too_many_sites(const struct capture *c, unsigned n, struct failure *f);
bool files_too_many_links(const struct capture *c, struct failure *f);

/* How loud to say of one more file that something of it is not recorded: the first ones are named. */
int files_verbosity(struct capture *c);
void files_tell_refused(struct capture *c, const char *path, const struct failure *f);

#endif
