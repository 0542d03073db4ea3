/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * damage KIND FILE [N]: makes an ELF program's claims absurd, while it runs as before.
 *
 *	notes N		N more notes, with distances to anywhere, behind the good ones
 *	huge		notes of an exabyte
 *	overlap		every header that is not needed says where the same notes are
 *	semaphore	all semaphores lie in code
 *	probes N	N notes of others' probes instead of those that it has: anywhere in the code, with
 *			semaphores anywhere
 *	sections	sixty thousand sections say where the same megabytes of notes are
 *	inflate N	all debug information is N megabytes of zeros, compressed to a hundred and fiftieth
 *	flip N		N times a byte of the headers or notes changes, and changes back
 *	change N	N times it is cut somewhere, or some bytes change all over it, and is itself again after a while
 *	tail N		the same of what a process does not need that executes it: behind what is loaded
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS 60000

struct target {
	int fd;
	Elf64_Ehdr h;
	Elf64_Phdr p[64];
	unsigned ours; /* the PT_NOTE with our notes */
	uint8_t *notes;
};

static uint64_t seed = 1;

static uint64_t any(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed ^ seed >> 29;
}

static void fail(const char *what)
{
	fprintf(stderr, "damage: %s\n", what);
	exit(1);
}

static void put(struct target *t, const void *bytes, size_t size, uint64_t at)
{
	if (pwrite(t->fd, bytes, size, (off_t)at) != (ssize_t)size)
		fail("cannot write");
}

static void open_target(struct target *t, const char *path, int wants_notes)
{
	unsigned i;

	t->fd = open(path, O_RDWR);
	if (t->fd < 0 || pread(t->fd, &t->h, sizeof(t->h), 0) != sizeof(t->h) ||
	    t->h.e_phnum > 64 ||
	    pread(t->fd, t->p, t->h.e_phnum * sizeof(t->p[0]), (off_t)t->h.e_phoff) < 0)
		fail("no ELF file");
	for (i = 0; wants_notes && i < t->h.e_phnum; i++) {
		const Elf64_Phdr *p = &t->p[i];

		if (p->p_type != PT_NOTE)
			continue;
		t->notes = malloc(p->p_filesz);
		if (!t->notes ||
		    pread(t->fd, t->notes, p->p_filesz, (off_t)p->p_offset) != (ssize_t)p->p_filesz)
			fail("cannot read the notes");
		t->ours = i;
		if (memmem(t->notes, p->p_filesz, "proftrace", 10))
			return;
		free(t->notes);
	}
	if (wants_notes)
		fail("no markers in it");
}

static void put_headers(struct target *t)
{
	put(t, t->p, t->h.e_phnum * sizeof(t->p[0]), t->h.e_phoff);
}

static size_t put_note(uint8_t *out, uint64_t i)
{
	const Elf64_Nhdr header = { 10, 40, 1 };
	uint64_t distance[2] = { i % 3 ? any() : any() % 65536, i % 2 ? any() : any() % 65536 };

	memcpy(out, &header, sizeof(header));
	memcpy(out + 12, "proftrace\0\0\0", 12);
	memcpy(out + 24, distance, sizeof(distance));
	out[40] = (uint8_t)(i % 40);
	out[42] = (uint8_t)any();
	out[43] = 255;
	snprintf((char *)out + 48, 16, "d%d", (int)(i % 1000000));
	return 64;
}

static void more_notes(struct target *t, uint64_t n)
{
	Elf64_Phdr *p = &t->p[t->ours];
	uint64_t end = ((uint64_t)lseek(t->fd, 0, SEEK_END) + 4095) & ~4095ull, i;
	size_t size = (p->p_filesz + 7) & ~7ull;
	uint8_t *all = calloc(1, size + 64 * n);

	if (!all)
		fail("no memory");
	memcpy(all, t->notes, p->p_filesz);
	size = p->p_filesz;
	for (i = 0; i < n; i++)
		size += put_note(all + size, i);
	put(t, all, size, end);
	p->p_offset = end;
	p->p_filesz = p->p_memsz = size;
	put_headers(t);
	free(all);
}

