/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the function symbols of a file. The broker does this with its privileges, so it only reads numbers of
 * structures of fixed size, and compares names of sections with a constant.
 */
#include "base/array.h"
#include "privilege/prover/prover.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYMBOLS_MAX_SECTIONS 4096
#define SYMBOLS_MAX	     2000000 /* functions of one file: 32 MB */
#define SYMBOLS_BLOCK	     4096

static bool symbols_read(int fd, void *buffer, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX - size &&
	       pread(fd, buffer, size, (off_t)offset) == (ssize_t)size;
}

static int symbols_add(struct function_symbols *all, const Elf64_Sym *symbol)
{
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_value > UINT64_MAX - symbol->st_size)
		return 0;
	if (all->n == SYMBOLS_MAX || !array_reserve(all->list, all->n, all->capacity, 1024))
		return -ENOMEM;
	all->list[all->n++] = (struct function_symbol){ symbol->st_value, symbol->st_size };
	return 0;
}

/* A read error ends the table. */
static int symbols_add_table(struct function_symbols *all, int fd, const Elf64_Shdr *table)
{
	Elf64_Sym *block = malloc(SYMBOLS_BLOCK * sizeof(*block));
	uint64_t i, j, some, n = table->sh_size / sizeof(*block);
	int error = block ? 0 : -ENOMEM;

	if (n > SYMBOLS_MAX)
		n = SYMBOLS_MAX;
	for (i = 0; i < n && !error && table->sh_offset <= INT64_MAX / 2; i += some) {
		some = n - i < SYMBOLS_BLOCK ? n - i : SYMBOLS_BLOCK;
		if (!symbols_read(fd, block, some * sizeof(*block),
				  table->sh_offset + i * sizeof(*block)))
			break;
		for (j = 0; j < some && !error; j++)
			error = symbols_add(all, &block[j]);
	}
	free(block);
	return error;
}

int function_symbols_add(struct function_symbols *all, int fd)
{
	static const char packed[] = ".gnu_debugdata";
	Elf64_Shdr names = { 0 }, s;
	bool has_table[2] = { false };
	char name[sizeof(packed)];
	unsigned n;
	Elf64_Ehdr h;
	int error = 0;

	if (!symbols_read(fd, &h, sizeof(h), 0) || h.e_shentsize != sizeof(s) ||
	    h.e_shoff > INT64_MAX / 2)
		return 0;
	n = h.e_shnum < SYMBOLS_MAX_SECTIONS ? h.e_shnum : SYMBOLS_MAX_SECTIONS;
	if (h.e_shstrndx < h.e_shnum)
		symbols_read(fd, &names, sizeof(names), h.e_shoff + h.e_shstrndx * sizeof(s));
	for (unsigned i = 1; i < n && !error; i++) {
		bool dynamic;

		if (!symbols_read(fd, &s, sizeof(s), h.e_shoff + i * sizeof(s)))
			break;
		dynamic = s.sh_type == SHT_DYNSYM;
		/* Only the first table of each kind, since any number of tables would take any time. */
		if ((dynamic || s.sh_type == SHT_SYMTAB) && !has_table[dynamic]) {
			has_table[dynamic] = true;
			error = symbols_add_table(all, fd, &s);
		}
		if (s.sh_type == SHT_PROGBITS && names.sh_offset <= INT64_MAX / 2 &&
		    symbols_read(fd, name, sizeof(name), names.sh_offset + s.sh_name))
			all->packed |= !memcmp(name, packed, sizeof(packed));
	}
	return error;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct function_symbol *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return (x->size > y->size) - (x->size < y->size);
}

/* Keeps the longest symbol of each address. */
void function_symbols_sort(struct function_symbols *all)
{
	unsigned i, n = 0;

	if (all->n)
		qsort(all->list, all->n, sizeof(*all->list), compare_symbols);
	for (i = 0; i < all->n; i++) {
		if (n && all->list[n - 1].vaddr == all->list[i].vaddr)
			n--;
		all->list[n++] = all->list[i];
	}
	all->n = n;
}

void function_symbols_free(struct function_symbols *all)
{
	free(all->list);
	*all = (struct function_symbols){ 0 };
}
