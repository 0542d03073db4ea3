/* SPDX-License-Identifier: BSD-2-Clause */
/* The statistics, by what they print. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "handlers/stats_rows.h"
#include "handlers/table.h"
#include "timeline/timeline.h"

struct test {
	struct names *names;
	struct account account;
	struct timeline *timeline;
	struct handler *stats;
	char *text;
};

static struct test *test_new(void)
{
	struct test *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->names = names_new(0);
	x->timeline = timeline_new(x->names, &x->account, 0);
	x->stats = stats_handler_new();
	assert_non_null(x->stats);
	assert_int_equal(timeline_add_handler(x->timeline, x->stats), 0);
	return x;
}

static void test_done(struct test *x)
{
	assert_int_equal(x->stats->ops->flush(x->stats), 0);
	assert_int_equal(x->stats->ops->close(x->stats, &x->account), 0);
	timeline_free(x->timeline);
	x->stats->ops->free(x->stats);
	names_free(x->names);
	free(x->text);
	free(x);
}

static const struct name *nm(struct test *x, const char *text)
{
	return text ? names_intern_string(x->names, text) : NULL;
}

static void put(struct test *x, enum event_kind kind, uint64_t ts_ns, const char *category,
		const char *name, uint64_t id)
{
	const struct event event = { .kind = kind,
				     .pid = 10,
				     .tid = 10,
				     .level = -1,
				     .ts_ns = ts_ns,
				     .id = id,
				     .category = nm(x, category),
				     .name = nm(x, name) };

	assert_int_equal(timeline_event(x->timeline, &event), 0);
}

static void slice(struct test *x, uint64_t begin_ns, uint64_t end_ns, const char *category,
		  const char *name)
{
	put(x, EVENT_BEGIN, begin_ns, category, name, 0);
	put(x, EVENT_END, end_ns, NULL, NULL, 0);
}

static void sample(struct test *x, uint64_t ts_ns, const char *name, const char *key,
		   struct arg value, const char *unit)
{
	struct event event = { .kind = EVENT_COUNTER,
			       .pid = 10,
			       .tid = 10,
			       .ts_ns = ts_ns,
			       .name = nm(x, name),
			       .unit = nm(x, unit),
			       .n_args = 1,
			       .args = &value };

	value.key = nm(x, key);
	assert_int_equal(timeline_event(x->timeline, &event), 0);
}

static const char *print(struct test *x, unsigned max_rows, bool color)
{
	const struct stats_options options = { .max_rows = max_rows, .color = color };
	size_t size;
	FILE *out;

	free(x->text);
	out = open_memstream(&x->text, &size);
	assert_non_null(out);
	stats_print(x->stats, out, &options);
	fclose(out);
	return x->text;
}

static void test_nothing(void **state)
{
	struct test *x = test_new();

	(void)state;
	assert_string_equal(print(x, 0, false), "");
	assert_int_equal(stats_events(x->stats), 0);
	put(x, EVENT_COMM, 5, NULL, "main", 0);
	put(x, EVENT_BEGIN, 6, NULL, "open", 0);
	assert_string_equal(print(x, 0, true), "");
	assert_int_equal(stats_events(x->stats), 1);
	test_done(x);
}

static void test_slices(void **state)
{
	struct test *x = test_new();

	(void)state;
	put(x, EVENT_BEGIN, 1000, "app", "work", 0);
	slice(x, 2000, 2500, "app", "step");
	slice(x, 3000, 4500, "app", "step");
	put(x, EVENT_END, 11000, NULL, NULL, 0);
	slice(x, 20000, 21000, NULL, "idle");
	/* the same name in another category is another row; equal totals go by name */
	slice(x, 22000, 23000, "lib", "step");
	/* clang-format off */
	assert_string_equal(print(x, 0, false),
"Category  Slice  Count      Total      Self        Min        Max        Avg     %\n"
"app       work       1  10.000 us  8.000 us  10.000 us  10.000 us  10.000 us  45.5\n"
"app       step       2   2.000 us  2.000 us     500 ns   1.500 us   1.000 us   9.1\n"
"-         idle       1   1.000 us  1.000 us   1.000 us   1.000 us   1.000 us   4.5\n"
"lib       step       1   1.000 us  1.000 us   1.000 us   1.000 us   1.000 us   4.5\n");
	assert_string_equal(print(x, 1, true),
"\033[1mCategory  Slice  Count      Total      Self        Min        Max        Avg     %\033[0m\n"
"app       work       1  10.000 us  8.000 us  10.000 us  10.000 us  10.000 us  45.5\n"
"and 3 more\n");
	/* clang-format on */
	assert_int_equal(stats_events(x->stats), 10);
	test_done(x);
}

