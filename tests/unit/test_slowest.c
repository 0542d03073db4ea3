/* SPDX-License-Identifier: BSD-2-Clause */
/* Slow slices beside the median one: which are chosen, what is told of them, what is marked. */
#include "stats_test.h"

#include "reports/slowest/slowest_internal.h"

/* The same events twice, to the same handler. */
struct slow_test {
	struct test *x;
	struct consumer *slowest;
	void (*events)(struct test *x);
};

static void read_events(struct slow_test *t)
{
	timeline_free(t->x->timeline);
	t->x->timeline = timeline_new(t->x->names, &t->x->account, 0);
	assert_int_equal(timeline_add_consumer(t->x->timeline, t->slowest), 0);
	t->events(t->x);
	timeline_finish(t->x->timeline);
	slowest_next_trace(t->slowest);
}

static struct slow_test look(const char *name, unsigned n, void (*events)(struct test *x))
{
	const struct slowest_options options = { .name = name, .n = n };
	struct slow_test t = { .x = test_new(), .events = events };

	t.slowest = slowest_new(&options);
	assert_non_null(t.slowest);
	read_events(&t);
	assert_int_equal(slowest_again(t.slowest), 0);
	read_events(&t);
	return t;
}

static const struct slow_instance *instance(const struct slow_test *t, unsigned i)
{
	const struct slowest *s = (const struct slowest *)t->slowest;

	assert_true(i < s->n_instances);
	return &s->instances[i];
}

static const char *table(struct slow_test *t)
{
	const struct stats_options options = { 0 };
	const struct stats_file file = { .path = "file" };
	size_t size;
	FILE *out;

	free(t->x->text);
	t->x->text = NULL;
	out = open_memstream(&t->x->text, &size);
	assert_non_null(out);
	assert_int_equal(slowest_print_table(t->slowest, out, &options, NULL, &file, 1, NULL), 0);
	fclose(out);
	return t->x->text;
}

static void done(struct slow_test *t)
{
	t->slowest->ops->free(t->slowest);
	test_done(t->x);
}

static void with_args(struct test *x, enum event_kind kind, uint64_t ts_ns, const char *name,
		      struct arg *args, unsigned n)
{
	const struct event event = { .kind = kind,
				     .pid = 10,
				     .tid = 10,
				     .level = -1,
				     .ts_ns = ts_ns,
				     .name = nm(x, name),
				     .args = args,
				     .n_args = n };

	assert_int_equal(timeline_event(x->timeline, &event), 0);
}

static struct callstacks *stacks_of_test;

/* --- a table ------------------------------------------------------------------------------------ */

/* Five requests, of 1, 2, 3, 4 and 1000 us; in the last one "read" comes four times. */
static void requests(struct test *x)
{
	struct arg arg = { .key = nm(x, "kind"), .type = ARG_STRING, .s = "warm", .length = 4 };
	struct arg number = { .key = nm(x, "size"), .type = ARG_INT, .i = 10 };
	uint64_t at = 1000000, i, j;

	for (i = 1; i <= 5; i++, at += 2000000) {
		uint64_t end = at + (i == 5 ? 1000000 : i * 1000);

		arg.s = i == 5 ? "cold" : "warm";
		number.i = i == 5 ? 15 : 10;
		with_args(x, EVENT_BEGIN, at, "request", &arg, 1);
		slice(x, at + 100, at + 200, "io", "read");
		for (j = 1; i == 5 && j < 4; j++) {
			put(x, EVENT_BEGIN, at + j * 200000, "io", "read", 0);
			slice(x, at + j * 200000 + 1, at + j * 200000 + 100001, NULL, "wait");
			put(x, EVENT_END, at + j * 200000 + 150000, NULL, NULL, 0);
		}
		with_args(x, EVENT_END, end, NULL, &number, 1);
	}
}

static void test_side_by_side(void **state)
{
	struct slow_test t = look("req*", 2, requests);

	(void)state;
	assert_true(slowest_complete(t.slowest));
	/* clang-format off */
	assert_string_equal(table(&t),
"Slice request    median            slow 1      slow 2\n"
"at             4.000 ms          8.000 ms    6.000 ms\n"
"process              10                10          10\n"
"thread               10                10          10\n"
"duration       3.000 us          1.000 ms    4.000 us\n"
"inside                                               \n"
"  (self)       2.900 us      * 549.900 us  * 3.900 us\n"
"  read           100 ns  * 4 x 450.100 us      100 ns\n"
"    wait              -  * 3 x 300.000 us           -\n"
"    (self)       100 ns      * 150.100 us      100 ns\n"
"arguments                                            \n"
"  kind             warm            * cold        warm\n"
"  size               10                15          10\n"
"5 slices; * marks values that differ from the median slice\n");
	/* clang-format on */
	done(&t);
}

