/* SPDX-License-Identifier: BSD-2-Clause */
/* The limits of file_limits.h, and the messages when one is reached. */
#include "capture/file_limits.h"

#include <errno.h>

#define MAX_FILES 16384
#define MAX_MARKER_SITES \
	262144	       /* in all files together, and as many again in those that were written to */
#define MAX_LINKS 2048 /* one for each file, or for each of its domains or processes */
#define MAX_NAMED 16

bool files_full(const struct capture *c, struct failure *f)
{
	if (HASH_COUNT(c->files) < MAX_FILES)
		return false;
	failure_set(f, -EMFILE, "cannot attach to", "", "too many files are mapped");
	return true;
}

bool files_too_many_sites(const struct capture *c, unsigned n, struct failure *f)
{
	if (n <= MAX_MARKER_SITES && c->n_sites - c->n_retired_sites <= MAX_MARKER_SITES - n)
		return false;
	failure_set(f, -E2BIG, "cannot attach to", "", "there are too many marker sites");
	return true;
}

bool files_too_many_retired(const struct capture *c)
{
	return c->n_retired >= MAX_FILES || c->n_retired_sites >= MAX_MARKER_SITES;
}

bool files_too_many_links(const struct capture *c, struct failure *f)
{
	if (c->n_links < MAX_LINKS)
		return false;
	failure_set(f, -EMFILE, "cannot attach to", "", "too many files contain markers or probes");
	return true;
}

int files_verbosity(struct capture *c)
{
	if (c->named_files == MAX_NAMED)
		capture_log(c, 0,
			    "there are more files that are not completely recorded; -v names them");
	return c->named_files++ >= MAX_NAMED;
}

void files_report_refused(struct capture *c, const char *path, const struct failure *f)
{
	c->refused++;
	capture_log(c, files_verbosity(c), "%s '%s': %s", f->what, path, f->reason);
}
