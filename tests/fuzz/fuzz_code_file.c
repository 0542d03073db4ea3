/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a file of code, and as the debug files that it asks for, through libdw: what is looked for
 * is an address in it. Who reads such files is a process of its own, confined and limited, that may die
 * of it; here it must not, nor take long.
 *
 * libdw is the machine's: its own edges are not seen, and of its memory only what is ours is guarded. So
 * that changes get beyond the headers of ELF, the input is sections, each behind its kind and its size
 * in two bytes, and is made a file here; or, where it begins with 0, it is the file itself. Where the
 * first byte is REPLY or more, it is what a server sent as the debug file of a program without symbols.
 */
#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/code_file.h"
#include "timeline/callstack.h"

#define MOST	      4096
#define NAME_CAPACITY 24
#define CODE	      0x400000 /* where it would be */
#define CODE_SIZE     0x1000

enum {
	TEXT = 1, /* sections that are always there */
	NAMES,
	FIRST_OWN,
	MOST_SECTIONS = 24,
	REPLY = 0x80,
	REPLY_WHOLE = 0xc0, /* the bytes of the server are the file itself */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct kind {
	char name[NAME_CAPACITY];
	uint32_t type;
} kinds[] = {
	[TEXT] = { ".text", SHT_PROGBITS },	 [NAMES] = { ".shstrtab", SHT_STRTAB },
	[FIRST_OWN] = { ".symtab", SHT_SYMTAB }, { ".strtab", SHT_STRTAB },
	{ ".debug_info", SHT_PROGBITS },	 { ".debug_abbrev", SHT_PROGBITS },
	{ ".debug_line", SHT_PROGBITS },	 { ".debug_str", SHT_PROGBITS },
	{ ".debug_line_str", SHT_PROGBITS },	 { ".debug_ranges", SHT_PROGBITS },
	{ ".debug_rnglists", SHT_PROGBITS },	 { ".debug_addr", SHT_PROGBITS },
	{ ".debug_str_offsets", SHT_PROGBITS },	 { ".debug_types", SHT_PROGBITS },
	{ ".note.gnu.build-id", SHT_NOTE },	 { ".gnu_debuglink", SHT_PROGBITS },
	{ ".gnu_debugaltlink", SHT_PROGBITS },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct built {
	Elf64_Ehdr head;
	Elf64_Phdr load;
	Elf64_Shdr sections[MOST_SECTIONS];
	struct kind names[KINDS];
	uint8_t bytes[MOST + 64];
};

struct bytes {
	const void *at;
	size_t size;
};

struct input {
	struct bytes code, debug;
	unsigned asked;
};

/* The section that a program and its debug file have in common, as in an input: kind, size, note. */
static const uint8_t build_id[27] = "\14\30\0"
				    "\4\0\0\0\10\0\0\0\3\0\0\0GNU\0\1\2\3\4\5\6\7\10";

static void must(bool good)
{
	if (!good)
		abort();
}

static void add_section(struct built *b, unsigned kind, size_t at, size_t size)
{
	Elf64_Shdr *s = &b->sections[b->head.e_shnum++];

	*s = (Elf64_Shdr){
		.sh_name = (uint32_t)(kind * sizeof(kinds[0])),
		.sh_type = kinds[kind].type,
		.sh_offset = at,
		.sh_size = size,
		.sh_addralign = 1,
	};
	if (kind != FIRST_OWN)
		return;
	s->sh_entsize = sizeof(Elf64_Sym);
	/* Its strings come next. */
	s->sh_link = b->head.e_shnum;
}

static void add_sections(struct built *b, const uint8_t *data, size_t size)
{
	size_t at = 0;

	while (size - at > 3 && b->head.e_shnum < MOST_SECTIONS) {
		unsigned kind = FIRST_OWN + data[at] % (KINDS - FIRST_OWN);
		size_t n = data[at + 1] | data[at + 2] << 8;

		at += 3;
		if (n > size - at)
			n = size - at;
		add_section(b, kind, offsetof(struct built, bytes) + at, n);
		at += n;
	}
}

static struct bytes build(struct built *b, const uint8_t *data, size_t size)
{
	memset(b, 0, sizeof(*b));
	b->head = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(b->head),
		.e_phoff = offsetof(struct built, load),
		.e_phentsize = sizeof(b->load),
		.e_phnum = 1,
		.e_shoff = offsetof(struct built, sections),
		.e_shentsize = sizeof(b->sections[0]),
		.e_shnum = TEXT,
		.e_shstrndx = NAMES,
	};
	b->load = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = CODE,
		.p_filesz = offsetof(struct built, bytes),
		.p_memsz = CODE_SIZE,
		.p_align = 4096,
	};
	memcpy(b->names, kinds, sizeof(kinds));
	memcpy(b->bytes, data, size);
	add_section(b, TEXT, 0, CODE_SIZE);
	b->sections[TEXT].sh_addr = CODE;
	b->sections[TEXT].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	add_section(b, NAMES, offsetof(struct built, names), sizeof(kinds));
	add_sections(b, data, size);
	return (struct bytes){ b, offsetof(struct built, bytes) + size };
}

