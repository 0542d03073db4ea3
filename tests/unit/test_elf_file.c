/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reader of ELF files (tracee/elf_file.c, elf_symbol.c) on images that are built here, most of
 * them damaged.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>

#include "elf_image.h"
#include "tracee/elf_file.h"
#include "tracee/usdt.h"

static struct elf_file *must_open(const struct image *m)
{
	struct elf_file *elf = NULL;
	struct failure f;
	int fd = image_fd(m);

	assert_int_equal(elf_file_open(fd, &elf, &f), 0);
	return elf;
}

static void done(struct elf_file *elf)
{
	close(elf->fd);
	elf_file_free(elf);
}

static void must_refuse_bytes(const void *bytes, size_t size, int error, const char *reason)
{
	struct elf_file *elf = (struct elf_file *)1;
	struct failure f;
	int fd = image_bytes_fd(bytes, size);

	assert_int_equal(elf_file_open(fd, &elf, &f), error);
	assert_ptr_equal(elf, (struct elf_file *)1);
	if (!strstr(f.reason, reason))
		fail_msg("'%s' lacks '%s'", f.reason, reason);
	assert_int_equal(elf_file_open(fd, &elf, NULL), error);
	close(fd);
}

static void must_refuse(const struct image *m, const char *reason)
{
	must_refuse_bytes(m->bytes, sizeof(m->bytes), -ENOEXEC, reason);
}

static void opens_a_library(void **state)
{
	static const uint8_t id[] = { 0xab, 0xcd, 0xef };
	struct elf_file *elf;
	struct image m;

	(void)state;
	image_init(&m, EM_AARCH64);
	image_add_note(&m, "Else", 1, "1234567", 7, 4);
	image_add_note(&m, "GNU", NT_GNU_ABI_TAG, "12345678", 8, 4);
	image_add_note(&m, "GNU", NT_GNU_BUILD_ID, id, sizeof(id), 4);
	elf = must_open(&m);
	assert_int_equal(elf->machine, EM_AARCH64);
	assert_int_equal(elf->type, ET_DYN);
	assert_true(elf->has_interp);
	assert_string_equal(elf->interp, "/lib/ld.so");
	assert_int_equal(elf->build_id_size, sizeof(id));
	assert_memory_equal(elf->build_id, id, sizeof(id));
	done(elf);
}

static void refuses_what_is_no_elf_file(void **state)
{
	struct failure f;
	struct elf_file *elf;
	struct image m;
	int ends[2], fd;

	(void)state;
	image_init(&m, EM_X86_64);
	must_refuse_bytes("", 0, -ENOEXEC, "empty");
	must_refuse_bytes("#!/bin/sh\n", 10, -ENOEXEC, "does not begin with the ELF magic");
	must_refuse_bytes("\177EL", 3, -ENOEXEC, "does not begin with the ELF magic");
	must_refuse_bytes("\177ELF", 4, -ENOEXEC, "ends within its header");
	must_refuse_bytes(m.bytes, 63, -ENOEXEC, "ends within its header");
	must_refuse_bytes(m.bytes, 100, -ENOEXEC, "program headers are beyond its end");

	fd = open("/", O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_file_open(fd, &elf, &f), -EISDIR);
	close(fd);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(elf_file_open(ends[0], &elf, &f), -EINVAL);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(elf_file_open(-1, &elf, &f), -EBADF);
}

static void refuses_files_for_others(void **state)
{
	struct image good, m;

	(void)state;
	image_init(&good, EM_X86_64);
	m = good;
	image_header(&m)->e_ident[EI_CLASS] = ELFCLASS32;
	must_refuse(&m, "64-bit");
	m = good;
	image_header(&m)->e_ident[EI_DATA] = ELFDATA2MSB;
	must_refuse(&m, "little-endian");
	m = good;
	image_header(&m)->e_machine = EM_RISCV;
	must_refuse(&m, "e_machine 243");
	m = good;
	image_header(&m)->e_type = ET_REL;
	must_refuse(&m, "not been linked");
	m = good;
	image_header(&m)->e_type = ET_CORE;
	must_refuse(&m, "core dump");
	m = good;
	image_header(&m)->e_type = 0x1234;
	must_refuse(&m, "e_type 4660");
	m = good;
	image_header(&m)->e_phentsize = 32;
	must_refuse(&m, "wrong size");
	m = good;
	image_header(&m)->e_phnum = 0;
	must_refuse(&m, "no program headers");
	m = good;
	image_header(&m)->e_phnum = PN_XNUM;
	must_refuse(&m, "65535 program headers");
	m = good;
	image_header(&m)->e_phoff = UINT64_MAX - 8;
	must_refuse(&m, "beyond its end");
}

