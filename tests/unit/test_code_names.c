/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of code that is in no file: of the kernel, and of what a program made itself. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/stacks/stack.h"
#include "symbols/symbols.h"
#include "symbols/code_file.h"
#include "symbols/wire.h"

static int text_fd(const char *text)
{
	int fd = memfd_create("names", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(fchmod(fd, 0644), 0);
	return fd;
}

/* --- code that a program made ------------------------------------------------------------------ */

static void check_jit_during(const struct jit_map *map, uint64_t address, uint64_t since_ns,
			     uint64_t until_ns, const char *expected)
{
	const char *name = jit_map_find(map, address, since_ns, until_ns);

	if (expected) {
		assert_non_null(name);
		assert_string_equal(name, expected);
	} else {
		assert_null(name);
	}
}

static void check_jit(const struct jit_map *map, uint64_t address, const char *expected)
{
	check_jit_during(map, address, 0, UINT64_MAX, expected);
}

static void reads_jit_maps(void **state)
{
	struct jit_map *map;
	int fd = text_fd("7f0000001000 100 LazyCompile:~first /app.js:1:2\n"
			 "0x7f0000002000 0x80 second\r\n"
			 "nonsense\n\n1 2\n3 4 \n-1 10 minus\n"
			 "fffffffffffffff0 20 beyond\n"
			 "11112222333344445 10 too large\n"
			 "7f0000003000 0 empty\n"
			 "7f0000001080 10 inside, later\n"
			 "7f0000004000 1000 before\n"
			 "7f0000004000 100 again\n"
			 "7F0000006000 10 last");

	(void)state;
	assert_int_equal(jit_map_read(fd, getuid(), &map), 0);
	check_jit(map, 0x7f0000000fff, NULL);
	check_jit(map, 0x7f0000001000, "LazyCompile:~first /app.js:1:2");
	check_jit(map, 0x7f0000001085, "inside, later");
	check_jit(map, 0x7f0000001090, "LazyCompile:~first /app.js:1:2");
	check_jit(map, 0x7f0000001100, NULL);
	check_jit(map, 0x7f000000207f, "second\r");
	check_jit(map, 0x7f0000003000, NULL);
	check_jit(map, 0x7f0000004010, "again");
	check_jit(map, 0x7f0000004100, "before");
	check_jit(map, 0x7f000000600f, "last");
	check_jit(map, 0x7f0000006010, NULL);
	check_jit(map, 0, NULL);
	check_jit(map, UINT64_MAX, NULL);
	jit_map_free(map);
	close(fd);
}

/* A record of a jitdump file: its kind, the size that it says it has, when, where the code is, and its name. */
static void write_dump_record_at(FILE *file, uint32_t kind, uint32_t size, uint32_t time,
				 uint64_t address, const char *name)
{
	const uint32_t head[] = {
		kind, size ? size : 56 + (uint32_t)strlen(name) + 1, time, 0, 1, 1
	};
	const uint64_t code[] = { address, address, 0x100, 0 };

	fwrite(head, sizeof(head), 1, file);
	fwrite(code, sizeof(code), 1, file);
	fwrite(name, strlen(name) + 1, 1, file);
}

static void write_dump_record(FILE *file, uint32_t kind, uint32_t size, uint64_t address,
			      const char *name)
{
	write_dump_record_at(file, kind, size, 0, address, name);
}

/* What was generated at the same address at several times, some of it smaller. */
static struct jit_map *reused_map(uint32_t flags, uint32_t n)
{
	const uint32_t header[] = { 0x4a695444, 1, 40, 62, 0, 1, 0, 0, flags, 0 };
	FILE *file = tmpfile();
	struct jit_map *map;
	char name[32];
	uint32_t i;

	assert_non_null(file);
	fwrite(header, sizeof(header), 1, file);
	/* A record is written when there is time for it. */
	write_dump_record_at(file, 0, 0, 300, 0x1000, "third");
	write_dump_record_at(file, 0, 0, 100, 0x1000, "first");
	write_dump_record_at(file, 0, 0, 200, 0x1000, "second");
	write_dump_record_at(file, 0, 0, 250, 0x1080, "inside");
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "many %u", i);
		write_dump_record_at(file, 0, 0, 1000 + 10 * i, 0x4000, name);
	}
	assert_int_equal(fflush(file), 0);
	assert_int_equal(jit_map_read(fileno(file), getuid(), &map), 0);
	fclose(file);
	return map;
}