static void test_limit(void **state)
{
	const struct stats_options options = { .max_rows = 1, .unit = STATS_UNIT_US };
	struct slow_test t = look("request", 1, requests);
	size_t size;
	FILE *out;

	(void)state;
	out = open_memstream(&t.x->text, &size);
	assert_int_equal(slowest_print_table(t.slowest, out, &options, NULL, NULL, 0, NULL), 0);
	fclose(out);
	assert_non_null(strstr(t.x->text, " 0.100 us  * 4 x 450.100 us\n"));
	assert_null(strstr(t.x->text, "wait"));
	assert_non_null(strstr(t.x->text, "\nand 1 more inside\n"));
	done(&t);
}

/* --- which -------------------------------------------------------------------------------------- */

/* In itself, at the same time as others, without an end, and of another name. */
static void odd_ones(struct test *x)
{
	put(x, EVENT_BEGIN, 1000, NULL, "a", 0);
	slice(x, 1000, 1400, NULL, "a"); /* in itself */
	put(x, EVENT_END, 1500, NULL, NULL, 0);
	slice(x, 2000, 2000, NULL, "a");
	slice(x, 2000, 2000, NULL, "b");
	slice(x, 2000, 2300, NULL, "a");
	slice(x, 3000, 3300, NULL, "a"); /* as long as the one before */
	slice(x, 4000, 4001, NULL, "b");
	put(x, EVENT_BEGIN, 5000, NULL, "a", 0);
}

static void test_which(void **state)
{
	struct slow_test t = look("a", 3, odd_ones);

	(void)state;
	assert_true(slowest_complete(t.slowest));
	assert_int_equal(((struct slowest *)t.slowest)->count, 4);
	assert_int_equal(instance(&t, 0)->identity.duration_ns, 300);
	assert_int_equal(instance(&t, 1)->identity.duration_ns, 500);
	assert_int_equal(instance(&t, 1)->tree.n, 2);
	assert_int_equal(instance(&t, 2)->identity.begin_ns, 2000);
	assert_int_equal(instance(&t, 3)->identity.begin_ns, 3000);
	done(&t);
}

static void test_none(void **state)
{
	struct slow_test t = look("c", 3, odd_ones);

	(void)state;
	assert_true(slowest_complete(t.slowest));
	assert_string_equal(table(&t), "no slice matches\n");
	done(&t);
}

static void fewer(struct test *x)
{
	slice(x, 2000, 2300, NULL, "a");
}

static void test_changed(void **state)
{
	struct slow_test t = look("a", 3, odd_ones);

	(void)state;
	done(&t);
	t = (struct slow_test){ .x = test_new(), .events = odd_ones };
	t.slowest = slowest_new(&(struct slowest_options){ .name = "a", .n = 3 });
	read_events(&t);
	assert_int_equal(slowest_again(t.slowest), 0);
	t.events = fewer;
	read_events(&t);
	assert_false(slowest_complete(t.slowest));
	done(&t);
}

/* --- the median --------------------------------------------------------------------------------- */

/* More than are kept: 1, 2, ..., in an order in which large and small ones take turns. */
static void many(struct test *x)
{
	uint64_t i, n = 3 * SLOWEST_SEEN, at = 1000;

	for (i = 0; i < n; i++) {
		uint64_t duration = (i * 7919) % n;

		slice(x, at, at + duration, NULL, "a");
		at += duration + 1;
	}
}

static void test_sampled(void **state)
{
	struct slow_test t = look("a", SLOWEST_MAX, many);
	const struct slowest *s = (const struct slowest *)t.slowest;
	uint64_t n = 3 * SLOWEST_SEEN, i;

	(void)state;
	assert_true(slowest_complete(t.slowest));
	assert_int_equal(s->count, n);
	assert_int_equal(s->n_seen, SLOWEST_SEEN);
	for (i = 1; i <= SLOWEST_MAX; i++)
		assert_int_equal(instance(&t, (unsigned)i)->identity.duration_ns, n - i);
	assert_in_range(instance(&t, 0)->identity.duration_ns, n / 2 - n / 200, n / 2 + n / 200);
	assert_non_null(
		strstr(table(&t), "the median is that of a random sample of 262144 slices"));
	done(&t);
}

/* --- what happened ------------------------------------------------------------------------------ */

/* More names inside than there is room for. */
static void crowded(struct test *x)
{
	char name[16];
	unsigned i;

	put(x, EVENT_BEGIN, 1000, NULL, "a", 0);
	for (i = 0; i < SLOWEST_NODES + 100; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		put(x, EVENT_BEGIN, 2000 + 10 * i, NULL, name, 0);
		slice(x, 2000 + 10 * i, 2002 + 10 * i, NULL, "inner");
		put(x, EVENT_END, 2005 + 10 * i, NULL, NULL, 0);
	}
	put(x, EVENT_END, 100000, NULL, NULL, 0);
}