static int file_of(struct bytes file)
{
	int fd = memfd_create("code", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, file.at, file.size) == (ssize_t)file.size);
	must(!lseek(fd, 0, SEEK_SET));
	return fd;
}

/* Whatever the file asks for is answered with the same. */
static int wanted(void *context, const struct symbol_file_request *w, uint32_t *ret_index)
{
	struct input *in = context;

	must(w->build_id_size <= sizeof(w->build_id));
	must(memchr(w->link, '\0', sizeof(w->link)) && (w->build_id_size || w->link[0]));
	if (w->first >= SYMBOL_MAX_CANDIDATES || in->asked++ == 2 * SYMBOL_MAX_CANDIDATES)
		return -1;
	*ret_index = w->first;
	return file_of(in->debug);
}

/* As the recorder takes it. */
static void check(const struct reply *a, unsigned max)
{
	struct names *names = names_new(0);
	struct code_line lines[SYMBOL_MAX_LINES];

	must(a->head.n_lines <= max && a->used <= sizeof(a->bytes));
	must(symbol_lines((const char *)&a->head, sizeof(a->head) + a->used, names, lines,
			  SYMBOL_MAX_LINES) == (int)a->head.n_lines);
	names_free(names);
}

/* `data`: behind the first bytes, which say how it is read. */
static struct input make_input(unsigned how, const uint8_t *data, size_t size)
{
	static struct built code, debug;
	static uint8_t reply[sizeof(build_id) + MOST];
	struct input in = { { data, size }, { data, size }, 0 };

	if (how < REPLY) {
		if (how)
			in.code = in.debug = build(&code, data, size);
		return in;
	}
	in.code = build(&code, build_id, sizeof(build_id));
	if (how < REPLY_WHOLE) {
		memcpy(reply, build_id, sizeof(build_id));
		memcpy(reply + sizeof(build_id), data, size);
		in.debug = build(&debug, reply, sizeof(build_id) + size);
	}
	return in;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct reply reply;
	struct code_file *file;
	struct input in;
	unsigned i;

	if (size < 3 || size - 3 > MOST)
		return 0;
	in = make_input(data[0], data + 3, size - 3);
	file = code_file_open(file_of(in.code), wanted, &in);
	must(file != NULL);
	/* What is found at the first address is remembered for the next. */
	for (i = 0; i < 2; i++) {
		reply.head = (struct symbol_head){ .kind = SYMBOL_LINES };
		reply.max = i ? SYMBOL_MAX_LINES : data[0] % 8;
		reply.used = 0;
		code_file_lines(file, CODE + (uint64_t)(data[1] | data[2] << 8) + i, &reply);
		check(&reply, reply.max);
	}
	code_file_close(file);
	return 0;
}