static void finds_offsets(void **state)
{
	const uint64_t code = IMAGE_CODE_VADDR + IMAGE_CODE, data = IMAGE_DATA_VADDR + IMAGE_DATA;
	struct elf_file *elf;
	struct image m;
	uint64_t offset = 0;

	(void)state;
	image_init(&m, EM_X86_64);
	elf = must_open(&m);
	assert_int_equal(elf_file_offset(elf, code + 5, ELF_ANYWHERE, &offset), 0);
	assert_int_equal(offset, IMAGE_CODE + 5);
	assert_int_equal(elf_file_offset(elf, code + 5, ELF_EXECUTABLE, &offset), 0);
	assert_int_equal(elf_file_offset(elf, code + 5, ELF_WRITABLE, &offset), -ENOENT);
	assert_int_equal(elf_file_offset(elf, data, ELF_WRITABLE, &offset), 0);
	assert_int_equal(offset, IMAGE_DATA);
	assert_int_equal(elf_file_offset(elf, data, ELF_EXECUTABLE, &offset), -ENOENT);
	/* .bss has no bytes in the file; nor has what straddles its beginning. */
	assert_int_equal(elf_file_offset(elf, data + IMAGE_DATA_SIZE, ELF_ANYWHERE, &offset),
			 -ENOENT);
	assert_int_equal(elf_file_range(elf, data + IMAGE_DATA_SIZE - 4, 4, ELF_WRITABLE, &offset),
			 0);
	assert_int_equal(elf_file_range(elf, data + IMAGE_DATA_SIZE - 2, 4, ELF_WRITABLE, &offset),
			 -ENOENT);
	assert_int_equal(elf_file_range(elf, data, UINT64_MAX, ELF_WRITABLE, &offset), -ENOENT);
	assert_int_equal(elf_file_offset(elf, code - 1, ELF_ANYWHERE, &offset), -ENOENT);
	assert_int_equal(elf_file_offset(elf, UINT64_MAX, ELF_ANYWHERE, &offset), -ENOENT);
	done(elf);
}

static void ignores_segments_that_overflow(void **state)
{
	struct elf_file *elf;
	struct image m;
	uint64_t offset;

	(void)state;
	image_init(&m, EM_X86_64);
	image_segment(&m, SEG_CODE)->p_vaddr = UINT64_MAX - 8;
	image_segment(&m, SEG_READ)->p_offset = INT64_MAX;
	image_segment(&m, SEG_DATA)->p_filesz = 3 * IMAGE_DATA_SIZE; /* more than p_memsz */
	elf = must_open(&m);
	assert_int_equal(elf_file_offset(elf, UINT64_MAX - 4, ELF_ANYWHERE, &offset), -ENOENT);
	assert_int_equal(elf_file_offset(elf, 8, ELF_ANYWHERE, &offset), -ENOENT);
	assert_int_equal(elf_file_offset(elf, IMAGE_DATA_VADDR + IMAGE_DATA, ELF_ANYWHERE, &offset),
			 -ENOENT);
	done(elf);
}

