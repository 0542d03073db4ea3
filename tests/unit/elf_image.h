/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small ELF library made up in memory, with everything the parsers look for, for tests to damage:
 *
 *	0x000	headers			read-only, vaddr = offset
 *	0x200	interpreter, strings, dynamic symbols, hash tables, PT_DYNAMIC
 *	0x500	notes
 *	0x900	code			executable, vaddr = 0x10000 + offset
 *	0xb00	data			writable, vaddr = 0x20000 + offset, 0x100 bytes of .bss behind
 *	0xc00	sections' names, USDT note, section headers
 */
#ifndef PROFTRACE_TESTS_ELF_IMAGE_H
#define PROFTRACE_TESTS_ELF_IMAGE_H

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	IMAGE_SIZE = 0x1000,
	IMAGE_INTERP = 0x200,
	IMAGE_STRING = 0x240,
	IMAGE_UNWIND = 0x280,
	IMAGE_DYNSYM = 0x300,
	IMAGE_DYNSTR = 0x380,
	IMAGE_GNU_HASH = 0x3c0,
	IMAGE_HASH = 0x400,
	IMAGE_DYNAMIC = 0x440,
	IMAGE_NOTES = 0x500,
	IMAGE_CODE = 0x900,
	IMAGE_DATA = 0xb00,
	IMAGE_DATA_SIZE = 0x100,
	IMAGE_NAMES = 0xc00,
	IMAGE_STAPSDT = 0xc80,
	IMAGE_SECTIONS = 0xd80,

	IMAGE_CODE_VADDR = 0x10000,
	IMAGE_DATA_VADDR = 0x20000,
	IMAGE_SYMBOL_VADDR = IMAGE_CODE_VADDR + IMAGE_CODE + 0x100,
};

enum image_segment {
	SEG_READ,
	SEG_CODE,
	SEG_DATA,
	SEG_NOTE,
	SEG_DYNAMIC,
	SEG_INTERP,
	N_SEG
};
enum image_section {
	SEC_NULL,
	SEC_DYNSYM,
	SEC_DYNSTR,
	SEC_STAPSDT,
	SEC_BASE,
	SEC_NAMES,
	N_SEC
};

struct image {
	uint8_t bytes[IMAGE_SIZE];
	size_t notes_end;
};

/* What a note says, before it is one. */
struct image_site {
	uint64_t stub;		  /* vaddr */
	uint64_t semaphore_vaddr; /* vaddr */
	uint16_t kind;
	uint8_t slow;
	uint8_t fast;
	uint32_t flags;
	const char *domain;
	uint32_t type; /* of the note, 0 = 1 */
};

static inline Elf64_Ehdr *image_header(struct image *m)
{
	return (Elf64_Ehdr *)m->bytes;
}

static inline Elf64_Phdr *image_segment(struct image *m, enum image_segment i)
{
	return (Elf64_Phdr *)(m->bytes + sizeof(Elf64_Ehdr)) + i;
}

static inline Elf64_Shdr *image_section(struct image *m, enum image_section i)
{
	return (Elf64_Shdr *)(m->bytes + IMAGE_SECTIONS) + i;
}

static inline void image_put(struct image *m, size_t at, const void *bytes, size_t n)
{
	memcpy(m->bytes + at, bytes, n);
}

static inline void image_put_segment(struct image *m, enum image_segment i, uint32_t type,
				     uint32_t flags, uint64_t offset, uint64_t vaddr, uint64_t size)
{
	*image_segment(m, i) = (Elf64_Phdr){ .p_type = type,
					     .p_flags = flags,
					     .p_offset = offset,
					     .p_vaddr = vaddr,
					     .p_paddr = vaddr,
					     .p_filesz = size,
					     .p_memsz = size,
					     .p_align = type == PT_LOAD ? 4096 : 4 };
}

static inline void image_put_section(struct image *m, enum image_section i, uint32_t name,
				     uint32_t type, uint64_t addr, uint64_t offset, uint64_t size)
{
	*image_section(m, i) = (Elf64_Shdr){ .sh_name = name,
					     .sh_type = type,
					     .sh_addr = addr,
					     .sh_offset = offset,
					     .sh_size = size,
					     .sh_addralign = 4 };
}