static void overlap(struct target *t)
{
	unsigned i;

	for (i = 0; i < t->h.e_phnum; i++) {
		uint32_t type = t->p[i].p_type;

		if (type == PT_NOTE || type == PT_GNU_STACK || type == PT_GNU_EH_FRAME ||
		    type == 0x6474e553)
			t->p[i] = t->p[t->ours];
	}
	put_headers(t);
}

static void no_semaphore(struct target *t)
{
	const Elf64_Phdr *p = &t->p[t->ours];
	uint64_t at = 0;

	while (at + 24 < p->p_filesz) {
		Elf64_Nhdr h;
		uint64_t desc, stub;

		memcpy(&h, t->notes + at, sizeof(h));
		desc = at + 12 + ((h.n_namesz + 3) & ~3u);
		if (h.n_namesz == 10 && desc + 16 <= p->p_filesz) {
			memcpy(&stub, t->notes + desc, 8);
			stub -= 8;
			memcpy(t->notes + desc + 8, &stub, 8);
		}
		at = desc + ((h.n_descsz + 3) & ~3u);
	}
	put(t, t->notes, p->p_filesz, p->p_offset);
}

static void flip(struct target *t, long n)
{
	const Elf64_Phdr *p = &t->p[t->ours];
	uint64_t headers = t->h.e_phoff + t->h.e_phnum * sizeof(t->p[0]);

	while (n-- > 0) {
		uint64_t r = any(),
			 at = r % 2 ? r / 2 % headers : p->p_offset + r / 2 % p->p_filesz;
		uint8_t was, is = (uint8_t)any();

		if (pread(t->fd, &was, 1, (off_t)at) != 1)
			fail("cannot read");
		put(t, &is, 1, at);
		put(t, &was, 1, at);
	}
}

/* An eighth of its bytes. */
static void scribble(struct target *t, uint64_t from, uint64_t size)
{
	unsigned i;

	for (i = 0; i < size / 64; i++) {
		uint64_t bytes = any();

		put(t, &bytes, sizeof(bytes), from + any() % (size - from - sizeof(bytes)));
	}
}

/* For as long as it takes to read some of it, it is another one; then it is itself again. */
static void change(struct target *t, uint64_t from, long n)
{
	const uint64_t size = (uint64_t)lseek(t->fd, 0, SEEK_END);
	uint8_t *all = malloc(size);

	if (!all || from + 8 >= size || pread(t->fd, all, size, 0) != (ssize_t)size)
		fail("cannot read, or nothing to change");
	while (n-- > 0) {
		if (n % 2)
			scribble(t, from, size);
		else if (ftruncate(t->fd, (off_t)(from + any() % (1 + (size - from) / 4))))
			fail("cannot write");
		usleep((useconds_t)(any() % 8000));
		put(t, all + from, size - from, from);
		usleep((useconds_t)(any() % 4000));
	}
	free(all);
}

/* Where the last byte lies that is loaded. */
static uint64_t loaded_end(const struct target *t)
{
	uint64_t end = 0;
	unsigned i;

	for (i = 0; i < t->h.e_phnum; i++) {
		const Elf64_Phdr *p = &t->p[i];

		if (p->p_type == PT_LOAD && p->p_offset + p->p_filesz > end)
			end = p->p_offset + p->p_filesz;
	}
	/* Whole pages are mapped. */
	return (end + 4095) & ~4095ull;
}

