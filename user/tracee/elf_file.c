/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers, segments and the build id of an ELF file; elf_symbol.c reads sections and symbols. */
#include "tracee/elf_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "tracee/notes.h"

/* Read at once: most files have all headers there, and the build id. */
#define BEGINNING_SIZE 4096

int elf_file_read(const struct elf_file *elf, uint64_t offset, void *buffer, size_t n)
{
	uint8_t *out = buffer;

	if (offset > INT64_MAX || n > INT64_MAX - offset)
		return -ENODATA;
	if (elf->beginning && n <= elf->beginning_size && offset <= elf->beginning_size - n) {
		memcpy(out, elf->beginning + offset, n);
		return 0;
	}
	while (n > 0) {
		ssize_t got = TEMP_FAILURE_RETRY(pread(elf->fd, out, n, (off_t)offset));

		if (got < 0)
			return -errno;
		if (got == 0)
			return -ENODATA;
		out += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

/* --- addresses ------------------------------------------------------------------------------- */

static const struct elf_segment *elf_load_segment(const struct elf_file *elf, uint64_t vaddr,
						  uint64_t size, uint32_t set, uint32_t clear)
{
	for (unsigned i = 0; i < elf->n_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];
		uint64_t into = vaddr - s->vaddr;

		if (s->type != PT_LOAD || (s->flags & set) != set || (s->flags & clear))
			continue;
		if (vaddr >= s->vaddr && into < s->filesz && size <= s->filesz - into)
			return s;
	}
	return NULL;
}

int elf_file_range(const struct elf_file *elf, uint64_t vaddr, uint64_t size, enum elf_place place,
		   uint64_t *ret_offset)
{
	const struct elf_segment *s = elf_load_segment(elf, vaddr, size, place, 0);

	if (!s)
		return -ENOENT;
	*ret_offset = s->offset + (vaddr - s->vaddr);
	return 0;
}

int elf_file_offset(const struct elf_file *elf, uint64_t vaddr, enum elf_place place,
		    uint64_t *ret_offset)
{
	return elf_file_range(elf, vaddr, 1, place, ret_offset);
}

int elf_file_bytes(const struct elf_file *elf, uint64_t vaddr, void *buffer, size_t n)
{
	const struct elf_segment *s = elf_load_segment(elf, vaddr, n, 0, PF_W);

	if (!s)
		return -ENOENT;
	return elf_file_read(elf, s->offset + (vaddr - s->vaddr), buffer, n);
}

ssize_t elf_file_string(const struct elf_file *elf, uint64_t vaddr, char *out, size_t size)
{
	const struct elf_segment *s = elf_load_segment(elf, vaddr, 1, 0, PF_W);
	uint64_t into, rest;
	const char *end;
	size_t n;
	int r;

	if (size == 0 || size > SSIZE_MAX)
		return -EINVAL;
	if (!s)
		return -ENOENT;
	into = vaddr - s->vaddr;
	rest = s->filesz - into;
	n = rest < size ? (size_t)rest : size;
	r = elf_file_read(elf, s->offset + into, out, n);
	if (r)
		return r;
	end = memchr(out, '\0', n);
	if (end)
		return end - out;
	if (n == size) {
		out[size - 1] = '\0';
		return (ssize_t)size;
	}
	/* Memory of the segment beyond its part in the file is zero. */
	if (s->memsz <= s->filesz)
		return -ENOENT;
	out[n] = '\0';
	return (ssize_t)n;
}

/* --- headers --------------------------------------------------------------------------------- */

static int elf_reject(struct failure *f, const char *reason)
{
	return failure_set(f, -ENOEXEC, "cannot use ELF file", "", reason);
}

static int elf_check_type(const Elf64_Ehdr *h, struct failure *f)
{
	char reason[80];

	if (h->e_type == ET_REL)
		return elf_reject(f, "it is an object file that has not been linked yet");
	if (h->e_type == ET_CORE)
		return elf_reject(f, "it is a core dump");
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN) {
		snprintf(reason, sizeof(reason),
			 "it is neither a program nor a library (e_type %u)", h->e_type);
		return elf_reject(f, reason);
	}
	if (h->e_machine != EM_X86_64 && h->e_machine != EM_AARCH64) {
		snprintf(reason, sizeof(reason),
			 "it is neither for x86-64 nor for arm64 (e_machine %u)", h->e_machine);
		return elf_reject(f, reason);
	}
	return 0;
}

