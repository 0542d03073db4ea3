/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of code that are wrong: damaged, or made so that reading them never ends. The process that reads
 * them answers, or is ended by its limits and named; what is good has its names all the same.
 */
#include "symbols_fixture.h"

#include <elf.h>
#include <sys/resource.h>

static char bytes[1 << 20];

static size_t read_file(const struct fixture *f, const char *name)
{
	int fd = open_file(f, name);
	ssize_t size = read(fd, bytes, sizeof(bytes));

	close(fd);
	assert_true(size > 4096 && size < (ssize_t)sizeof(bytes));
	return (size_t)size;
}

static void broken_files_have_no_names(void **state)
{
	struct fixture *f = *state;
	struct symbols_counts counts;
	uint64_t inner;
	unsigned i, seed = 1;
	size_t size;

	assert_int_equal(shell(f, "gcc -O2 -g program.c -o good"), 0);
	inner = address_of(f, "good", "at_inner");
	size = read_file(f, "good");
	for (i = 0; i < 60; i++) {
		static char worse[sizeof(bytes)];
		char name[16];
		unsigned j;

		memcpy(worse, bytes, size);
		for (j = 0; j < 1 + i * 4; j++)
			worse[(size_t)rand_r(&seed) % size] = (char)rand_r(&seed);
		snprintf(name, sizeof(name), "bad%u", i);
		put_file(f, name, worse, i % 3 ? size : size * i / 60);
		resolve(f, name, inner);
	}
	put_file(f, "text", "no ELF file\n", 12);
	resolve(f, "text", 0x1000);
	assert_int_equal(f->n, 0);
	put_file(f, "empty", "", 0);
	resolve(f, "empty", 0x1000);
	assert_int_equal(f->n, 0);
	check_inlined(f, "good", inner);
	symbols_count(f->symbols, &counts);
	assert_int_equal(counts.requested, 63);
	assert_int_equal(counts.late, 0);
}

/* --- debug information that is damaged ----------------------------------------------------------- */

struct part {
	size_t offset, size;
};

/* Where what libdw reads lies in `bytes`. */
static unsigned find_debug_sections(struct part *parts, unsigned capacity)
{
	const Elf64_Ehdr *elf = (const void *)bytes;
	const Elf64_Shdr *sections = (const void *)(bytes + elf->e_shoff);
	const char *names = bytes + sections[elf->e_shstrndx].sh_offset;
	unsigned i, n = 0;

	for (i = 0; i < elf->e_shnum && n < capacity; i++) {
		if (!strncmp(names + sections[i].sh_name, ".debug_", 7))
			parts[n++] = (struct part){ sections[i].sh_offset, sections[i].sh_size };
	}
	assert_true(n > 4);
	return n;
}

/* A few bytes: any, small numbers, all ones, or as they stand elsewhere in the section. */
static void damage(char *worse, const struct part *part, unsigned *seed)
{
	unsigned n = 1 + (unsigned)rand_r(seed) % 8, i;

	for (i = 0; i < n; i++) {
		size_t at = (size_t)rand_r(seed) % part->size,
		       from = (size_t)rand_r(seed) % part->size;
		char *byte = worse + part->offset + at;

		switch (rand_r(seed) % 4) {
		case 0:
			*byte = (char)rand_r(seed);
			break;
		case 1:
			*byte = (char)(rand_r(seed) % 16);
			break;
		case 2:
			*byte = (char)0xff;
			break;
		case 3:
			*byte = worse[part->offset + from];
			break;
		}
	}
}

