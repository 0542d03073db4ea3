/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sections and dynamic symbols of an ELF file.
 *
 * A symbol is looked up as the dynamic linker does, by PT_DYNAMIC and a hash table, which must be right for the
 * program to run. Section headers, which may be stripped or wrong, are only used if there is no hash table. Hash
 * chains of a damaged file may be of any length or form a cycle, so every walk has a limit.
 */
#include "tracee/elf_file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define MAX_DYNAMIC	    1024 /* entries of PT_DYNAMIC */
#define MAX_CHAIN	    1024 /* symbols read along one hash chain; real ones have about ten */
#define MAX_SAME	    16	 /* of these, symbols with the right hash */
#define CHAIN_BLOCK	    64	 /* entries of one chain that are read at once */
#define SECTIONS_BLOCK	    32	 /* section headers that are read at once */
#define DYNAMIC_BLOCK	    64	 /* entries of PT_DYNAMIC; real ones have about thirty */
#define MAX_SYMBOLS	    262144
#define MAX_DYNAMIC_SYMBOLS 4096 /* without a hash table, which every program that runs has */
#define MAX_SYMBOL_NAME	    128

/* Reads at least one and at most `most` entries of a table that may end at the end of the file. */
static int elf_read_entries(const struct elf_file *elf, uint64_t offset, void *out, size_t size,
			    unsigned most, unsigned *ret_n)
{
	ssize_t got = offset > INT64_MAX ? 0 : pread(elf->fd, out, most * size, (off_t)offset);

	if (got < 0)
		return -errno;
	*ret_n = (unsigned)((size_t)got / size);
	return *ret_n ? 0 : -ENODATA;
}

/* --- sections -------------------------------------------------------------------------------- */

int elf_file_section_at(const struct elf_file *elf, uint32_t index, Elf64_Shdr *ret)
{
	if (index >= elf->n_sections || elf->sections_offset > INT64_MAX)
		return -ENOENT;
	return elf_file_read(elf, elf->sections_offset + (uint64_t)index * sizeof(*ret), ret,
			     sizeof(*ret));
}

/* Returns 1 if the string table has exactly this string at `at`, 0 if not, or negative errno. */
static int elf_string_equals(const struct elf_file *elf, uint64_t table, uint64_t table_size,
			     uint32_t at, const char *string)
{
	char bytes[MAX_SYMBOL_NAME];
	size_t n = strlen(string) + 1;
	int r;

	if (n > sizeof(bytes) || table > INT64_MAX || at >= table_size || n > table_size - at)
		return 0;
	r = elf_file_read(elf, table + at, bytes, n);
	return r ? r : memcmp(bytes, string, n) == 0;
}

int elf_file_section(const struct elf_file *elf, uint32_t type, const char *name, Elf64_Shdr *ret)
{
	Elf64_Shdr names, sections[SECTIONS_BLOCK];
	unsigned n = 0, at = 0;
	int r;

	r = elf_file_section_at(elf, elf->names_section, &names);
	if (r && name)
		return r;
	if (elf->sections_offset > INT64_MAX)
		return -ENOENT;
	for (uint32_t i = 1; i < elf->n_sections && i < ELF_MAX_SECTIONS; i++, at++) {
		const Elf64_Shdr *section;

		if (at == n) {
			r = elf_read_entries(elf,
					     elf->sections_offset + (uint64_t)i * sizeof(*sections),
					     sections, sizeof(*sections), SECTIONS_BLOCK, &n);
			if (r)
				return r;
			at = 0;
		}
		section = &sections[at];
		if (section->sh_type != type)
			continue;
		if (name && elf_string_equals(elf, names.sh_offset, names.sh_size, section->sh_name,
					      name) != 1)
			continue;
		*ret = *section;
		return 0;
	}
	return -ENOENT;
}

/* --- symbols --------------------------------------------------------------------------------- */

