/* SPDX-License-Identifier: BSD-2-Clause */
/* The statistics, by what they print. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "handlers/stats_print.h"
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

static const char *print_as(struct test *x, const struct stats_options *options)
{
	size_t size;
	FILE *out;

	free(x->text);
	out = open_memstream(&x->text, &size);
	assert_non_null(out);
	assert_int_equal(stats_print_table(x->stats, out, options, NULL, NULL), 0);
	fclose(out);
	return x->text;
}

/* Percentiles have tests of their own. */
#define COLUMNS "count,total,self,min,max,avg,share"

static const char *print(struct test *x, unsigned max_rows, bool color)
{
	return print_as(x, &(struct stats_options){
				   .max_rows = max_rows, .color = color, .columns = COLUMNS });
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
"Category  Counter  Count                   Min                   Max          Avg  Last  Unit\n"
"-         big          4  -9223372036854775808  18446744073709551615  6.91753e+18   1.5  \n"
"-         nan          1                     -                     -            -   nan  \n"
"-         net rx       2                     4                     7          5.5     7  B\n"
"-         net tx       1                   0.1                   0.1          0.1   0.1  B\n");
	/* clang-format on */
	/* one that was no number does not spoil those that are */
	sample(x, 9, "nan", NULL, DOUBLE(2), NULL);
	assert_non_null(strstr(print(x, 0, false), "nan          2                     2"));
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
"Category  Counter  Count  Min  Max  Avg  Last  Unit\n"
"-         m            1    1    1    1     1  B\n"
"-         (other)      1    2    2    2     2  B\n");
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
	assert_string_equal(print_as(x, &(struct stats_options){ .width = 65 }),
"Category  Instant                                           Count\n"
"\xe6\x97\xa5\xe6\x9c\xac      a very long name of a f...>::and_its_last_part()      1\n"
"c         \xe6\x97\xa5                                                    1\n");
	/* clang-format on */
	assert_non_null(strstr(print(x, 0, false), name));
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

/* --- columns, order, filters ------------------------------------------------------------------- */

static struct test *test_some(void)
{
	struct test *x = test_new();

	slice(x, 1000, 2000, "net,io", "read");
	slice(x, 3000, 6000, "net,io", "read");
	slice(x, 7000, 7100, "net", "write");
	slice(x, 8000, 11000, NULL, "idle");
	return x;
}

static void test_order(void **state)
{
	static const struct {
		const char *sort;
		bool ascending;
		const char *order;
	} cases[] = {
		{ NULL, false, "read idle write " },	{ "total", true, "write idle read " },
		{ "min", false, "idle read write " },	{ "count", false, "read idle write " },
		{ "name", false, "idle read write " },	{ "p99", true, "write idle read " },
		{ "share", false, "read idle write " }, { "avg", false, "idle read write " },
	};
	struct test *x = test_some();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct stats_options options = { .sort = cases[i].sort,
						       .ascending = cases[i].ascending,
						       .columns = "count" };
		char *line, *save = NULL, order[64] = "", name[32];

		print_as(x, &options);
		for (line = strtok_r(x->text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save)) {
			if (sscanf(line, "%*s %31s", name) == 1 && strcmp(name, "Slice"))
				strcat(strcat(order, name), " ");
		}
		assert_string_equal(order, cases[i].order);
	}
	test_done(x);
}

static void check_names(struct test *x, const char *domain, const char *name, const char *wanted)
{
	const char *domains[] = { domain, "!nothing" }, *names[] = { name };
	const struct stats_options options = { .columns = "count",
					       .domains = domains,
					       .n_domains = domain ? 2 : 0,
					       .names = names,
					       .n_names = name ? 1 : 0 };

	assert_string_equal(print_as(x, &options), wanted);
}

static void test_filters(void **state)
{
	struct test *x = test_some();

	(void)state;
	check_names(x, "io", NULL, "Category  Slice  Count\nnet,io    read       2\n");
	check_names(x, "net*", "w*", "Category  Slice  Count\nnet       write      1\n");
	check_names(x, "!net", NULL, "Category  Slice  Count\n-         idle       1\n");
	check_names(x, NULL, "![ri]*", "Category  Slice  Count\nnet       write      1\n");
	check_names(x, "nothing", NULL, "");
	test_done(x);
}

