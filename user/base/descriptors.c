/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process that was forked from the recorder keeps of its descriptors. */
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* One for each file that processes have mapped, and more; the table of so many takes 33 KiB. */
#define RESERVED 4096

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

void descriptors_reserve(int fd)
{
	struct rlimit files;
	int last = RESERVED - 1;

	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < RESERVED)
		last = (int)files.rlim_cur - 1;
	last = fcntl(fd, F_DUPFD_CLOEXEC, last);
	if (last >= 0)
		close(last);
}

int descriptors_stat(int fd, struct stat *ret)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st))
		return -1;
	*ret = (struct stat){
		.st_dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.st_ino = st.stx_ino,
		.st_mode = st.stx_mode,
		.st_nlink = st.stx_nlink,
		.st_uid = st.stx_uid,
		.st_gid = st.stx_gid,
		.st_rdev = makedev(st.stx_rdev_major, st.stx_rdev_minor),
		.st_size = (off_t)st.stx_size,
		.st_blksize = st.stx_blksize,
		.st_blocks = (blkcnt_t)st.stx_blocks,
		.st_atim = { st.stx_atime.tv_sec, st.stx_atime.tv_nsec },
		.st_mtim = { st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec },
		.st_ctim = { st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec },
	};
	return 0;
}