/* The section headers, and the one of others' probes among them. */
static Elf64_Shdr *probes_of(struct target *t, Elf64_Shdr **ret_probes)
{
	Elf64_Shdr *all = calloc(t->h.e_shnum, sizeof(*all));
	char name[16];
	unsigned i;

	if (!all || pread(t->fd, all, t->h.e_shnum * sizeof(*all), (off_t)t->h.e_shoff) < 0)
		fail("no sections");
	for (i = 0; i < t->h.e_shnum; i++) {
		if (pread(t->fd, name, sizeof(name),
			  (off_t)(all[t->h.e_shstrndx].sh_offset + all[i].sh_name)) > 0 &&
		    !memcmp(name, ".note.stapsdt", 14)) {
			*ret_probes = &all[i];
			return all;
		}
	}
	fail("no probes in it");
	return NULL;
}

/* Every tenth is at a place that may be one. */
static void wild_probes(struct target *t, uint64_t n)
{
	static const char text[] = "probes\0wild\0"
				   "8@%rax";
	const Elf64_Nhdr header = { 8, 24 + sizeof(text), 3 };
	uint64_t end = ((uint64_t)lseek(t->fd, 0, SEEK_END) + 4095) & ~4095ull, i, at[3];
	const size_t size = 12 + 8 + ((24 + sizeof(text) + 3) & ~3ul);
	Elf64_Shdr *probes = NULL, *all = probes_of(t, &probes);
	uint8_t *notes = calloc(n, size);
	const Elf64_Phdr *code = NULL;
	unsigned k;

	for (k = 0; k < t->h.e_phnum; k++) {
		if (t->p[k].p_type == PT_LOAD && t->p[k].p_flags & PF_X)
			code = &t->p[k];
	}
	if (!notes || !code)
		fail("no memory, or no code");
	for (i = 0; i < n; i++) {
		uint8_t *note = notes + i * size;

		at[0] = i % 10 ? any() : code->p_vaddr + any() % code->p_filesz;
		at[1] = 0;
		at[2] = i % 3 ? any() % (1 << 20) : i % 2 ? any() : 0;
		memcpy(note, &header, sizeof(header));
		memcpy(note + 12, "stapsdt", 8);
		memcpy(note + 20, at, sizeof(at));
		memcpy(note + 20 + sizeof(at), text, sizeof(text));
	}
	put(t, notes, n * size, end);
	probes->sh_offset = end;
	probes->sh_size = n * size;
	put(t, all, t->h.e_shnum * sizeof(*all), t->h.e_shoff);
	free(notes);
	free(all);
}

static void same_sections(struct target *t)
{
	const uint64_t end = ((uint64_t)lseek(t->fd, 0, SEEK_END) + 4095) & ~4095ull,
		       size = 4 << 20;
	Elf64_Shdr *probes = NULL, *all = probes_of(t, &probes), *many;
	unsigned i;

	many = calloc(SECTIONS, sizeof(*many));
	if (!many)
		fail("no memory");
	for (i = 0; i < SECTIONS; i++) {
		many[i].sh_type = SHT_NOTE;
		many[i].sh_offset = end;
		many[i].sh_size = size;
		many[i].sh_addralign = 4;
	}
	/* The names stay where they are; what was there comes last, as it was. */
	memcpy(many + SECTIONS - t->h.e_shnum, all, t->h.e_shnum * sizeof(*all));
	if (ftruncate(t->fd, (off_t)(end + size)))
		fail("cannot write");
	put(t, many, SECTIONS * sizeof(*many), end + size);
	t->h.e_shoff = end + size;
	t->h.e_shstrndx = (uint16_t)(SECTIONS - t->h.e_shnum + t->h.e_shstrndx);
	t->h.e_shnum = SECTIONS;
	put(t, &t->h, sizeof(t->h), 0);
	free(many);
	free(all);
}

/*
 * zlib's format, by its fixed codes: a zero, then "258 times the byte before" in 13 bits, eight of which
 * are 13 bytes. Returns how many bytes it is.
 */