/* One defined symbol, _dl_debug_state, reachable through either hash table. */
static inline void image_put_symbols(struct image *m)
{
	static const char strings[] = "\0puts\0_dl_debug_state";
	const Elf64_Sym symbols[] = {
		{ 0 },
		{ .st_name = 1, .st_info = STT_FUNC }, /* puts: undefined */
		{ .st_name = 6,
		  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		  .st_shndx = 1,
		  .st_value = IMAGE_SYMBOL_VADDR,
		  .st_size = 1 },
	};
	/* One bucket; symbols from 2 on; one word of Bloom filter; the hash with the end bit. */
	const uint32_t gnu_hash[] = { 1, 2, 1, 0, ~0u, ~0u, 2, 0x1ceb853a | 1 };
	const uint32_t hash[] = { 1, 3, 2, 0, 0, 1 };
	const Elf64_Dyn dynamic[] = {
		{ DT_SYMTAB, { IMAGE_DYNSYM } },   { DT_STRTAB, { IMAGE_DYNSTR } },
		{ DT_STRSZ, { sizeof(strings) } }, { DT_GNU_HASH, { IMAGE_GNU_HASH } },
		{ DT_HASH, { IMAGE_HASH } },	   { DT_NULL, { 0 } },
	};

	image_put(m, IMAGE_DYNSTR, strings, sizeof(strings));
	image_put(m, IMAGE_DYNSYM, symbols, sizeof(symbols));
	image_put(m, IMAGE_GNU_HASH, gnu_hash, sizeof(gnu_hash));
	image_put(m, IMAGE_HASH, hash, sizeof(hash));
	image_put(m, IMAGE_DYNAMIC, dynamic, sizeof(dynamic));
	image_put_segment(m, SEG_DYNAMIC, PT_DYNAMIC, PF_R, IMAGE_DYNAMIC, IMAGE_DYNAMIC,
			  sizeof(dynamic));
	image_put_section(m, SEC_DYNSYM, 1, SHT_DYNSYM, IMAGE_DYNSYM, IMAGE_DYNSYM,
			  sizeof(symbols));
	image_section(m, SEC_DYNSYM)->sh_link = SEC_DYNSTR;
	image_put_section(m, SEC_DYNSTR, 9, SHT_STRTAB, IMAGE_DYNSTR, IMAGE_DYNSTR,
			  sizeof(strings));
}

/* A probe other:probe at the first byte of the code, moved by 0x10 since it was linked. */
static inline void image_put_probe(struct image *m)
{
	const uint64_t address[] = { IMAGE_CODE_VADDR + IMAGE_CODE - 0x10, IMAGE_STRING - 0x10,
				     IMAGE_DATA_VADDR + IMAGE_DATA + 0x80 - 0x10 };
	static const char text[] = "other\0probe\0008@%rdi";
	const Elf64_Nhdr header = { 8, sizeof(address) + sizeof(text), 3 };
	size_t size = sizeof(header) + 8 + header.n_descsz;

	image_put(m, IMAGE_STAPSDT, &header, sizeof(header));
	image_put(m, IMAGE_STAPSDT + sizeof(header), "stapsdt", 8);
	image_put(m, IMAGE_STAPSDT + sizeof(header) + 8, address, sizeof(address));
	image_put(m, IMAGE_STAPSDT + sizeof(header) + 8 + sizeof(address), text, sizeof(text));
	image_put_section(m, SEC_STAPSDT, 17, SHT_NOTE, 0, IMAGE_STAPSDT, (size + 3) & ~3ull);
	image_put_section(m, SEC_BASE, 31, SHT_PROGBITS, IMAGE_STRING, IMAGE_STRING, 1);
}

static inline void image_init(struct image *m, uint16_t machine)
{
	static const char names[] = "\0.dynsym\0.dynstr\0.note.stapsdt\0.stapsdt.base\0.shstrtab";
	Elf64_Ehdr *h = image_header(m);

	memset(m, 0, sizeof(*m));
	m->notes_end = IMAGE_NOTES;
	memcpy(h->e_ident, ELFMAG, SELFMAG);
	h->e_ident[EI_CLASS] = ELFCLASS64;
	h->e_ident[EI_DATA] = ELFDATA2LSB;
	h->e_ident[EI_VERSION] = EV_CURRENT;
	h->e_type = ET_DYN;
	h->e_machine = machine;
	h->e_version = EV_CURRENT;
	h->e_phoff = sizeof(*h);
	h->e_ehsize = sizeof(*h);
	h->e_phentsize = sizeof(Elf64_Phdr);
	h->e_phnum = N_SEG;
	h->e_shoff = IMAGE_SECTIONS;
	h->e_shentsize = sizeof(Elf64_Shdr);
	h->e_shnum = N_SEC;
	h->e_shstrndx = SEC_NAMES;
	image_put_segment(m, SEG_READ, PT_LOAD, PF_R, 0, 0, IMAGE_CODE);
	image_put_segment(m, SEG_CODE, PT_LOAD, PF_R | PF_X, IMAGE_CODE,
			  IMAGE_CODE_VADDR + IMAGE_CODE, IMAGE_DATA - IMAGE_CODE);
	image_put_segment(m, SEG_DATA, PT_LOAD, PF_R | PF_W, IMAGE_DATA,
			  IMAGE_DATA_VADDR + IMAGE_DATA, IMAGE_DATA_SIZE);
	image_segment(m, SEG_DATA)->p_memsz = 2 * IMAGE_DATA_SIZE;
	image_put_segment(m, SEG_NOTE, PT_NOTE, PF_R, IMAGE_NOTES, IMAGE_NOTES, 0);
	image_put_segment(m, SEG_INTERP, PT_INTERP, PF_R, IMAGE_INTERP, IMAGE_INTERP, 11);
	image_put(m, IMAGE_INTERP, "/lib/ld.so", 11);
	image_put(m, IMAGE_STRING, "a static name", 14);
	image_put(m, IMAGE_NAMES, names, sizeof(names));
	image_put_section(m, SEC_NAMES, 45, SHT_STRTAB, 0, IMAGE_NAMES, sizeof(names));
	image_put_symbols(m);
	image_put_probe(m);
}

