/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strip_bpf FILE: leaves out, in place, what nobody reads of the BPF programs that clang has compiled, before `bpftool gen
 * object` copies the rest:
 *
 * - the labels of branches, nine of ten symbols where clang 14 writes them. libbpf goes through all symbols for each section;
 * - the lines of the source in .BTF.ext, nine tenths of it. libbpf copies and relocates them at each start of the recorder,
 *   which then loads the programs without them (loads_without_lines()).
 *
 * Both together take libbpf as long as all else that it does to open the programs: about a millisecond.
 */
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* As the kernel's documentation of BTF defines it. */
struct btf_ext_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t length; /* of the header, behind which the offsets begin */
	uint32_t functions_at, functions_size;
	uint32_t lines_at, lines_size;
	uint32_t relocations_at, relocations_size;
};

static char *file;
static Elf64_Shdr *sections;
static unsigned n_sections;

static Elf64_Shdr *find_section(const char *name)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	const char *names = file + sections[header->e_shstrndx].sh_offset;

	for (unsigned i = 0; i < n_sections; i++) {
		if (!strcmp(names + sections[i].sh_name, name))
			return &sections[i];
	}
	errx(1, "no section %s", name);
}

static void strip_lines(void)
{
	Elf64_Shdr *section = find_section(".BTF.ext");
	struct btf_ext_header *h = (struct btf_ext_header *)(file + section->sh_offset);
	char *data = (char *)h + h->length;

	/* As every clang so far has written it. Otherwise the lines stay, which does no harm. */
	if (h->magic != 0xeb9f || h->length < sizeof(*h) ||
	    h->lines_at != h->functions_at + h->functions_size ||
	    h->relocations_at != h->lines_at + h->lines_size ||
	    section->sh_size != (uint64_t)h->length + h->relocations_at + h->relocations_size)
		return;
	memmove(data + h->lines_at, data + h->relocations_at, h->relocations_size);
	h->relocations_at = h->lines_at;
	h->lines_size = 0;
	section->sh_size = h->length + h->relocations_at + h->relocations_size;
}

/* Of BPF programs none is of the type SHT_RELA. */
static void visit_relocations(void (*visit)(Elf64_Rel *relocation, uint32_t *symbols),
			      uint32_t *symbols)
{
	for (unsigned i = 0; i < n_sections; i++) {
		Elf64_Rel *r = (Elf64_Rel *)(file + sections[i].sh_offset);

		for (uint64_t n = sections[i].sh_size / sizeof(*r);
		     n && sections[i].sh_type == SHT_REL; n--)
			visit(r++, symbols);
	}
}

static void keep_symbol(Elf64_Rel *relocation, uint32_t *symbols)
{
	symbols[ELF64_R_SYM(relocation->r_info)] = 1;
}

static void renumber_symbol(Elf64_Rel *relocation, uint32_t *symbols)
{
	relocation->r_info = ELF64_R_INFO((uint64_t)symbols[ELF64_R_SYM(relocation->r_info)],
					  ELF64_R_TYPE(relocation->r_info));
}

static void strip_labels(void)
{
	Elf64_Shdr *section = find_section(".symtab");
	const char *names = file + sections[section->sh_link].sh_offset;
	Elf64_Sym *symbols = (Elf64_Sym *)(file + section->sh_offset);
	uint32_t n = section->sh_size / sizeof(*symbols), kept = 0, locals = 0, i;
	uint32_t *numbers = calloc(n + 1, sizeof(*numbers));

	if (!numbers)
		err(1, NULL);
	visit_relocations(keep_symbol, numbers);
	for (i = 0; i < n; i++) {
		if (!numbers[i] && ELF64_ST_TYPE(symbols[i].st_info) == STT_NOTYPE &&
		    ELF64_ST_BIND(symbols[i].st_info) == STB_LOCAL &&
		    !strncmp(names + symbols[i].st_name, "LBB", 3))
			continue;
		numbers[i] = kept;
		symbols[kept] = symbols[i];
		locals += i < section->sh_info;
		kept++;
	}
	visit_relocations(renumber_symbol, numbers);
	section->sh_size = kept * sizeof(*symbols);
	section->sh_info = locals;
	free(numbers);
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	const Elf64_Ehdr *header;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		err(1, "%s", argc == 2 ? argv[1] : "strip_bpf FILE");
	file = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		err(1, "%s", argv[1]);
	header = (const Elf64_Ehdr *)file;
	sections = (Elf64_Shdr *)(file + header->e_shoff);
	n_sections = header->e_shnum;
	strip_lines();
	strip_labels();
	return 0;
}