/* File offsets of the tables of PT_DYNAMIC. */
struct dynamic {
	uint64_t symbols;
	uint64_t strings;
	uint64_t strings_size;
	uint64_t gnu_hash; /* 0 = none, as all the others */
	uint64_t hash;
	uint64_t own_name; /* in the strings */
	uint64_t flags_1;
};

/* Returns 1 and the symbol if number `index` is defined and has this name, 0 if not, or negative errno. */
static int elf_symbol_matches(const struct elf_file *elf, const struct dynamic *d, uint64_t index,
			      const char *name, Elf64_Sym *ret)
{
	Elf64_Sym symbol;
	int r;

	if (index > UINT32_MAX)
		return 0;
	r = elf_file_read(elf, d->symbols + index * sizeof(symbol), &symbol, sizeof(symbol));
	if (r)
		return r;
	if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0)
		return 0;
	r = elf_string_equals(elf, d->strings, d->strings_size, symbol.st_name, name);
	if (r == 1)
		*ret = symbol;
	return r;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* The lookup functions return 1 if the symbol was found, 0 if it does not exist, or negative errno if unknown. */
static int elf_walk_gnu_chain(const struct elf_file *elf, const struct dynamic *d, uint64_t chain,
			      uint64_t index, const char *name, Elf64_Sym *ret)
{
	uint32_t hash = gnu_hash(name), entries[CHAIN_BLOCK];
	unsigned i, n = 0, at = 0, same = 0;
	int r;

	for (i = 0; i < MAX_CHAIN && same < MAX_SAME; i++, at++) {
		if (at == n) {
			r = elf_read_entries(elf, chain + (uint64_t)i * sizeof(*entries), entries,
					     sizeof(*entries), CHAIN_BLOCK, &n);
			if (r)
				return r;
			at = 0;
		}
		/* The lowest bit is not part of the hash but marks the end of the chain. */
		if ((entries[at] | 1) == (hash | 1)) {
			same++;
			r = elf_symbol_matches(elf, d, index + i, name, ret);
			if (r)
				return r;
		}
		if (entries[at] & 1)
			return 0;
	}
	return -ENOENT;
}

static int elf_find_by_gnu_hash(const struct elf_file *elf, const struct dynamic *d,
				const char *name, Elf64_Sym *ret)
{
	uint32_t header[4]; /* buckets, first symbol, words of the Bloom filter, its shift */
	uint32_t hash = gnu_hash(name), index;
	uint64_t buckets, chains;
	int r = elf_file_read(elf, d->gnu_hash, header, sizeof(header));

	if (r)
		return r;
	if (header[0] == 0)
		return -ENOENT;
	buckets = d->gnu_hash + sizeof(header) + (uint64_t)header[2] * 8;
	chains = buckets + (uint64_t)header[0] * 4;
	r = elf_file_read(elf, buckets + (uint64_t)(hash % header[0]) * 4, &index, sizeof(index));
	if (r)
		return r;
	if (index == 0)
		return 0;
	if (index < header[1])
		return -ENOENT;
	return elf_walk_gnu_chain(elf, d, chains + (uint64_t)(index - header[1]) * 4, index, name,
				  ret);
}

static uint32_t sysv_hash(const char *name)
{
	uint32_t h = 0, high;

	for (; *name; name++) {
		h = (h << 4) + (uint8_t)*name;
		high = h & 0xf0000000;
		h = (h ^ (high >> 24)) & ~high;
	}
	return h;
}

static int elf_find_by_sysv_hash(const struct elf_file *elf, const struct dynamic *d,
				 const char *name, Elf64_Sym *ret)
{
	uint32_t header[2]; /* buckets, chain entries */
	uint32_t index;
	uint64_t buckets = d->hash + sizeof(header), chains;
	int r = elf_file_read(elf, d->hash, header, sizeof(header));

	if (r)
		return r;
	if (header[0] == 0)
		return -ENOENT;
	chains = buckets + (uint64_t)header[0] * 4;
	r = elf_file_read(elf, buckets + (uint64_t)(sysv_hash(name) % header[0]) * 4, &index,
			  sizeof(index));
	for (uint32_t i = 0; r == 0 && index != 0 && index < header[1] && i < MAX_CHAIN; i++) {
		r = elf_symbol_matches(elf, d, index, name, ret);
		if (r)
			return r;
		r = elf_file_read(elf, chains + (uint64_t)index * 4, &index, sizeof(index));
	}
	return r == 0 && index ? -ENOENT : r;
}

