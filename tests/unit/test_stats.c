/* SPDX-License-Identifier: BSD-2-Clause */
/* What the statistics collect. */
#include "stats_test.h"

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
"Category  Counter  Count                   Min                   Max             Avg  Last  Unit\n"
"-         big          4  -9223372036854775808  18446744073709551615  6.91752903e+18   1.5  \n"
"-         nan          1                     -                     -               -   nan  \n"
"-         net rx       2                     4                     7             5.5     7  B\n"
"-         net tx       1                   0.1                   0.1             0.1   0.1  B\n");
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
	assert_int_equal(timeline_add_consumer(x->timeline, x->stats), 0);
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

/* Times that are all in one bucket have percentiles that differ, in order, and within the bounds. */
static void test_percentiles_of_one_bucket(void **state)
{
	uint64_t least = histogram_least(histogram_bucket(10078000)), i, p50, p95, p99;
	struct histogram h = { 0 };

	(void)state;
	for (i = 0; i < 1000; i++)
		histogram_add(&h, histogram_bucket(least + i * 500), 1);
	assert_int_equal(histogram_bucket(least), histogram_bucket(least + 999 * 500));
	p50 = histogram_percentile(&h, 50, least, least + 999 * 500);
	p95 = histogram_percentile(&h, 95, least, least + 999 * 500);
	p99 = histogram_percentile(&h, 99, least, least + 999 * 500);
	assert_true(least < p50 && p50 < p95 && p95 <= p99 && p99 <= least + 999 * 500);
	histogram_free(&h);
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

/* --- memory pools, frames ---------------------------------------------------------------------- */

static void memory(struct test *x, enum event_kind kind, uint64_t ts_ns, uint64_t address,
		   uint64_t size)
{
	const struct event event = { .kind = kind,
				     .pid = 10,
				     .tid = 10,
				     .level = -1,
				     .ts_ns = ts_ns,
				     .id = address,
				     .size = size,
				     .name = nm(x, "pool") };

	assert_int_equal(timeline_event(x->timeline, &event), 0);
}

static const char *after_slices(struct test *x)
{
	return strstr(print(x, 0, false), "\n\n") + 2;
}

static void test_pools(void **state)
{
	struct test *x = test_new();

	(void)state;
	put(x, EVENT_BEGIN, 100, NULL, "setup", 0);
	memory(x, EVENT_ALLOC, 110, 0x10, 1000);
	memory(x, EVENT_ALLOC, 120, 0x20, 500);
	put(x, EVENT_END, 130, NULL, NULL, 0);
	memory(x, EVENT_FREE, 140, 0x10, 0);
	memory(x, EVENT_ALLOC, 150, 0x30, 2);
	/* an allocation that failed, a free of nothing, one of what was never told */
	memory(x, EVENT_ALLOC, 160, 0, 99);
	memory(x, EVENT_FREE, 170, 0, 0);
	memory(x, EVENT_FREE, 180, 0x40, 0);
	/* clang-format off */
	assert_string_equal(after_slices(x),
"Category  Memory pool  Allocated  Frees   Live      Peak  Leaked  Leaks\n"
"-         pool                 3      2  502 B  1.500 KB     0 B      0\n");
	put(x, EVENT_PROCESS_EXIT, 200, NULL, NULL, 0);
	assert_string_equal(after_slices(x),
"Category  Memory pool  Allocated  Frees  Live      Peak  Leaked  Leaks\n"
"-         pool                 3      2   0 B  1.500 KB   502 B      2\n"
"\n"
"Leak of  Address   Size  Process  Thread  In slice\n"
"pool        0x20  500 B       10      10  setup\n"
"pool        0x30    2 B       10      10  -\n");
	/* clang-format on */
	test_done(x);
}

/* Of many the largest are told, whatever order they come in. */
static void test_many_leaks(void **state)
{
	struct test *x = test_new();
	const struct stats *stats = (const struct stats *)x->stats;
	unsigned i;

	(void)state;
	for (i = 1; i <= 1000; i++)
		memory(x, EVENT_ALLOC, i, i, i * 7919 % 1000 + 1);
	put(x, EVENT_PROCESS_EXIT, 2000, NULL, NULL, 0);
	assert_int_equal(stats->n_leaks, STATS_LEAKS_KEPT);
	for (i = 0; i < STATS_LEAKS_KEPT; i++)
		assert_int_equal(stats->leaks[i].size, 1000 - i);
	assert_int_equal(stats->parts[STATS_POOLS]->leaks, 1000);
	assert_int_equal(stats->parts[STATS_POOLS]->leaked, 1000 * 1001 / 2);
	test_done(x);
}

/* What one trace ends with is not live in the next one. */
static void test_pools_of_traces(void **state)
{
	struct test *x = test_new();
	const struct stats_row *row;

	(void)state;
	memory(x, EVENT_ALLOC, 10, 0x10, 100);
	stats_next_trace(x->stats);
	timeline_free(x->timeline);
	x->timeline = timeline_new(x->names, &x->account, 1ull << 40);
	assert_int_equal(timeline_add_consumer(x->timeline, x->stats), 0);
	memory(x, EVENT_ALLOC, 10, 0x10, 60);
	row = ((struct stats *)x->stats)->parts[STATS_POOLS];
	assert_int_equal(row->peak, 100);
	assert_int_equal(row->live_before + row->live, 160);
	test_done(x);
}

/* In a recording they are objects, in a file asynchronous slices with a number. */
static void test_frames(void **state)
{
	const struct event recorded = { .kind = EVENT_ASYNC_BEGIN,
					.object = OBJECT_FRAME,
					.pid = 10,
					.tid = 10,
					.ts_ns = 1000,
					.id = 7 };
	struct test *x = test_new();
	const struct arg second = { .key = nm(x, "frame"), .type = ARG_INT, .i = 2 };
	struct event event = recorded;

	(void)state;
	event.name = nm(x, "tick");
	assert_int_equal(timeline_event(x->timeline, &event), 0);
	event.kind = EVENT_ASYNC_END;
	event.ts_ns = 1500;
	assert_int_equal(timeline_event(x->timeline, &event), 0);
	event = (struct event){ .kind = EVENT_ASYNC_BEGIN,
				.pid = 10,
				.level = -1,
				.ts_ns = 2000,
				.id = 9,
				.name = nm(x, "tick"),
				.n_args = 1,
				.args = &second };
	assert_int_equal(timeline_event(x->timeline, &event), 0);
	put(x, EVENT_ASYNC_END, 3000, NULL, "tick", 9);
	assert_non_null(strstr(print(x, 0, false), "Category  Frame  Count     Total"));
	assert_non_null(strstr(x->text, "-         tick       2  1.500 us"));
	assert_null(strstr(x->text, "Asynchronous"));
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
		cmocka_unit_test(test_counted),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_percentiles_of_one_bucket),
		cmocka_unit_test(test_self_sums),
		cmocka_unit_test(test_finished_rows),
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_many_leaks),
		cmocka_unit_test(test_pools_of_traces),
		cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