static void reads_strings(void **state)
{
	struct elf_file *elf;
	struct image m;
	char text[64];

	(void)state;
	image_init(&m, EM_X86_64);
	memset(m.bytes + IMAGE_DATA - 8, 'x', 8); /* the code ends in the middle of a string */
	memcpy(m.bytes + IMAGE_DATA, "changes", 8);
	elf = must_open(&m);
	assert_int_equal(elf_file_string(elf, IMAGE_STRING, text, sizeof(text)), 13);
	assert_string_equal(text, "a static name");
	assert_int_equal(elf_file_string(elf, IMAGE_STRING + 2, text, sizeof(text)), 11);
	assert_string_equal(text, "static name");
	assert_int_equal(elf_file_string(elf, IMAGE_STRING + 13, text, sizeof(text)), 0);
	assert_int_equal(elf_file_string(elf, IMAGE_STRING, text, 14), 13);
	assert_int_equal(elf_file_string(elf, IMAGE_STRING, text, 13), 13); /* cut by one */
	assert_string_equal(text, "a static nam");
	assert_int_equal(elf_file_string(elf, IMAGE_STRING, text, 1), 1);
	assert_string_equal(text, "");
	assert_int_equal(elf_file_string(elf, IMAGE_STRING, text, 0), -EINVAL);
	/* What is writable may have changed since; what is nowhere is no string either. */
	assert_int_equal(elf_file_string(elf, IMAGE_DATA_VADDR + IMAGE_DATA, text, sizeof(text)),
			 -ENOENT);
	assert_int_equal(elf_file_string(elf, 0x123456789, text, sizeof(text)), -ENOENT);
	assert_int_equal(
		elf_file_string(elf, IMAGE_CODE_VADDR + IMAGE_DATA - 8, text, sizeof(text)),
		-ENOENT);
	done(elf);
}

static void reads_bytes(void **state)
{
	struct elf_file *elf;
	struct image m;
	char bytes[16];

	(void)state;
	image_init(&m, EM_X86_64);
	elf = must_open(&m);
	assert_int_equal(elf_file_bytes(elf, IMAGE_STRING, bytes, 8), 0);
	assert_memory_equal(bytes, "a static", 8);
	assert_int_equal(elf_file_bytes(elf, IMAGE_CODE - 4, bytes, 4), 0);
	assert_int_equal(elf_file_bytes(elf, IMAGE_CODE - 4, bytes, 5), -ENOENT);
	assert_int_equal(elf_file_bytes(elf, IMAGE_DATA_VADDR + IMAGE_DATA, bytes, 1), -ENOENT);
	/* The file is cut short while it is in use. */
	assert_int_equal(ftruncate(elf->fd, IMAGE_STRING + 4), 0);
	assert_int_equal(elf_file_bytes(elf, IMAGE_STRING, bytes, 8), -ENODATA);
	assert_int_equal(elf_file_string(elf, IMAGE_STRING, bytes, 8), -ENODATA);
	done(elf);
}

static void finds_symbols_by_each_table(void **state)
{
	static const int64_t without[] = { DT_NULL, DT_HASH, DT_GNU_HASH };
	uint64_t vaddr, i, k;
	struct elf_file *elf;
	struct image m;

	(void)state;
	for (i = 0; i < 3; i++) {
		image_init(&m, EM_X86_64);
		image_header(&m)->e_shoff = 0;
		for (k = 0; k < 5; k++) {
			Elf64_Dyn *d = (Elf64_Dyn *)(m.bytes + IMAGE_DYNAMIC) + k;

			if (i && d->d_tag == without[i])
				d->d_tag = DT_DEBUG;
		}
		elf = must_open(&m);
		vaddr = 0;
		assert_int_equal(elf_file_dynamic_symbol(elf, "_dl_debug_state", &vaddr), 0);
		assert_int_equal(vaddr, IMAGE_SYMBOL_VADDR);
		/* Undefined, unknown, and the beginning of one that is known. */
		assert_int_equal(elf_file_dynamic_symbol(elf, "puts", &vaddr), -ENOENT);
		assert_int_equal(elf_file_dynamic_symbol(elf, "nothing", &vaddr), -ENOENT);
		assert_int_equal(elf_file_dynamic_symbol(elf, "_dl_debug", &vaddr), -ENOENT);
		done(elf);
	}
	/* Without PT_DYNAMIC, by section headers; without these either, not at all. */
	image_init(&m, EM_X86_64);
	image_segment(&m, SEG_DYNAMIC)->p_type = PT_NULL;
	elf = must_open(&m);
	assert_int_equal(elf_file_dynamic_symbol(elf, "_dl_debug_state", &vaddr), 0);
	assert_int_equal(vaddr, IMAGE_SYMBOL_VADDR);
	done(elf);
	image_header(&m)->e_shoff = 0;
	elf = must_open(&m);
	assert_int_equal(elf_file_dynamic_symbol(elf, "_dl_debug_state", &vaddr), -ENOENT);
	done(elf);
}

