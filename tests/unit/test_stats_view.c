/* SPDX-License-Identifier: BSD-2-Clause */
/* Which rows and columns of the statistics are printed, in which order and form. */
#include "stats_test.h"

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
	check_names(x, "nothing", NULL, "no name and category matches\n");
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
	/* The column by which the table is sorted stays, while the terminal has space for one. */
	print_as(x, &(struct stats_options){ .width = 50 });
	assert_null(strstr(x->text, "Min"));
	print_as(x, &(struct stats_options){ .width = 50, .sort = "min" });
	assert_non_null(strstr(x->text, "Min"));
	test_done(x);
}

/* What a file says was counted of a thread is told with its slices; what else a thread has, as it is. */
static void test_counters_of_threads(void **state)
{
	struct test *x = test_new();
	struct arg value = INT(-5);
	struct event event = { .kind = EVENT_COUNTER,
			       .pid = 10,
			       .tid = 11,
			       .level = -1,
			       .ts_ns = 1,
			       .name = nm(x, "depth"),
			       .n_args = 1,
			       .args = &value };

	(void)state;
	stats_per_thread(x->stats);
	event.on_thread = true;
	timeline_event(x->timeline, &event);
	event.tid = 12;
	value.i = 7;
	timeline_event(x->timeline, &event);
	sample(x, 2, "depth", NULL, INT(1), NULL);
	event.on_thread = false;
	event.of_thread = true;
	event.name = nm(x, "cycles");
	timeline_event(x->timeline, &event);
	timeline_finish(x->timeline);
	/* clang-format off */
	assert_string_equal(print_as(x, &(struct stats_options){ 0 }),
"Category  Counter  Process  Thread  Count  Min  Max  Avg  Last  Unit\n"
"-         depth    10       -           1    1    1    1     1  \n"
"-         depth    10       11          1   -5   -5   -5    -5  \n"
"-         depth    10       12          1    7    7    7     7  \n");
	/* clang-format on */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_counters_of_threads),
		cmocka_unit_test(test_per_thread),
	};

	return cmocka_run_group_tests_name("stats_view", tests, NULL, NULL);
}
