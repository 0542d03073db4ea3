/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process that was forked from the recorder keeps of its descriptors. */
#include "base/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

void descriptors_keep_to(int last)
{
	int nothing, i;

	closefrom(last + 1);
	nothing = open("/dev/null", O_RDWR);
	for (i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		dup2(nothing, i);
	if (nothing > STDERR_FILENO)
		close(nothing);
}