static void survives_endless_hash_chains(void **state)
{
	const uint32_t circle[] = { 1, 3, 1, 0, 2, 1 }; /* 1 -> 2 -> 1, neither is the one */
	const uint32_t no_bucket[] = { 0, 2, 1, 0 };
	uint64_t vaddr;
	struct elf_file *elf;
	struct image m;

	(void)state;
	image_init(&m, EM_X86_64);
	image_header(&m)->e_shoff = 0;
	image_put(&m, IMAGE_HASH, circle, sizeof(circle));
	image_put(&m, IMAGE_GNU_HASH, no_bucket, sizeof(no_bucket));
	elf = must_open(&m);
	assert_int_equal(elf_file_dynamic_symbol(elf, "nothing", &vaddr), -ENOENT);
	done(elf);
}

static void pwrite_all(int fd, const void *bytes, size_t n, uint64_t at)
{
	assert_int_equal(pwrite(fd, bytes, n, (off_t)at), n);
}

/* Calls of the kernel that reading takes, as it counts them for this thread. */
static unsigned long reads_so_far(void)
{
	char line[64];
	unsigned long n = 0;
	FILE *f = fopen("/proc/thread-self/io", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "syscr: %lu", &n);
	if (f)
		fclose(f);
	return n;
}

#define COUNTING 2	   /* reads of the function above */
#define LONG	 (1 << 18) /* symbols */

/* Tables that say the most that they can, all of it wrong: each name costs few thousand reads at most. */
static void searches_long_tables_for_a_while(void **state)
{
	const uint32_t header[] = { 1, 1, 0, 0, 1 }, hash[] = { 1, LONG, 1 };
	const uint64_t symbols = 1 << 20, gnu = symbols + 24ull * LONG, sysv = gnu + 8ull * LONG;
	const Elf64_Sym symbol = { .st_name = 1, .st_shndx = 1, .st_value = 1 };
	const uint64_t end = sysv + 8ull * LONG;
	uint32_t i, same = 0x1ceb853a & ~1u, next;
	unsigned variant;

	(void)state;
	for (variant = 0; variant < 4; variant++) {
		struct elf_file *elf;
		struct image m;
		uint64_t vaddr;
		unsigned long before;
		Elf64_Dyn *d = (Elf64_Dyn *)(m.bytes + IMAGE_DYNAMIC);

		image_init(&m, EM_X86_64);
		image_segment(&m, SEG_READ)->p_filesz = image_segment(&m, SEG_READ)->p_memsz = end;
		image_section(&m, SEC_DYNSYM)->sh_offset = symbols;
		image_section(&m, SEC_DYNSYM)->sh_size = 24ull * LONG;
		d[0].d_un.d_ptr = symbols;
		d[3] = (Elf64_Dyn){ variant & 1 ? DT_DEBUG : DT_GNU_HASH, { gnu } };
		d[4] = (Elf64_Dyn){ variant & 2 ? DT_DEBUG : DT_HASH, { sysv } };
		elf = must_open(&m);
		assert_int_equal(ftruncate(elf->fd, (off_t)end), 0);
		pwrite_all(elf->fd, header, sizeof(header), gnu);
		pwrite_all(elf->fd, hash, sizeof(hash), sysv);
		for (i = 1; i < LONG; i++) {
			next = i + 1;
			pwrite_all(elf->fd, &symbol, sizeof(symbol), symbols + 24ull * i);
			pwrite_all(elf->fd, &same, 4, gnu + sizeof(header) + 4ull * (i - 1));
			pwrite_all(elf->fd, &next, 4, sysv + sizeof(hash) + 4ull * i);
		}
		before = reads_so_far();
		assert_int_equal(elf_file_dynamic_symbol(elf, "_dl_debug_state", &vaddr), -ENOENT);
		assert_in_range(reads_so_far() - before, 0, 10000);
		done(elf);
	}
}

static void note_string(void *context, const char *text)
{
	strncat(context, text, 63 - strlen(context));
	strncat(context, ";", 63 - strlen(context));
}