static void finds_jit_code_by_time(void **state)
{
	struct jit_map *map = reused_map(0, 1000);

	(void)state;
	check_jit_during(map, 0x1010, 0, 99, NULL);
	check_jit_during(map, 0x1010, 50, 120, "first");
	check_jit_during(map, 0x1010, 100, 199, "first");
	check_jit_during(map, 0x1010, 200, 299, "second");
	check_jit_during(map, 0x1010, 150, 220, "first");
	check_jit_during(map, 0x1010, 180, 260, "second");
	check_jit_during(map, 0x1010, 400, 500, "third");
	check_jit_during(map, 0x1090, 210, 240, "second");
	check_jit_during(map, 0x1090, 260, 290, "inside");
	check_jit_during(map, 0x1090, 310, 320, "third");
	check_jit(map, 0x1010, "third");
	/* More than overlapping entries are looked at. */
	check_jit_during(map, 0x4010, 1000, 1009, "many 0");
	check_jit_during(map, 0x4010, 3330, 3339, "many 233");
	check_jit_during(map, 0x40ff, 11000, 20000, "many 999");
	check_jit_during(map, 0x4100, 11000, 20000, NULL);
	jit_map_free(map);

	/* Times of another clock say nothing, so the later record counts. */
	map = reused_map(1, 0);
	check_jit_during(map, 0x1010, 100, 199, "second");
	jit_map_free(map);
}

static void reads_jit_dumps(void **state)
{
	const uint32_t header[] = { 0x4a695444, 1, 40, 62, 0, 1, 0, 0, 0, 0 };
	char name[2000], cut[513] = "";
	struct jit_map *map;
	FILE *file = tmpfile();

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(cut, name, sizeof(cut) - 1);
	assert_non_null(file);
	fwrite(header, sizeof(header), 1, file);
	write_dump_record(file, 0, 0, 0x1000, "LazyCompile:~first");
	write_dump_record(file, 2, 0, 0x1000, "lines of source");
	write_dump_record(file, 0, 0, 0x2000, "two\nlines");
	write_dump_record(file, 0, 0, 0x1080, "later");
	write_dump_record(file, 0, 0, 0x3000, name);
	write_dump_record(file, 0, 0, 0x4000, "");
	/* Longer than the file: it is being written, or lies; and one that has no end. */
	write_dump_record(file, 0, 4000, 0x5000, "not complete");
	assert_int_equal(fflush(file), 0);
	assert_int_equal(jit_map_read(fileno(file), getuid(), &map), 0);
	check_jit(map, 0x1000, "LazyCompile:~first");
	check_jit(map, 0x1080, "later");
	check_jit(map, 0x20ff, "two lines");
	check_jit(map, 0x3001, cut);
	check_jit(map, 0x4000, NULL);
	check_jit(map, 0x5000, NULL);
	jit_map_free(map);
	fclose(file);
}

static void empty_jit_maps(void **state)
{
	struct jit_map *map;
	int fd = text_fd("");

	(void)state;
	assert_int_equal(jit_map_read(fd, getuid(), &map), 0);
	check_jit(map, 1, NULL);
	jit_map_free(map);
	close(fd);
}

