/* SPDX-License-Identifier: BSD-2-Clause */
/* What the broker is asked to attach to, and whether the file says the same. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "privilege/broker/server.h"
#include "elf_image.h"

#define STUB	 (IMAGE_CODE + 0x20)
#define SWITCH	 (IMAGE_DATA + 0x10)
#define PROBE	 IMAGE_CODE
#define COUNTER	 (IMAGE_DATA + 0x80)
#define FUNCTION (IMAGE_CODE + 0x100)

static const struct image_site marker = {
	.stub = IMAGE_CODE_VADDR + STUB,
	.semaphore_vaddr = IMAGE_DATA_VADDR + SWITCH,
	.kind = 1,
	.slow = 1,
	.fast = 2,
	.domain = "net",
};

static void init(struct image *m)
{
	image_init(m, EM_X86_64);
	image_put_stub(m, STUB);
	image_add_site(m, &marker);
}

static bool buffered = true;

static bool proved_all(const struct image *m, enum broker_program program,
		       const struct broker_site *sites, unsigned n)
{
	int fd = image_fd(m);
	struct segments s;
	bool proved;

	assert_true(segments_read(fd, &s));
	proved = sites_proved(fd, &s, program, buffered, sites, n);
	close(fd);
	return proved;
}

static bool proved(const struct image *m, enum broker_program program, uint64_t offset,
		   uint64_t semaphore)
{
	const struct broker_site site = { offset, semaphore, 0 };

	return proved_all(m, program, &site, 1);
}

static void markers_by_their_notes(void **state)
{
	struct image m;

	(void)state;
	init(&m);
	assert_true(proved(&m, BROKER_MARKS, STUB + 1, SWITCH));
	assert_true(proved(&m, BROKER_MARKS, STUB + 2, SWITCH));
	/* Another word of the data, none, code beside, and a probe that is another's. */
	assert_false(proved(&m, BROKER_MARKS, STUB + 1, SWITCH + 2));
	assert_false(proved(&m, BROKER_MARKS, STUB + 1, 0));
	assert_false(proved(&m, BROKER_MARKS, STUB, SWITCH));
	assert_false(proved(&m, BROKER_MARKS, STUB + 3, SWITCH));
	assert_false(proved(&m, BROKER_MARKS, PROBE, COUNTER));
	assert_false(proved(&m, BROKER_USDT, STUB + 1, SWITCH));
	/* The bytes of one, of which no note says anything. */
	image_put_stub(&m, IMAGE_CODE + 0x40);
	assert_false(proved(&m, BROKER_MARKS, IMAGE_CODE + 0x41, SWITCH));
}

/*
 * A site has one semaphore, which the file chooses, not who asks: the kernel refuses the others' at a site that has a
 * link. Flush sites have one only where nothing else turns the semaphore on; no other program is at them, and theirs is at no other.
 */
static void flush_sites_by_their_notes(void **state)
{
	struct image_site flush = marker, control = marker;
	struct image m;

	(void)state;
	init(&m);
	assert_false(proved(&m, BROKER_FLUSH, STUB + 1, SWITCH));
	assert_false(proved(&m, BROKER_FLUSH, STUB + 1, 0));

	image_init(&m, EM_X86_64);
	image_put_stub(&m, STUB);
	flush.kind = RECORD_FLUSH;
	image_add_site(&m, &flush);
	assert_true(proved(&m, BROKER_FLUSH, STUB + 1, SWITCH));
	assert_true(proved(&m, BROKER_FLUSH, STUB + 2, SWITCH));
	assert_false(proved(&m, BROKER_FLUSH, STUB + 1, 0));
	assert_false(proved(&m, BROKER_MARKS, STUB + 1, SWITCH));
	assert_false(proved(&m, BROKER_MARKS, STUB + 1, 0));

	control.stub += 0x20;
	control.kind = RECORD_STEP;
	image_put_stub(&m, STUB + 0x20);
	image_add_site(&m, &control);
	assert_true(proved(&m, BROKER_FLUSH, STUB + 1, 0));
	assert_false(proved(&m, BROKER_FLUSH, STUB + 1, SWITCH));
	assert_false(proved(&m, BROKER_FLUSH, STUB + 0x21, 0));
	assert_false(proved(&m, BROKER_FLUSH, STUB + 0x21, SWITCH));
	assert_true(proved(&m, BROKER_MARKS, STUB + 0x21, SWITCH));
	assert_false(proved(&m, BROKER_MARKS, STUB + 1, 0));
}

