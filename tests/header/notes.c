/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notes FILE: reads the proftrace notes of an ELF file the way a tracer does, from the program headers
 * alone, and checks everything that the binary interface in include/proftrace.h promises of them: the
 * bytes of the probe sites, the semaphore in writable memory, one stub for each domain and kind. Where the file still
 * has section headers it also wants a matching .note.stapsdt for each.
 *
 * Prints one line per stub, "DOMAIN KIND", sorted by address of the note. Exits 1 with a message at
 * the first broken promise.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct site {
	char domain[128];
	unsigned int kind;
	uint64_t stub, site, semaphore;
	int known_to_usdt;
};

struct file {
	const unsigned char *bytes;
	size_t size;
	const Elf64_Ehdr *header;
	const Elf64_Phdr *segments;
	struct site sites[256];
	int n;
};

static const struct {
	unsigned int number;
	const char *word;
} kinds[] = {
	{ 1, "begin" },		{ 2, "end" },		{ 3, "instant" },      { 4, "counter" },
	{ 5, "async_begin" },	{ 6, "async_end" },	{ 7, "flow_out" },     { 8, "flow_in" },
	{ 9, "alloc" },		{ 10, "free" },		{ 32, "thread_name" }, { 33, "step" },
	{ 34, "pause" },	{ 35, "resume" },	{ 36, "dump" },	       { 37, "stop" },
	{ 38, "include_json" }, { 39, "scope_push" },	{ 40, "scope_pop" },   { 48, "flush" },
	{ 49, "batch" },	{ 52, "read_strings" },
};

static void broken(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static const char *word_of(unsigned int kind)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].number == kind)
			return kinds[i].word;
	broken("unknown kind %u", kind);
	return NULL;
}

/* The bytes at an address, which must lie in a loaded segment with these permissions. */
static const unsigned char *at(const struct file *f, uint64_t address, size_t size,
			       unsigned int flags)
{
	for (int i = 0; i < f->header->e_phnum; i++) {
		const Elf64_Phdr *p = &f->segments[i];

		if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
		    address + size <= p->p_vaddr + p->p_filesz && (p->p_flags & flags) == flags)
			return f->bytes + p->p_offset + (address - p->p_vaddr);
	}
	broken("0x%llx is in no segment with flags %u", (unsigned long long)address, flags);
	return NULL;
}

/* A domain's stub tests the batch half of the semaphore before its probe sites, and has a steady nop before them. */
static void check_stub(const struct file *f, uint64_t stub, unsigned int kind, unsigned int slow,
		       unsigned int fast)
{
	static const unsigned char x86[] = {
		0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xc3
	};
	static const unsigned char nop5[] = { 0x0f, 0x1f, 0x44, 0, 0 };
	static const uint32_t arm64[] = { 0xd503201f, 0xd65f03c0 };
	const unsigned int looks = kind < 32, steady = looks || kind == 49;
	const unsigned char *code = at(f, stub + slow, 12, PF_R | PF_X);

	if (stub % 32 != 0)
		broken("stub at 0x%llx is not aligned", (unsigned long long)stub);
	for (int i = 0; i + 5 <= 12; i++)
		if (!memcmp(code + i, nop5, 5))
			broken("a five-byte nop in the stub");
	if (f->header->e_machine == EM_X86_64) {
		if (slow != looks * 10 + steady || fast != slow + 1 ||
		    memcmp(code, x86, sizeof(x86)) || (steady && code[-1] != x86[0]))
			broken("wrong probe sites at 0x%llx", (unsigned long long)stub);
	} else if (f->header->e_machine == EM_AARCH64) {
		if (slow != 4 + looks * 12 + steady * 4 || fast != 255 ||
		    memcmp(code, arm64, sizeof(arm64)) || (steady && memcmp(code - 4, arm64, 4)))
			broken("wrong probe sites at 0x%llx", (unsigned long long)stub);
	} else {
		broken("unknown machine %u", f->header->e_machine);
	}
}

/* One description; `address` is where it is loaded. */
static void add_site(struct file *f, const unsigned char *desc, size_t size, uint64_t address)
{
	struct site s = { 0 };
	int64_t stub, semaphore;
	uint16_t kind;
	uint32_t flags;

	if (size < 25 || !memchr(desc + 24, 0, size - 24))
		broken("a description of %zu bytes", size);
	memcpy(&stub, desc, 8);
	memcpy(&semaphore, desc + 8, 8);
	memcpy(&kind, desc + 16, 2);
	memcpy(&flags, desc + 20, 4);
	s.stub = address + (uint64_t)stub;
	s.semaphore = address + 8 + (uint64_t)semaphore;
	s.site = s.stub + desc[18];
	s.kind = kind;
	snprintf(s.domain, sizeof(s.domain), "%s", (const char *)desc + 24);
	if (flags != (kind < 32 ? 3 : kind == 49 ? 2 : kind == 48 ? 4 : 0))
		broken("flags %x", flags);
	if ((kind >= 32 && kind != 49) != (s.domain[0] == '\0'))
		broken("kind %u in domain '%s'", kind, s.domain);
	if (kind == 48 && (size < 25 + 8 + 4 || memcmp(desc + 25 + 8, "\4\0\0", 4)))
		broken("a flush without batches, or of another layout");
	if (kind == 49 || kind == 52) /* the upper half */
		s.semaphore -= 2;
	s.known_to_usdt = kind >= 48;
	check_stub(f, s.stub, kind, desc[18], desc[19]);
	if (s.semaphore % 4 != 0 || memcmp(at(f, s.semaphore, 4, PF_R | PF_W), "\0\0\0", 4))
		broken("the semaphore of '%s' is not aligned, or not off", s.domain);

	for (int i = 0; i < f->n; i++) {
		const struct site *o = &f->sites[i];
		int same = o->kind == s.kind && !strcmp(o->domain, s.domain);

		if (same && o->stub == s.stub)
			return; /* written twice by link-time optimisation */
		if (same || o->stub == s.stub)
			broken("two stubs for '%s' %s, or one for two", s.domain, word_of(kind));
		if (!strcmp(o->domain, s.domain) != (o->semaphore == s.semaphore))
			broken("'%s' and '%s' share a semaphore, or one has two", s.domain,
			       o->domain);
	}
	if (f->n == 256)
		broken("too many sites");
	f->sites[f->n++] = s;
}