static void test_crowded(void **state)
{
	struct slow_test t = look("a", 1, crowded);
	const struct slow_tree *tree = &instance(&t, 1)->tree;
	uint64_t self = instance(&t, 1)->self_ns;
	uint32_t i;

	(void)state;
	assert_true(slowest_complete(t.slowest));
	assert_int_equal(tree->n, SLOWEST_NODES + 1);
	for (i = 1; i < tree->n; i++)
		self += tree->nodes[i].self_ns;
	assert_int_equal(self, 99000);
	assert_null(tree->nodes[SLOWEST_NODES].name);
	assert_non_null(strstr(table(&t), "  (other)"));
	done(&t);
}

static void counted(struct test *x)
{
	const struct name *names[] = { nm(x, "task_clock"), nm(x, "page_faults") };
	const struct event lost = {
		.kind = EVENT_LOST, .pid = 10, .tid = 10, .ts_ns = 1500, .size = 7, .level = -1
	};
	uint64_t values[] = { 5, 0 };
	struct event event = { .kind = EVENT_BEGIN,
			       .pid = 10,
			       .tid = 10,
			       .level = -1,
			       .ts_ns = 1000,
			       .name = nm(x, "a"),
			       .n_counters = 2,
			       .counters = values };

	timeline_count(x->timeline, names, 2);
	timeline_event(x->timeline, &event);
	timeline_event(x->timeline, &lost);
	event.kind = EVENT_END;
	event.ts_ns = 2000;
	values[0] = 905;
	values[1] = EVENT_NO_VALUE;
	timeline_event(x->timeline, &event);
}

static void test_counted(void **state)
{
	struct slow_test t = look("*", 1, counted);
	const char *text = table(&t);

	(void)state;
	/* clang-format off */
	assert_string_equal(text,
"Slice a             median    slow 1\n"
"at                    0 ns      0 ns\n"
"process                 10        10\n"
"thread                  10        10\n"
"duration          1.000 us  1.000 us\n"
"counted                             \n"
"  task_clock        900 ns    900 ns\n"
"  page_faults            -         -\n"
"marks lost in it         7         7\n"
"1 slice; * marks values that differ from the median slice\n");
	/* clang-format on */
	done(&t);
}

/* Two requests; in the second one three samples more, of another function. */
static void sampled(struct test *x)
{
	struct callstacks *stacks = stacks_of_test;
	const struct callstack *usual, *slow, *nameless;
	struct event e = { .kind = EVENT_SAMPLE, .pid = 10, .tid = 10, .level = -1 };
	unsigned i;

	if (!stacks) /* as a program that reads has one, for both readings */
		stacks = callstacks_new(x->names, 0);
	usual = callstacks_push(stacks, NULL, callstacks_frame(stacks, NULL, 0x10, nm(x, "usual")));
	slow = callstacks_push(stacks, usual, callstacks_frame(stacks, NULL, 0x20, nm(x, "slow")));
	nameless = callstacks_push(stacks, usual, callstacks_frame(stacks, NULL, 0x30, NULL));
	for (i = 0; i < 2; i++) {
		put(x, EVENT_BEGIN, 1000 + i * 5000, NULL, "a", 0);
		e.ts_ns = 1100 + i * 5000;
		e.callstack = usual;
		timeline_event(x->timeline, &e);
		for (e.callstack = slow; i && e.ts_ns < 6400; e.ts_ns += 100)
			timeline_event(x->timeline, &e);
		e.callstack = nameless;
		timeline_event(x->timeline, &e);
		put(x, EVENT_END, 2000 + i * 6000, NULL, NULL, 0);
		timeline_event(x->timeline, &e); /* in none */
	}
	stacks_of_test = stacks;
}

static void test_samples(void **state)
{
	struct slow_test t = look("a", 1, sampled);
	const char *text = table(&t);

	(void)state;
	assert_non_null(strstr(text, "\nsamples in "));
	assert_non_null(strstr(text, "\n  slow              0       * 3\n"));
	assert_non_null(strstr(text, "\n  usual             1         1\n"));
	assert_non_null(strstr(text, "\n  (unknown)         1         1\n"));
	assert_int_equal(instance(&t, 1)->samples, 5);
	done(&t);
	callstacks_free(stacks_of_test);
	stacks_of_test = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_side_by_side), cmocka_unit_test(test_limit),
		cmocka_unit_test(test_which),	     cmocka_unit_test(test_none),
		cmocka_unit_test(test_changed),	     cmocka_unit_test(test_sampled),
		cmocka_unit_test(test_crowded),	     cmocka_unit_test(test_counted),
		cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests_name("slowest", tests, NULL, NULL);
}