/* Adds any note and returns where its description begins. */
static inline size_t image_add_note(struct image *m, const char *owner, uint32_t type,
				    const void *desc, uint32_t desc_size, size_t align)
{
	const Elf64_Nhdr header = { (uint32_t)strlen(owner) + 1, desc_size, type };
	size_t at = m->notes_end, desc_at;

	image_put(m, at, &header, sizeof(header));
	image_put(m, at + sizeof(header), owner, header.n_namesz);
	desc_at = (at + sizeof(header) + header.n_namesz - IMAGE_NOTES + align - 1) & ~(align - 1);
	desc_at += IMAGE_NOTES;
	image_put(m, desc_at, desc, desc_size);
	m->notes_end = ((desc_at + desc_size - IMAGE_NOTES + align - 1) & ~(align - 1));
	m->notes_end += IMAGE_NOTES;
	image_segment(m, SEG_NOTE)->p_filesz = m->notes_end - IMAGE_NOTES;
	image_segment(m, SEG_NOTE)->p_memsz = m->notes_end - IMAGE_NOTES;
	image_segment(m, SEG_NOTE)->p_align = align;
	return desc_at;
}

static inline size_t image_add_site_aligned(struct image *m, const struct image_site *s,
					    size_t align)
{
	uint8_t desc[512] = { 0 };
	size_t length = strlen(s->domain);
	size_t at = image_add_note(m, "proftrace", s->type ? s->type : 1, desc,
				   (uint32_t)(24 + length + 1), align);
	uint64_t distance[2] = { s->stub - at, s->semaphore_vaddr - (at + 8) };

	image_put(m, at, distance, sizeof(distance));
	image_put(m, at + 16, &s->kind, 2);
	m->bytes[at + 18] = s->slow;
	m->bytes[at + 19] = s->fast;
	image_put(m, at + 20, &s->flags, 4);
	image_put(m, at + 24, s->domain, length);
	return at;
}

/* Returns where the note's description begins. */
static inline size_t image_add_site(struct image *m, const struct image_site *s)
{
	return image_add_site_aligned(m, s, 4);
}

/* A stub's code at an offset: one other instruction, then the probe sites. */
static inline void image_put_stub(struct image *m, size_t at)
{
	static const uint8_t x86[] = {
		0x55, 0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xc3
	};
	static const uint8_t arm[] = { 0, 0, 0, 0, 0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6 };

	if (image_header(m)->e_machine == EM_X86_64)
		image_put(m, at, x86, sizeof(x86));
	else
		image_put(m, at, arm, sizeof(arm));
}

/* Fills the code with nops, and adds a table that says that a function begins there. */
static inline void image_put_unwind(struct image *m)
{
	const uint8_t forms[] = { 1, 0x1b, 3, 0x3b };
	const uint32_t table[] = { 0, 1, IMAGE_CODE_VADDR + IMAGE_CODE - IMAGE_UNWIND, 0 };

	memset(m->bytes + IMAGE_CODE, 0x90, IMAGE_DATA - IMAGE_CODE);
	image_put(m, IMAGE_UNWIND, forms, sizeof(forms));
	image_put(m, IMAGE_UNWIND + sizeof(forms), table, sizeof(table));
	image_put_segment(m, SEG_INTERP, PT_GNU_EH_FRAME, PF_R, IMAGE_UNWIND, IMAGE_UNWIND,
			  sizeof(forms) + sizeof(table));
}

/* A call or jump, by its opcode, to the symbol; `more` bytes further than that. */
static inline void image_put_call(struct image *m, size_t at, uint8_t opcode, int32_t more)
{
	int32_t distance =
		(int32_t)(IMAGE_SYMBOL_VADDR - (IMAGE_CODE_VADDR + (uint64_t)at + 5)) + more;

	m->bytes[at] = opcode;
	image_put(m, at + 1, &distance, sizeof(distance));
}

static inline int image_bytes_fd(const void *bytes, size_t size)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) {
		perror("memfd");
		abort();
	}
	return fd;
}

static inline int image_fd(const struct image *m)
{
	return image_bytes_fd(m->bytes, sizeof(m->bytes));
}

#endif
