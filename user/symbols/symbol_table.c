/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The symbols of a file and its debug file, sorted by address. libdwfl would go through all of them
 * for every address, and large programs have half a million.
 */
#include <stdlib.h>
#include <string.h>

#include "symbols/code_file.h"

struct symbol_table {
	Dwfl_Module *module;
	/* Their index is that of libdwfl. */
	struct ranges functions;
	struct ranges labels; /* without a size: ignored inside functions that have one */
};

/*
 * Of several names of one function, the global one with the fewest underscores is the one that
 * people know.
 */
static uint32_t symbol_rank(const GElf_Sym *sym, const char *name)
{
	static const uint32_t bindings[] = { [STB_LOCAL] = 0, [STB_WEAK] = 1, [STB_GLOBAL] = 2 };
	unsigned type = GELF_ST_TYPE(sym->st_info), binding = GELF_ST_BIND(sym->st_info);
	uint32_t underscores = (uint32_t)strspn(name, "_");

	return (type != STT_NOTYPE ? 64 : 0) + (binding <= STB_WEAK ? bindings[binding] * 16 : 32) +
	       (underscores < 15 ? 15 - underscores : 0);
}

/* A function in assembly may have no size: it may reach to the end of its section. */
static uint64_t section_end(Elf *elf, GElf_Word section, GElf_Addr address, GElf_Addr bias)
{
	GElf_Shdr header;

	if (!elf || !gelf_getshdr(elf_getscn(elf, section), &header) ||
	    !(header.sh_flags & SHF_EXECINSTR) || address < header.sh_addr + bias)
		return 0;
	return header.sh_addr + bias + header.sh_size;
}

static void add_elf_symbol(struct symbol_table *table, int index)
{
	GElf_Addr address, bias;
	GElf_Word section;
	GElf_Sym sym;
	Elf *elf;
	const char *name = dwfl_module_getsym_info(table->module, index, &sym, &address, &section,
						   &elf, &bias);
	unsigned type;

	/* On arm64, symbols that begin with $ separate code from data. */
	if (!name || !name[0] || name[0] == '$' || section == SHN_UNDEF || section == SHN_ABS)
		return;
	type = GELF_ST_TYPE(sym.st_info);
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return;
	if (sym.st_size)
		ranges_add(&table->functions, address, address + sym.st_size, (size_t)index,
			   symbol_rank(&sym, name));
	else
		ranges_add(&table->labels, address, section_end(elf, section, address, bias),
			   (size_t)index, symbol_rank(&sym, name));
}

struct symbol_table *symbol_table_new(Dwfl_Module *module)
{
	struct symbol_table *table = calloc(1, sizeof(*table));
	int i, n = dwfl_module_getsymtab(module);

	if (!table)
		return NULL;
	table->module = module;
	for (i = 1; i < n && i < RANGES_MAX; i++)
		add_elf_symbol(table, i);
	ranges_sort(&table->functions);
	ranges_sort(&table->labels);
	return table;
}

void symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	ranges_free(&table->functions);
	ranges_free(&table->labels);
	free(table);
}

/* If a function with a size begins after the label, the address belongs to neither. */
static const struct range *find_symbol_label(const struct symbol_table *table, uint64_t address)
{
	const struct range *label = ranges_find(&table->labels, address);
	const struct range *function = ranges_before(&table->functions, address);

	return label && function && function->low > label->low ? NULL : label;
}

const char *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
	const struct range *r = ranges_find(&table->functions, address);
	GElf_Addr its;
	GElf_Sym sym;

	if (!r)
		r = find_symbol_label(table, address);
	return r ? dwfl_module_getsym_info(table->module, (int)r->index, &sym, &its, NULL, NULL,
					   NULL)
		 : NULL;
}
