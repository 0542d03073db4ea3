/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that are being written under names nobody knows yet: where a signal ends the process (Ctrl-C
 * in a conversion that takes a minute), they are removed, and it ends of that signal all the same.
 */
#ifndef PROFTRACE_CMD_TEMPORARIES_H
#define PROFTRACE_CMD_TEMPORARIES_H

#include "handlers/sink.h"

/*
 * From here on: SIGINT, SIGTERM, SIGHUP and SIGQUIT remove them, unless they are ignored. A reader that
 * has gone and a limit to the size of files (SIGPIPE, SIGXFSZ) are errors of writing.
 */
void temporaries_begin(void);

/* sink_open(), without a moment in which its file is there and would stay. */
int temporaries_open(const char *path, enum sink_format format, struct sink **ret_sink);

/* All sinks that were opened so are settled, and about to be freed. */
void temporaries_end(void);

#endif