/* Without a semaphore; the one of kind 49 has the lower half of the domain's. */
static void steady_nops_by_their_notes(void **state)
{
	struct image_site site = marker;
	struct image m;

	(void)state;
	image_init(&m, EM_X86_64);
	image_put_stub(&m, STUB);
	site.flags = 3;
	image_add_site(&m, &site);
	assert_true(proved(&m, BROKER_MARKS, STUB, 0));
	assert_false(proved(&m, BROKER_MARKS, STUB, SWITCH));
	assert_true(proved(&m, BROKER_MARKS, STUB + 1, SWITCH));
	assert_false(proved(&m, BROKER_MARKS, STUB + 1, 0));

	image_init(&m, EM_X86_64);
	image_put_stub(&m, STUB);
	site.kind = 49;
	site.flags = 2;
	site.semaphore_vaddr += 2;
	image_add_site(&m, &site);
	assert_true(proved(&m, BROKER_MARKS, STUB, SWITCH));
	assert_false(proved(&m, BROKER_MARKS, STUB, SWITCH + 2));
	assert_false(proved(&m, BROKER_MARKS, STUB, 0));
	assert_true(proved(&m, BROKER_MARKS, STUB + 1, SWITCH + 2));
	/* Nothing turns on the buffered mode that the user has not permitted. */
	buffered = false;
	assert_false(proved(&m, BROKER_MARKS, STUB, SWITCH));
	assert_false(proved(&m, BROKER_MARKS, STUB + 1, SWITCH + 2));
	buffered = true;
}

static void markers_one_by_one(void **state)
{
	struct image_site other = marker;
	struct broker_site sites[] = { { IMAGE_CODE + 0x42, SWITCH + 4, 9 },
				       { STUB + 1, SWITCH, 0 },
				       { IMAGE_CODE + 0x41, SWITCH + 4, 9 },
				       { STUB + 1, SWITCH, 3 } };
	struct image m;

	(void)state;
	other.stub += 0x20;
	other.semaphore_vaddr += 4;
	image_init(&m, EM_X86_64);
	image_add_note(&m, "GNU", 3, "0123456789abcdef", 16, 8);
	image_add_site_aligned(&m, &marker, 8);
	image_add_note(&m, "proftrace", 1, "short", 5, 8);
	image_add_note(&m, "proftrace", 2, "of a version that is not known", 30, 8);
	image_add_site_aligned(&m, &other, 8);
	assert_true(proved_all(&m, BROKER_MARKS, sites, 4));
	sites[3].semaphore_offset += 4; /* the other's */
	assert_false(proved_all(&m, BROKER_MARKS, sites, 4));
}

