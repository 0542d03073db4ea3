/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker's own checks of a prover's reply. They do not repeat the analysis, but an error of the analysis only
 * becomes a breakpoint in a wrong place if it passes these checks as well.
 */
#include "privilege/prover/prover.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privilege/broker/server.h"

/* After prefixes: branch hints, notrack, bnd, rep, REX. */
static bool exit_matches_x86(const uint8_t *b, unsigned n)
{
	unsigned i = 0;

	while (i < n && (b[i] == 0x2e || b[i] == 0x3e || b[i] == 0xf2 || b[i] == 0xf3))
		i++;
	if (i < n && (b[i] & 0xf0) == 0x40)
		i++;
	if (i + 1 >= n)
		return i < n && b[i] == 0xc3;
	return b[i] == 0xc2 || b[i] == 0xc3 || b[i] == 0xe9 || b[i] == 0xeb ||
	       (b[i] & 0xf0) == 0x70 || (b[i] == 0x0f && (b[i + 1] & 0xf0) == 0x80) ||
	       (b[i] == 0xff && (b[i + 1] >> 3 & 7) == 4);
}

/* ret, br, their variants that authenticate the pointer, and b. */
static bool exit_matches_arm64(uint64_t vaddr, const uint8_t *b, unsigned n)
{
	uint32_t word;

	if (n < sizeof(word) || vaddr % 4)
		return false;
	memcpy(&word, b, sizeof(word));
	return (word & 0xfffffc1f) == 0xd65f0000 || (word & 0xfffffbff) == 0xd65f0bff ||
	       (word & 0xfffffc1f) == 0xd61f0000 || (word & 0xfefff800) == 0xd61f0800 ||
	       (word & 0xfc000000) == 0x14000000;
}

static bool exit_is_instruction(int elf_fd, const struct segments *segments, uint16_t machine,
				uint64_t vaddr)
{
	uint8_t bytes[8];
	uint64_t offset;
	ssize_t n;

	if (!segments_offset(segments, vaddr, true, &offset))
		return false;
	n = pread(elf_fd, bytes, sizeof(bytes), (off_t)offset);
	if (n <= 0)
		return false;
	return machine == EM_X86_64
		       ? exit_matches_x86(bytes, (unsigned)n)
		       : machine == EM_AARCH64 && exit_matches_arm64(vaddr, bytes, (unsigned)n);
}

static int compare_vaddr(const void *key, const void *element)
{
	const uint64_t *vaddr = key;
	const struct function_symbol *s = element;

	return (*vaddr > s->vaddr) - (*vaddr < s->vaddr);
}

/* Only a prover unpacks compressed symbols, so a file that has these is believed without a symbol here. */
static bool function_has_symbol(const struct function_symbols *all, const struct proved_function *f)
{
	const struct function_symbol *s = NULL;

	if (all->n)
		s = bsearch(&f->vaddr, all->list, all->n, sizeof(*all->list), compare_vaddr);
	return s ? f->size <= s->size || all->packed : all->packed;
}

const char *function_check(int elf_fd, const struct segments *segments,
			   const struct function_symbols *symbols, const struct proved_function *f,
			   const struct proved_exit *exits)
{
	uint16_t machine;
	uint64_t offset;

	if (pread(elf_fd, &machine, sizeof(machine), offsetof(Elf64_Ehdr, e_machine)) !=
	    sizeof(machine))
		return "the file cannot be read";
	if (!function_has_symbol(symbols, f))
		return "no function symbol has this address";
	if (!segments_offset(segments, f->entry, true, &offset) ||
	    (machine == EM_AARCH64 && f->entry % 4))
		return "the entry of a function is outside the code";
	for (uint32_t i = 0; i < f->n_exits; i++) {
		if (!exit_is_instruction(elf_fd, segments, machine, exits[i].vaddr))
			return "an exit is not an exit instruction";
	}
	return NULL;
}