static void reads_strings_of_the_dynamic_section(void **state)
{
	char texts[64] = "";
	struct elf_file *elf;
	struct image m;
	Elf64_Dyn *d;

	(void)state;
	image_init(&m, EM_X86_64);
	d = (Elf64_Dyn *)(m.bytes + IMAGE_DYNAMIC);
	/* In the place of the hash tables. */
	d[3] = (Elf64_Dyn){ DT_NEEDED, { 1 } };
	d[4] = (Elf64_Dyn){ DT_NEEDED, { 10 } };
	elf = must_open(&m);
	elf_file_dynamic_strings(elf, DT_NEEDED, note_string, texts);
	assert_string_equal(texts, "puts;debug_state;");
	elf_file_dynamic_strings(elf, DT_RUNPATH, note_string, texts);
	assert_string_equal(texts, "puts;debug_state;");
	done(elf);
	d[3].d_un.d_val = 0;
	d[4].d_un.d_val = UINT64_MAX;
	elf = must_open(&m);
	*texts = '\0';
	elf_file_dynamic_strings(elf, DT_NEEDED, note_string, texts);
	assert_string_equal(texts, "");
	done(elf);
	image_segment(&m, SEG_DYNAMIC)->p_type = PT_NULL;
	elf = must_open(&m);
	elf_file_dynamic_strings(elf, DT_NEEDED, note_string, texts);
	assert_string_equal(texts, "");
	done(elf);
}

/* Which a recording does with each library of each folder of plug-ins. */
static void reads_little_of_a_file_without_markers(void **state)
{
	unsigned long before;
	char texts[64] = "";
	struct elf_file *elf;
	struct image m;
	Elf64_Dyn *d;

	(void)state;
	image_init(&m, EM_X86_64);
	d = (Elf64_Dyn *)(m.bytes + IMAGE_DYNAMIC);
	d[3] = (Elf64_Dyn){ DT_NEEDED, { 1 } };
	d[4] = (Elf64_Dyn){ DT_NEEDED, { 10 } };
	before = reads_so_far();
	elf = must_open(&m);
	assert_int_equal(reads_so_far() - before, 1 + COUNTING);
	before = reads_so_far();
	elf_file_dynamic_strings(elf, DT_NEEDED, note_string, texts);
	assert_int_equal(reads_so_far() - before, 2 + COUNTING);
	assert_string_equal(texts, "puts;debug_state;");
	done(elf);
}

static void tells_the_own_name_if_it_fits(void **state)
{
	char name[12] = "as it was";
	struct elf_file *elf;
	struct image m;

	(void)state;
	image_init(&m, EM_X86_64);
	((Elf64_Dyn *)(m.bytes + IMAGE_DYNAMIC))[3] = (Elf64_Dyn){ DT_SONAME, { 10 } };
	elf = must_open(&m);
	assert_false(elf_file_own_name(elf, name, sizeof(name) - 1));
	assert_string_equal(name, "as it was");
	assert_true(elf_file_own_name(elf, name, sizeof(name)));
	assert_string_equal(name, "debug_state");
	done(elf);
}

/* They are read in blocks. The section ends without DT_NULL, and what is behind it does not belong to it. */
static void reads_a_long_dynamic_section(void **state)
{
	const unsigned n = 70;
	char texts[64] = "";
	struct elf_file *elf;
	struct image m;
	Elf64_Dyn *d;

	(void)state;
	image_init(&m, EM_X86_64);
	image_segment(&m, SEG_DYNAMIC)->p_offset = IMAGE_CODE;
	image_segment(&m, SEG_DYNAMIC)->p_filesz = n * sizeof(*d);
	d = (Elf64_Dyn *)(m.bytes + IMAGE_CODE);
	memcpy(d, m.bytes + IMAGE_DYNAMIC, 3 * sizeof(*d));
	for (unsigned i = 3; i <= n; i++)
		d[i] = (Elf64_Dyn){ DT_DEBUG, { 0 } };
	d[63] = d[n - 1] = (Elf64_Dyn){ DT_NEEDED, { 1 } };
	d[64] = d[n] = (Elf64_Dyn){ DT_NEEDED, { 10 } };
	elf = must_open(&m);
	elf_file_dynamic_strings(elf, DT_NEEDED, note_string, texts);
	assert_string_equal(texts, "puts;debug_state;puts;");
	done(elf);
	d[65] = (Elf64_Dyn){ DT_NULL, { 0 } };
	elf = must_open(&m);
	*texts = '\0';
	elf_file_dynamic_strings(elf, DT_NEEDED, note_string, texts);
	assert_string_equal(texts, "puts;debug_state;");
	done(elf);
}

