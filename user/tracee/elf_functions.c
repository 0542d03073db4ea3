/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads symbol tables in blocks and string tables as a whole, within limits, since both may be damaged. */
#include "tracee/elf_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define SYMBOLS_BLOCK 4096 /* symbols that are read at once */

/* Global names come before weak ones, these before local ones, and names with fewer leading underscores first. */
static uint8_t elf_name_rank(const Elf64_Sym *symbol, const char *name)
{
	unsigned bind = ELF64_ST_BIND(symbol->st_info), underscores = (unsigned)strspn(name, "_");

	return (uint8_t)((bind == STB_GLOBAL ? 0
			  : bind == STB_WEAK ? 8
					     : 16) +
			 (underscores > 7 ? 7 : underscores));
}

static int elf_functions_add_symbol(struct elf_functions *f, const Elf64_Sym *symbol,
				    const char *strings, uint64_t strings_size)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	const char *name;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
	    !symbol->st_value)
		return 0;
	/* elf_functions_read_strings() has added a NUL at the end. */
	if (symbol->st_name >= strings_size || symbol->st_value > UINT64_MAX - symbol->st_size) {
		f->malformed++;
		return 0;
	}
	name = strings + symbol->st_name;
	if (!*name)
		return 0;
	if (strnlen(name, ELF_MAX_FUNCTION_NAME) == ELF_MAX_FUNCTION_NAME) {
		f->malformed++;
		return 0;
	}
	if (!array_reserve(f->list, f->n, f->capacity, 1024))
		return -ENOMEM;
	f->list[f->n++] = (struct elf_function){
		.name = name,
		.vaddr = symbol->st_value,
		.size = symbol->st_size,
		.resolver = type == STT_GNU_IFUNC,
		.rank = elf_name_rank(symbol, name),
	};
	return 0;
}

/* Reads the string table and adds a NUL. If it is malformed, returns NULL and sets *ret_error to 0. */
static char *elf_functions_read_strings(struct elf_functions *f, const struct elf_file *elf,
					Elf64_Shdr *section, int *ret_error)
{
	char *strings;
	uint8_t last;

	*ret_error = 0;
	if (section->sh_type != SHT_STRTAB || !section->sh_size)
		return NULL;
	if (section->sh_size > ELF_MAX_FUNCTION_NAMES) {
		section->sh_size = ELF_MAX_FUNCTION_NAMES;
		f->cut = true;
	}
	/* Reads the last byte first, so that no memory is allocated for a size that exceeds the file. */
	if (section->sh_offset > INT64_MAX - section->sh_size ||
	    elf_file_read(elf, section->sh_offset + section->sh_size - 1, &last, 1)) {
		f->malformed++;
		return NULL;
	}
	strings = malloc(section->sh_size + 1);
	*ret_error = strings ? 0 : -ENOMEM;
	if (!strings)
		return NULL;
	if (elf_file_read(elf, section->sh_offset, strings, section->sh_size)) {
		f->malformed++;
		free(strings);
		return NULL;
	}
	strings[section->sh_size] = '\0';
	return strings;
}

static int elf_functions_add_table(struct elf_functions *f, const struct elf_file *elf,
				   uint32_t type)
{
	static const unsigned places = sizeof(f->strings) / sizeof(f->strings[0]);
	Elf64_Shdr table, names;
	Elf64_Sym *symbols;
	uint64_t n;
	char *strings;
	int error = 0;

	if (f->n_strings == places || elf_file_section(elf, type, NULL, &table) ||
	    elf_file_section_at(elf, table.sh_link, &names) || table.sh_offset > INT64_MAX / 2)
		return 0;
	strings = elf_functions_read_strings(f, elf, &names, &error);
	if (!strings)
		return error;
	f->strings[f->n_strings++] = strings;
	symbols = malloc(SYMBOLS_BLOCK * sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	n = table.sh_size / sizeof(*symbols);
	if (n > ELF_MAX_FUNCTIONS) {
		n = ELF_MAX_FUNCTIONS;
		f->cut = true;
	}
	for (uint64_t i = 0; i < n && !error; i += SYMBOLS_BLOCK) {
		uint64_t now = n - i < SYMBOLS_BLOCK ? n - i : SYMBOLS_BLOCK;

		if (elf_file_read(elf, table.sh_offset + i * sizeof(*symbols), symbols,
				  now * sizeof(*symbols))) {
			f->malformed++;
			break;
		}
		for (uint64_t j = 0; j < now && !error; j++)
			error = elf_functions_add_symbol(f, &symbols[j], strings, names.sh_size);
	}
	free(symbols);
	return error;
}

int elf_functions_add(struct elf_functions *f, const struct elf_file *elf)
{
	int error = elf_functions_add_table(f, elf, SHT_SYMTAB);

	return error ? error : elf_functions_add_table(f, elf, SHT_DYNSYM);
}

static int compare_elf_functions(const void *a, const void *b)
{
	const struct elf_function *x = a, *y = b;
	int r = (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);

	if (!r)
		r = x->rank - y->rank;
	return r ? r : strcmp(x->name, y->name);
}

void elf_functions_sort(struct elf_functions *f)
{
	if (f->n)
		qsort(f->list, f->n, sizeof(*f->list), compare_elf_functions);
}

void elf_functions_free(struct elf_functions *f)
{
	for (unsigned i = 0; i < f->n_strings; i++)
		free(f->strings[i]);
	free(f->list);
	memset(f, 0, sizeof(*f));
}

const char *elf_function_cold_suffix(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold && (!cold[5] || cold[5] == '.') ? cold : NULL;
}
