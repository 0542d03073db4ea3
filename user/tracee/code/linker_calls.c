/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No call may be missed, so instructions are not decoded to find them: wherever four bytes of the code are the distance to the
 * function from where an instruction with them could end, and are behind the byte of a jump or of an operand that counts from
 * there, something may refer to it. Only two kinds are accepted: direct calls and jumps, which must be instructions, and one
 * instruction that loads the address, which the linker gives to debuggers (r_brk). With anything else, also a pointer in the
 * data and a relocation, it is not known who calls the function.
 */
#include "tracee/code/linker_calls.h"

#include <stdlib.h>
#include <string.h>

#include "privilege/broker/broker.h"

#define LINKER_MAX_BYTES   (8 << 20) /* of all segments; glibc's has a quarter of a megabyte */
#define LINKER_SECTIONS	   256	     /* that are read */
#define LINKER_RELOCATIONS 4096	     /* of all that are compared */
#define RIP_RELATIVE	   5	     /* of a ModRM byte, with mode 0 */

struct linker_search {
	const struct elf_file *elf;
	uint64_t function;
	uint64_t *calls;
	unsigned n;
	uint64_t n_relocations;
	unsigned n_loads;    /* instructions that load the address */
	unsigned n_pointers; /* words of the data that are the address */
	bool unknown;	     /* something else refers to it */
};

/* `end`: behind the distance, of which the function is `beyond` bytes further. */
static void search_reference(struct linker_search *s, const uint8_t *end, size_t before,
			     uint64_t vaddr, unsigned beyond)
{
	const size_t n = sizeof(uint32_t);
	uint8_t last = before > n ? end[-5] : 0;

	if (!beyond && (last == 0xe8 || last == 0xe9) && s->n < LINKER_MAX_CALLS)
		s->calls[s->n++] = vaddr - n - 1;
	else if (!beyond && before > n + 2 && (end[-7] & 0xf8) == 0x48 && end[-6] == 0x8d &&
		 (last & 0xc7) == RIP_RELATIVE)
		s->n_loads++;
	else if (last == 0xe8 || last == 0xe9 || (last & 0xc7) == RIP_RELATIVE ||
		 (!beyond && before > n + 1 && last >> 4 == 8 && end[-6] == 0x0f))
		s->unknown = true;
}

/*
 * After the distance there may be a number of 1, 2 or 4 bytes, from whose end the processor counts. Then jumps of two bytes,
 * by their opcodes: jmp, jcc, loop and jrcxz.
 */
static void search_code(struct linker_search *s, const uint8_t *bytes, size_t n, uint64_t vaddr)
{
	for (size_t i = 0; i + sizeof(uint32_t) <= n; i++) {
		uint64_t end = vaddr + i + sizeof(uint32_t), beyond;
		int32_t distance;

		memcpy(&distance, bytes + i, sizeof(distance));
		beyond = s->function - end - (uint64_t)(int64_t)distance;
		if (beyond <= 4 && beyond != 3)
			search_reference(s, bytes + i + sizeof(distance), i + sizeof(distance), end,
					 (unsigned)beyond);
	}
	for (size_t i = 0; i + 2 <= n; i++) {
		uint8_t opcode = bytes[i];

		if (vaddr + i + 2 + (uint64_t)(int64_t)(int8_t)bytes[i + 1] == s->function)
			s->unknown |= opcode == 0xeb || opcode >> 4 == 7 || (opcode & 0xfc) == 0xe0;
	}
}

static void search_data(struct linker_search *s, const uint8_t *bytes, size_t n, uint64_t vaddr)
{
	uint64_t word;

	for (size_t i = -vaddr & (sizeof(word) - 1); i + sizeof(word) <= n; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		s->n_pointers += word == s->function;
	}
}

static void search_segments(struct linker_search *s)
{
	uint64_t left = LINKER_MAX_BYTES;

	for (unsigned i = 0; i < s->elf->n_segments && !s->unknown; i++) {
		const struct elf_segment *segment = &s->elf->segments[i];
		uint8_t *bytes;

		if (segment->type != PT_LOAD || !segment->filesz)
			continue;
		bytes = segment->filesz <= left ? malloc(segment->filesz) : NULL;
		s->unknown =
			!bytes || elf_file_read(s->elf, segment->offset, bytes, segment->filesz);
		left -= s->unknown ? 0 : segment->filesz;
		if (!s->unknown && segment->flags & PF_X)
			search_code(s, bytes, segment->filesz, segment->vaddr);
		if (!s->unknown)
			search_data(s, bytes, segment->filesz, segment->vaddr);
		free(bytes);
	}
}

/* Whether an entry is for the symbol of the function: by it, the linker calls the function through a pointer. */
static bool relocation_is_of_function(const struct linker_search *s, const Elf64_Shdr *symbols,
				      const Elf64_Rela *entry)
{
	uint64_t at = ELF64_R_SYM(entry->r_info) * sizeof(Elf64_Sym);
	Elf64_Sym symbol;

	return at && (at > symbols->sh_size || symbols->sh_offset > INT64_MAX - at ||
		      elf_file_read(s->elf, symbols->sh_offset + at, &symbol, sizeof(symbol)) ||
		      symbol.st_value == s->function);
}

static void search_relocations(struct linker_search *s, const Elf64_Shdr *section)
{
	uint64_t n = section->sh_size / sizeof(Elf64_Rela);
	Elf64_Shdr symbols = { 0 };
	Elf64_Rela entry;

	s->n_relocations += n;
	s->unknown |= s->n_relocations > LINKER_RELOCATIONS || section->sh_offset > INT64_MAX / 2 ||
		      elf_file_section_at(s->elf, section->sh_link, &symbols);
	for (uint64_t i = 0; i < n && !s->unknown; i++)
		s->unknown = elf_file_read(s->elf, section->sh_offset + i * sizeof(entry), &entry,
					   sizeof(entry)) ||
			     relocation_is_of_function(s, &symbols, &entry);
}

unsigned linker_calls_find(const struct elf_file *elf, uint64_t function,
			   uint64_t ret_calls[LINKER_MAX_CALLS])
{
	struct linker_search s = { .elf = elf, .function = function, .calls = ret_calls };
	Elf64_Shdr section;

	if (elf->machine != EM_X86_64 || !elf->n_sections || elf->n_sections > LINKER_SECTIONS)
		return 0;
	search_segments(&s);
	for (uint32_t i = 1; i < elf->n_sections && !s.unknown; i++) {
		if (elf_file_section_at(elf, i, &section))
			return 0;
		if (section.sh_type == SHT_RELA)
			search_relocations(&s, &section);
	}
	/* The broker demands the same. */
	for (unsigned i = 0; i < s.n && !s.unknown; i++)
		s.unknown = !instruction_begins(elf->fd, s.calls[i]);
	/* One word is the address in the dynamic symbol. */
	return s.unknown || s.n_loads > 1 || s.n_pointers > 1 ? 0 : s.n;
}