static void elf_table_offset(const struct elf_file *elf, uint64_t vaddr, uint64_t *ret_offset)
{
	if (elf_file_offset(elf, vaddr, ELF_ANYWHERE, ret_offset))
		*ret_offset = 0;
}

/* Of one segment; the rest begins as 0. */
struct dynamic_entries {
	const struct elf_segment *segment;
	unsigned n_read, n, at; /* of the segment; of the block; of these, the next one */
	Elf64_Dyn block[DYNAMIC_BLOCK];
};

/* Returns 1 and the next entry, 0 at the end, or negative errno. */
static int elf_next_dynamic(const struct elf_file *elf, struct dynamic_entries *e, Elf64_Dyn *ret)
{
	uint64_t left = e->segment->filesz / sizeof(*ret);
	int r;

	left = (left < MAX_DYNAMIC ? left : MAX_DYNAMIC) - e->n_read;
	if (e->at == e->n) {
		if (!left)
			return 0;
		r = elf_read_entries(elf, e->segment->offset + e->n_read * sizeof(*ret), e->block,
				     sizeof(*ret), left < DYNAMIC_BLOCK ? left : DYNAMIC_BLOCK,
				     &e->n);
		if (r)
			return r;
		e->n_read += e->n;
		e->at = 0;
	}
	*ret = e->block[e->at++];
	return ret->d_tag != DT_NULL;
}

/* The first entry is the next one again. Those of one block, as nearly all files have, need not be read again. */
static void elf_rewind_dynamic(struct dynamic_entries *e)
{
	if (e->n_read != e->n)
		e->n_read = e->n = 0;
	e->at = 0;
}

/* Leaves the first entry as the next one. */
static int elf_parse_dynamic(const struct elf_file *elf, struct dynamic_entries *entries,
			     struct dynamic *d)
{
	Elf64_Dyn entry = { 0 };
	int r;

	while ((r = elf_next_dynamic(elf, entries, &entry)) > 0) {
		switch (entry.d_tag) {
		case DT_SYMTAB:
			elf_table_offset(elf, entry.d_un.d_ptr, &d->symbols);
			break;
		case DT_STRTAB:
			elf_table_offset(elf, entry.d_un.d_ptr, &d->strings);
			break;
		case DT_STRSZ:
			d->strings_size = entry.d_un.d_val;
			break;
		case DT_SONAME:
			d->own_name = entry.d_un.d_val;
			break;
		case DT_FLAGS_1:
			d->flags_1 = entry.d_un.d_val;
			break;
		case DT_GNU_HASH:
			elf_table_offset(elf, entry.d_un.d_ptr, &d->gnu_hash);
			break;
		case DT_HASH:
			elf_table_offset(elf, entry.d_un.d_ptr, &d->hash);
			break;
		}
	}
	elf_rewind_dynamic(entries);
	return r ? r : d->symbols && d->strings ? 0 : -ENOENT;
}

/* *ret_hashed: there is a hash table, so a symbol that was not found does not exist. */
static int elf_find_by_dynamic(const struct elf_file *elf, const char *name, Elf64_Sym *ret,
			       bool *ret_hashed)
{
	int r = -ENOENT;

	for (unsigned i = 0; i < elf->n_segments; i++) {
		struct dynamic_entries entries = { .segment = &elf->segments[i] };
		struct dynamic d = { 0 };

		if (elf->segments[i].type != PT_DYNAMIC)
			continue;
		r = elf_parse_dynamic(elf, &entries, &d);
		if (r)
			return r;
		*ret_hashed = d.gnu_hash || d.hash;
		r = d.gnu_hash ? elf_find_by_gnu_hash(elf, &d, name, ret) : -ENOENT;
		if (r != 1 && d.hash)
			r = elf_find_by_sysv_hash(elf, &d, name, ret);
		return r;
	}
	return r;
}