static void jit_maps_of_others_are_refused(void **state)
{
	struct jit_map *map;
	int fd = text_fd("1000 100 f\n"), pipes[2];

	(void)state;
	assert_int_equal(jit_map_read(fd, getuid() + 1, &map), -EPERM);
	assert_int_equal(fchmod(fd, 0666), 0);
	assert_int_equal(jit_map_read(fd, getuid(), &map), -EPERM);
	close(fd);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(jit_map_read(pipes[0], getuid(), &map), -EPERM);
	close(pipes[0]);
	close(pipes[1]);
	fd = open("/tmp", O_RDONLY | O_CLOEXEC);
	assert_int_equal(jit_map_read(fd, 0, &map), -EPERM);
	close(fd);
}

/* --- the kernel -------------------------------------------------------------------------------- */

static void check_kernel(const struct kernel_symbols *k, uint64_t address, const char *name,
			 const char *module)
{
	const char *its = NULL, *found = kernel_symbols_find(k, address, &its);

	if (!name) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, name);
	if (!module)
		assert_null(its);
	else
		assert_string_equal(its, module);
}

static void reads_kernel_symbols(void **state)
{
	struct kernel_symbols *k;
	int fd = text_fd("0000000000000000 A fixed_percpu_data\n"
			 "ffffffff81000000 T _stext\n"
			 "ffffffff81000000 T startup\n"
			 "ffffffff81000200 t local\n"
			 "ffffffff81000300 D data\n"
			 "ffffffff81000400 W weak\n"
			 "nonsense\nffffffff81000500\nffffffff81000500 T\nffffffff81000500 T \n"
			 "ffffffffc0000000 t hello\t[module]\n"
			 "ffffffffc0000100 T there\t[module]\n"
			 "ffffffffb0000000 t bpf_prog_1234_f\t[bpf]");

	(void)state;
	assert_int_equal(kernel_symbols_read(fd, &k), 0);
	check_kernel(k, 0xffffffff80ffffff, NULL, NULL);
	check_kernel(k, 0xffffffff810001ff, "_stext", NULL);
	check_kernel(k, 0xffffffff81000200, "local", NULL);
	check_kernel(k, 0xffffffff81000300, "local", NULL);
	check_kernel(k, 0xffffffff81000401, "weak", NULL);
	check_kernel(k, 0xffffffffc0000001, "hello", "module");
	check_kernel(k, 0xffffffffc0000100, "there", "module");
	check_kernel(k, 0xffffffffd0000000, NULL, NULL);
	assert_true(kernel_symbols_keep(k, 0xffffffff81000000));
	assert_true(kernel_symbols_keep(k, 0xffffffff810003ff));
	assert_false(kernel_symbols_keep(k, 0xffffffff80ffffff)); /* modules, on arm64 */
	assert_false(kernel_symbols_keep(k, 0xffffffffb0000000));
	assert_false(kernel_symbols_keep(k, 0xffffffffc0000001));
	kernel_symbols_free(k);
	close(fd);
}

static void hidden_kernel_symbols(void **state)
{
	struct kernel_symbols *k;
	int fd = text_fd("0000000000000000 T _stext\n0000000000000000 t local\n");

	(void)state;
	assert_int_equal(kernel_symbols_read(fd, &k), -EACCES);
	close(fd);
}