static uint64_t cpu_ms(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

/* Ends keeper and parser, so that their time is known, and starts others. */
static void begin_anew(struct fixture *f)
{
	const struct symbols_options o = { .open_debug = open_debug,
					   .context = f,
					   .limit_ms = LOOKUPS_MS };

	symbols_free(f->symbols);
	assert_int_equal(symbols_new(f->names, &o, &f->symbols), 0);
}

/* A hundred times. Of those that end who reads them, not all are told of: it is replaced sometimes. */
static void damage_program(struct fixture *f, const char *way, const char *good, unsigned *named,
			   unsigned *dead)
{
	static char worse[sizeof(bytes)];
	struct part parts[16];
	struct symbols_counts counts;
	unsigned i, n, seed = 7;
	uint64_t inner;
	size_t size;

	assert_int_equal(shell(f, "gcc -O2 %s program.c -o %s", way, good), 0);
	inner = address_of(f, good, "at_inner");
	size = read_file(f, good);
	n = find_debug_sections(parts, 16);
	for (i = 0; i < 100; i++) {
		char name[16];

		memcpy(worse, bytes, size);
		damage(worse, &parts[i % n], &seed);
		snprintf(name, sizeof(name), "bad%u", i);
		put_file(f, name, worse, size);
		resolve(f, name, inner);
		*named += f->n > 0;
		resolve(f, name, inner + 1);
		if (i % 10 != 9)
			continue;
		symbols_count(f->symbols, &counts);
		assert_int_equal(counts.late, 0);
		*dead += counts.broken;
		begin_anew(f);
	}
	check_inlined(f, good, inner);
}

static void damaged_debug_information(void **state)
{
	struct fixture *f = *state;
	unsigned named = 0, dead = 0;
	uint64_t begun = cpu_ms();

	damage_program(f, "-gdwarf-5", "good5", &named, &dead);
	damage_program(f, "-gdwarf-4", "good4", &named, &dead);
	begin_anew(f);
	assert_true(cpu_ms() - begun < 20000);
	print_message("# of 200 damaged files %u have names, %u ended who read them\n", named,
		      dead);
	/* The symbol table is whole. */
	assert_true(named + dead >= 200);
}

/* --- debug information without end --------------------------------------------------------------- */

/* A program whose debug information is written by hand: `entries` between its unit and the end of it. */
static void put_program(const struct fixture *f, const char *name, const char *entries,
			const char *ranges)
{
	static char text[1 << 22];
	int n = snprintf(
		text, sizeof(text),
		" .text\n .globl main, at\n .type main,@function\n"
		"main: nop\nat: nop\n ret\nend: .size main, .-main\n"
		" .section .note.GNU-stack,\"\",@progbits\n"
		" .section .debug_abbrev,\"\",@progbits\n"
		" .byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0\n"		  /* unit */
		" .byte 2, 0x39, 1, 1, 0x13, 0, 0\n"			  /* namespace, sibling */
		" .byte 3, 0x2e, 0, 0x11, 1, 0x12, 7, 0x31, 0x13, 0, 0\n" /* function, its origin */
		" .byte 4, 0x2e, 0, 0x55, 0x17, 0, 0\n" /* function of several ranges */
		" .byte 0\n"
		" .section .debug_ranges,\"\",@progbits\n%s .quad 0, 0\n"
		" .section .debug_info,\"\",@progbits\n"
		"unit: .long last - first\nfirst: .short 4\n .long 0\n .byte 8\n"
		" .byte 1\n .quad main, end - main\n%s .byte 0\nlast:\n",
		ranges, entries);

	assert_true(n > 0 && (size_t)n < sizeof(text));
	put_file(f, "endless.s", text, (size_t)n);
	assert_int_equal(shell(f, "gcc endless.s -o %s", name), 0);
}

/* It was read to an end, by what read others before, and has the name that it has without all that. */
static void check_ends(struct fixture *f, const char *name)
{
	struct symbols_counts counts;

	resolve(f, name, address_of(f, name, "at"));
	symbols_count(f->symbols, &counts);
	assert_int_equal(counts.broken, 0);
	assert_int_equal(counts.late, 0);
	assert_int_equal(f->n, 1);
	check_line(f, 0, "main", NULL, 0);
}

static void endless_entries(void **state)
{
	static char entries[1 << 21], ranges[1 << 16];
	struct fixture *f = *state;
	size_t used = 0;
	unsigned i;

	/* One that follows itself, one that comes from itself. */
	put_program(f, "itself",
		    "n0: .byte 2\n .long n0 - unit\n"
		    "n1: .byte 3\n .quad main, end - main\n .long n1 - unit\n .byte 0\n",
		    "");
	check_ends(f, "itself");
	/* Each is what is in the one before and what follows it: twice as many ways with each. */
	for (i = 0; i < 60; i++)
		used += (size_t)snprintf(entries + used, sizeof(entries) - used,
					 "n%u: .byte 2\n .long n%u - unit\n", i, i + 2);
	snprintf(entries + used, sizeof(entries) - used, "n60:n61: .zero 60\n");
	put_program(f, "twice", entries, "");
	check_ends(f, "twice");
	/* Each of many functions has all of many ranges, in none of which there is anything. */
	snprintf(ranges, sizeof(ranges), " .rept 100000\n .quad 1, 1\n .endr\n");
	snprintf(entries, sizeof(entries), " .rept 100000\n .byte 4\n .long 0\n .endr\n");
	put_program(f, "many", entries, ranges);
	check_ends(f, "many");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(broken_files_have_no_names),
		TEST(damaged_debug_information),
		TEST(endless_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
