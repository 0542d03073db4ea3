/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits on files, sites of markers and links. A program can map any number of files, and the
 * kernel takes up to fifty milliseconds to remove one link.
 */
#ifndef PROFTRACE_CAPTURE_FILE_LIMITS_H
#define PROFTRACE_CAPTURE_FILE_LIMITS_H

#include "capture/internal.h"

/*
 * Whether a limit is reached: for one more file, for this many sites of markers, for one more link.
 */
bool files_full(const struct capture *c, struct failure *f);
bool files_too_many_sites(const struct capture *c, unsigned n, struct failure *f);
/*
 * What is kept of files that were written to has a limit of its own: who writes to files that are recorded takes nothing from
 * others. Beyond it, a file that is written to is not read again.
 */
bool files_too_many_retired(const struct capture *c);
bool files_too_many_links(const struct capture *c, struct failure *f);

/*
 * The log level for one more file that is not completely recorded: the first ones are always named.
 */
int files_verbosity(struct capture *c);
void files_report_refused(struct capture *c, const char *path, const struct failure *f);

#endif
