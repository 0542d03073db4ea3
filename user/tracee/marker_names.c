/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the section of names: addresses of a function, a stub and a string, any of which may be wrong. */
#include "tracee/marker_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct name_entry {
	uint64_t function;
	uint64_t stub;
	uint64_t name;
};

#define MARKER_NAMES_BYTES (MARKER_NAMES_MAX * sizeof(struct name_entry))

int marker_domain_compare(const char *a, const char *b)
{
	if (!a[0] != !b[0])
		return a[0] ? -1 : 1;
	return strcmp(a, b);
}

static int compare_names(const void *a, const void *b)
{
	const struct marker_name *x = a, *y = b;
	int r = marker_domain_compare(x->domain, y->domain);

	if (r == 0)
		r = (x->kind > y->kind) - (x->kind < y->kind);
	return r ? r : strcmp(x->text, y->text);
}

static int compare_stubs(const void *a, const void *b)
{
	const struct marker_site *const *x = a, *const *y = b;

	return ((*x)->stub > (*y)->stub) - ((*x)->stub < (*y)->stub);
}

static int compare_stub_address(const void *address, const void *site)
{
	uint64_t at = *(const uint64_t *)address;
	const struct marker_site *const *s = site;

	return (at > (*s)->stub) - (at < (*s)->stub);
}

/* The sites in the order of their stubs, or NULL. */
static const struct marker_site **sort_sites_by_stub(const struct marker_sites *sites)
{
	const struct marker_site **sorted = calloc(sites->n, sizeof(const struct marker_site *));

	if (!sorted)
		return NULL;
	for (unsigned i = 0; i < sites->n; i++)
		sorted[i] = &sites->sites[i];
	qsort(sorted, sites->n, sizeof(*sorted), compare_stubs);
	return sorted;
}

/* Linkers write an address outside of the code for a function that they have dropped. */
static void add_name(const struct elf_file *elf, const struct marker_site **sorted,
		     unsigned n_sites, const struct name_entry *entry, struct marker_names *found)
{
	const struct marker_site **site;
	struct marker_name *name = &found->names[found->n];
	uint64_t offset;

	if (elf_file_offset(elf, entry->function, ELF_EXECUTABLE, &offset))
		return;
	site = bsearch(&entry->stub, sorted, n_sites, sizeof(const struct marker_site *),
		       compare_stub_address);
	if (!site || elf_file_string(elf, entry->name, name->text, sizeof(name->text)) < 0) {
		found->malformed++;
		return;
	}
	memcpy(name->domain, (*site)->domain, sizeof(name->domain));
	name->kind = (*site)->kind;
	found->n++;
}

/* A marker that was inlined in several places has as many entries. */
static void drop_repeated_names(struct marker_names *found)
{
	unsigned i, n = 0;

	qsort(found->names, found->n, sizeof(*found->names), compare_names);
	for (i = 0; i < found->n; i++) {
		if (n == 0 || compare_names(&found->names[n - 1], &found->names[i]) != 0)
			found->names[n++] = found->names[i];
	}
	found->n = n;
}

static int read_names(const struct elf_file *elf, const struct marker_sites *sites,
		      const struct name_entry *entries, unsigned n, struct marker_names *found)
{
	const struct marker_site **sorted = sort_sites_by_stub(sites);

	found->names = calloc(n, sizeof(*found->names));
	if (!sorted || !found->names) {
		free(sorted);
		marker_names_free(found);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < n; i++)
		add_name(elf, sorted, sites->n, &entries[i], found);
	free(sorted);
	if (found->n)
		drop_repeated_names(found);
	return 0;
}

/* Linkers compress sections of this name on request (-gz). Whatever is not as its head says is damaged. */
static int inflate_section(const struct elf_file *elf, const Elf64_Shdr *section, void *to,
			   size_t size)
{
	uLongf n = size;
	Elf64_Chdr head;
	uint8_t *from;
	int r;

	if (section->sh_size < sizeof(head) || section->sh_size > 2 * MARKER_NAMES_BYTES ||
	    elf_file_read(elf, section->sh_offset, &head, sizeof(head)) ||
	    head.ch_type != ELFCOMPRESS_ZLIB)
		return -EBADMSG;
	from = malloc(section->sh_size);
	if (!from)
		return -ENOMEM;
	r = elf_file_read(elf, section->sh_offset, from, section->sh_size);
	if (r == 0)
		r = uncompress(to, &n, from + sizeof(head), section->sh_size - sizeof(head));
	free(from);
	return r == Z_OK && n == size ? 0 : -EBADMSG;
}

/* The size of the contents, whether they are compressed or not. */
static uint64_t section_size(const struct elf_file *elf, const Elf64_Shdr *section)
{
	Elf64_Chdr head;

	if (!(section->sh_flags & SHF_COMPRESSED))
		return section->sh_size;
	return elf_file_read(elf, section->sh_offset, &head, sizeof(head)) ? 0 : head.ch_size;
}

int marker_names_find(const struct elf_file *elf, const struct marker_sites *sites,
		      struct marker_names *ret)
{
	struct marker_names found = { 0 };
	struct name_entry *entries;
	Elf64_Shdr section;
	uint64_t size;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (!sites->n || elf_file_section(elf, SHT_PROGBITS, ".debug_proftrace", &section))
		return 0;
	size = section_size(elf, &section);
	found.cut = size > MARKER_NAMES_BYTES;
	if (found.cut && !(section.sh_flags & SHF_COMPRESSED))
		size = MARKER_NAMES_BYTES;
	if (size > MARKER_NAMES_BYTES || size < sizeof(*entries)) {
		*ret = found;
		return 0;
	}
	entries = malloc(size);
	if (!entries)
		return -ENOMEM;
	r = section.sh_flags & SHF_COMPRESSED
		    ? inflate_section(elf, &section, entries, size)
		    : elf_file_read(elf, section.sh_offset, entries, size);
	if (r == 0)
		r = read_names(elf, sites, entries, (unsigned)(size / sizeof(*entries)), &found);
	else if (r != -ENOMEM) {
		found.malformed++;
		r = 0;
	}
	free(entries);
	if (r == 0)
		*ret = found;
	return r;
}

void marker_names_free(struct marker_names *names)
{
	free(names->names);
	memset(names, 0, sizeof(*names));
}
