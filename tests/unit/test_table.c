/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts that are shortened, numbers that people read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/table/stats_print.h"
#include "reports/table/table.h"

static void check_shorten(const char *text, size_t size, unsigned width, const char *want)
{
	char *out = malloc(size);

	text_shorten(out, size, text, width);
	assert_string_equal(out, want);
	assert_true(text_width(out) <= width);
	free(out);
}

static void test_shorten(void **state)
{
	(void)state;
	assert_int_equal(text_width(""), 0);
	assert_int_equal(text_width("abc"), 3);
	assert_int_equal(text_width("e\xcc\x81"), 1); /* e and a combining accent */
	assert_int_equal(text_width("\xe6\x97\xa5\xf0\x9f\x98\x80"), 4);
	check_shorten("abcdefghij", 20, 10, "abcdefghij");
	check_shorten("abcdefghijk", 20, 10, "abcd...ijk");
	check_shorten("abcdefghijk", 20, 9, "abc...ijk");
	/* wide characters are not halved */
	check_shorten("\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac",
		      40, 10, "\xe6\x97\xa5\xe6\x9c\xac...\xe6\x9c\xac");
	/* too many bytes, though not too many columns */
	check_shorten("\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac",
		      14, 40, "\xe6\x97\xa5...\xe6\x9c\xac");
}

/* Whatever is shortened fits, in bytes and in columns, and is a head and a tail of what it was. */
static void test_shorten_anything(void **state)
{
	static const char *const pieces[] = {
		"a", "b", "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x98\x80", "\xcc\x81"
	};
	uint64_t seed = 4;
	int round;

	(void)state;
	for (round = 0; round < 100000; round++) {
		char text[260] = "", out[64];
		unsigned n, width, size;
		size_t head;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		n = (unsigned)(seed >> 58);
		width = 7 + (unsigned)(seed >> 40) % 40;
		size = 12 + (unsigned)(seed >> 30) % 52;
		while (n--) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			strcat(text, pieces[(seed >> 33) % 6]);
		}
		text_shorten(out, size, text, width);
		assert_true(strlen(out) < size);
		assert_true(text_width(out) <= width);
		if (!strcmp(out, text))
			continue;
		assert_true(text_width(text) > width || strlen(text) >= size);
		head = (size_t)(strstr(out, "...") - out);
		assert_memory_equal(out, text, head);
		assert_string_equal(out + head + 3, text + strlen(text) - strlen(out + head + 3));
		assert_true((text[head] & 0xc0) != 0x80);
		assert_true((out[head + 3] & 0xc0) != 0x80);
	}
}

static void test_durations(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = { { 0, "0 ns" },
		      { 999, "999 ns" },
		      { 1000, "1.000 us" },
		      { 999999, "999.999 us" },
		      { 1000000, "1.000 ms" },
		      { 1234567, "1.235 ms" },
		      { 999999499, "999.999 ms" },
		      { 999999500, "1.000 s" },
		      { 3600000000000, "3600.000 s" },
		      { UINT64_MAX, "18446744073.710 s" } };
	char text[32];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		format_duration(text, sizeof(text), cases[i].ns);
		assert_string_equal(text, cases[i].text);
	}
}

static void test_numbers(void **state)
{
	char text[32];

	(void)state;
	format_bytes(text, sizeof(text), 999);
	assert_string_equal(text, "999 B");
	format_bytes(text, sizeof(text), 1000);
	assert_string_equal(text, "1.000 KB");
	format_bytes(text, sizeof(text), UINT64_MAX);
	assert_string_equal(text, "18.447 EB");
	format_count(text, sizeof(text), 999999);
	assert_string_equal(text, "999999");
	format_count(text, sizeof(text), 1234567);
	assert_string_equal(text, "1.235 M");
	format_real(text, sizeof(text), 0.5);
	assert_string_equal(text, "0.500000");
	format_real(text, sizeof(text), 1234.56);
	assert_string_equal(text, "1234.6");
}

static void print_hostile_cell(const void *context, size_t row, unsigned column, char *cell)
{
	(void)context, (void)row;
	strcpy(cell, column ? "1" : "a\033[2J\x9b\n");
}

/* Widths are those of what is printed: a control character has a column. */
static void test_hostile_table(void **state)
{
	static const struct table_column columns[] = { { "Na\033me", true, 0 }, { "N", false, 0 } };
	const struct table table = {
		.columns = columns, .n_columns = 2, .n_rows = 1, .cell = print_hostile_cell
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	assert_int_equal(table_print(&table, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "Na?me    N\n"
				  "a?[2J??  1\n");
	free(text);
}

static void check_put(void (*put)(FILE *out, const char *text), const char *in, const char *want)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	put(out, in);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, want);
	free(text);
}

static void put_json_text(FILE *out, const char *text)
{
	put_json_string(out, "", text);
}

/* What is for programs is often read by people: no control characters there either. */
static void test_hostile_fields(void **state)
{
	(void)state;
	check_put(put_json_text, "", "\"\"");
	check_put(put_json_text, "a\"b\\c", "\"a\\\"b\\\\c\"");
	check_put(put_json_text, "\033[2J\n\x7f\xc2\x9b\xe2\x80\xae",
		  "\"\\u001b[2J\\u000a\\u007f\\u009b\\u202e\"");
	check_put(put_json_text, "\x9b\xe2\x80", "\"\\ufffd\\ufffd\\ufffd\"");
	check_put(put_json_text, "\xe2\x80\x8d\xf0\x9f\x98\x80",
		  "\"\xe2\x80\x8d\xf0\x9f\x98\x80\"");
	check_put(put_csv_text, "plain", "plain");
	check_put(put_csv_text, "a,b", "\"a,b\"");
	check_put(put_csv_text, "\"\"", "\"\"\"\"\"\"");
	check_put(put_csv_text, "a\033\"b\n,\x9b", "\"a?\"\"b?,?\"");
	check_put(put_csv_text, "a\r\n", "a??");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shorten),	      cmocka_unit_test(test_shorten_anything),
		cmocka_unit_test(test_durations),     cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_hostile_table), cmocka_unit_test(test_hostile_fields),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