static void finds_the_real_dynamic_linker(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), linker;
	struct elf_file *elf;
	struct failure f;
	uint64_t vaddr, offset;

	(void)state;
	assert_int_equal(elf_file_open(fd, &elf, &f), 0);
	if (!elf->has_interp) {
		done(elf);
		skip();
	}
	linker = open(elf->interp, O_RDONLY | O_CLOEXEC);
	done(elf);
	assert_int_equal(elf_file_open(linker, &elf, &f), 0);
	assert_int_equal(elf_file_dynamic_symbol(elf, "_dl_debug_state", &vaddr), 0);
	assert_int_equal(elf_file_offset(elf, vaddr, ELF_EXECUTABLE, &offset), 0);
	assert_true(elf->build_id_size > 0);
	done(elf);
}

static void finds_usdt_probes(void **state)
{
	struct usdt_probes probes;
	struct elf_file *elf;
	struct failure f;
	struct image m;

	(void)state;
	image_init(&m, EM_X86_64);
	elf = must_open(&m);
	assert_int_equal(usdt_find(elf, &probes, &f), 0);
	assert_int_equal(probes.n_probes, 1);
	assert_int_equal(probes.malformed, 0);
	assert_string_equal(probes.probes[0].provider, "other");
	assert_string_equal(probes.probes[0].name, "probe");
	assert_string_equal(probes.probes[0].arguments, "8@%rdi");
	/* The base has moved by 0x10, and the probe and its semaphore with it. */
	assert_int_equal(probes.probes[0].offset, IMAGE_CODE);
	assert_int_equal(probes.probes[0].semaphore_offset, IMAGE_DATA + 0x80);
	usdt_free(&probes);
	done(elf);

	m.bytes[IMAGE_STAPSDT + 4] = 24 + 12; /* the description ends before the arguments */
	elf = must_open(&m);
	assert_int_equal(usdt_find(elf, &probes, &f), 0);
	assert_int_equal(probes.n_probes, 0);
	assert_true(probes.malformed > 0);
	usdt_free(&probes);
	done(elf);

	image_section(&m, SEC_STAPSDT)->sh_size = 1ull << 40;
	elf = must_open(&m);
	assert_int_equal(usdt_find(elf, &probes, &f), 0);
	assert_int_equal(probes.n_probes, 0);
	assert_true(probes.malformed > 0);
	usdt_free(&probes);
	done(elf);

	image_header(&m)->e_shoff = 0;
	elf = must_open(&m);
	assert_int_equal(usdt_find(elf, &probes, &f), 0);
	assert_int_equal(probes.n_probes, 0);
	assert_int_equal(probes.malformed, 0);
	usdt_free(&probes);
	done(elf);
}

static void interp_without_end_is_empty(void **state)
{
	struct elf_file *elf;
	struct image m;

	(void)state;
	image_init(&m, EM_X86_64);
	image_segment(&m, SEG_INTERP)->p_filesz = 10;
	elf = must_open(&m);
	assert_true(elf->has_interp);
	assert_string_equal(elf->interp, "");
	done(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_a_library),
		cmocka_unit_test(refuses_what_is_no_elf_file),
		cmocka_unit_test(refuses_files_for_others),
		cmocka_unit_test(finds_offsets),
		cmocka_unit_test(ignores_segments_that_overflow),
		cmocka_unit_test(reads_strings),
		cmocka_unit_test(reads_bytes),
		cmocka_unit_test(finds_symbols_by_each_table),
		cmocka_unit_test(survives_endless_hash_chains),
		cmocka_unit_test(searches_long_tables_for_a_while),
		cmocka_unit_test(reads_strings_of_the_dynamic_section),
		cmocka_unit_test(reads_little_of_a_file_without_markers),
		cmocka_unit_test(tells_the_own_name_if_it_fits),
		cmocka_unit_test(reads_a_long_dynamic_section),
		cmocka_unit_test(finds_the_real_dynamic_linker),
		cmocka_unit_test(finds_usdt_probes),
		cmocka_unit_test(interp_without_end_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
