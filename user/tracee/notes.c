/* SPDX-License-Identifier: BSD-2-Clause */
/* The sizes of notes are those of an untrusted file, so each is checked before it is used. */
#include "tracee/notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 4096 /* bytes that may be allocated for nothing */

int notes_read(const struct elf_file *elf, uint64_t offset, uint64_t size, uint64_t align,
	       struct notes *ret)
{
	struct notes n = { .align = align == 8 ? 8 : 4 };
	uint8_t last;
	int r = 0;

	n.cut = size > ELF_MAX_NOTES;
	n.size = n.cut ? ELF_MAX_NOTES : (size_t)size;
	if (n.size == 0) {
		*ret = n;
		return 0;
	}
	/* Reads the last byte first, so that no memory is allocated for a size that exceeds the file. */
	if (n.size > SMALL)
		r = offset > INT64_MAX ? -ENODATA
				       : elf_file_read(elf, offset + n.size - 1, &last, 1);
	if (r)
		return r;
	n.data = malloc(n.size);
	if (!n.data)
		return -ENOMEM;
	r = elf_file_read(elf, offset, n.data, n.size);
	if (r) {
		free(n.data);
		return r;
	}
	*ret = n;
	return 0;
}

void notes_free(struct notes *notes)
{
	free(notes->data);
	notes->data = NULL;
	notes->size = 0;
}

static uint64_t note_align(uint64_t value, uint64_t align)
{
	return (value + align - 1) & ~(align - 1);
}

int notes_next(struct notes *notes, struct note *ret)
{
	Elf64_Nhdr header;
	uint64_t name_at, desc_at, end;

	if (notes->at >= notes->size)
		return 0;
	if (notes->size - notes->at < sizeof(header))
		return -EBADMSG;
	memcpy(&header, notes->data + notes->at, sizeof(header));
	/* The sizes have 32 bits and the positions stay below ELF_MAX_NOTES: no sum overflows. */
	name_at = notes->at + sizeof(header);
	desc_at = note_align(name_at + header.n_namesz, notes->align);
	end = desc_at + header.n_descsz;
	if (end > notes->size)
		return -EBADMSG;
	ret->type = header.n_type;
	ret->name_size = header.n_namesz;
	ret->desc_size = header.n_descsz;
	ret->name = (const char *)notes->data + name_at;
	ret->desc = notes->data + desc_at;
	ret->desc_at = desc_at;
	notes->at = (size_t)note_align(end, notes->align);
	return 1;
}

bool note_is(const struct note *note, const char *owner)
{
	size_t size = strlen(owner) + 1;

	return note->name_size == size && memcmp(note->name, owner, size) == 0;
}
