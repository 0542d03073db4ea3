/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blind FILE: maps all segments of a program, as whoever may read it can, and writes into its own copy of the data what
 * makes the kernel refuse to increment a semaphore there.
 * blind FILE guard: has guard pages in place of its code, where the kernel cannot write a breakpoint. Prints "none" if
 * this kernel has none (before Linux 6.13).
 * Prints "ready", and goes on until standard input ends.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

static int map_segment(int fd, const Elf64_Phdr *p, bool guards)
{
	const uint64_t page = 4095, from = p->p_offset & ~page;
	const uint64_t size = (p->p_offset + p->p_filesz - from + page) & ~page;
	const int writes = p->p_flags & PF_W ? PROT_WRITE : 0;
	uint16_t *words = mmap(NULL, size, PROT_READ | writes | (p->p_flags & PF_X ? PROT_EXEC : 0),
			       MAP_PRIVATE, fd, (off_t)from);

	if (words == MAP_FAILED)
		return -1;
	if (guards && p->p_flags & PF_X && madvise(words, size, MADV_GUARD_INSTALL)) {
		puts("none");
		return -1;
	}
	if (guards)
		return 0;
	for (uint64_t i = 0; writes && i < size / sizeof(*words); i++)
		words[i] = 0x8000;
	return 0;
}

int main(int argc, char **argv)
{
	const bool guards = argc == 3 && !strcmp(argv[2], "guard");
	int fd = argc == 2 || guards ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, i;
	Elf64_Ehdr header;
	char byte;

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return 1;
	for (i = 0; i < header.e_phnum; i++) {
		const off_t at = (off_t)(header.e_phoff + i * sizeof(Elf64_Phdr));
		Elf64_Phdr p;

		if (pread(fd, &p, sizeof(p), at) != sizeof(p))
			return 1;
		if (p.p_type == PT_LOAD && p.p_filesz && map_segment(fd, &p, guards))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
