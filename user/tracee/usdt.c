/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes the notes of existing USDT probes, whose format is that of systemtap, version 3. */
#include "tracee/usdt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NT_STAPSDT 3

/* The next string of the description, or NULL if it is not terminated. */
static const char *usdt_next_string(const char **at, const char *end)
{
	const char *string = *at, *nul = memchr(string, '\0', (size_t)(end - string));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return string;
}

static bool usdt_decode(const struct elf_file *elf, const struct note *note, const Elf64_Shdr *base,
			struct usdt_probe *ret)
{
	const char *at = (const char *)note->desc, *end = at + note->desc_size;
	uint64_t address[3]; /* probe, .stapsdt.base at link time, semaphore */
	struct usdt_probe p = { 0 };

	if (note->desc_size < sizeof(address))
		return false;
	memcpy(address, at, sizeof(address));
	at += sizeof(address);
	p.provider = usdt_next_string(&at, end);
	p.name = p.provider ? usdt_next_string(&at, end) : NULL;
	p.arguments = p.name ? usdt_next_string(&at, end) : NULL;
	if (!p.arguments)
		return false;
	if (base && address[1]) {
		address[0] += base->sh_addr - address[1];
		if (address[2])
			address[2] += base->sh_addr - address[1];
	}
	p.vaddr = address[0];
	if (elf_file_offset(elf, p.vaddr, ELF_EXECUTABLE, &p.offset))
		p.offset = 0;
	if (!address[2] || elf_file_range(elf, address[2], 2, ELF_WRITABLE, &p.semaphore_offset))
		p.semaphore_offset = 0;
	*ret = p;
	return true;
}

static int usdt_append(struct usdt_probes *found, unsigned *capacity,
		       const struct usdt_probe *probe)
{
	if (!array_reserve(found->probes, found->n_probes, *capacity, 64))
		return -ENOMEM;
	found->probes[found->n_probes++] = *probe;
	return 0;
}

static int usdt_collect(const struct elf_file *elf, const Elf64_Shdr *base,
			struct usdt_probes *found)
{
	struct usdt_probe probe;
	struct note note;
	unsigned capacity = 0;
	int r = 0;

	while (r == 0) {
		int got = notes_next(&found->notes, &note);

		if (got == 0)
			break;
		if (got < 0) {
			found->malformed += !found->notes.cut;
			break;
		}
		if (!note_is(&note, "stapsdt") || note.type != NT_STAPSDT)
			continue;
		if (found->n_probes == USDT_MAX_PROBES) {
			found->cut = true;
			break;
		}
		if (usdt_decode(elf, &note, base, &probe))
			r = usdt_append(found, &capacity, &probe);
		else
			found->malformed++;
	}
	return r;
}

int usdt_find(const struct elf_file *elf, struct usdt_probes *ret, struct failure *f)
{
	struct usdt_probes found = { 0 };
	Elf64_Shdr section, base;
	bool has_base;
	int r;

	if (elf_file_section(elf, SHT_NOTE, ".note.stapsdt", &section)) {
		*ret = found;
		return 0;
	}
	has_base = elf_file_section(elf, SHT_PROGBITS, ".stapsdt.base", &base) == 0;
	r = notes_read(elf, section.sh_offset, section.sh_size, section.sh_addralign, &found.notes);
	if (r == 0) {
		found.cut = found.notes.cut;
		r = usdt_collect(elf, has_base ? &base : NULL, &found);
	} else if (r != -ENOMEM) {
		found.malformed++;
		r = 0;
	}
	if (r) {
		usdt_free(&found);
		return failure_set(f, r, "cannot read the probes of file", "", NULL);
	}
	*ret = found;
	return 0;
}

void usdt_free(struct usdt_probes *probes)
{
	free(probes->probes);
	notes_free(&probes->notes);
	memset(probes, 0, sizeof(*probes));
}