static void probes_by_theirs(void **state)
{
	struct image m;

	(void)state;
	init(&m);
	assert_true(proved(&m, BROKER_USDT, PROBE, COUNTER));
	assert_false(proved(&m, BROKER_USDT, PROBE, COUNTER + 2));
	assert_false(proved(&m, BROKER_USDT, PROBE, 0));
	assert_false(proved(&m, BROKER_USDT, PROBE + 1, COUNTER));
	assert_false(proved(&m, BROKER_USDT, PROBE - 0x10, COUNTER));
	/* A semaphore that the file has no data for cannot be named, nor another in its place. */
	image_segment(&m, SEG_DATA)->p_filesz = 0x80;
	assert_true(proved(&m, BROKER_USDT, PROBE, 0));
	assert_false(proved(&m, BROKER_USDT, PROBE, COUNTER));
	assert_false(proved(&m, BROKER_USDT, PROBE, SWITCH));
	image_segment(&m, SEG_DATA)->p_filesz = IMAGE_DATA_SIZE;
	/* Not moved since it was linked: then it lies before the code. */
	image_section(&m, SEC_BASE)->sh_name = 0;
	assert_false(proved(&m, BROKER_USDT, PROBE, COUNTER));
	image_header(&m)->e_shnum = 0;
	assert_false(proved(&m, BROKER_USDT, PROBE, COUNTER));
}

static void functions_by_symbols(void **state)
{
	struct image m;

	(void)state;
	init(&m);
	assert_true(proved(&m, BROKER_LIBRARIES, FUNCTION, 0));
	assert_false(proved(&m, BROKER_EXECUTES, FUNCTION, 0));
	assert_false(proved(&m, BROKER_LIBRARIES, FUNCTION + 1, 0));
	assert_false(proved(&m, BROKER_LIBRARIES, FUNCTION, SWITCH));
	assert_false(proved(&m, BROKER_EXECUTES, STUB + 1, 0));
	/* Sections are of no account there. */
	image_header(&m)->e_shnum = 0;
	assert_true(proved(&m, BROKER_LIBRARIES, FUNCTION, 0));
	image_segment(&m, SEG_DYNAMIC)->p_type = PT_NULL;
	assert_false(proved(&m, BROKER_LIBRARIES, FUNCTION, 0));
}

static void functions_by_names(void **state)
{
	static const struct {
		char name[16];
		bool linker;
		unsigned executes; /* for this reason alone; 0: not */
	} cases[] = {
		{ "_dl_debug_state", true, 0 },
		{ "_dl_debug_stat", false, 0 },
		{ "dl_debug_state", false, 0 },
		{ "execve", false, HOLD_EXECVE },
		{ "execveat", false, HOLD_EXECVEAT },
		{ "fexecve", false, HOLD_FEXECVE },
		{ "prctl", false, HOLD_COUNTER },
		{ "execv", false, 0 },
		{ "execvex", false, 0 },
		{ "malloc", false, 0 },
		{ "", false, 0 },
	};
	struct image m;
	unsigned i, reason;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		init(&m);
		image_put(&m, IMAGE_DYNSTR + 6, cases[i].name, sizeof(cases[i].name));
		assert_int_equal(proved(&m, BROKER_LIBRARIES, FUNCTION, 0), cases[i].linker);
		for (reason = 0; reason <= HOLD_COUNTER + 1; reason++) {
			const struct broker_site site = { FUNCTION, 0, reason };
			bool is_its = reason && reason == cases[i].executes;

			assert_int_equal(proved_all(&m, BROKER_EXECUTES, &site, 1), is_its);
			buffered = false;
			assert_int_equal(proved_all(&m, BROKER_EXECUTES, &site, 1),
					 is_its && reason != HOLD_COUNTER);
			buffered = true;
		}
	}
	/* A name that lies nowhere. */
	init(&m);
	((Elf64_Sym *)(m.bytes + IMAGE_DYNSYM))[2].st_name = UINT32_MAX;
	assert_false(proved(&m, BROKER_LIBRARIES, FUNCTION, 0));
}

