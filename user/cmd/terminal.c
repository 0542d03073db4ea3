/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned terminal_fit(int fd, struct stats_options *options)
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
