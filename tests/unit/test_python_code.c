/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts of CPython, its code objects in a memory of ours, and its tables of lines. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "capture/stacks/python_layout.h"

/* --- lines ------------------------------------------------------------------------------------- */

/* As CPython makes it: `code` and number of instructions, then what the code says. */
#define ENTRY(code, units) (0x80 | (code) << 3 | ((units)-1))

static void test_lines(void **state)
{
	static const uint8_t table[] = {
		ENTRY(15, 1),			       /* no line */
		ENTRY(10, 2), 1,	   2,	       /* the same line */
		ENTRY(11, 8), 1,	   2,	       /* the next one */
		ENTRY(13, 1), 2 << 1,		       /* two lines on */
		ENTRY(14, 1), 3 << 1 | 1,  0,	 1, 2, /* three lines back */
		ENTRY(0, 1),  0x11,		       /* the same */
		ENTRY(13, 1), 0x40 | 0x08, 0x02,       /* 0x88 is 68 lines on */
	};
	static const uint32_t lines[] = { 0,   100, 100, 101, 101, 101, 101, 101,
					  101, 101, 101, 103, 100, 100, 168, 0 };
	int32_t unit;

	(void)state;
	for (unit = 0; unit < (int32_t)(sizeof(lines) / sizeof(lines[0])); unit++) {
		assert_int_equal(python_code_line(table, sizeof(table), 100, 2 * unit),
				 lines[unit]);
		assert_int_equal(python_code_line(table, sizeof(table), 100, 2 * unit + 1),
				 lines[unit]);
	}
	/* A frame that has not begun. */
	assert_int_equal(python_code_line(table, sizeof(table), 100, -2), 100);
	assert_int_equal(python_code_line(table, 0, 100, 0), 0);
	assert_int_equal(python_code_line(NULL, 0, 100, 4), 0);
	assert_int_equal(python_code_line(table, sizeof(table), 100, INT32_MAX), 0);
}

static void test_damaged_lines(void **state)
{
	static const uint8_t endless[] = { ENTRY(13, 1), 0x7f, 0x7f, 0x7f, 0x7f,
					   0x7f,	 0x7f, 0x7f, 0x7f };
	static const uint8_t not_begun[] = { 0x11, ENTRY(10, 1) };
	static const uint8_t back[] = { ENTRY(13, 1), 0x7f, 0x3f };

	(void)state;
	/* Whatever it says, it is no line of this function, and nothing else is read. */
	python_code_line(endless, sizeof(endless), 100, 0);
	assert_int_equal(python_code_line(not_begun, sizeof(not_begun), 100, 0), 0);
	assert_int_equal(python_code_line(back, sizeof(back), 100, 0), 0);
}

/* --- code objects ------------------------------------------------------------------------------ */

#define BASE  0x1000
#define CODE  (BASE + 0x100)
#define NAME  (BASE + 0x300)
#define PATH  (BASE + 0x400)
#define TABLE (BASE + 0x500)

static uint8_t memory[0x2000];

static bool read_memory(void *context, uint64_t address, void *out, size_t size)
{
	(void)context;
	if (address < BASE || size > sizeof(memory) || address - BASE > sizeof(memory) - size)
		return false;
	memcpy(out, memory + (address - BASE), size);
	return true;
}

static void put(uint64_t address, const void *bytes, size_t size)
{
	memcpy(memory + (address - BASE), bytes, size);
}

static void put_word(uint64_t address, uint64_t word)
{
	put(address, &word, sizeof(word));
}

/* Those of 3.11. */
static const struct python_layout layout = {
	.setup.identity = 128,
	.filename = 112,
	.function = 128,
	.lines = 136,
	.first_line = 72,
	.text_length = 16,
	.text_state = 32,
	.text_ascii = 48,
	.text_wide = 72,
	.bytes_size = 16,
	.bytes_data = 32,
};

static void put_text(uint64_t address, const void *characters, size_t n, unsigned kind, bool ascii)
{
	uint32_t state = kind << 2 | 1u << 5 | (ascii ? 1u << 6 : 0);

	put_word(address + 16, n);
	put(address + 32, &state, sizeof(state));
	put(address + (ascii ? 48 : 72), characters, n * kind);
}

static void put_code(void)
{
	int32_t line = 7;

	memset(memory, 0, sizeof(memory));
	put_word(CODE + 112, PATH);
	put_word(CODE + 128, NAME);
	put_word(CODE + 136, TABLE);
	put(CODE + 72, &line, sizeof(line));
	put_text(NAME, "Model.step", 10, 1, true);
	put_text(PATH, "/srv/train.py", 13, 1, true);
	put_word(TABLE + 16, 3);
	put(TABLE + 32, "\xd0\x01\x02", 3);
}

