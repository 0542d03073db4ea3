/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * changed_bytes PID [where]
 *
 * Compares the code of a process with the files that it is mapped from. Prints `files N` and `changed N`: in how many
 * bytes the memory differs. With `where` also `at INODE OFFSET` of each of them, which stays the same whatever name the
 * file gets.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static unsigned char memory[65536], file[65536];
	unsigned long files = 0, changed = 0;
	char path[64], line[1024];
	FILE *maps;
	int mem;

	if (argc < 2)
		return 1;
	snprintf(path, sizeof(path), "/proc/%s/mem", argv[1]);
	mem = open(path, O_RDONLY);
	snprintf(path, sizeof(path), "/proc/%s/maps", argv[1]);
	maps = fopen(path, "r");
	while (mem >= 0 && maps && fgets(line, sizeof(line), maps)) {
		uint64_t start, end, offset, at, inode;
		char rights[8];
		int fd;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %" SCNu64, &start,
			   &end, rights, &offset, &inode) != 5 ||
		    rights[2] != 'x' || !strchr(line, '/'))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/map_files/%" PRIx64 "-%" PRIx64, argv[1],
			 start, end);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		files++;
		for (at = start; at < end; at += sizeof(memory)) {
			size_t n = end - at < sizeof(memory) ? end - at : sizeof(memory), i;
			ssize_t got = pread(mem, memory, n, (off_t)at);
			ssize_t has = pread(fd, file, n, (off_t)(offset + at - start));

			for (i = 0; got > 0 && has > 0 && i < (size_t)got && i < (size_t)has; i++) {
				if (memory[i] != file[i]) {
					changed++;
					if (argc > 2)
						printf("at %" PRIu64 " %" PRIu64 "\n", inode,
						       offset + (at - start) + i);
				}
			}
		}
		close(fd);
	}
	printf("files %lu\nchanged %lu\n", files, changed);
	return mem < 0 || !files;
}
