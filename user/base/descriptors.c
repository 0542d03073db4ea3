/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process that was forked from the recorder keeps of its descriptors. */
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

int descriptors_put(int fd, int place)
{
	if (fd == place || dup3(fd, place, place > STDERR_FILENO ? O_CLOEXEC : 0) >= 0)
		return 0;
	return errno == EBADF ? -EMFILE : -errno;
}

int descriptors_keep(int *fd, int place)
{
	int error = descriptors_put(*fd, place), nothing, i;

	if (error)
		return error;
	*fd = place;
	closefrom(place + 1);
	nothing = open("/dev/null", O_RDWR);
	if (nothing < 0)
		return -errno;
	for (i = STDIN_FILENO; !error && i <= STDERR_FILENO; i++)
		error = descriptors_put(nothing, i);
	if (nothing > STDERR_FILENO)
		close(nothing);
	return error;
}

int descriptors_unshare(int keep)
{
	const unsigned first = STDERR_FILENO + 1,
		       after = keep > STDERR_FILENO ? (unsigned)keep + 1 : first;

	if (syscall(SYS_close_range, after, ~0u, CLOSE_RANGE_UNSHARE) ||
	    (after > first + 1 && syscall(SYS_close_range, first, after - 2, 0)))
		return -errno;
	return 0;
}