static bool read_code(struct python_code *code)
{
	return python_code_read(&layout, CODE, python_check(NAME, TABLE), read_memory, NULL, code);
}

static void test_code(void **state)
{
	struct python_code code;

	(void)state;
	put_code();
	assert_true(read_code(&code));
	assert_string_equal(code.function, "Model.step");
	assert_string_equal(code.file, "/srv/train.py");
	assert_int_equal(code.first_line, 7);
	assert_int_equal(code.table_size, 3);
	assert_memory_equal(code.table, "\xd0\x01\x02", 3);
	free(code.table);
}

static void test_text(void **state)
{
	static const uint16_t two[] = { 0x4e2d, 0x65, 0xe9 };
	static const uint32_t four[] = { 0x1f600, 0x61 };
	struct python_code code;

	(void)state;
	put_code();
	put_text(NAME, "l\xe4uft", 5, 1, false);
	assert_true(read_code(&code));
	assert_string_equal(code.function, "l\xc3\xa4uft");
	free(code.table);
	put_text(NAME, two, 3, 2, false);
	assert_true(read_code(&code));
	assert_string_equal(code.function, "\xe4\xb8\xad"
					   "e\xc3\xa9");
	free(code.table);
	put_text(NAME, four, 2, 4, false);
	assert_true(read_code(&code));
	assert_string_equal(code.function, "\xf0\x9f\x98\x80"
					   "a");
	free(code.table);
}

/* Memory that is no code object, or not that one any more. */
static void test_other_memory(void **state)
{
	struct python_code code;

	(void)state;
	put_code();
	assert_false(python_code_read(&layout, CODE, python_check(NAME, TABLE + 8), read_memory,
				      NULL, &code));
	assert_null(code.table);
	assert_false(python_code_read(&layout, 8, 0, read_memory, NULL, &code));
	put_word(CODE + 112, 0);
	assert_false(read_code(&code));
	put_code();
	put_word(NAME + 16, 0);
	assert_false(read_code(&code));
	put_code();
	put_word(NAME + 32, 0);
	assert_false(read_code(&code));
	/* A text that is longer than memory is not there; a table, too. */
	put_code();
	put_word(NAME + 16, UINT64_MAX);
	put_text(NAME, "x", 1, 1, true);
	put_word(TABLE + 16, PYTHON_MAX_TABLE);
	assert_false(read_code(&code));
	assert_null(code.table);
	put_word(TABLE + 16, UINT64_MAX);
	assert_true(read_code(&code));
	assert_null(code.table);
	assert_int_equal(code.table_size, 0);
}

static void test_long_text(void **state)
{
	struct python_code code;
	char name[2000];

	(void)state;
	put_code();
	memset(name, 'n', sizeof(name));
	put_text(BASE + 0x1000, name, sizeof(name), 1, true);
	put_word(CODE + 128, BASE + 0x1000);
	assert_true(python_code_read(&layout, CODE, python_check(BASE + 0x1000, TABLE), read_memory,
				     NULL, &code));
	assert_true(strlen(code.function) > PYTHON_MAX_NAME - 8);
	assert_true(strlen(code.function) <= PYTHON_MAX_NAME);
	free(code.table);
}

/* --- layouts ----------------------------------------------------------------------------------- */

static void layout_of(const char *path, int wanted)
{
	struct python_layout l;
	struct elf_file *elf;
	uint64_t version;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		skip();
	assert_int_equal(elf_file_open(fd, &elf, NULL), 0);
	assert_int_equal(python_layout_of(elf, &l, &version), wanted);
	if (!wanted) {
		assert_int_equal(version >> 24, 3);
		assert_true(l.eval_end > l.eval && l.runtime);
		assert_int_equal(l.lines, l.function + 8);
	}
	elf_file_free(elf);
	close(fd);
}

static void test_interpreter(void **state)
{
	(void)state;
#ifdef __x86_64__
	layout_of("/usr/bin/python3.11", 0);
#else
	layout_of("/usr/bin/python3.11", -ENOENT);
#endif
}

static void test_no_interpreter(void **state)
{
	(void)state;
	layout_of("/proc/self/exe", -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),	     cmocka_unit_test(test_damaged_lines),
		cmocka_unit_test(test_code),	     cmocka_unit_test(test_text),
		cmocka_unit_test(test_other_memory), cmocka_unit_test(test_long_text),
		cmocka_unit_test(test_interpreter),  cmocka_unit_test(test_no_interpreter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
