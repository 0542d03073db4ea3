/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/by_path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/maps.h"

/* Device numbers are not compared: in maps and in stat they differ on some file systems. */
static bool is_file(int place, uint64_t inode)
{
	struct stat st;

	return !fstat(place, &st) && S_ISREG(st.st_mode) && st.st_ino == inode;
}

/* Whatever the process has put there: opening a device may do something. So it is only looked at first. */
static int open_place(int place, uint64_t inode)
{
	char path[32];
	int fd = -ESTALE;

	if (place < 0)
		return -errno;
	if (is_file(place, inode)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	}
	close(place);
	return fd;
}

int look_by_path(int directory, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int root = openat(directory, "root", O_PATH | O_DIRECTORY | O_CLOEXEC), place, error;

	if (root < 0)
		return -1;
	place = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	error = errno;
	close(root);
	errno = error;
	return place;
}

int open_by_path(int directory, const char *path, uint64_t inode)
{
	/* A link to the file itself, whatever its path has become. */
	int fd = open_place(openat(directory, "exe", O_PATH | O_CLOEXEC), inode);
	char *unescaped;

	if (fd >= 0)
		return fd;
	unescaped = strdup(path);
	if (!unescaped)
		return -ENOMEM;
	maps_unescape(unescaped);
	fd = open_place(look_by_path(directory, unescaped), inode);
	free(unescaped);
	return fd;
}
