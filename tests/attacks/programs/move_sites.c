/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * move_sites FILE BYTES: makes of an executable another one of the same size, in which each marker's stub, and what its note
 * says, is so many bytes further on. Where the original runs, these places are in the middle of instructions. Prints
 * `moved N`. For x86-64.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned char *file;
static size_t size;

static uint64_t offset_of(uint64_t vaddr)
{
	const Elf64_Ehdr *h = (const void *)file;
	const Elf64_Phdr *p = (const void *)(file + h->e_phoff);

	for (unsigned i = 0; i < h->e_phnum; i++) {
		if (p[i].p_type == PT_LOAD && vaddr - p[i].p_vaddr < p[i].p_filesz)
			return vaddr - p[i].p_vaddr + p[i].p_offset;
	}
	return 0;
}

/* The description begins with the distance to the stub, see base/marker_note.h. */
static unsigned move_marker(unsigned char *description, uint64_t vaddr, unsigned bytes)
{
	static const unsigned char stub[] = { 0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84,
					      0,    0,	  0,	0,    0,    0xc3 };
	unsigned char *at;
	int64_t distance;

	memcpy(&distance, description, sizeof(distance));
	at = memmem(file + offset_of(vaddr + (uint64_t)distance), 64, stub, sizeof(stub));
	if (!at)
		return 0;
	memmove(at + bytes, at, sizeof(stub) + 1);
	distance += bytes;
	memcpy(description, &distance, sizeof(distance));
	return 1;
}

static unsigned move_all(unsigned bytes)
{
	const Elf64_Ehdr *h = (const void *)file;
	const Elf64_Phdr *p = (const void *)(file + h->e_phoff);
	unsigned moved = 0;

	for (unsigned i = 0; i < h->e_phnum; i++) {
		uint64_t align = p[i].p_align == 8 ? 8 : 4, at = 0;

		while (p[i].p_type == PT_NOTE && at + sizeof(Elf64_Nhdr) < p[i].p_filesz) {
			const Elf64_Nhdr *n = (const void *)(file + p[i].p_offset + at);
			uint64_t from = (at + sizeof(*n) + n->n_namesz + align - 1) & ~(align - 1);

			if (!strncmp((const char *)(n + 1), "proftrace", n->n_namesz))
				moved += move_marker(file + p[i].p_offset + from,
						     p[i].p_vaddr + from, bytes);
			at = (from + n->n_descsz + align - 1) & ~(align - 1);
		}
	}
	return moved;
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDWR) : -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return 1;
	size = (size_t)st.st_size;
	file = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		return 1;
	printf("moved %u\n", move_all((unsigned)atoi(argv[2])));
	return 0;
}