/* f(f(g(f))): three calls of f, and the time in f is that of the outermost. */
static void test_recursion(void **state)
{
	struct test *x = test_new();

	(void)state;
	put(x, EVENT_BEGIN, 1000, NULL, "f", 0);
	put(x, EVENT_BEGIN, 1100, NULL, "f", 0);
	put(x, EVENT_BEGIN, 1200, NULL, "g", 0);
	put(x, EVENT_BEGIN, 1300, NULL, "f", 0);
	put(x, EVENT_END, 1400, NULL, NULL, 0);
	put(x, EVENT_END, 1600, NULL, NULL, 0);
	put(x, EVENT_END, 1800, NULL, NULL, 0);
	put(x, EVENT_END, 1990, NULL, NULL, 0);
	/* avg = (990 + 700 + 100) / 3; the Self column sums to the time inside slices */
	/* clang-format off */
	assert_string_equal(print(x, 0, false),
"Category  Slice  Count   Total    Self     Min     Max     Avg      %\n"
"-         f          3  990 ns  690 ns  100 ns  990 ns  596 ns  100.0\n"
"-         g          1  400 ns  300 ns  400 ns  400 ns  400 ns   40.4\n");
	/* clang-format on */
	test_done(x);
}

static void test_without_end(void **state)
{
	struct test *x = test_new();

	(void)state;
	put(x, EVENT_BEGIN, 10, NULL, "a", 0);
	put(x, EVENT_THREAD_EXIT, 20, NULL, NULL, 0);
	/* clang-format off */
	assert_string_equal(print(x, 0, false),
"1 slice without an end of its own is not in the table\n");
	/* clang-format on */
	put(x, EVENT_BEGIN, 110, NULL, "a", 0);
	put(x, EVENT_ASYNC_BEGIN, 110, NULL, "b", 1);
	put(x, EVENT_PROCESS_EXIT, 120, NULL, NULL, 0);
	put(x, EVENT_INSTANT, 130, NULL, "i", 0);
	/* clang-format off */
	assert_string_equal(print(x, 0, false),
"3 slices without an end of their own are not in the table\n"
"\n"
"Category  Instant  Count\n"
"-         i            1\n");
	/* clang-format on */
	test_done(x);
}

static void test_asyncs_and_instants(void **state)
{
	struct test *x = test_new();

	(void)state;
	put(x, EVENT_ASYNC_BEGIN, 1000, "net", "request", 1);
	put(x, EVENT_ASYNC_BEGIN, 2000, "net", "request", 2);
	put(x, EVENT_ASYNC_END, 3000, "net", "request", 1);
	put(x, EVENT_ASYNC_END, 6000, "net", "request", 2);
	put(x, EVENT_INSTANT, 7000, "c", "rare", 0);
	put(x, EVENT_INSTANT, 8000, NULL, "often", 0);
	put(x, EVENT_INSTANT, 9000, NULL, "often", 0);
	/* clang-format off */
	assert_string_equal(print(x, 0, false),
"Category  Asynchronous slice  Count     Total       Min       Max       Avg     %\n"
"net       request                 2  6.000 us  2.000 us  4.000 us  3.000 us  75.0\n"
"\n"
"Category  Instant  Count\n"
"-         often        2\n"
"c         rare         1\n");
	/* clang-format on */
	test_done(x);
}

