/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one thing that the broker reads of a foreign file: where its code and its data lie, from program
 * headers alone, which have a fixed size and a bounded number.
 */
#include "broker/server.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

static bool read_all(int fd, void *buffer, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX - size && pread(fd, buffer, size, offset) == (ssize_t)size;
}

static void keep(struct segments *s, const Elf64_Phdr *p)
{
	if (p->p_type != PT_LOAD || !p->p_filesz || p->p_offset > INT64_MAX ||
	    p->p_filesz > INT64_MAX - p->p_offset)
		return;
	s->list[s->n++] = (struct segment){
		.begin = p->p_offset,
		.end = p->p_offset + p->p_filesz,
		.code = p->p_flags & PF_X,
		.data = p->p_flags & PF_W,
	};
}

bool segments_read(int elf_fd, struct segments *s)
{
	Elf64_Phdr headers[SEGMENTS_MAX];
	Elf64_Ehdr h;
	unsigned i;

	s->n = 0;
	if (!read_all(elf_fd, &h, sizeof(h), 0) || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
	    h.e_phentsize != sizeof(headers[0]) || h.e_phnum > SEGMENTS_MAX)
		return false;
	if (!read_all(elf_fd, headers, h.e_phnum * sizeof(headers[0]), h.e_phoff))
		return false;
	for (i = 0; i < h.e_phnum; i++)
		keep(s, &headers[i]);
	return true;
}

static bool within(const struct segment *s, uint64_t offset, uint64_t size)
{
	return offset >= s->begin && offset < s->end && size <= s->end - offset;
}

static bool any(const struct segments *s, bool code, uint64_t offset, uint64_t size)
{
	unsigned i;

	for (i = 0; i < s->n; i++) {
		if ((code ? s->list[i].code : s->list[i].data) && within(&s->list[i], offset, size))
			return true;
	}
	return false;
}

bool segments_code(const struct segments *s, uint64_t offset, uint64_t size)
{
	return any(s, true, offset, size);
}

bool segments_data(const struct segments *s, uint64_t offset, uint64_t size)
{
	return any(s, false, offset, size);
}
