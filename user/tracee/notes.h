/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELF notes: records of an ELF file, each with an owner that defines its contents. They are read into memory once and
 * then walked. A note that exceeds its segment or section ends the walk.
 */
#ifndef PROFTRACE_TRACEE_NOTES_H
#define PROFTRACE_TRACEE_NOTES_H

#include "tracee/elf_file.h"

enum {
	NOTES_MAX_SEGMENTS = 16, /* PT_NOTE segments that are read; linkers write one or two */
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

/* `align` is p_align or sh_addralign; any value but 8 means an alignment of 4 bytes. */
int notes_read(const struct elf_file *elf, uint64_t offset, uint64_t size, uint64_t align,
	       struct notes *ret);
void notes_free(struct notes *notes);

/* Returns 1 and the next note, 0 at the end, or -EBADMSG if the next note exceeds the notes. */
int notes_next(struct notes *notes, struct note *ret);
bool note_is(const struct note *note, const char *owner);

#endif
