/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ELF file of a process that nobody vouches for.
 *
 * Nothing is opened here: the caller hands in a descriptor, since only it knows which file is really
 * mapped. The file may be wrong in every field, and may be rewritten or cut short while it is read;
 * so it is read with pread() and never mapped (a mapping of a file that shrinks is a SIGBUS), every
 * length is checked against a limit, and what was read once is not read again to be trusted.
 *
 * Addresses are the file's own (p_vaddr), before the dynamic linker moves anything.
 */
#ifndef PROFTRACE_TARGET_ELF_FILE_H
#define PROFTRACE_TARGET_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "failure.h"

enum {
	ELF_MAX_SEGMENTS = 256, /* program headers; real files have about a dozen */
	ELF_MAX_SECTIONS = 65536,
	ELF_MAX_NOTES = 4 << 20, /* bytes of notes read from one segment or section */
	ELF_MAX_INTERP = 256,
	ELF_MAX_BUILD_ID = 64,
};

/* A PT_LOAD, PT_NOTE or PT_DYNAMIC whose addresses and offsets do not overflow. */
struct elf_segment {
	uint32_t type;
	uint32_t flags; /* PF_R, PF_W, PF_X */
	uint64_t vaddr;
	uint64_t offset;
	uint64_t filesz;
	uint64_t memsz;
	uint64_t align;
};

struct elf_file {
	int fd;		  /* the caller's: it stays open as long as this is used */
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	uint16_t type;	  /* ET_EXEC or ET_DYN */
	bool has_interp;
	char interp[ELF_MAX_INTERP]; /* empty when it is not a proper string */
	uint8_t build_id[ELF_MAX_BUILD_ID];
	unsigned build_id_size; /* 0 = none */
	unsigned n_segments;
	struct elf_segment *segments;
	/* What the header says about sections; a stripped file may have none or wrong ones. */
	uint64_t sections_offset;
	uint32_t n_sections;
	uint32_t names_section;
};

/*
 * Reads the headers of a linked 64-bit little-endian file for x86-64 or arm64; refuses others with a
 * reason (-ENOEXEC). The failure's object is left empty: the caller knows the file's name.
 */
int elf_file_open(int fd, struct elf_file **ret, struct failure *f);
void elf_file_free(struct elf_file *elf);

/* Reads exactly n bytes at a file offset: 0, -ENODATA when the file ends before, or negative errno. */
int elf_file_read(const struct elf_file *elf, uint64_t offset, void *buffer, size_t n);

/* What kind of segment an address must lie in. */
enum elf_place {
	ELF_ANYWHERE = 0,
	ELF_EXECUTABLE = PF_X,
	ELF_WRITABLE = PF_W,
};

/*
 * The file offset of `size` bytes at `vaddr` (elf_file_offset: of one), all of which must lie within
 * the bytes in the file of one such PT_LOAD. -ENOENT when they do not.
 */
int elf_file_range(const struct elf_file *elf, uint64_t vaddr, uint64_t size, enum elf_place place,
		   uint64_t *ret_offset);
int elf_file_offset(const struct elf_file *elf, uint64_t vaddr, enum elf_place place,
		    uint64_t *ret_offset);

/*
 * Reads what a running process cannot have changed: bytes of a PT_LOAD that is not writable. Both
 * return -ENOENT when vaddr does not lie in such a segment, other negative errno when reading fails.
 *
 * elf_file_string returns the length of the string; `size` when it was longer than size - 1 bytes
 * and is cut there. `out` is NUL-terminated on success. A string that runs out of its segment is
 * none: -ENOENT.
 */
ssize_t elf_file_string(const struct elf_file *elf, uint64_t vaddr, char *out, size_t size);
int elf_file_bytes(const struct elf_file *elf, uint64_t vaddr, void *buffer, size_t n);

/* The first section of that type and name; -ENOENT without one. `name` NULL: any name. */
int elf_file_section(const struct elf_file *elf, uint32_t type, const char *name, Elf64_Shdr *ret);
int elf_file_section_at(const struct elf_file *elf, uint32_t index, Elf64_Shdr *ret);

/*
 * The address of a defined function or object of the dynamic symbol table. The table is found as the
 * dynamic linker finds it (PT_DYNAMIC and a hash table), else by section headers.
 */
int elf_file_dynamic_symbol(const struct elf_file *elf, const char *name, uint64_t *ret_vaddr);
/* The same, or one of the table that a file has unless it is stripped: read from its beginning. */
int elf_file_symbol(const struct elf_file *elf, const char *name, uint64_t *ret_vaddr);

/* What a library calls itself (DT_SONAME). False: nothing, or not in `size` bytes. */
bool elf_file_own_name(const struct elf_file *elf, char *out, size_t size);
/* Whether it is made to be executed. Some libraries can be, too: they have names of their own. */
bool elf_file_is_program(const struct elf_file *elf);

#endif
