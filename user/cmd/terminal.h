/* SPDX-License-Identifier: BSD-2-Clause */
/* What a table has to know of where it is printed. */
#ifndef PROFTRACE_CMD_TERMINAL_H
#define PROFTRACE_CMD_TERMINAL_H

#include "handlers/stats_print.h"

/* Where `fd` is a terminal: its width, and colour unless NO_COLOR is set. Returns its lines, else 0. */
unsigned terminal_fit(int fd, struct stats_options *options);

#endif
