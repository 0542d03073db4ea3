/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of the names of code: programs that are compiled here, and what is known of them. */
#ifndef PROFTRACE_TESTS_SYMBOLS_FIXTURE_H
#define PROFTRACE_TESTS_SYMBOLS_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/symbols.h"
#include "tracee/elf_file.h"

static const char program[] =
	"#define HERE(name) __asm__ volatile(\".globl \" #name \"\\n\" #name \":\\n nop\")\n"
	"#line 10 \"inner.c\"\n"
	"static inline __attribute__((always_inline)) int inner(int x) { HERE(at_inner); return x; "
	"}\n"
	"#line 20 \"middle.c\"\n"
	"static inline __attribute__((always_inline)) int middle(int x) { return inner(x) + 1; }\n"
	"#line 30 \"outer.c\"\n"
	"__attribute__((noinline)) int outer(int x) { return middle(x) * 3; }\n"
	"#line 40 \"main.c\"\n"
	"int main(int argc, char **argv) { (void)argv; return outer(argc); }\n";

static const char cpp_program[] =
	"namespace space { template <class T> struct Box {\n"
	"	__attribute__((noinline)) T twice(T x) {\n"
	"		__asm__ volatile(\".globl at_twice\\nat_twice:\\n nop\"); return x + x; } "
	"};\n"
	"template struct Box<int>; }\n"
	"int main(int argc, char **) { return space::Box<int>().twice(argc); }\n";

struct fixture {
	char directory[64];
	char debug_root[96]; /* stands for /usr/lib/debug */
	struct names *names;
	struct symbols *symbols;
	struct code_line lines[8];
	unsigned n;
};

static inline void put_file(const struct fixture *f, const char *name, const void *bytes,
			    size_t size)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", f->directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

/* In the directory of the test. */
__attribute__((format(printf, 2, 3))) static inline int shell(const struct fixture *f,
							      const char *format, ...)
{
	char line[1024];
	va_list args;
	int n = snprintf(line, sizeof(line), "cd %s && ", f->directory);

	va_start(args, format);
	vsnprintf(line + n, sizeof(line) - (size_t)n, format, args);
	va_end(args);
	return system(line);
}

static inline int open_debug(void *context, const struct code_mapping *mapping, int mapped,
			     const char *path)
{
	const struct fixture *f = context;
	char there[512];
	int fd;

	assert_non_null(mapping);
	assert_true(mapped >= 0);
	if (!strncmp(path, "/usr/lib/debug", 14)) {
		snprintf(there, sizeof(there), "%s%s", f->debug_root, path + 14);
		path = there;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* What is tested here limits itself by what it does. On a busy machine the default would be over before. */
#define LOOKUPS_MS 300000

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct symbols_options o = { .open_debug = open_debug,
					   .context = f,
					   .limit_ms = LOOKUPS_MS };

	strcpy(f->directory, "/tmp/proftrace-symbols-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	snprintf(f->debug_root, sizeof(f->debug_root), "%s/debug", f->directory);
	f->names = names_new(0);
	assert_int_equal(symbols_new(f->names, &o, &f->symbols), 0);
	put_file(f, "program.c", program, sizeof(program) - 1);
	put_file(f, "program.cpp", cpp_program, sizeof(cpp_program) - 1);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	symbols_free(f->symbols);
	names_free(f->names);
	assert_int_equal(shell(f, "rm -r %s", f->directory), 0);
	free(f);
	return 0;
}

static inline int open_file(const struct fixture *f, const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", f->directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static inline uint64_t address_of(const struct fixture *f, const char *file, const char *symbol)
{
	struct elf_file *elf;
	uint64_t address;
	int fd = open_file(f, file);

	assert_int_equal(elf_file_open(fd, &elf, NULL), 0);
	assert_int_equal(elf_file_symbol(elf, symbol, &address), 0);
	elf_file_free(elf);
	close(fd);
	return address;
}

static inline void resolve(struct fixture *f, const char *file, uint64_t address)
{
	struct code_mapping mapping = { .kind = CODE_NATIVE };
	char path[256];
	int fd = open_file(f, file);

	snprintf(path, sizeof(path), "%s/%s", f->directory, file);
	mapping.path = names_intern_string(f->names, path);
	f->n = symbols_resolve(f->symbols, &mapping, fd, fd, address, f->lines, 8);
	close(fd);
}

static inline void check_line(const struct fixture *f, unsigned i, const char *function,
			      const char *file, uint32_t line)
{
	const char *end;

	assert_true(i < f->n);
	assert_string_equal(f->lines[i].function->text, function);
	assert_int_equal(f->lines[i].line, line);
	if (!file) {
		assert_null(f->lines[i].file);
		return;
	}
	end = strrchr(f->lines[i].file->text, '/');
	assert_string_equal(end ? end + 1 : f->lines[i].file->text, file);
}

/* What was inlined where the label is. */
static inline void check_inlined(struct fixture *f, const char *file, uint64_t address)
{
	resolve(f, file, address);
	assert_int_equal(f->n, 3);
	check_line(f, 0, "inner", "inner.c", 10);
	check_line(f, 1, "middle", "middle.c", 20);
	check_line(f, 2, "outer", "outer.c", 30);
}

#endif
