/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ELF file of an untrusted process.
 *
 * The caller passes a descriptor, since only the caller knows which file is mapped. Every field of the file may be
 * wrong, and the file may be rewritten or truncated while it is read. So it is read with pread() and never mapped,
 * since access beyond the end of a truncated file raises SIGBUS; every length is checked against a limit; and a value
 * that was checked is not read again.
 *
 * Addresses are those in the file (p_vaddr), before relocation.
 */
#ifndef PROFTRACE_TRACEE_ELF_FILE_H
#define PROFTRACE_TRACEE_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/failure.h"

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
	int fd; /* of the caller, who keeps it open */
	/* Its first bytes, while elf_file_open() reads the headers. */
	const uint8_t *beginning;
	size_t beginning_size;
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	uint16_t type;	  /* ET_EXEC or ET_DYN */
	bool has_interp;
	char interp[ELF_MAX_INTERP]; /* empty if it is not a string */
	uint8_t build_id[ELF_MAX_BUILD_ID];
	unsigned build_id_size; /* 0 = none */
	unsigned n_segments;
	struct elf_segment *segments;
	/* As in the header; a stripped file may have no sections or wrong ones. */
	uint64_t sections_offset;
	uint32_t n_sections;
	uint32_t names_section;
};

/*
 * Reads the headers of a linked 64-bit little-endian file for x86-64 or arm64; refuses others with a reason
 * (-ENOEXEC). The object of the failure is left empty for the caller, who knows the name of the file.
 */
int elf_file_open(int fd, struct elf_file **ret, struct failure *f);
void elf_file_free(struct elf_file *elf);

/* Whether it is a program without a dynamic linker. */
bool elf_file_is_static(const struct elf_file *elf);

/* Reads exactly `n` bytes at a file offset. Returns 0, -ENODATA if the file is too short, or negative errno. */
int elf_file_read(const struct elf_file *elf, uint64_t offset, void *buffer, size_t n);

/* The kind of segment that has to contain an address. */
enum elf_place {
	ELF_ANYWHERE = 0,
	ELF_EXECUTABLE = PF_X,
	ELF_WRITABLE = PF_W,
};

/*
 * The file offset of `size` bytes at `vaddr` (elf_file_offset: of one byte). Returns -ENOENT if they are not all in
 * the file part of one such PT_LOAD.
 */
int elf_file_range(const struct elf_file *elf, uint64_t vaddr, uint64_t size, enum elf_place place,
		   uint64_t *ret_offset);
int elf_file_offset(const struct elf_file *elf, uint64_t vaddr, enum elf_place place,
		    uint64_t *ret_offset);

/*
 * Read bytes that a running process cannot change, those of a PT_LOAD that is not writable. Both return -ENOENT if
 * `vaddr` is not in such a segment, or another negative errno.
 *
 * elf_file_string() returns the length of the string, or `size` if it is longer than size - 1 bytes and was cut.
 * `out` is NUL-terminated on success. A string that does not end in its segment is -ENOENT.
 */
ssize_t elf_file_string(const struct elf_file *elf, uint64_t vaddr, char *out, size_t size);
int elf_file_bytes(const struct elf_file *elf, uint64_t vaddr, void *buffer, size_t n);

/* The first section of that type and name, or -ENOENT. `name` NULL: any name. */
int elf_file_section(const struct elf_file *elf, uint32_t type, const char *name, Elf64_Shdr *ret);
int elf_file_section_at(const struct elf_file *elf, uint32_t index, Elf64_Shdr *ret);

/*
 * A defined symbol of the dynamic symbol table, or its address alone. The table is found as the dynamic linker finds it, by
 * PT_DYNAMIC and a hash table, or else by section headers.
 */
int elf_file_dynamic_entry(const struct elf_file *elf, const char *name, Elf64_Sym *ret);
int elf_file_dynamic_symbol(const struct elf_file *elf, const char *name, uint64_t *ret_vaddr);
/* The same, or a symbol of .symtab, which is read from its beginning. */
int elf_file_symbol(const struct elf_file *elf, const char *name, uint64_t *ret_vaddr);
/* Of a file for arm64: where the dynamic linker writes the address of another file's variable. Returns 0 or negative errno. */
int elf_file_got_entry(const struct elf_file *elf, const char *name, uint64_t *ret_vaddr);

/* Calls `each` with the string of each entry of PT_DYNAMIC that has this tag, such as DT_NEEDED. */
void elf_file_dynamic_strings(const struct elf_file *elf, int64_t tag,
			      void (*each)(void *context, const char *text), void *context);

/* The DT_SONAME of a library. False: it has none, or one that does not fit. */
bool elf_file_own_name(const struct elf_file *elf, char *out, size_t size);
/* Whether it is a program. A library that can be executed has a DT_SONAME and is not one. */
bool elf_file_is_program(const struct elf_file *elf);

#endif