#define INT(value)    ((struct arg){ .type = ARG_INT, .i = (value) })
#define UINT(value)   ((struct arg){ .type = ARG_UINT, .u = (value) })
#define DOUBLE(value) ((struct arg){ .type = ARG_DOUBLE, .d = (value) })

static void test_counters(void **state)
{
	struct test *x = test_new();

	(void)state;
	/* exact to the last bit, and across types */
	sample(x, 1, "big", NULL, UINT(UINT64_MAX), NULL);
	sample(x, 2, "big", NULL, UINT(UINT64_MAX - 1), NULL);
	sample(x, 3, "big", NULL, INT(INT64_MIN), NULL);
	sample(x, 4, "big", NULL, DOUBLE(1.5), NULL);
	sample(x, 5, "net", "rx", INT(4), "B");
	sample(x, 6, "net", "tx", DOUBLE(0.1), "B");
	sample(x, 7, "net", "rx", INT(7), "B");
	sample(x, 8, "nan", NULL, DOUBLE(__builtin_nan("")), NULL);
	/* clang-format off */
	assert_string_equal(print(x, 0, false),
"Counter  Series  Count                   Min                   Max          Avg  Last  Unit\n"
"big      -           4  -9223372036854775808  18446744073709551615  6.91753e+18   1.5  \n"
"nan      -           1                     -                     -            -   nan  \n"
"net      rx          2                     4                     7          5.5     7  B\n"
"net      tx          1                   0.1                   0.1          0.1   0.1  B\n");
	/* clang-format on */
	/* one that was no number does not spoil those that are */
	sample(x, 9, "nan", NULL, DOUBLE(2), NULL);
	assert_non_null(strstr(print(x, 0, false), "nan      -           2                     2"));
	test_done(x);
}

static void test_rows_are_limited(void **state)
{
	struct test *x = test_new();

	(void)state;
	((struct stats *)x->stats)->limit_rows = 1;
	slice(x, 100, 200, "c", "a");
	slice(x, 300, 600, "c", "b");
	slice(x, 700, 1000, "d", "z");
	put(x, EVENT_INSTANT, 1000, NULL, "i", 0);
	put(x, EVENT_INSTANT, 1000, NULL, "j", 0);
	sample(x, 1000, "m", NULL, INT(1), "B");
	sample(x, 1100, "n", NULL, INT(2), "B");
	/* (other) is last, however much it holds */
	/* clang-format off */
	assert_string_equal(print(x, 0, false),
"Category  Slice    Count   Total    Self     Min     Max     Avg     %\n"
"c         a            1  100 ns  100 ns  100 ns  100 ns  100 ns  10.0\n"
"-         (other)      2  600 ns  600 ns  300 ns  300 ns  300 ns  60.0\n"
"\n"
"Category  Instant  Count\n"
"-         i            1\n"
"-         (other)      1\n"
"\n"
"Counter  Series  Count  Min  Max  Avg  Last  Unit\n"
"m        -           1    1    1    1     1  B\n"
"(other)  -           1    2    2    2     2  B\n");
	/* clang-format on */
	test_done(x);
}

static void test_long_names(void **state)
{
	struct test *x = test_new();
	static const char name[] = "a very long name of a function, template<of, many, "
				   "arguments>::and_its_last_part()";

	(void)state;
	put(x, EVENT_INSTANT, 1, "\xe6\x97\xa5\xe6\x9c\xac", name, 0);
	put(x, EVENT_INSTANT, 2, "c", "\xe6\x97\xa5", 0);
	/* clang-format off */
	assert_string_equal(print(x, 0, false),
"Category  Instant                                           Count\n"
"\xe6\x97\xa5\xe6\x9c\xac      a very long name of a f...>::and_its_last_part()      1\n"
"c         \xe6\x97\xa5                                                    1\n");
	/* clang-format on */
	test_done(x);
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_without_end),
		cmocka_unit_test(test_asyncs_and_instants),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_rows_are_limited),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_shorten),
		cmocka_unit_test(test_shorten_anything),
		cmocka_unit_test(test_durations),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
