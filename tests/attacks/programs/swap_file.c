/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swap_file rename|truncate FILE OTHER
 *
 * Makes a file another one while proftrace looks at it, again and again until standard input ends, and leaves it as it
 * was. A program that has it mapped goes on undisturbed:
 *
 *	rename		a hard link to OTHER, then one to the old file, are renamed over FILE
 *	truncate	what no segment of FILE loads (section headers, symbols, debug information) is cut off and written
 *			again
 *
 * Prints `swaps N` at the end.
 */
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int is_over(void)
{
	struct pollfd input = { STDIN_FILENO, POLLIN, 0 };

	return poll(&input, 1, 0) != 0;
}

static void put_in_place(const char *from, const char *to)
{
	char beside[4096];

	snprintf(beside, sizeof(beside), "%s.beside", to);
	unlink(beside);
	if (link(from, beside) || rename(beside, to))
		fail("swap_file: rename");
}

static unsigned long swap_by_rename(const char *file, const char *other)
{
	unsigned long swaps = 0;
	char kept[4096];

	snprintf(kept, sizeof(kept), "%s.kept", file);
	unlink(kept);
	if (link(file, kept))
		fail("swap_file: link");
	for (; !is_over(); swaps++) {
		put_in_place(other, file);
		/* For as long as a look takes, and for no time at all. */
		usleep(swaps % 3 * 300);
		put_in_place(kept, file);
		usleep(swaps % 2 * 300);
	}
	return swaps;
}

static off_t loaded_end(int fd)
{
	Elf64_Ehdr header;
	Elf64_Phdr part;
	off_t end = 0;
	int i;

	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		fail("swap_file: read");
	for (i = 0; i < header.e_phnum; i++) {
		if (pread(fd, &part, sizeof(part),
			  (off_t)header.e_phoff + i * (off_t)sizeof(part)) != (ssize_t)sizeof(part))
			fail("swap_file: read");
		if (part.p_type == PT_LOAD && (off_t)(part.p_offset + part.p_filesz) > end)
			end = (off_t)(part.p_offset + part.p_filesz);
	}
	return end;
}

static unsigned long swap_by_truncation(const char *file)
{
	int fd = open(file, O_RDWR | O_CLOEXEC);
	unsigned long swaps = 0;
	struct stat st;
	size_t size;
	char *rest;
	off_t end;

	if (fd < 0 || fstat(fd, &st))
		fail("swap_file: open");
	end = loaded_end(fd);
	size = (size_t)(st.st_size - end);
	rest = malloc(size);
	if (!rest || pread(fd, rest, size, end) != (ssize_t)size)
		fail("swap_file: read");
	for (; !is_over(); swaps++) {
		if (ftruncate(fd, end))
			fail("swap_file: truncate");
		usleep(swaps % 3 * 300);
		if (pwrite(fd, rest, size, end) != (ssize_t)size)
			fail("swap_file: write");
		usleep(swaps % 2 * 300);
	}
	return swaps;
}

int main(int argc, char **argv)
{
	unsigned long swaps;

	if (argc != 4)
		return 2;
	swaps = !strcmp(argv[1], "rename") ? swap_by_rename(argv[2], argv[3])
					   : swap_by_truncation(argv[2]);
	printf("swaps %lu\n", swaps);
	return 0;
}
