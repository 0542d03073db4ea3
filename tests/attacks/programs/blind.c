/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blind FILE: maps all segments of a program, as whoever may read it can, and writes into its own copy of the data what
 * makes the kernel refuse to increment a semaphore there. Prints "ready", and goes on until standard input ends.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int map_segment(int fd, const Elf64_Phdr *p)
{
	const uint64_t page = 4095, from = p->p_offset & ~page;
	const uint64_t size = (p->p_offset + p->p_filesz - from + page) & ~page;
	const int writes = p->p_flags & PF_W ? PROT_WRITE : 0;
	uint16_t *words = mmap(NULL, size, PROT_READ | writes | (p->p_flags & PF_X ? PROT_EXEC : 0),
			       MAP_PRIVATE, fd, (off_t)from);

	if (words == MAP_FAILED)
		return -1;
	for (uint64_t i = 0; writes && i < size / sizeof(*words); i++)
		words[i] = 0x8000;
	return 0;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, i;
	Elf64_Ehdr header;
	char byte;

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return 1;
	for (i = 0; i < header.e_phnum; i++) {
		const off_t at = (off_t)(header.e_phoff + i * sizeof(Elf64_Phdr));
		Elf64_Phdr p;

		if (pread(fd, &p, sizeof(p), at) != sizeof(p))
			return 1;
		if (p.p_type == PT_LOAD && p.p_filesz && map_segment(fd, &p))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