static int elf_check_header(const Elf64_Ehdr *h, struct failure *f)
{
	char reason[80];
	int r;

	if (h->e_ident[EI_CLASS] != ELFCLASS64)
		return elf_reject(f, "it is not a 64-bit file");
	if (h->e_ident[EI_DATA] != ELFDATA2LSB)
		return elf_reject(f, "it is not little-endian");
	r = elf_check_type(h, f);
	if (r)
		return r;
	if (h->e_phentsize != sizeof(Elf64_Phdr))
		return elf_reject(f, "its program headers have the wrong size");
	if (h->e_phnum == 0)
		return elf_reject(f, "it has no program headers");
	if (h->e_phnum > ELF_MAX_SEGMENTS) {
		snprintf(reason, sizeof(reason), "it has %u program headers, more than %u",
			 h->e_phnum, ELF_MAX_SEGMENTS);
		return elf_reject(f, reason);
	}
	return 0;
}

static int elf_read_header(struct elf_file *elf, uint8_t beginning[BEGINNING_SIZE], Elf64_Ehdr *h,
			   struct failure *f)
{
	struct stat st;
	ssize_t n;
	int r;

	if (descriptors_stat(elf->fd, &st))
		return failure_set(f, -errno, "cannot read file", "", NULL);
	/* Reading a device or a pipe may block or have side effects. */
	if (!S_ISREG(st.st_mode)) {
		r = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
		return failure_set(f, r, "not an ELF file", "",
				   S_ISDIR(st.st_mode) ? "it is a directory"
						       : "it is not a regular file");
	}
	n = TEMP_FAILURE_RETRY(pread(elf->fd, beginning, BEGINNING_SIZE, 0));
	if (n < 0)
		return failure_set(f, -errno, "cannot read file", "", NULL);
	elf->beginning = beginning;
	elf->beginning_size = (size_t)n;
	memset(h, 0, sizeof(*h));
	r = elf_file_read(elf, 0, h->e_ident, SELFMAG);
	if (r && r != -ENODATA)
		return failure_set(f, r, "cannot read file", "", NULL);
	if (r || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
		return failure_set(f, -ENOEXEC, "not an ELF file", "",
				   st.st_size ? "it does not begin with the ELF magic"
					      : "it is empty");
	r = elf_file_read(elf, 0, h, sizeof(*h));
	if (r == -ENODATA)
		return elf_reject(f, "it ends within its header");
	if (r)
		return failure_set(f, r, "cannot read file", "", NULL);
	return elf_check_header(h, f);
}

static void elf_read_interp(struct elf_file *elf, const Elf64_Phdr *p)
{
	char path[ELF_MAX_INTERP];

	elf->has_interp = true;
	if (p->p_filesz == 0 || p->p_filesz > sizeof(path))
		return;
	if (elf_file_read(elf, p->p_offset, path, p->p_filesz))
		return;
	if (path[p->p_filesz - 1] == '\0')
		memcpy(elf->interp, path, strlen(path) + 1);
}

static bool elf_segment_is_valid(const Elf64_Phdr *p)
{
	return p->p_offset <= INT64_MAX && p->p_filesz <= INT64_MAX - p->p_offset &&
	       p->p_memsz <= UINT64_MAX - p->p_vaddr && p->p_filesz <= UINT64_MAX - p->p_vaddr &&
	       (p->p_type != PT_LOAD || p->p_filesz <= p->p_memsz);
}

static void elf_add_segment(struct elf_file *elf, const Elf64_Phdr *p)
{
	struct elf_segment *s = &elf->segments[elf->n_segments];

	if (p->p_type == PT_INTERP) {
		elf_read_interp(elf, p);
		return;
	}
	if (p->p_type != PT_LOAD && p->p_type != PT_NOTE && p->p_type != PT_DYNAMIC)
		return;
	if (!elf_segment_is_valid(p))
		return;
	s->type = p->p_type;
	s->flags = p->p_flags;
	s->vaddr = p->p_vaddr;
	s->offset = p->p_offset;
	s->filesz = p->p_filesz;
	s->memsz = p->p_memsz;
	s->align = p->p_align;
	elf->n_segments++;
}

static int elf_read_segments(struct elf_file *elf, const Elf64_Ehdr *h, struct failure *f)
{
	Elf64_Phdr *headers = calloc(h->e_phnum, sizeof(*headers));
	int r;

	elf->segments = calloc(h->e_phnum, sizeof(*elf->segments));
	if (!headers || !elf->segments) {
		free(headers);
		return failure_set(f, -ENOMEM, "cannot read file", "", NULL);
	}
	r = elf_file_read(elf, h->e_phoff, headers, h->e_phnum * sizeof(*headers));
	if (r == -ENODATA)
		r = elf_reject(f, "its program headers are beyond its end");
	else if (r)
		failure_set(f, r, "cannot read file", "", NULL);
	for (unsigned i = 0; r == 0 && i < h->e_phnum; i++)
		elf_add_segment(elf, &headers[i]);
	free(headers);
	return r;
}

/* Whatever is found by sections can also be found without them, so damage here is not an error. */
static void elf_read_section_counts(struct elf_file *elf, const Elf64_Ehdr *h)
{
	Elf64_Shdr first;

	if (h->e_shoff == 0 || h->e_shentsize != sizeof(Elf64_Shdr))
		return;
	elf->sections_offset = h->e_shoff;
	elf->n_sections = h->e_shnum;
	elf->names_section = h->e_shstrndx;
	if (h->e_shnum != 0 && h->e_shstrndx != SHN_XINDEX)
		return;
	/* Numbers that do not fit the fields of the header are in the first section, which is otherwise unused. */
	if (elf_file_read(elf, h->e_shoff, &first, sizeof(first))) {
		elf->n_sections = 0;
		return;
	}
	if (h->e_shnum == 0)
		elf->n_sections = first.sh_size < ELF_MAX_SECTIONS ? (uint32_t)first.sh_size
								   : ELF_MAX_SECTIONS;
	if (h->e_shstrndx == SHN_XINDEX)
		elf->names_section = first.sh_link;
}

static void elf_read_build_id(struct elf_file *elf)
{
	struct note note;
	struct notes notes;
	unsigned i, n = 0;

	for (i = 0; i < elf->n_segments && elf->build_id_size == 0; i++) {
		const struct elf_segment *s = &elf->segments[i];

		if (s->type != PT_NOTE)
			continue;
		if (n++ == NOTES_MAX_SEGMENTS)
			break;
		if (notes_read(elf, s->offset, s->filesz, s->align, &notes))
			continue;
		while (notes_next(&notes, &note) > 0) {
			if (!note_is(&note, "GNU") || note.type != NT_GNU_BUILD_ID ||
			    note.desc_size == 0 || note.desc_size > ELF_MAX_BUILD_ID)
				continue;
			memcpy(elf->build_id, note.desc, note.desc_size);
			elf->build_id_size = note.desc_size;
			break;
		}
		notes_free(&notes);
	}
}

int elf_file_open(int fd, struct elf_file **ret, struct failure *f)
{
	struct elf_file *elf = calloc(1, sizeof(*elf));
	uint8_t beginning[BEGINNING_SIZE];
	Elf64_Ehdr header;
	int r;

	if (!elf)
		return failure_set(f, -ENOMEM, "cannot read file", "", NULL);
	elf->fd = fd;
	r = elf_read_header(elf, beginning, &header, f);
	if (r == 0)
		r = elf_read_segments(elf, &header, f);
	if (r) {
		elf_file_free(elf);
		return r;
	}
	elf->machine = header.e_machine;
	elf->type = header.e_type;
	elf_read_section_counts(elf, &header);
	elf_read_build_id(elf);
	elf->beginning = NULL;
	elf->beginning_size = 0;
	*ret = elf;
	return 0;
}

void elf_file_free(struct elf_file *elf)
{
	if (!elf)
		return;
	free(elf->segments);
	free(elf);
}