/* Calls of the function at which threads are held in the dynamic linker, and of no other. */
static void calls_of_the_linker(void **state)
{
	const size_t call = IMAGE_CODE + 0x60, last = IMAGE_DATA - 5;
	const struct broker_site sites[] = { { call + 8, 0, 7 },
					     { FUNCTION, 0, 3 },
					     { call, 0, 5 } };
	struct image m;

	(void)state;
	init(&m);
	image_put_unwind(&m);
	image_put_call(&m, call, 0xe8, 0);
	image_put_call(&m, call + 8, 0xe9, 0);
	image_put_call(&m, last, 0xe8, 0);
	assert_true(proved(&m, BROKER_LIBRARIES, call, 0));
	assert_true(proved(&m, BROKER_LIBRARIES, call + 8, 0));
	assert_true(proved(&m, BROKER_LIBRARIES, last, 0));
	assert_true(proved_all(&m, BROKER_LIBRARIES, sites, 3));
	assert_false(proved(&m, BROKER_LIBRARIES, call, SWITCH));
	assert_false(proved(&m, BROKER_LIBRARIES, call + 1, 0));
	assert_false(proved(&m, BROKER_EXECUTES, call, 0));
	assert_false(proved(&m, BROKER_FUNCTIONS, call, 0));
	/* A part of another instruction, one that is not decoded, and no function is known. */
	m.bytes[call - 1] = 0xb8;
	assert_false(proved(&m, BROKER_LIBRARIES, call, 0));
	m.bytes[call - 1] = 0x06;
	assert_false(proved(&m, BROKER_LIBRARIES, call, 0));
	m.bytes[call - 1] = 0x90;
	m.bytes[IMAGE_UNWIND + 12]++;
	assert_true(proved(&m, BROKER_LIBRARIES, call, 0));
	m.bytes[IMAGE_UNWIND + 8] = 0;
	assert_false(proved(&m, BROKER_LIBRARIES, call, 0));
	m.bytes[IMAGE_UNWIND + 8] = 3;
	assert_false(proved(&m, BROKER_LIBRARIES, call, 0));
	m.bytes[IMAGE_UNWIND + 8] = 1;
	assert_true(proved(&m, BROKER_LIBRARIES, call, 0));
	/* The code ends in it. */
	image_segment(&m, SEG_CODE)->p_filesz--;
	assert_false(proved(&m, BROKER_LIBRARIES, last, 0));
	/* Others, one of which is proved. */
	image_put_call(&m, call + 8, 0xe8, 1);
	assert_false(proved(&m, BROKER_LIBRARIES, call + 8, 0));
	assert_false(proved_all(&m, BROKER_LIBRARIES, sites, 3));
	image_put_call(&m, call + 8, 0xea, 0);
	assert_false(proved(&m, BROKER_LIBRARIES, call + 8, 0));
	/* No code. */
	image_put_call(&m, IMAGE_DATA + 0x40, 0xe8, IMAGE_CODE_VADDR - IMAGE_DATA_VADDR);
	assert_false(proved(&m, BROKER_LIBRARIES, IMAGE_DATA + 0x40, 0));
	/* Another function. */
	image_put(&m, IMAGE_DYNSTR + 6, "execve", sizeof("execve"));
	assert_false(proved(&m, BROKER_LIBRARIES, call, 0));
	assert_false(proved(&m, BROKER_EXECUTES, call, 0));
}

/* Each word of what is read, made absurd: nothing but what was asked for is ever proved. */
static void damaged(void **state)
{
	static const uint64_t absurd[] = { 0, 1, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX };
	const struct broker_site wrong = { STUB + 3, SWITCH, 0 };
	struct image good, m;
	unsigned program, i;
	size_t at;

	(void)state;
	init(&good);
	for (at = 0; at + sizeof(absurd[0]) <= sizeof(m.bytes); at += 4) {
		for (i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++) {
			int fd;
			struct segments s;

			m = good;
			memcpy(m.bytes + at, &absurd[i], sizeof(absurd[i]));
			fd = image_fd(&m);
			if (segments_read(fd, &s)) {
				for (program = 0; program <= BROKER_USDT; program++)
					assert_false(
						sites_proved(fd, &s, program, true, &wrong, 1));
			}
			close(fd);
		}
	}
}