/* `type`: SHT_DYNSYM or SHT_SYMTAB. */
static int elf_find_by_section(const struct elf_file *elf, uint32_t type, const char *name,
			       Elf64_Sym *ret)
{
	struct dynamic d = { 0 };
	Elf64_Shdr symbols, strings;
	uint64_t i, n, most = type == SHT_DYNSYM ? MAX_DYNAMIC_SYMBOLS : MAX_SYMBOLS;
	int r = elf_file_section(elf, type, NULL, &symbols);

	if (r == 0)
		r = elf_file_section_at(elf, symbols.sh_link, &strings);
	if (r)
		return r;
	if (symbols.sh_offset > INT64_MAX / 2 || strings.sh_offset > INT64_MAX / 2)
		return -ENOENT;
	d.symbols = symbols.sh_offset;
	d.strings = strings.sh_offset;
	d.strings_size = strings.sh_size;
	n = symbols.sh_size / sizeof(Elf64_Sym);
	for (i = 1; i < n && i < most; i++) {
		r = elf_symbol_matches(elf, &d, i, name, ret);
		if (r)
			return r;
	}
	return -ENOENT;
}

int elf_file_dynamic_entry(const struct elf_file *elf, const char *name, Elf64_Sym *ret)
{
	bool hashed = false;
	int r = elf_find_by_dynamic(elf, name, ret, &hashed);

	/*
	 * A symbol that the dynamic linker would not find does not exist. Without this, a damaged hash table would make
	 * us read all symbols for each name.
	 */
	if (r < 0 && !hashed)
		r = elf_find_by_section(elf, SHT_DYNSYM, name, ret);
	return r == 1 ? 0 : r < 0 ? r : -ENOENT;
}

int elf_file_dynamic_symbol(const struct elf_file *elf, const char *name, uint64_t *ret_vaddr)
{
	Elf64_Sym symbol;
	int error = elf_file_dynamic_entry(elf, name, &symbol);

	if (!error)
		*ret_vaddr = symbol.st_value;
	return error;
}

int elf_file_symbol(const struct elf_file *elf, const char *name, uint64_t *ret_vaddr)
{
	Elf64_Sym symbol;

	if (!elf_file_dynamic_symbol(elf, name, ret_vaddr))
		return 0;
	if (elf_find_by_section(elf, SHT_SYMTAB, name, &symbol) != 1)
		return -ENOENT;
	*ret_vaddr = symbol.st_value;
	return 0;
}

/* All 0 if the file has no valid PT_DYNAMIC. The entries are those of the first one; without any, there is no segment. */
static void elf_read_dynamic(const struct elf_file *elf, struct dynamic *d,
			     struct dynamic_entries *entries)
{
	memset(d, 0, sizeof(*d));
	*entries = (struct dynamic_entries){ 0 };
	for (unsigned i = 0; i < elf->n_segments; i++) {
		if (elf->segments[i].type != PT_DYNAMIC)
			continue;
		entries->segment = &elf->segments[i];
		if (elf_parse_dynamic(elf, entries, d))
			memset(d, 0, sizeof(*d));
		return;
	}
}

/* Of the strings of the dynamic section, those that were read last. */
struct dynamic_text {
	uint64_t at; /* in the strings */
	size_t n;
	char bytes[PATH_MAX];
};

static bool dynamic_text_has(const struct dynamic_text *t, uint64_t at)
{
	return t->n && at >= t->at && at - t->at < t->n &&
	       memchr(t->bytes + (at - t->at), '\0', t->n - (at - t->at));
}