static size_t deflate_zeros(uint8_t *out, uint64_t groups)
{
	const uint64_t zeros = 1 + groups * 8 * 258;
	const uint32_t sum = (uint32_t)(zeros % 65521) << 16 | 1;
	const char *codes = "110" /* the last block, of fixed codes */
			    "00110000";
	size_t bit = 16, k;
	uint64_t i;

	out[0] = 0x78;
	out[1] = 0x01;
	for (; *codes; codes++, bit++)
		out[bit / 8] |= (uint8_t)((*codes - '0') << bit % 8);
	for (i = 0; i < groups * 8; i++, bit += 13) {
		for (k = 0; k < 8; k++)
			out[(bit + k) / 8] |= (uint8_t)(("11000101"[k] - '0') << (bit + k) % 8);
	}
	bit += 7; /* the end of the block */
	k = (bit + 7) / 8;
	out[k++] = (uint8_t)(sum >> 24);
	out[k++] = (uint8_t)(sum >> 16);
	out[k++] = (uint8_t)(sum >> 8);
	out[k++] = (uint8_t)sum;
	return k;
}

static void inflate_debug(struct target *t, uint64_t megabytes)
{
	const uint64_t end = ((uint64_t)lseek(t->fd, 0, SEEK_END) + 4095) & ~4095ull,
		       groups = (megabytes << 20) / (8 * 258);
	const Elf64_Chdr header = { ELFCOMPRESS_ZLIB, 0, 1 + groups * 8 * 258, 1 };
	Elf64_Shdr *all = calloc(t->h.e_shnum, sizeof(*all));
	uint8_t *bytes = calloc(1, sizeof(header) + groups * 13 + 64);
	size_t size;
	char name[8];
	unsigned i;

	if (!all || !bytes ||
	    pread(t->fd, all, t->h.e_shnum * sizeof(*all), (off_t)t->h.e_shoff) < 0)
		fail("no sections, or no memory");
	memcpy(bytes, &header, sizeof(header));
	size = sizeof(header) + deflate_zeros(bytes + sizeof(header), groups);
	put(t, bytes, size, end);
	for (i = 0; i < t->h.e_shnum; i++) {
		if (pread(t->fd, name, sizeof(name),
			  (off_t)(all[t->h.e_shstrndx].sh_offset + all[i].sh_name)) <= 0 ||
		    memcmp(name, ".debug_", 7))
			continue;
		all[i].sh_flags |= SHF_COMPRESSED;
		all[i].sh_offset = end;
		all[i].sh_size = size;
	}
	put(t, all, t->h.e_shnum * sizeof(*all), t->h.e_shoff);
	free(bytes);
	free(all);
}

int main(int argc, char **argv)
{
	struct target t = { 0 };
	long n = argc > 3 ? atol(argv[3]) : 0;

	if (argc < 3)
		fail("KIND FILE [N]");
	open_target(&t, argv[2],
		    strcmp(argv[1], "probes") && strcmp(argv[1], "sections") &&
			    strcmp(argv[1], "inflate"));
	if (!strcmp(argv[1], "notes")) {
		more_notes(&t, (uint64_t)n);
	} else if (!strcmp(argv[1], "huge")) {
		t.p[t.ours].p_filesz = t.p[t.ours].p_memsz = 1ull << 60;
		put_headers(&t);
	} else if (!strcmp(argv[1], "overlap")) {
		overlap(&t);
	} else if (!strcmp(argv[1], "semaphore")) {
		no_semaphore(&t);
	} else if (!strcmp(argv[1], "probes")) {
		wild_probes(&t, (uint64_t)n);
	} else if (!strcmp(argv[1], "sections")) {
		same_sections(&t);
	} else if (!strcmp(argv[1], "inflate")) {
		inflate_debug(&t, (uint64_t)n);
	} else if (!strcmp(argv[1], "flip")) {
		flip(&t, n);
	} else if (!strcmp(argv[1], "change")) {
		change(&t, 0, n);
	} else if (!strcmp(argv[1], "tail")) {
		change(&t, loaded_end(&t), n);
	}
	return 0;
}