static void test_columns(void **state)
{
	struct test *x = test_some();
	struct failure f = { 0 };
	FILE *out = fopen("/dev/null", "w");
	struct stats_options options = { .columns = "count,cycles" };

	(void)state;
	/* clang-format off */
	assert_string_equal(print_as(x, &(struct stats_options){ .columns = "max,count,%", .unit = STATS_UNIT_US }),
"Category  Slice  Max us  Count     %\n"
"net,io    read    3.000      2  40.0\n"
"-         idle    3.000      1  30.0\n"
"net       write   0.100      1   1.0\n");
	/* clang-format on */
	assert_non_null(out);
	assert_int_equal(stats_print_table(x->stats, out, &options, NULL, &f), -EINVAL);
	assert_string_equal(f.object, "cycles");
	options = (struct stats_options){ .sort = "ipc" };
	assert_int_equal(stats_print_table(x->stats, out, &options, NULL, &f), -EINVAL);
	options = (struct stats_options){ .columns = "count,,total" };
	assert_int_equal(stats_print_csv(x->stats, out, &options, NULL, &f), -EINVAL);
	fclose(out);
	test_done(x);
}

/* Whatever the width of the terminal is, no line is wider, and the count is never left out. */
static void test_widths(void **state)
{
	struct test *x = test_some();
	unsigned width;

	(void)state;
	slice(x, 12000, 13000, "a category that has a long name",
	      "and a name that is as long as that");
	for (width = 24; width < 200; width++) {
		const struct stats_options options = { .width = width };
		char *line, *save = NULL;

		print_as(x, &options);
		assert_non_null(strstr(x->text, "Count"));
		for (line = strtok_r(x->text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			assert_true(text_width(line) <= width);
	}
	test_done(x);
}

static void test_per_thread(void **state)
{
	struct test *x = test_new();
	const struct event name = { .kind = EVENT_THREAD_NAME,
				    .pid = 10,
				    .tid = 11,
				    .level = -1,
				    .ts_ns = 1,
				    .name = nm(x, "worker") };
	struct event event = { .kind = EVENT_BEGIN,
			       .pid = 10,
			       .tid = 11,
			       .level = -1,
			       .ts_ns = 100,
			       .name = nm(x, "work") };

	(void)state;
	stats_per_thread(x->stats);
	timeline_event(x->timeline, &name);
	timeline_event(x->timeline, &event);
	event.kind = EVENT_END;
	event.ts_ns = 300;
	timeline_event(x->timeline, &event);
	slice(x, 100, 200, NULL, "work");
	sample(x, 100, "c", NULL, INT(1), NULL);
	/* clang-format off */
	assert_string_equal(print_as(x, &(struct stats_options){ .columns = "count,total" }),
"Category  Slice  Process  Thread     Count   Total\n"
"-         work   10       worker 11      1  200 ns\n"
"-         work   10       10             1  100 ns\n"
"\n"
"Category  Counter  Process  Count  Min  Max  Avg  Last  Unit\n"
"-         c        10           1    1    1    1     1  \n");
	/* clang-format on */
	test_done(x);
}

/* Several traces in one table: a counter recorded in one of them only stays in its column. */
static void test_counted(void **state)
{
	struct test *x = test_new();
	const struct name *first[] = { nm(x, "cycles"), nm(x, "instructions") };
	const struct name *second[] = { nm(x, "task_clock") };
	struct event event = { .kind = EVENT_BEGIN,
			       .pid = 10,
			       .tid = 10,
			       .level = -1,
			       .ts_ns = 1000,
			       .name = nm(x, "f"),
			       .n_counters = 2,
			       .counters = (const uint64_t[]){ 100, 1000 } };

	(void)state;
	timeline_count(x->timeline, first, 2);
	timeline_event(x->timeline, &event);
	/* nested in itself: counted once in the sum, twice in the calls */
	event.ts_ns = 1100;
	event.counters = (const uint64_t[]){ 200, 1100 };
	timeline_event(x->timeline, &event);
	event.kind = EVENT_END;
	event.ts_ns = 1200;
	event.counters = (const uint64_t[]){ 400, EVENT_NO_VALUE };
	timeline_event(x->timeline, &event);
	event.ts_ns = 2000;
	event.counters = (const uint64_t[]){ 1100, 4000 };
	timeline_event(x->timeline, &event);
	stats_next_trace(x->stats);
	timeline_free(x->timeline);
	x->timeline = timeline_new(x->names, &x->account, 1ull << 40);
	assert_int_equal(timeline_add_handler(x->timeline, x->stats), 0);
	timeline_count(x->timeline, second, 1);
	event.kind = EVENT_BEGIN;
	event.name = nm(x, "g");
	event.ts_ns = 50000;
	event.n_counters = 1;
	event.counters = (const uint64_t[]){ 5 };
	timeline_event(x->timeline, &event);
	event.kind = EVENT_END;
	event.ts_ns = 51000;
	event.counters = (const uint64_t[]){ 905 };
	timeline_event(x->timeline, &event);
	/* clang-format off */
	assert_string_equal(print_as(x, &(struct stats_options){ .columns =
		"count,share,cycles,cycles:self,cycles/call,cycles/s,instructions,instructions:self,ipc,task-clock,task_clock/s" }),
"Category  Slice  Count     %  cycles  cycles:self  cycles/call  cycles/s  instructions  instructions:self    ipc  task_clock  task_clock/s\n"
"-         f          2  50.0    1000         1000      600.000   1.000 G          3000                  -  3.000           -             -\n"
"-         g          1  50.0       -            -            -         -             -                  -      -      900 ns     900.000 M\n");
	/* clang-format on */
	test_done(x);
}

/* Where counters take turns: of two slices that do the same, one does not know its instructions. */
static void test_turns(void **state)
{
	struct test *x = test_new();
	const struct name *names[] = { nm(x, "cycles"), nm(x, "instructions") };
	const uint64_t begin[] = { 100, 1000 }, end[] = { 2100, EVENT_NO_VALUE },
		       later[] = { 4100, 7000 }, last[] = { 6100, 10000 };
	struct event event = { .kind = EVENT_BEGIN,
			       .pid = 10,
			       .tid = 10,
			       .level = -1,
			       .ts_ns = 1000,
			       .name = nm(x, "f"),
			       .n_counters = 2,
			       .counters = begin };

	(void)state;
	timeline_count(x->timeline, names, 2);
	timeline_event(x->timeline, &event);
	event.kind = EVENT_END;
	event.ts_ns = 2000;
	event.counters = end;
	timeline_event(x->timeline, &event);
	/* clang-format off */
	assert_string_equal(print_as(x, &(struct stats_options){ .columns = "cycles,ipc,ipc:self" }),
"Category  Slice  cycles  ipc  ipc:self\n"
"-         f        2000    -         -\n");
	/* clang-format on */
	event.kind = EVENT_BEGIN;
	event.ts_ns = 3000;
	event.counters = later;
	timeline_event(x->timeline, &event);
	event.kind = EVENT_END;
	event.ts_ns = 4000;
	event.counters = last;
	timeline_event(x->timeline, &event);
	/* clang-format off */
	assert_string_equal(print_as(x, &(struct stats_options){
		.columns = "cycles,instructions,instructions/call,ipc,ipc:self" }),
"Category  Slice  cycles  instructions  instructions/call    ipc  ipc:self\n"
"-         f        4000          3000             3000.0  1.500     1.500\n");
	/* clang-format on */
	test_done(x);
}

/* --- percentiles, Self ------------------------------------------------------------------------- */

static uint64_t random_number(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 16;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void test_buckets(void **state)
{
	uint64_t value;
	unsigned i;

	(void)state;
	for (value = 1; value; value = value + value / 3 + 1 > value ? value + value / 3 + 1 : 0) {
		i = histogram_bucket(value);
		assert_true(i < HISTOGRAM_BUCKETS);
		assert_true(histogram_least(i) <= value);
		assert_true(i + 1 == HISTOGRAM_BUCKETS || histogram_least(i + 1) > value);
	}
	assert_int_equal(histogram_bucket(0), 0);
	assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

/* Within 1/16 of what sorting says, for times of every size and few or many of them. */
static void test_percentiles(void **state)
{
	static const unsigned percents[] = { 1, 50, 95, 99, 100 };
	uint64_t seed = 7, *values = calloc(5000, sizeof(*values));
	unsigned round, i;

	(void)state;
	assert_non_null(values);
	for (round = 0; round < 200; round++) {
		size_t n = 1 + random_number(&seed) % (round % 2 ? 5000 : 30), k;
		unsigned shift = (unsigned)(random_number(&seed) % 44);
		struct histogram h = { 0 };

		for (k = 0; k < n; k++) {
			values[k] = random_number(&seed) >> shift >> random_number(&seed) % 4;
			histogram_add(&h, histogram_bucket(values[k]), 1);
		}
		qsort(values, n, sizeof(*values), by_value);
		for (i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
			size_t rank = (n * percents[i] + 99) / 100;
			uint64_t exact = values[rank - 1];
			uint64_t told =
				histogram_percentile(&h, percents[i], values[0], values[n - 1]);
			uint64_t off = told > exact ? told - exact : exact - told;

			assert_true(off <= exact / 16);
		}
		assert_int_equal(h.not_counted, 0);
		histogram_free(&h);
	}
	free(values);
}

/* However threads nest and recurse, the Self column is the time in which any slice was open. */
static void test_self_sums(void **state)
{
	static const char *const names[] = { "a", "b", "c" };
	const struct stats_row *row;
	struct test *x = test_new();
	uint64_t seed = 11, now = 1000, inside = 0, self = 0;
	unsigned depth = 0, i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		uint64_t step = random_number(&seed) % 1000;

		now += step;
		inside += depth ? step : 0;
		if (depth && (depth == 20 || random_number(&seed) % 2)) {
			put(x, EVENT_END, now, NULL, NULL, 0);
			depth--;
		} else {
			put(x, EVENT_BEGIN, now, NULL, names[random_number(&seed) % 3], 0);
			depth++;
		}
	}
	for (; depth; depth--, now += 10, inside += 10)
		put(x, EVENT_END, now + 10, NULL, NULL, 0);
	for (row = ((struct stats *)x->stats)->parts[STATS_SLICES]; row; row = row->hh.next) {
		self += row->self_ns;
		assert_true(row->total_ns <= inside);
		assert_true(row->self_ns <= row->total_ns);
	}
	assert_int_equal(self, inside);
	test_done(x);
}

/* Rows that somebody else added up, in two pieces, stand like those of single slices. */
static void test_finished_rows(void **state)
{
	struct test *x = test_new();
	struct histogram h = { 0 };
	struct stats_finished row = { .category = nm(x, "c"),
				      .name = nm(x, "n"),
				      .count = 3,
				      .total_ns = 500,
				      .self_ns = 400,
				      .sum_ns = 600,
				      .min_ns = 100,
				      .max_ns = 300,
				      .histogram = &h };

	(void)state;
	histogram_add(&h, histogram_bucket(100), 1);
	histogram_add(&h, histogram_bucket(200), 1);
	histogram_add(&h, histogram_bucket(300), 1);
	stats_add(x->stats, STATS_SLICES, &row);
	row.min_ns = 50;
	row.histogram = NULL;
	stats_add(x->stats, STATS_SLICES, &row);
	stats_add_time(x->stats, 10000);
	/* clang-format off */
	assert_string_equal(print_as(x, &(struct stats_options){ 0 }),
"Category  Slice  Count     Total    Self    Min     Max     Avg     p50     p95     p99     %\n"
"c         n          6  1.000 us  800 ns  50 ns  300 ns  200 ns  203 ns  300 ns  300 ns  10.0\n");
	/* clang-format on */
	histogram_free(&h);
	stats_clear(x->stats);
	assert_string_equal(print_as(x, &(struct stats_options){ 0 }), "");
	test_done(x);
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
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_per_thread),
		cmocka_unit_test(test_counted),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_self_sums),
		cmocka_unit_test(test_finished_rows),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
