/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of names and the cleaning of text (timeline/names.c, base/text.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "timeline/account.h"
#include "timeline/names.h"

#define BAD "\xef\xbf\xbd"

/* Cleans bytes given as a literal, which may hold NULs. */
#define assert_clean(in, want, changed) check_clean(in, sizeof(in) - 1, want, changed)

static void check_clean(const char *in, size_t length, const char *want, bool want_changed)
{
	size_t size = 6 * length + 1, n;
	char *out = malloc(size), *copy = malloc(length ? length : 1);
	bool changed = false;

	assert_non_null(out);
	assert_non_null(copy);
	memcpy(copy, in, length); /* so that reading past its end is noticed */
	n = text_clean(out, size, copy, length, &changed);
	assert_string_equal(out, want);
	assert_int_equal(n, strlen(want));
	assert_int_equal(changed, want_changed);
	free(out);
	free(copy);
}

static void test_clean(void **state)
{
	(void)state;
	assert_clean("", "", false);
	assert_clean("plain text ~!", "plain text ~!", false);
	assert_clean("a\\b\"c", "a\\b\"c", false);
	/* the first and last of each length */
	assert_clean("\xc2\xa0\xdf\xbf", "\xc2\xa0\xdf\xbf", false);
	assert_clean("\xe0\xa0\x80\xef\xbf\xbf", "\xe0\xa0\x80\xef\xbf\xbf", false);
	assert_clean("\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80", false);
	assert_clean("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", false);
	/* a replacement character of the program's own is a character */
	assert_clean("x" BAD, "x" BAD, false);
	/* controls */
	assert_clean("a\nb\tc\x1b[0m", "a\\x0ab\\x09c\\x1b[0m", true);
	assert_clean("a\0b", "a\\x00b", true);
	assert_clean("\x7f", "\\x7f", true);
	assert_clean("\xc2\x80\xc2\x9f", "\\x80\\x9f", true);
	assert_clean("\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\x8d",
		     "\\u202e\\u2066\\u061c\xe2\x80\x8d", true);
	assert_clean("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa7", "\\u2028\\u2029\xe2\x80\xa7", true);
	/* what is not UTF-8 */
	assert_clean("\x80", BAD, true);
	assert_clean("\xff\xfe", BAD BAD, true);
	assert_clean("\xc0\x80", BAD BAD, true);
	assert_clean("\xc1\xbf", BAD BAD, true);
	assert_clean("\xe0\x9f\xbf", BAD BAD BAD, true);
	assert_clean("\xed\xa0\x80", BAD BAD BAD, true);
	assert_clean("\xed\xbf\xbf", BAD BAD BAD, true);
	assert_clean("\xf0\x8f\xbf\xbf", BAD BAD BAD BAD, true);
	assert_clean("\xf4\x90\x80\x80", BAD BAD BAD BAD, true);
	assert_clean("\xf5\x80\x80\x80", BAD BAD BAD BAD, true);
	assert_clean("\xe2\x82", BAD BAD, true);
	assert_clean("\xe2\x82z", BAD BAD "z", true);
	assert_clean("\xc3(", BAD "(", true);
	assert_clean("\xf0\x9f\x98", BAD BAD BAD, true);
}

static void test_clean_has_little_space(void **state)
{
	static const char text[] = "a\xc3\xa9\nz\xff";
	static const char *const want[] = { "",
					    "",
					    "a",
					    "a",
					    "a\xc3\xa9",
					    "a\xc3\xa9",
					    "a\xc3\xa9",
					    "a\xc3\xa9",
					    "a\xc3\xa9\\x0a",
					    "a\xc3\xa9\\x0az" };
	size_t size;

	(void)state;
	for (size = 1; size < sizeof(want) / sizeof(want[0]); size++) {
		char *out = malloc(size);
		bool changed = false;

		assert_int_equal(text_clean(out, size, text, 6, &changed), strlen(want[size]));
		assert_string_equal(out, want[size]);
		free(out);
	}
	assert_int_equal(text_clean(NULL, 0, text, 6, NULL), 0);
}

/* Whatever goes in, what comes out needs no cleaning. */
static void test_clean_is_final(void **state)
{
	uint64_t seed = 88172645463325252ull;
	char in[12], out[sizeof(in) * 6 + 1], again[sizeof(out) * 6 + 1];
	int round;

	(void)state;
	for (round = 0; round < 200000; round++) {
		static const unsigned char interesting[] = { 0x00, 0x1f, 0x7f, 0x80, 0x9f, 0xa8,
							     0xc2, 0xe0, 0xe2, 0xed, 0xf0, 0xf4,
							     0xbf, 0xff, 'a',  0x90 };
		size_t i, n;
		bool changed = false;

		for (i = 0; i < sizeof(in); i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			in[i] = (char)(seed >> 63 ? interesting[seed >> 40 & 15] : seed >> 50);
		}
		n = text_clean(out, sizeof(out), in, sizeof(in), &changed);
		assert_int_equal(n, strlen(out));
		if (!changed) {
			assert_int_equal(n, sizeof(in));
			assert_memory_equal(out, in, n);
		}
		changed = false;
		assert_int_equal(text_clean(again, sizeof(again), out, n, &changed), n);
		assert_memory_equal(again, out, n);
		assert_false(changed);
	}
}

static void test_intern(void **state)
{
	struct names *names = names_new(0);
	const struct name *a, *b;

	(void)state;
	assert_non_null(names);
	a = names_intern(names, "alphabet", 5, 128);
	assert_string_equal(a->text, "alpha");
	assert_int_equal(a->length, 5);
	assert_ptr_equal(a, names_intern_string(names, "alpha"));
	b = names_intern_string(names, "beta");
	assert_true(a != b);
	assert_int_equal(b->id, a->id + 1);
	assert_string_equal(names_intern(names, NULL, 0, 128)->text, "");
	assert_ptr_equal(names_intern_string(names, "a\\x0a"), names_intern(names, "a\n", 2, 128));
	assert_ptr_equal(names_intern(names, "\xff", 1, 128), names_intern(names, "\xfe", 1, 128));
	assert_int_equal(names_count(names)->repaired, 3);
	assert_int_equal(names_count(names)->cut, 0);
	assert_int_equal(names_count(names)->capped, 0);
	names_free(names);
	names_free(NULL);
}

static void test_cut(void **state)
{
	struct names *names = names_new(0);
	char *huge = malloc(100000);

	(void)state;
	assert_string_equal(names_intern(names, "abcdef", 6, 6)->text, "abcdef");
	assert_string_equal(names_intern(names, "abcdefg", 7, 6)->text, "abcdef");
	/* not in the middle of a character */
	assert_string_equal(names_intern(names, "ab\xe2\x82\xac!", 6, 4)->text, "ab");
	assert_string_equal(names_intern(names, "ab\xe2\x82\xac!", 6, 5)->text, "ab\xe2\x82\xac");
	assert_string_equal(names_intern(names, "\xf0\x9f\x98\x80!", 5, 3)->text, "");
	assert_int_equal(names_count(names)->cut, 4);
	assert_int_equal(names_count(names)->repaired, 0);
	/* bytes that are no characters at all are cut anywhere */
	assert_string_equal(names_intern(names, "\x80\x80\x80\x80\x80\x80", 6, 5)->text,
			    BAD BAD BAD BAD BAD);
	assert_string_equal(names_intern(names, "abc", 3, 0)->text, "");
	/* nobody can ask for more than there is room for */
	memset(huge, '\x01', 100000);
	assert_int_equal(names_intern(names, huge, 100000, SIZE_MAX)->length, 4096);
	assert_int_equal(names_count(names)->cut, 7);
	/* a short one may grow in its repair, a long one does not */
	assert_int_equal(names_intern(names, huge, 128, 128)->length, 4 * 128);
	assert_int_equal(names_count(names)->cut, 7);
	assert_int_equal(names_intern(names, huge, 768, 768)->length, 768);
	assert_int_equal(names_count(names)->cut, 8);
	/* neither through a character nor through what stands for one */
	huge[0] = 'a';
	assert_int_equal(names_intern(names, huge, 768, 768)->length, 1 + 4 * 191);
	assert_int_equal(names_count(names)->cut, 9);
	free(huge);
	names_free(names);
}

static void test_cap(void **state)
{
	struct names *names = names_new(3);
	const struct name *other, *one;
	char text[16];
	int i;

	(void)state;
	one = names_intern_string(names, "one");
	names_intern_string(names, "two");
	names_intern_string(names, "three");
	other = names_intern_string(names, "four");
	assert_string_equal(other->text, "(other)");
	assert_ptr_equal(other, names_intern_string(names, "five"));
	assert_ptr_equal(other, names_intern_string(names, "six\n"));
	assert_int_equal(names_count(names)->capped, 3);
	assert_ptr_equal(one, names_intern_string(names, "one"));
	/* a program may use the word itself */
	assert_ptr_equal(other, names_intern_string(names, "(other)"));
	assert_int_equal(names_count(names)->capped, 3);
	names_free(names);

	names = names_new(0);
	for (i = 0; i < 65536 + 10; i++) {
		snprintf(text, sizeof(text), "n%d", i);
		names_intern_string(names, text);
	}
	assert_int_equal(names_count(names)->capped, 10);
	assert_string_equal(names_intern_string(names, "n65535")->text, "n65535");
	assert_int_equal(names_intern_string(names, "n65535")->id, 65537);
	names_free(names);
}

/* What is printed of one message into a file. */
#define assert_printed(want, ...)                         \
	do {                                              \
		char *text = NULL;                        \
		size_t size;                              \
		FILE *out = open_memstream(&text, &size); \
                                                          \
		assert_non_null(out);                     \
		print_visible(out, __VA_ARGS__);          \
		assert_int_equal(fclose(out), 0);         \
		assert_string_equal(text, want);          \
		free(text);                               \
	} while (0)

static void test_print_visible(void **state)
{
	static char huge[2 * TEXT_PRINTED], cut[TEXT_PRINTED];

	(void)state;
	assert_printed("", "%s", "");
	assert_printed("\n", "%s\n", "");
	assert_printed("'a?[2Jb?c?d?\?'\n", "'%s'\n",
		       "a\x1b[2Jb\x9b"
		       "c\xc2\x9b"
		       "d\xe2\x80\xae\x7f");
	/* U+200D joins letters of several scripts. */
	assert_printed("a\xe2\x80\x8d"
		       "b\n",
		       "%s\n",
		       "a\xe2\x80\x8d"
		       "b");
	/* No name begins a line, wherever it stands. */
	assert_printed("a?proftrace: b?", "%s", "a\nproftrace: b\n");
	assert_printed("a?\n", "%s\n", "a\n");
	memset(huge, 'x', 2 * TEXT_PRINTED - 1);
	huge[2 * TEXT_PRINTED - 1] = '\0';
	memset(cut, 'x', TEXT_PRINTED - 2);
	strcpy(cut + TEXT_PRINTED - 2, "\n");
	assert_printed(cut, "%s\n", huge);
}

static void check_format(size_t size, const char *want, const char *format, ...)
{
	char *out = malloc(size);
	va_list args;

	assert_non_null(out);
	va_start(args, format);
	assert_int_equal(format_visible(out, size, format, args), strlen(want));
	va_end(args);
	assert_string_equal(out, want);
	free(out);
}

/* A line has its end even where it does not fit. */
static void test_format_visible(void **state)
{
	static const char *const want[] = { "\n", "a\n", "a?\n", "a?\n", "a?b\n", "a?b\n" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		check_format(i + 2, want[i], "%s\n",
			     "a\xc2\x80"
			     "b");
	check_format(2, "a", "%s", "ab");
	check_format(3, "a?", "%s", "a\n");
}

static void test_account(void **state)
{
	struct account account = { 0 };
	int i, j;

	(void)state;
	for (i = 0; i < LOST_REASONS; i++) {
		account.lost[i] = 1ull << i;
		assert_true(strlen(lost_reason_name(i)) > 0);
		assert_true(strlen(lost_reason_text(i)) > 0);
		assert_null(strchr(lost_reason_name(i), ' '));
		for (j = 0; j < i; j++)
			assert_string_not_equal(lost_reason_name(i), lost_reason_name(j));
	}
	assert_int_equal(account_lost(&account), (1ull << LOST_REASONS) - 1);
	assert_string_equal(lost_reason_name(LOST_BUFFER_FULL), "buffer_full");
	assert_string_equal(lost_reason_hint(LOST_BUFFER_FULL), "--buffer SIZE");
	assert_null(lost_reason_hint(LOST_UNMATCHED));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_clean_has_little_space),
		cmocka_unit_test(test_clean_is_final),
		cmocka_unit_test(test_intern),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_print_visible),
		cmocka_unit_test(test_format_visible),
		cmocka_unit_test(test_account),
	};

	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