/* NULL: there is no such string, or it does not fit. Those that a file refers to are near each other. */
static const char *elf_dynamic_string(const struct elf_file *elf, const struct dynamic *d,
				      uint64_t at, struct dynamic_text *t)
{
	const char *string;

	if (!at || at >= d->strings_size || d->strings > INT64_MAX - at)
		return NULL;
	if (!dynamic_text_has(t, at)) {
		t->at = at;
		t->n = d->strings_size - at < sizeof(t->bytes) ? d->strings_size - at
							       : sizeof(t->bytes);
		if (elf_file_read(elf, d->strings + at, t->bytes, t->n))
			t->n = 0;
	}
	string = dynamic_text_has(t, at) ? t->bytes + (at - t->at) : "";
	return *string ? string : NULL;
}

bool elf_file_own_name(const struct elf_file *elf, char *out, size_t size)
{
	struct dynamic_text text;
	struct dynamic_entries entries;
	const char *name;
	struct dynamic d;

	text.n = 0;
	elf_read_dynamic(elf, &d, &entries);
	name = elf_dynamic_string(elf, &d, d.own_name, &text);
	if (!name || strlen(name) >= size)
		return false;
	memcpy(out, name, strlen(name) + 1);
	return true;
}

void elf_file_dynamic_strings(const struct elf_file *elf, int64_t tag,
			      void (*each)(void *context, const char *text), void *context)
{
	struct dynamic_text text;
	struct dynamic_entries entries;
	Elf64_Dyn entry = { 0 };
	const char *string;
	struct dynamic d;

	text.n = 0;
	elf_read_dynamic(elf, &d, &entries);
	if (!d.strings)
		return;
	while (elf_next_dynamic(elf, &entries, &entry) > 0) {
		string = entry.d_tag == tag ? elf_dynamic_string(elf, &d, entry.d_un.d_val, &text)
					    : NULL;
		if (string)
			each(context, string);
	}
}

bool elf_file_is_static(const struct elf_file *elf)
{
	if (elf->has_interp || elf->type == ET_EXEC)
		return !elf->has_interp;
	for (unsigned i = 0; i < elf->n_segments; i++) {
		struct dynamic_entries entries = { .segment = &elf->segments[i] };
		struct dynamic d = { 0 };

		if (elf->segments[i].type != PT_DYNAMIC)
			continue;
		/* A program without symbols is a program as well. */
		elf_parse_dynamic(elf, &entries, &d);
		return d.flags_1 & DF_1_PIE;
	}
	return false;
}

bool elf_file_is_program(const struct elf_file *elf)
{
	struct dynamic_entries entries;
	struct dynamic d;

	elf_read_dynamic(elf, &d, &entries);
	return !d.own_name && (elf->type == ET_EXEC || elf->has_interp || (d.flags_1 & DF_1_PIE));
}

int elf_file_got_entry(const struct elf_file *elf, const char *name, uint64_t *ret_vaddr)
{
	Elf64_Shdr relocations, symbols, strings;
	Elf64_Rela entries[SECTIONS_BLOCK];
	Elf64_Sym symbol;
	unsigned i, at, n = 0;
	int r = elf_file_section(elf, SHT_RELA, ".rela.dyn", &relocations);

	if (!r)
		r = elf_file_section_at(elf, relocations.sh_link, &symbols);
	if (!r)
		r = elf_file_section_at(elf, symbols.sh_link, &strings);
	for (i = 0; !r && i < MAX_SYMBOLS && i < relocations.sh_size / sizeof(*entries); i += n) {
		r = elf_read_entries(elf, relocations.sh_offset + (uint64_t)i * sizeof(*entries),
				     entries, sizeof(*entries), SECTIONS_BLOCK, &n);
		for (at = 0; !r && at < n; at++) {
			if (ELF64_R_TYPE(entries[at].r_info) != R_AARCH64_GLOB_DAT)
				continue;
			r = elf_file_read(elf,
					  symbols.sh_offset +
						  ELF64_R_SYM(entries[at].r_info) * sizeof(symbol),
					  &symbol, sizeof(symbol));
			if (r || elf_string_equals(elf, strings.sh_offset, strings.sh_size,
						   symbol.st_name, name) != 1)
				continue;
			*ret_vaddr = entries[at].r_offset;
			return 0;
		}
	}
	return r ? r : -ENOENT;
}
