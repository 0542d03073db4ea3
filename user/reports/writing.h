/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports that are files: either complete or not written at all. It calls formats/sink.h. */
#ifndef PROFTRACE_REPORTS_WRITING_H
#define PROFTRACE_REPORTS_WRITING_H

#include <stddef.h>

#include "base/failure.h"

/* `path` "-": standard output. Returns 0 or negative errno. */
int report_write_file(const char *path, const char *bytes, size_t size, struct failure *f);

#endif