static void read_usdt(struct file *f, const unsigned char *desc, size_t size)
{
	const char *provider, *name, *args;
	uint64_t pc, semaphore;

	if (size < 27 || desc[size - 1] != 0)
		broken("a stapsdt note of %zu bytes", size);
	memcpy(&pc, desc, 8);
	memcpy(&semaphore, desc + 16, 8);
	provider = (const char *)desc + 24;
	name = provider + strlen(provider) + 1;
	args = name + strlen(name) + 1;
	if (args >= (const char *)desc + size)
		broken("a stapsdt note without arguments");
	for (int i = 0; i < f->n; i++) {
		struct site *s = &f->sites[i];

		if (s->site != pc)
			continue;
		if (s->semaphore != semaphore || strcmp(name, word_of(s->kind)))
			broken("notes disagree about %s:%s", provider, name);
		s->known_to_usdt = 1;
		return;
	}
	/* Others' probes, such as those of a C++ library linked in, are none of ours. */
	if (!strcmp(args, "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9") ||
	    !strcmp(args, "8@x0 8@x1 8@x2 8@x3 8@x4 8@x5"))
		broken("%s:%s has no proftrace note", provider, name);
}

/* Walks notes with the usual 4-byte alignment; address 0 means they are not loaded. */
static void walk(struct file *f, const unsigned char *p, size_t size, uint64_t address)
{
	const unsigned char *end = p + size, *start = p;

	while (end - p >= 12) {
		uint32_t namesz, descsz, type;
		const unsigned char *name = p + 12, *desc;

		memcpy(&namesz, p, 4);
		memcpy(&descsz, p + 4, 4);
		memcpy(&type, p + 8, 4);
		if (namesz > size || descsz > size)
			broken("a note larger than its segment");
		desc = name + (namesz + 3) / 4 * 4;
		if (desc + descsz > end)
			broken("a note runs out of its segment");
		if (address && type == 1 && namesz == 10 && !memcmp(name, "proftrace", 10))
			add_site(f, desc, descsz, address + (uint64_t)(desc - start));
		if (!address && type == 3 && namesz == 8 && !memcmp(name, "stapsdt", 8))
			read_usdt(f, desc, descsz);
		p = desc + (descsz + 3) / 4 * 4;
	}
}

static void walk_usdt(struct file *f)
{
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(f->bytes + f->header->e_shoff);
	int seen = 0;

	if (f->header->e_shoff == 0)
		return;
	for (int i = 0; i < f->header->e_shnum; i++) {
		const char *name = (const char *)f->bytes +
				   sections[f->header->e_shstrndx].sh_offset + sections[i].sh_name;

		if (strcmp(name, ".note.stapsdt"))
			continue;
		seen = 1;
		walk(f, f->bytes + sections[i].sh_offset, sections[i].sh_size, 0);
	}
	for (int i = 0; seen && i < f->n; i++)
		if (!f->sites[i].known_to_usdt)
			broken("'%s' %s has no stapsdt note", f->sites[i].domain,
			       word_of(f->sites[i].kind));
	if (!seen)
		printf("no .note.stapsdt\n");
}

int main(int argc, char **argv)
{
	static struct file f;
	struct stat st;
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0 || fstat(fd, &st) < 0 || (size_t)st.st_size < sizeof(Elf64_Ehdr))
		broken("usage: notes FILE");
	f.size = (size_t)st.st_size;
	f.bytes = mmap(NULL, f.size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (f.bytes == MAP_FAILED || memcmp(f.bytes, ELFMAG, SELFMAG))
		broken("'%s' is not an ELF file", argv[1]);
	f.header = (const Elf64_Ehdr *)f.bytes;
	f.segments = (const Elf64_Phdr *)(f.bytes + f.header->e_phoff);
	for (int i = 0; i < f.header->e_phnum; i++)
		if (f.segments[i].p_type == PT_NOTE && f.segments[i].p_align == 4)
			walk(&f, f.bytes + f.segments[i].p_offset, f.segments[i].p_filesz,
			     f.segments[i].p_vaddr);
	walk_usdt(&f);
	for (int i = 0; i < f.n; i++)
		printf("%s %s\n", f.sites[i].domain, word_of(f.sites[i].kind));
	return 0;
}