/* Sixty thousand sections, all of them the same megabytes of notes. */
static void sections_without_end(void **state)
{
	enum {
		SECTIONS = 60000,
		EMPTY = 4 << 20
	};
	static const Elf64_Nhdr nothing = { 0 };
	const struct broker_site site = { PROBE, COUNTER, 0 };
	const Elf64_Shdr notes = { .sh_type = SHT_NOTE, .sh_offset = IMAGE_SIZE, .sh_size = EMPTY };
	struct segments s;
	struct image m;
	size_t at;
	int fd, i;

	(void)state;
	init(&m);
	image_header(&m)->e_shoff = IMAGE_SIZE + EMPTY;
	image_header(&m)->e_shnum = SECTIONS;
	fd = image_fd(&m);
	for (at = 0; at + sizeof(nothing) <= EMPTY; at += sizeof(nothing))
		assert_int_equal(pwrite(fd, &nothing, sizeof(nothing), (off_t)(IMAGE_SIZE + at)),
				 sizeof(nothing));
	for (i = 0; i < SECTIONS; i++)
		assert_int_equal(pwrite(fd, &notes, sizeof(notes),
					(off_t)(IMAGE_SIZE + EMPTY + i * sizeof(notes))),
				 sizeof(notes));
	assert_true(segments_read(fd, &s));
	/* It would take hours. */
	alarm(120);
	assert_false(sites_proved(fd, &s, BROKER_USDT, true, &site, 1));
	alarm(0);
	close(fd);
}

/* The table of symbols that has the function comes after one of so many others. */
static bool proved_after_table(uint64_t symbols)
{
	enum {
		AT = 1 << 20, /* where the other table is, and before it what says so */
		VADDR = 1 << 24,
	};
	const struct broker_site site = { FUNCTION, 0, 0 };
	const Elf64_Dyn dynamic[] = { { DT_SYMTAB, { VADDR + 4096 } },
				      { DT_STRTAB, { VADDR + 4096 + symbols * sizeof(Elf64_Sym) } },
				      { DT_NULL, { 0 } } };
	Elf64_Phdr headers[2 + N_SEG] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R,
		  .p_offset = AT,
		  .p_vaddr = VADDR,
		  .p_filesz = 32 << 20 },
		{ .p_type = PT_DYNAMIC, .p_offset = AT, .p_filesz = sizeof(dynamic) },
	};
	struct segments segments;
	struct image m;
	bool is_proved;
	int fd;

	init(&m);
	memcpy(headers + 2, image_segment(&m, 0), N_SEG * sizeof(headers[0]));
	image_header(&m)->e_phoff = IMAGE_SIZE;
	image_header(&m)->e_phnum = 2 + N_SEG;
	fd = image_fd(&m);
	assert_int_equal(ftruncate(fd, 64 << 20), 0);
	assert_int_equal(pwrite(fd, headers, sizeof(headers), IMAGE_SIZE), sizeof(headers));
	assert_int_equal(pwrite(fd, dynamic, sizeof(dynamic), AT), sizeof(dynamic));
	assert_true(segments_read(fd, &segments));
	is_proved = sites_proved(fd, &segments, BROKER_LIBRARIES, true, &site, 1);
	close(fd);
	return is_proved;
}

/* A file may have 256 tables; all of them together have a limit. */
static void symbols_without_end(void **state)
{
	(void)state;
	assert_true(proved_after_table(1000));
	assert_false(proved_after_table(1 << 18));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(markers_by_their_notes),
		cmocka_unit_test(flush_sites_by_their_notes),
		cmocka_unit_test(steady_nops_by_their_notes),
		cmocka_unit_test(markers_one_by_one),
		cmocka_unit_test(probes_by_theirs),
		cmocka_unit_test(functions_by_symbols),
		cmocka_unit_test(functions_by_names),
		cmocka_unit_test(calls_of_the_linker),
		cmocka_unit_test(damaged),
		cmocka_unit_test(sections_without_end),
		cmocka_unit_test(symbols_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
