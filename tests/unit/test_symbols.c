/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of code in programs that are compiled here, each in another way. */
#include "symbols_fixture.h"

#include <ctype.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "symbols/symbols.h"

static void inlined_in_every_kind_of_program(void **state)
{
	static const char *const ways[] = {
		"gcc",
		"gcc -no-pie",
		"gcc -static",
		"gcc -shared -fPIC -Dmain=entry",
		"gcc -gdwarf-4",
		"clang",
		"clang -fuse-ld=lld",
		"gcc -gz",
	};
	struct fixture *f = *state;
	unsigned i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		char name[16];

		snprintf(name, sizeof(name), "way%u", i);
		assert_int_equal(shell(f, "%s -O2 -g program.c -o %s", ways[i], name), 0);
		check_inlined(f, name, address_of(f, name, "at_inner"));
		check_inlined(f, name, address_of(f, name, "at_inner"));
	}
}

/* What is in the .dwo files is not known: functions are, by their symbols, and lines. */
static void split_debug_information(void **state)
{
	static const char *const ways[] = { "-gdwarf-4", "-gdwarf-5" };
	struct fixture *f = *state;
	unsigned i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		char name[16];

		snprintf(name, sizeof(name), "split%u", i);
		assert_int_equal(
			shell(f, "gcc -O2 %s -gsplit-dwarf program.c -o %s", ways[i], name), 0);
		resolve(f, name, address_of(f, name, "at_inner"));
		assert_int_equal(f->n, 1);
		check_line(f, 0, "outer", "inner.c", 10);
	}
}

static void without_debug_information(void **state)
{
	struct fixture *f = *state;
	uint64_t outer;

	assert_int_equal(shell(f, "gcc -O2 -rdynamic program.c -o plain"), 0);
	outer = address_of(f, "plain", "outer");
	resolve(f, "plain", outer);
	assert_int_equal(f->n, 1);
	check_line(f, 0, "outer", NULL, 0);
	resolve(f, "plain", address_of(f, "plain", "at_inner"));
	check_line(f, 0, "outer", NULL, 0);
	assert_int_equal(shell(f, "strip plain -o dynamic"), 0);
	resolve(f, "dynamic", outer);
	assert_int_equal(f->n, 1);
	check_line(f, 0, "outer", NULL, 0);
	assert_int_equal(shell(f, "gcc -O2 -s program.c -o nothing"), 0);
	resolve(f, "nothing", outer);
	assert_int_equal(f->n, 0);
}

static void separate_debug_files(void **state)
{
	struct fixture *f = *state;
	uint64_t inner;

	assert_int_equal(shell(f, "gcc -O2 -g -Wl,--build-id=none program.c -o whole && "
				  "objcopy --only-keep-debug whole stripped.debug && "
				  "objcopy -S --add-gnu-debuglink=stripped.debug whole stripped"),
			 0);
	inner = address_of(f, "whole", "at_inner");
	check_inlined(f, "stripped", inner);

	/* Each place after the other; a copy, since what was open stays known. */
	assert_int_equal(shell(f, "mkdir .debug && mv stripped.debug .debug && cp stripped again"),
			 0);
	check_inlined(f, "again", inner);
	assert_int_equal(shell(f,
			       "mkdir -p debug/%s && mv .debug/stripped.debug debug/%s && "
			       "cp stripped third",
			       f->directory, f->directory),
			 0);
	check_inlined(f, "third", inner);
	/* Its checksum is wrong. */
	assert_int_equal(shell(f,
			       "(cat debug/%s/stripped.debug; echo) > stripped.debug && "
			       "rm debug/%s/stripped.debug && cp stripped fourth",
			       f->directory, f->directory),
			 0);
	resolve(f, "fourth", inner);
	assert_int_equal(f->n, 0);
}

static void debug_files_by_build_id(void **state)
{
	static const char id[] = "0123456789abcdef0123456789abcdef01234567";
	struct fixture *f = *state;
	uint64_t inner;

	assert_int_equal(shell(f,
			       "gcc -O2 -g -Wl,--build-id=0x%s program.c -o whole && "
			       "mkdir -p debug/.build-id/01 && "
			       "objcopy --only-keep-debug whole debug/.build-id/01/%s.debug && "
			       "strip whole -o stripped",
			       id, id + 2),
			 0);
	inner = address_of(f, "whole", "at_inner");
	check_inlined(f, "stripped", inner);
	/* Another program's, where its own should be. */
	assert_int_equal(shell(f,
			       "gcc -O2 -g -Wl,--build-id=0x%.38sff program.c -o other && "
			       "strip other -o alone && "
			       "cp debug/.build-id/01/%s.debug debug/.build-id/01/%.36sff.debug",
			       id, id + 2, id + 2),
			 0);
	resolve(f, "alone", inner);
	assert_int_equal(f->n, 0);
}

static void minimal_debug_information(void **state)
{
	struct fixture *f = *state;

	if (system("command -v xz >/dev/null")) {
		print_message("no xz\n");
		skip();
	}
	assert_int_equal(shell(f, "gcc -O2 program.c -o whole && "
				  "objcopy --only-keep-debug whole mini && xz mini && "
				  "strip whole -o stripped && "
				  "objcopy --add-section .gnu_debugdata=mini.xz stripped"),
			 0);
	resolve(f, "stripped", address_of(f, "whole", "outer"));
	assert_int_equal(f->n, 1);
	check_line(f, 0, "outer", NULL, 0);
}