/* Wherever the kernel is; on arm64, modules come before it. In a copy they are where they are in call stacks. */
static void moved_kernel_symbols(void **state)
{
	struct kernel_symbols *k;
	int fd = text_fd("ffffffff92345000 T _stext\n"
			 "ffffffff92345200 t local\n"
			 "ffffffff91000000 t hello\t[module]\n"),
	    copy = memfd_create("copy", 0), again = dup(copy);
	char text[256] = "";

	(void)state;
	assert_int_equal(kernel_symbols_copy(fd, copy), 0);
	assert_int_equal(lseek(again, 0, SEEK_SET), 0);
	assert_int_equal(kernel_symbols_read(again, &k), 0);
	check_kernel(k, STACK_KERNEL_BEGIN + 0x100, "_stext", NULL);
	check_kernel(k, STACK_KERNEL_BEGIN + 0x200, "local", NULL);
	check_kernel(k, STACK_KERNEL_BEGIN - 0x1345000, "hello", "module");
	assert_true(kernel_symbols_keep(k, STACK_KERNEL_BEGIN + 0x100));
	assert_false(kernel_symbols_keep(k, STACK_KERNEL_BEGIN - 0x1345000));
	assert_true(pread(again, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "ffffffff7fcbb000 t hello\t[module]\n"
				  "ffffffff81000000 t _stext\n"
				  "ffffffff81000200 t local\n");
	kernel_symbols_free(k);
	close(fd);
	close(again);
}

/* What is 2 GB above the kernel gets a low address, and still all are found. */
static void kernel_symbols_moved_past_the_end(void **state)
{
	struct kernel_symbols *k;
	int fd = text_fd("ffff800080000000 T _stext\n"
			 "ffff800080000200 t local\n"
			 "ffff80007a000000 t below\t[module]\n"
			 "ffff800100000000 t above\t[module]\n");

	(void)state;
	assert_int_equal(kernel_symbols_read(fd, &k), 0);
	check_kernel(k, STACK_KERNEL_BEGIN + 0x100, "_stext", NULL);
	check_kernel(k, STACK_KERNEL_BEGIN + 0x201, "local", NULL);
	check_kernel(k, STACK_KERNEL_BEGIN - 0x6000000, "below", "module");
	check_kernel(k, STACK_KERNEL_BEGIN + 0x80000001, "above", "module");
	kernel_symbols_free(k);
	close(fd);
}

/* Of a part, the last one would name all functions after it. */
static void a_copy_of_kernel_symbols_is_whole_or_fails(void **state)
{
	int fd = text_fd("ffffffff81000000 T _stext\n"
			 "ffffffff81000200 t local\n"),
	    copy = memfd_create("copy", 0);
	struct rlimit before, limit;
	int error;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 30;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	error = kernel_symbols_copy(fd, copy);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(error, -EFBIG);
	close(fd);
}

/* More than is read at once. */
static void many_kernel_symbols(void **state)
{
	struct kernel_symbols *k;
	char *text = calloc(20000, 64), *at = text;
	unsigned i;
	int fd;

	(void)state;
	for (i = 0; i < 20000; i++)
		at += sprintf(at, "%x T function_%u\t[module_%u]\n", 0x1000 + i * 16, i, i / 100);
	fd = text_fd(text);
	assert_int_equal(kernel_symbols_read(fd, &k), 0);
	for (i = 0; i < 20000; i++) {
		char name[32], module[32];

		snprintf(name, sizeof(name), "function_%u", i);
		snprintf(module, sizeof(module), "module_%u", i / 100);
		check_kernel(k, 0x1000 + i * 16 + i % 16, name, module);
	}
	kernel_symbols_free(k);
	free(text);
	close(fd);
}

/* --- ranges ------------------------------------------------------------------------------------ */

static void check_range(const struct ranges *r, uint64_t address, int expected)
{
	const struct range *found = ranges_find(r, address);

	assert_int_equal(found ? (int)found->index : -1, expected);
}

static void the_innermost_range(void **state)
{
	struct ranges r = { 0 };

	(void)state;
	check_range(&r, 0, -1);
	assert_null(ranges_before(&r, UINT64_MAX));
	ranges_add(&r, 200, 300, 4, 0);
	ranges_add(&r, 120, 130, 3, 0);
	ranges_add(&r, 100, 200, 1, 0);
	ranges_add(&r, 110, 150, 2, 0);
	ranges_add(&r, 200, 300, 6, 2);
	ranges_add(&r, 200, 300, 5, 1);
	ranges_add(&r, 400, 400, 7, 0);
	ranges_add(&r, 500, 400, 8, 0);
	ranges_sort(&r);
	check_range(&r, 99, -1);
	check_range(&r, 100, 1);
	check_range(&r, 119, 2);
	check_range(&r, 120, 3);
	check_range(&r, 130, 2);
	check_range(&r, 199, 1);
	check_range(&r, 299, 6);
	check_range(&r, 300, -1);
	check_range(&r, 450, -1);
	assert_null(ranges_before(&r, 99));
	assert_int_equal(ranges_before(&r, 199)->index, 3);
	assert_int_equal(ranges_before(&r, 1000)->index, 6);
	ranges_free(&r);
}

/* --- debug files ------------------------------------------------------------------------------- */

static void check_path(const struct symbol_file_request *wanted, const char *file, unsigned index,
		       const char *expected)
{
	char path[128];
	bool found = debug_path(wanted, file, index, path, sizeof(path));

	assert_int_equal(found, expected != NULL);
	if (expected)
		assert_string_equal(path, expected);
}

static void places_of_debug_files(void **state)
{
	struct symbol_file_request wanted = { .build_id_size = 3,
					      .build_id = { 0xab, 0x0c, 0xde } };

	(void)state;
	strcpy(wanted.link, "app.debug");
	check_path(&wanted, "/opt/app", 0, "/usr/lib/debug/.build-id/ab/0cde.debug");
	check_path(&wanted, "/opt/app", 1, "/opt/app.debug");
	check_path(&wanted, "/opt/app", 2, "/opt/.debug/app.debug");
	check_path(&wanted, "/opt/app", 3, "/usr/lib/debug/opt/app.debug");
	check_path(&wanted, "/opt/app", 4, NULL);
	check_path(&wanted, "[vdso]", 1, NULL);
	check_path(&wanted, "", 1, NULL);
	strcpy(wanted.link, "app");
	check_path(&wanted, "/opt/app", 1, NULL);
	wanted.build_id_size = 1;
	check_path(&wanted, "/opt/app", 0, NULL);
	wanted.build_id_size = SYMBOL_MAX_ID + 1;
	check_path(&wanted, "/opt/app", 0, NULL);
}

/* What is written in a file does not say which other files are opened. */
static void debug_links_lead_nowhere_else(void **state)
{
	static const char *const links[] = { "", ".", "..", "../shadow", "/etc/shadow", "a/b" };
	struct symbol_file_request wanted = { .build_id_size = 0 };
	unsigned i, j;

	(void)state;
	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		strcpy(wanted.link, links[i]);
		for (j = 0; j < SYMBOL_MAX_CANDIDATES; j++)
			check_path(&wanted, "/opt/app", j, NULL);
	}
	wanted.is_alternate = 1;
	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		strcpy(wanted.link, links[i]);
		check_path(&wanted, "/opt/app", 1, NULL);
	}
	strcpy(wanted.link, "../../.dwz/x86_64-linux-gnu/app.debug");
	check_path(&wanted, "/opt/app", 1, "/usr/lib/debug/.dwz/x86_64-linux-gnu/app.debug");
	strcpy(wanted.link, "/x/.dwz/../../../etc/shadow");
	check_path(&wanted, "/opt/app", 1, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_jit_maps),
		cmocka_unit_test(reads_jit_dumps),
		cmocka_unit_test(finds_jit_code_by_time),
		cmocka_unit_test(empty_jit_maps),
		cmocka_unit_test(jit_maps_of_others_are_refused),
		cmocka_unit_test(reads_kernel_symbols),
		cmocka_unit_test(hidden_kernel_symbols),
		cmocka_unit_test(moved_kernel_symbols),
		cmocka_unit_test(kernel_symbols_moved_past_the_end),
		cmocka_unit_test(a_copy_of_kernel_symbols_is_whole_or_fails),
		cmocka_unit_test(many_kernel_symbols),
		cmocka_unit_test(the_innermost_range),
		cmocka_unit_test(places_of_debug_files),
		cmocka_unit_test(debug_links_lead_nowhere_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
