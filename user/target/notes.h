/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELF notes: the records in which an ELF file says things about itself to those who know the owner's
 * name. Read once into memory, then walked; a note that does not fit its container ends the walk.
 */
#ifndef PROFTRACE_TARGET_NOTES_H
#define PROFTRACE_TARGET_NOTES_H

#include "target/elf_file.h"

enum {
	NOTES_MAX_SEGMENTS = 16, /* PT_NOTE segments looked at; linkers write one or two */
};

struct notes {
	uint8_t *data;
	size_t size;
	size_t at;
	size_t align; /* 4 or 8 */
	bool cut;     /* there was more than ELF_MAX_NOTES */
};

struct note {
	uint32_t type;
	uint32_t name_size; /* with the NUL */
	uint32_t desc_size;
	const char *name;
	const uint8_t *desc;
	uint64_t desc_at; /* from the beginning of the notes */
};

/* `align` is p_align or sh_addralign: only 8 changes how notes are laid out. */
int notes_read(const struct elf_file *elf, uint64_t offset, uint64_t size, uint64_t align,
	       struct notes *ret);
void notes_free(struct notes *notes);

/* 1 and the next note, 0 at the end, -EBADMSG when the next one does not fit. */
int notes_next(struct notes *notes, struct note *ret);
bool note_is(const struct note *note, const char *owner);

#endif