static void templates(void **state)
{
	struct fixture *f = *state;
	uint64_t address;

	assert_int_equal(shell(f, "g++ -O2 -g program.cpp -o cpp && strip -g cpp -o symbols"), 0);
	address = address_of(f, "cpp", "at_twice");
	resolve(f, "cpp", address);
	assert_int_equal(f->n, 1);
	check_line(f, 0, "space::Box<int>::twice", "program.cpp", 3);
	resolve(f, "symbols", address_of(f, "cpp", "_ZN5space3BoxIiE5twiceEi"));
	check_line(f, 0, "space::Box<int>::twice", NULL, 0);
}

/* --- parsers that die ---------------------------------------------------------------------------- */

/* The parser is the only child of the only other child of this process. */
static pid_t find_parser(void)
{
	char line[256] = "";
	FILE *in;

	snprintf(line, sizeof(line), "pgrep -P $(pgrep -P %d -x test_symbols)", getpid());
	in = popen(line, "r");
	assert_non_null(in);
	line[0] = '\0';
	if (!fgets(line, sizeof(line), in))
		line[0] = '\0';
	pclose(in);
	return atoi(line);
}

static void a_dead_parser_is_replaced(void **state)
{
	struct fixture *f = *state;
	struct symbols_counts counts;
	uint64_t inner;
	pid_t parser, next;

	assert_int_equal(shell(f, "gcc -O2 -g program.c -o good"), 0);
	inner = address_of(f, "good", "at_inner");
	check_inlined(f, "good", inner);
	parser = find_parser();
	assert_true(parser > 1);
	assert_int_equal(kill(parser, SIGKILL), 0);
	check_inlined(f, "good", inner);
	next = find_parser();
	assert_true(next > 1);
	assert_int_not_equal(next, parser);
	/* It is not taken down by what interrupts the recorder. */
	kill(next, SIGINT);
	check_inlined(f, "good", inner);
	assert_int_equal(find_parser(), next);
	symbols_count(f->symbols, &counts);
	assert_int_equal(counts.named, 3);
	assert_int_equal(counts.broken, 0);
}

static void only_regular_files(void **state)
{
	struct fixture *f = *state;
	struct code_mapping mapping = { .path = names_intern_string(f->names, "/dev/zero") };
	int pipes[2], fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(symbols_resolve(f->symbols, &mapping, fd, fd, 1, f->lines, 8), 0);
	assert_int_equal(symbols_resolve(f->symbols, &mapping, pipes[0], pipes[0], 1, f->lines, 8),
			 0);
	assert_int_equal(symbols_resolve(f->symbols, &mapping, -1, -1, 1, f->lines, 8), 0);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
}

/* --- names ------------------------------------------------------------------------------------- */

static void check_demangled(const char *mangled, const char *expected)
{
	char out[256];

	assert_int_equal(symbol_demangle(mangled, out, sizeof(out)), strlen(expected));
	assert_string_equal(out, expected);
}

static void demangles(void **state)
{
	char cut[9];

	(void)state;
	check_demangled("main", "main");
	check_demangled("_ZN5space3BoxIiE5twiceEi", "space::Box<int>::twice");
	check_demangled("_ZN3foo3barE.isra.0", "foo::bar");
	check_demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
			"core::fmt::Write::write_fmt");
	check_demangled("_RNvC6_123foo3bar", "123foo::bar");
	check_demangled("_Zfoo", "_Zfoo");
	check_demangled("_R", "_R");
	check_demangled("", "");
	assert_int_equal(symbol_demangle("_ZN5space3BoxIiE5twiceEi", cut, sizeof(cut)), 8);
	assert_string_equal(cut, "space::B");
	assert_int_equal(symbol_demangle("a_longer_name", cut, sizeof(cut)), 8);
	assert_string_equal(cut, "a_longer");
}

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* How what stands at a place before is named again: in base 62 (Rust), or 36 (C++). */
static const char *again(unsigned place, unsigned base, char *out)
{
	char *at = out + 15;

	memset(out, 0, 16);
	*--at = '_';
	for (; place--; place /= base)
		*--at = (char)(base == 36 ? toupper(digits[place % base]) : digits[place % base]);
	return at;
}

/* Each level names the one before twice: a few hundred bytes stand for more than all memory. */
static void endless_names_are_cut(void **state)
{
	char mangled[2048] = "_RINvC1a1fTuuE", out[256], name[16];
	size_t length = strlen(mangled), before = 10;
	unsigned i;

	(void)state;
	for (i = 0; i < 40; i++) {
		const char *pair = again((unsigned)before - 2, 62, name);

		before = length;
		length += (size_t)sprintf(mangled + length, "TB%sB%sE", pair, pair);
	}
	strcpy(mangled + length, "E");
	assert_int_equal(symbol_demangle(mangled, out, sizeof(out)), sizeof(out) - 1);
	assert_int_equal(strncmp(out, "a::f::<((), ()), (((), ()), ((), ()))", 20), 0);

	length = (size_t)sprintf(mangled, "_Z1gISt4pairIiiE");
	for (i = 1; i < 40; i++) {
		const char *pair = again(i, 36, name);

		length += (size_t)sprintf(mangled + length, "S0_IS%sS%sE", pair, pair);
	}
	strcpy(mangled + length, "EvT_");
	assert_int_equal(symbol_demangle(mangled, out, sizeof(out)), sizeof(out) - 1);
	assert_int_equal(strncmp(out, "g<", 2), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(inlined_in_every_kind_of_program),
		TEST(split_debug_information),
		TEST(without_debug_information),
		TEST(separate_debug_files),
		TEST(debug_files_by_build_id),
		TEST(minimal_debug_information),
		TEST(templates),
		TEST(a_dead_parser_is_replaced),
		TEST(only_regular_files),
		cmocka_unit_test(demangles),
		cmocka_unit_test(endless_names_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
