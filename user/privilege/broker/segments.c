/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the code and the data of an untrusted file by its program headers, which have a fixed size
 * and a bounded number.
 */
#include "privilege/broker/server.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

static bool read_all(int fd, void *buffer, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX - size && pread(fd, buffer, size, offset) == (ssize_t)size;
}

static void keep(struct segments *s, const Elf64_Phdr *p)
{
	if ((p->p_type != PT_LOAD && p->p_type != PT_NOTE && p->p_type != PT_DYNAMIC &&
	     p->p_type != PT_GNU_EH_FRAME) ||
	    !p->p_filesz || p->p_offset > INT64_MAX || p->p_filesz > INT64_MAX - p->p_offset)
		return;
	s->list[s->n++] = (struct segment){
		.type = p->p_type,
		.begin = p->p_offset,
		.end = p->p_offset + p->p_filesz,
		.vaddr = p->p_vaddr,
		.align = p->p_align,
		.code = p->p_type == PT_LOAD && p->p_flags & PF_X,
		.data = p->p_type == PT_LOAD && p->p_flags & PF_W,
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

bool segments_code_vaddr(const struct segments *s, uint64_t offset, uint64_t size,
			 uint64_t *ret_vaddr)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (!s->list[i].code || !within(&s->list[i], offset, size))
			continue;
		*ret_vaddr = s->list[i].vaddr + (offset - s->list[i].begin);
		return true;
	}
	return false;
}

static bool locate(const struct segment *s, uint64_t vaddr, uint64_t *ret_offset)
{
	if (s->type != PT_LOAD || vaddr < s->vaddr || vaddr - s->vaddr >= s->end - s->begin)
		return false;
	*ret_offset = s->begin + (vaddr - s->vaddr);
	return true;
}

bool segments_offset(const struct segments *s, uint64_t vaddr, bool code, uint64_t *ret_offset)
{
	unsigned i;

	for (i = 0; i < s->n; i++) {
		if ((code ? s->list[i].code : s->list[i].data) &&
		    locate(&s->list[i], vaddr, ret_offset))
			return true;
	}
	return false;
}

bool segments_within(const struct segments *s, uint64_t vaddr, uint64_t *ret_offset)
{
	unsigned i;

	for (i = 0; i < s->n; i++) {
		if (locate(&s->list[i], vaddr, ret_offset))
			return true;
	}
	return false;
}
