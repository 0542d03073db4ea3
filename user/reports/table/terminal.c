/* SPDX-License-Identifier: BSD-2-Clause */
/* Fits tables to the terminal that they are printed on. */
#include "reports/table/stats_print.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned stats_fit_terminal(int fd, struct stats_options *options)
{
	struct winsize window;

	if (!isatty(fd))
		return 0;
	options->color = !getenv("NO_COLOR");
	if (ioctl(fd, TIOCGWINSZ, &window))
		return 0;
	options->width = window.ws_col;
	return window.ws_row;
}
