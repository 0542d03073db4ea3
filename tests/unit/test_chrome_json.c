// SPDX-License-Identifier: BSD-2-Clause
/* What the JSON output writes is parsed by yajl, and looked at as text where the text matters. */
#include "output_fixture.h"

#include <errno.h>
#include <math.h>
#include <yajl/yajl_tree.h>

#include "formats/json_text.h"

/* The numbers of the tree keep their text: what is compared is what stands in the file. */
static yajl_val parse(struct world *w)
{
	char error[300];
	yajl_val root = yajl_tree_parse(w->bytes, error, sizeof(error));

	if (!root)
		fail_msg("%s", error);
	assert_true(YAJL_IS_ARRAY(root));
	return root;
}

static yajl_val field(yajl_val object, const char *name)
{
	const char *path[] = { name, NULL };

	assert_true(YAJL_IS_OBJECT(object));
	return yajl_tree_get(object, path, yajl_t_any);
}

static const char *text(yajl_val object, const char *name)
{
	yajl_val v = field(object, name);

	assert_true(v && YAJL_IS_STRING(v));
	return YAJL_GET_STRING(v);
}

static const char *number(yajl_val object, const char *name)
{
	yajl_val v = field(object, name);

	assert_true(v && YAJL_IS_NUMBER(v));
	return YAJL_GET_NUMBER(v);
}

/* The event at `i`, checked for the fields that all of them have. NULL: the field is not there. */
static yajl_val event(yajl_val root, size_t i, const char *phase, const char *name, const char *ts)
{
	yajl_val e;

	assert_true(i < YAJL_GET_ARRAY(root)->len);
	e = YAJL_GET_ARRAY(root)->values[i];
	assert_string_equal(text(e, "ph"), phase);
	if (name)
		assert_string_equal(text(e, "name"), name);
	else
		assert_null(field(e, "name"));
	if (ts)
		assert_string_equal(number(e, "ts"), ts);
	else
		assert_null(field(e, "ts"));
	return e;
}

static void done(struct world *w, yajl_val root, size_t events)
{
	/* One at the start, the account at the end. */
	assert_int_equal(YAJL_GET_ARRAY(root)->len, events + 2);
	yajl_tree_free(root);
	world_free(w);
}

static void assert_owner(yajl_val e, const char *pid, const char *tid)
{
	assert_string_equal(number(e, "pid"), pid);
	if (tid)
		assert_string_equal(number(e, "tid"), tid);
	else
		assert_null(field(e, "tid"));
}

/* ----------------------------------------------------------------------------------------------- */

static void starts_and_ends(void **state)
{
	static const char start[] = "[{\"name\":\"proftrace\",\"ph\":\"M\",\"pid\":0,\"tid\":0,";
	struct world w;
	yajl_val root, args;

	(void)state;
	world_open(&w, SINK_PLAIN, false);
	fact(&w, FACT_CLOCK, START_NS, NULL);
	w.fact.clock = (struct clock_reading){ UINT64_MAX, 2, 3 };
	give(&w);
	w.account.marked = 10;
	w.account.written = 7;
	w.account.lost[LOST_BUFFER_FULL] = 3;
	w.account.cut_strings = UINT64_MAX;
	finish(&w);
	assert_memory_equal(w.bytes, start, strlen(start));
	assert_string_equal(w.bytes + w.size - 4, "}\n]\n");
	root = parse(&w);

	args = field(event(root, 0, "M", "proftrace", NULL), "args");
	assert_string_equal(text(args, "version"), "1.2.3");
	assert_string_equal(text(args, "clock"), "monotonic");
	assert_string_equal(number(args, "base_ns"), "5000000000");
	assert_string_equal(text(args, "trace_uuid"), "112233445566778899aabbccddeeff00");
	assert_string_equal(text(args, "kernel"), "6.1.0-test");
	assert_string_equal(text(args, "kernel_version"), "#1 SMP \"x\"");
	assert_string_equal(text(args, "host"), "node7");
	assert_string_equal(text(args, "boot_id"), "0b1c2d3e-0000-4000-8000-123456789abc");
	assert_null(field(args, "rank"));
	assert_string_equal(text(args, "realtime"), "1700000000000000001");
	args = field(event(root, 1, "M", "clock_snapshot", NULL), "args");
	assert_string_equal(text(args, "monotonic"), "18446744073709551615");
	assert_string_equal(text(args, "boottime"), "2");
	assert_string_equal(text(args, "realtime"), "3");
	args = field(event(root, 2, "M", "proftrace_account", NULL), "args");
	assert_string_equal(number(args, "marked"), "10");
	assert_string_equal(number(args, "written"), "7");
	assert_string_equal(number(field(args, "lost"), "buffer_full"), "3");
	assert_int_equal(field(args, "lost")->u.object.len, LOST_REASONS);
	assert_string_equal(text(args, "cut_strings"), "18446744073709551615");
	assert_true(YAJL_IS_TRUE(field(args, "orderly")));
	done(&w, root, 1);
}

static void names_of_processes_and_threads(void **state)
{
	struct world w;
	yajl_val root, e;

	(void)state;
	world_open(&w, SINK_PLAIN, false);
	fact(&w, FACT_PROCESS, START_NS, NULL);
	give(&w);
	fact(&w, FACT_THREAD, START_NS, NULL);
	give(&w);
	track_fact(&w, &w.counter);
	finish(&w);
	root = parse(&w);
	e = event(root, 1, "M", "process_name", NULL);
	assert_owner(e, "42", NULL);
	assert_string_equal(text(field(e, "args"), "name"), "train");
	e = event(root, 2, "M", "thread_name", NULL);
	assert_owner(e, "42", "43");
	assert_string_equal(text(field(e, "args"), "name"), "loader \"1\"");
	done(&w, root, 2);
}

static void slices_with_every_kind_of_argument(void **state)
{
	struct world w;
	yajl_val root, e, a;

	(void)state;
	world_open(&w, SINK_PLAIN, false);
	const struct arg args[] = {
		{ .key = n(&w, "int"), .type = ARG_INT, .i = INT64_MIN },
		{ .key = n(&w, "uint"), .type = ARG_UINT, .u = INT64_MAX },
		{ .key = n(&w, "large"), .type = ARG_UINT, .u = UINT64_MAX },
		{ .key = n(&w, "double"), .type = ARG_DOUBLE, .d = -0.1 },
		{ .key = n(&w, "whole"), .type = ARG_DOUBLE, .d = 3 },
		{ .key = n(&w, "nan"), .type = ARG_DOUBLE, .d = NAN },
		{ .key = n(&w, "inf"), .type = ARG_DOUBLE, .d = INFINITY },
		{ .key = n(&w, "-inf"), .type = ARG_DOUBLE, .d = -INFINITY },
		{ .key = n(&w, "str\"ing"),
		  .type = ARG_STRING,
		  .s = "\xc3\xa9\"\\\n\x01/",
		  .length = 7 },
		{ .key = n(&w, "cut"), .type = ARG_STRING, .s = "abc", .length = 3, .cut = true },
		{ .key = n(&w, "true"), .type = ARG_BOOL, .u = 1 },
		{ .key = n(&w, "false"), .type = ARG_BOOL, .u = 0 },
		{ .key = n(&w, "pointer"), .type = ARG_POINTER, .u = 0xdeadbeefcafe },
		{ .key = n(&w, "zero"), .type = ARG_POINTER, .u = 0 },
		{ .key = n(&w, "null"), .type = ARG_NULL },
	};
	/* Twice: the second time the names come from the cache. */
	for (unsigned i = 0; i < 2; i++) {
		fact(&w, FACT_BEGIN, START_NS + i, "st\\ep \xf0\x9f\x98\x80");
		w.fact.category = n(&w, "a,b");
		w.fact.args = args;
		w.fact.n_args = sizeof(args) / sizeof(args[0]);
		give(&w);
	}
	fact(&w, FACT_END, START_NS + 1000000, "st\\ep \xf0\x9f\x98\x80");
	w.fact.args = args;
	w.fact.n_args = 1;
	w.fact.end_reason = END_LOST;
	give(&w);
	fact(&w, FACT_END, 5, "x"); /* older than the base */
	w.fact.end_reason = END_UNFINISHED;
	give(&w);
	fact(&w, FACT_END, START_NS + 9 * 1000000000ull, "x");
	give(&w);
	finish(&w);
	root = parse(&w);
	for (unsigned i = 0; i < 2; i++) {
		e = event(root, 1 + i, "B", "st\\ep \xf0\x9f\x98\x80", i ? "123.457" : "123.456");
		assert_owner(e, "42", "43");
		assert_string_equal(text(e, "cat"), "a,b");
		a = field(e, "args");
		assert_int_equal(a->u.object.len, sizeof(args) / sizeof(args[0]));
		assert_string_equal(number(a, "int"), "-9223372036854775808");
		assert_string_equal(number(a, "uint"), "9223372036854775807");
		assert_string_equal(text(a, "large"), "18446744073709551615");
		assert_string_equal(number(a, "double"), "-0.1");
		assert_string_equal(number(a, "whole"), "3.0");
		assert_string_equal(text(a, "nan"), "NaN");
		assert_string_equal(text(a, "inf"), "Infinity");
		assert_string_equal(text(a, "-inf"), "-Infinity");
		assert_string_equal(text(a, "str\"ing"), "\xc3\xa9\"\\\n?/");
		assert_string_equal(text(a, "cut"), "abc\xe2\x80\xa6");
		assert_true(YAJL_IS_TRUE(field(a, "true")));
		assert_true(YAJL_IS_FALSE(field(a, "false")));
		assert_string_equal(text(a, "pointer"), "0xdeadbeefcafe");
		assert_string_equal(text(a, "zero"), "0x0");
		assert_true(YAJL_IS_NULL(field(a, "null")));
	}
	e = event(root, 3, "E", NULL, "1123.456");
	assert_owner(e, "42", "43");
	assert_null(field(e, "cat"));
	assert_string_equal(number(field(e, "args"), "int"), "-9223372036854775808");
	assert_string_equal(text(field(e, "args"), "ended"), "lost");
	e = event(root, 4, "E", NULL, "0.000");
	assert_string_equal(text(field(e, "args"), "ended"), "unfinished");
	e = event(root, 5, "E", NULL, "9000123.456");
	assert_null(field(e, "args"));
	done(&w, root, 5);
}

/* NULL: the default of the format, its thread. */
static void assert_scope(yajl_val e, const char *letter)
{
	if (letter)
		assert_string_equal(text(e, "s"), letter);
	else
		assert_null(field(e, "s"));
}

static void instants_by_scope(void **state)
{
	static const char *const letters[] = { NULL, "p", "g" };
	struct world w;
	yajl_val root;

	(void)state;
	world_open(&w, SINK_PLAIN, false);
	for (int i = 0; i < 3; i++) {
		fact(&w, FACT_INSTANT, START_NS, "mark");
		w.fact.scope = i == 0 ? SCOPE_THREAD : i == 1 ? SCOPE_PROCESS : SCOPE_GLOBAL;
		give(&w);
	}
	finish(&w);
	root = parse(&w);
	for (size_t i = 0; i < 3; i++)
		assert_scope(event(root, 1 + i, "i", "mark", "123.456"), letters[i]);
	done(&w, root, 3);
}

static void counters(void **state)
{
	const struct arg single = { .type = ARG_UINT, .u = UINT64_MAX };
	struct world w;
	yajl_val root, e;

	(void)state;
	world_open(&w, SINK_PLAIN, false);
	const struct arg series[] = {
		{ .key = n(&w, "training"), .type = ARG_DOUBLE, .d = 0.25 },
		{ .key = n(&w, "validation"), .type = ARG_BOOL, .u = 1 },
	};
	w.tracks[0] = &w.series[0];
	w.tracks[1] = &w.series[1];
	fact(&w, FACT_COUNTER, START_NS, "loss");
	w.fact.tracks = w.tracks;
	w.fact.args = series;
	w.fact.n_args = 2;
	give(&w);
	fact(&w, FACT_COUNTER, START_NS, "queue");
	w.fact.tracks = w.tracks;
	w.fact.thread = NULL;
	w.fact.args = &single;
	w.fact.n_args = 1;
	give(&w);
	finish(&w);
	root = parse(&w);
	e = event(root, 1, "C", "loss", "123.456");
	assert_owner(e, "42", NULL);
	assert_string_equal(number(field(e, "args"), "training"), "0.25");
	assert_string_equal(number(field(e, "args"), "validation"), "1");
	e = event(root, 2, "C", "queue", "123.456");
	assert_owner(e, "42", NULL);
	assert_null(field(e, "id"));
	assert_string_equal(text(field(e, "args"), "value"), "18446744073709551615");
	done(&w, root, 2);
}

static void async_slices_and_flows(void **state)
{
	static const enum fact_kind kinds[] = { FACT_ASYNC_BEGIN, FACT_ASYNC_END, FACT_FLOW_OUT,
						FACT_FLOW_IN,	  FACT_FLOW_OUT,  FACT_FLOW_IN };
	struct world w;
	yajl_val root, e;

	(void)state;
	world_open(&w, SINK_PLAIN, false);
	w.tracks[0] = &w.lane;
	for (size_t i = 0; i < 6; i++) {
		fact(&w, kinds[i], START_NS + i, i < 2 ? "request" : NULL);
		w.fact.tracks = w.tracks;
		w.fact.category = n(&w, "net");
		w.fact.id = UINT64_MAX - 15 + i;
		w.fact.in_slice = i < 4;
		give(&w);
	}
	finish(&w);
	root = parse(&w);
	e = event(root, 1, "b", "request", "123.456");
	assert_owner(e, "42", "43");
	assert_string_equal(text(e, "cat"), "net");
	assert_string_equal(text(field(e, "id2"), "local"), "0xfffffffffffffff0");
	e = event(root, 2, "e", "request", "123.457");
	assert_string_equal(text(e, "cat"), "net");
	assert_string_equal(text(field(e, "id2"), "local"), "0xfffffffffffffff1");
	e = event(root, 3, "s", "flow", "123.458");
	assert_string_equal(text(e, "cat"), "flow");
	assert_string_equal(text(e, "id"), "0xfffffffffffffff2");
	assert_null(field(e, "bp"));
	e = event(root, 4, "f", "flow", "123.459");
	assert_string_equal(text(e, "cat"), "flow");
	assert_string_equal(text(e, "id"), "0xfffffffffffffff3");
	assert_string_equal(text(e, "bp"), "e");
	e = event(root, 5, "i", "flow out", "123.460");
	assert_string_equal(text(e, "cat"), "net");
	assert_scope(e, NULL);
	assert_string_equal(text(field(e, "args"), "id"), "18446744073709551604");
	event(root, 6, "i", "flow in", "123.461");
	done(&w, root, 6);
}

static void losses(void **state)
{
	static const char *const letters[] = { NULL, "p", "g" };
	struct world w;
	yajl_val root;

	(void)state;
	world_open(&w, SINK_PLAIN, false);
	for (int i = 0; i < 3; i++) {
		fact(&w, FACT_LOST, START_NS, NULL);
		w.fact.count = 12;
		if (i > 0)
			w.fact.thread = NULL;
		if (i > 1)
			w.fact.process = NULL;
		give(&w);
	}
	finish(&w);
	root = parse(&w);
	for (size_t i = 0; i < 3; i++) {
		yajl_val e = event(root, 1 + i, "i", "events lost", "123.456");

		assert_scope(e, letters[i]);
		assert_string_equal(number(field(e, "args"), "count"), "12");
	}
	done(&w, root, 3);
}

/* Texts of the greatest length, every byte of which is escaped, past the cache and many times over. */
static void the_largest_event(void **state)
{
	enum {
		SIZE = 2000,
		TIMES = 20
	};
	struct arg args[EVENT_MAX_ARGS];
	struct name *name;
	struct world w;
	yajl_val root;

	(void)state;
	world_open(&w, SINK_PLAIN, false);
	name = calloc(1, sizeof(*name) + SIZE + 1);
	name->id = UINT32_MAX;
	name->length = SIZE;
	memset(name->text, '"', SIZE);
	for (int i = 0; i < EVENT_MAX_ARGS; i++)
		args[i] = (struct arg){
			.key = name, .type = ARG_STRING, .s = name->text, .length = SIZE
		};
	for (int i = 0; i < TIMES; i++) {
		fact(&w, FACT_BEGIN, START_NS, NULL);
		w.fact.name = w.fact.category = name;
		w.fact.args = args;
		w.fact.n_args = EVENT_MAX_ARGS;
		give(&w);
	}
	finish(&w);
	root = parse(&w);
	for (size_t i = 0; i < TIMES; i++) {
		yajl_val e = YAJL_GET_ARRAY(root)->values[1 + i], a = field(e, "args");

		assert_int_equal(strlen(text(e, "name")), 1024);
		assert_int_equal(strlen(text(e, "cat")), 1024);
		assert_int_equal(a->u.object.len, EVENT_MAX_ARGS);
		assert_int_equal(strlen(a->u.object.keys[31]), 256);
		assert_true(YAJL_IS_STRING(a->u.object.values[31]));
		assert_int_equal(strlen(a->u.object.values[31]->u.string), 1024 + 3);
	}
	free(name);
	done(&w, root, TIMES);
}

/* With a name of twelve characters, a counter that is never 0, numbers of six digits and a time of some seconds. */
static void an_event_takes_90_bytes(void **state)
{
	static const enum fact_kind kinds[] = { FACT_BEGIN, FACT_INSTANT, FACT_END };
	enum {
		EVENTS = 3000
	};
	struct world w;
	size_t start;

	(void)state;
	world_open(&w, SINK_PLAIN, false);
	const struct arg counted = { .key = n(&w, "task_clock"), .type = ARG_UINT, .u = 12345 };

	w.process.pid = 123456;
	w.thread.tid = 123457;
	for (unsigned i = 0; i < EVENTS; i++) {
		fact(&w, kinds[i % 3], START_NS + 1000000 * i, "parse_header");
		w.fact.category = n(&w, "default");
		w.fact.args = &counted;
		w.fact.n_args = i % 3 == 2;
		give(&w);
	}
	finish(&w);
	start = (size_t)(strchr(w.bytes, '\n') - w.bytes);
	assert_in_range(w.size - start, 1, EVENTS * 90);
	world_free(&w);
}

static void put_plainly_escaped(FILE *out, const char *text)
{
	for (; *text; text++)
		fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* The line of an instant, put together of its parts. */
static void print_expected(FILE *out, const struct fact *fact)
{
	uint64_t ns = fact->ts_ns > 5000000000 ? fact->ts_ns - 5000000000 : 0;

	fprintf(out, ",\n{\"name\":\"");
	put_plainly_escaped(out, fact->name->text);
	if (fact->category) {
		fprintf(out, "\",\"cat\":\"");
		put_plainly_escaped(out, fact->category->text);
	}
	fprintf(out, "\",\"ph\":\"i\",\"ts\":%llu.%03u,\"pid\":%u,\"tid\":%u,\"args\":{\"",
		(unsigned long long)ns / 1000, (unsigned)(ns % 1000), fact->process->pid,
		fact->thread->tid);
	put_plainly_escaped(out, fact->args->key->text);
	fprintf(out, "\":%llu}}", (unsigned long long)fact->args->u);
}

/* More names, categories, keys and threads than are kept, of all lengths, and times in no order. */
static void what_is_kept_is_what_was_asked_for(void **state)
{
	enum {
		EVENTS = 4000,
		NAMES = 700
	};
	uint64_t bits = 88172645463325252, expected_size;
	char *expected, *start;
	size_t size;
	FILE *out = open_memstream(&expected, &size);
	struct world w;

	(void)state;
	assert_non_null(out);
	world_open(&w, SINK_PLAIN, false);
	for (int i = 0; i < EVENTS; i++) {
		struct arg arg = { .type = ARG_UINT };
		char name[400];
		unsigned which = (unsigned)(bits >> 20) % NAMES;

		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		fact(&w, FACT_INSTANT, START_NS + (bits >> 33) * (i % 3), NULL);
		snprintf(name, sizeof(name), "%u%*s", which, (int)(which % 300), "\"\\.");
		w.fact.name = n(&w, name);
		w.fact.category = i % 7 ? n(&w, name + strlen(name) - (bits >> 40) % 5) : NULL;
		w.process.pid = 42 + (uint32_t)(bits >> 50) % 3;
		w.thread.tid = (uint32_t)(i % 5 ? bits >> 60 : bits);
		arg.key = n(&w, name + strlen(name) / 2);
		arg.u = bits >> (i % 63 + 1);
		w.fact.args = &arg;
		w.fact.n_args = 1;
		print_expected(out, &w.fact);
		give(&w);
	}
	assert_int_equal(fclose(out), 0);
	expected_size = size;
	finish(&w);
	start = strchr(w.bytes, '\n');
	assert_non_null(start);
	assert_true(w.bytes + w.size - start > (ptrdiff_t)expected_size);
	assert_memory_equal(start - 1, expected, expected_size);
	free(expected);
	world_free(&w);
}

/* Cut after every line, the file only lacks its bracket. */
static void loads_when_cut(void **state)
{
	struct world w;
	yajl_val root;
	size_t lines = 0;

	(void)state;
	world_open(&w, SINK_PLAIN, false);
	for (int i = 0; i < 5; i++) {
		fact(&w, FACT_INSTANT, START_NS, "mark");
		give(&w);
	}
	assert_int_equal(w.consumer->ops->flush(w.consumer), 0);
	read_all(&w);
	for (size_t i = 0; i < w.size; i++)
		lines += w.bytes[i] == '\n' && w.bytes[i - 1] == ',' && w.bytes[i + 1] == '{';
	assert_int_equal(lines, 5);
	w.bytes[w.size] = ']';
	root = parse(&w);
	assert_int_equal(YAJL_GET_ARRAY(root)->len, 6);
	yajl_tree_free(root);
	free(w.bytes);
	finish(&w);
	root = parse(&w);
	done(&w, root, 5);
}

static void a_full_disk_reaches_the_caller(void **state)
{
	struct consumer *consumer;
	struct sink *sink;
	struct world w;
	int r = 0;

	(void)state;
	world_open(&w, SINK_PLAIN, false);
	assert_int_equal(sink_open("/dev/full", SINK_PLAIN, &sink), 0);
	consumer = chrome_writer_new(sink, &w.info);
	fact(&w, FACT_INSTANT, START_NS, "x");
	for (int i = 0; i < 100000 && r == 0; i++)
		r = consumer->ops->fact(consumer, &w.fact);
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(consumer->ops->fact(consumer, &w.fact), -ENOSPC);
	consumer->ops->free(consumer);
	finish(&w);
	world_free(&w);
}

/* ----------------------------------------------------------------------------------------------- */

static void assert_double(double value, const char *expected)
{
	char out[JSON_NUMBER_MAX + 1];
	char *end = json_double(out, value);

	assert_true(end - out <= JSON_NUMBER_MAX);
	*end = '\0';
	if (expected)
		assert_string_equal(out, expected);
	assert_true(strpbrk(out, ".e") != NULL);
	assert_true(strtod(out, &end) == value && *end == '\0');
	assert_int_equal(signbit(strtod(out, NULL)) != 0, signbit(value) != 0);
}

static void doubles_come_back_the_same(void **state)
{
	uint64_t bits = 88172645463325252;

	(void)state;
	assert_double(0, "0.0");
	assert_double(-0.0, "-0.0");
	assert_double(1, "1.0");
	assert_double(0.1, "0.1");
	assert_double(59.94, "59.94");
	assert_double(-1234.000001, "-1234.000001");
	assert_double(0.1 + 0.2, "0.30000000000000004");
	assert_double(1.0 / 3, "0.3333333333333333");
	assert_double(1e-9, "0.000000001");
	assert_double(1e15, "1e+15");
	assert_double(123456789012345680.0, "1.2345678901234568e+17");
	assert_double(0x1p53, "9007199254740992.0");
	assert_double(5e-324, NULL);
	assert_double(1.7976931348623157e308, "1.7976931348623157e+308");
	assert_double(-2.2250738585072014e-308, "-2.2250738585072014e-308");
	for (int i = 0; i < 100000; i++) {
		double value, small;

		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		memcpy(&value, &bits, sizeof(value));
		if (isfinite(value))
			assert_double(value, NULL);
		small = (double)(int64_t)bits / 0x1p44 / 1000;
		assert_double(small, NULL);
		assert_double((double)(bits >> 40) / 1000, NULL);
	}
}

static void integers(void **state)
{
	char out[64], expected[64];
	uint64_t value = 1;

	(void)state;
	/* The powers of two, then those of ten. */
	for (int i = 0; i < 64 + 19; i++, value = i < 64 ? value << 1 : i == 64 ? 10 : value * 10) {
		for (uint64_t v = value - 1; v != value + 2; v++) {
			*json_u64(out, v) = '\0';
			snprintf(expected, sizeof(expected), "%llu", (unsigned long long)v);
			assert_string_equal(out, expected);
			*json_i64(out, (int64_t)v) = '\0';
			snprintf(expected, sizeof(expected), "%lld", (long long)v);
			assert_string_equal(out, expected);
			*json_hex(out, v) = '\0';
			snprintf(expected, sizeof(expected), "\"0x%llx\"", (unsigned long long)v);
			assert_string_equal(out, expected);
			*json_us(out, v) = '\0';
			snprintf(expected, sizeof(expected), "%llu.%03u",
				 (unsigned long long)v / 1000, (unsigned)(v % 1000));
			assert_string_equal(out, expected);
		}
	}
}

/* Eight at a time are looked at: each of them, and those that are left. */
static void escapes_wherever_they_are(void **state)
{
	static const char special[] = "\"\\\b\f\n\r\t\001\037";
	static const char *const becomes[] = { "\\\"", "\\\\", "\\b", "\\f", "\\n",
					       "\\r",  "\\t",  "?",   "?" };
	char in[24], out[64], expected[64];

	(void)state;
	for (size_t length = 1; length < sizeof(in); length++) {
		for (size_t at = 0; at < length; at++) {
			for (size_t i = 0; i < sizeof(special) - 1; i++) {
				memset(in, i % 2 ? '~' : '\xc3', length);
				in[at] = special[i];
				*json_escaped(out, in, length) = '\0';
				snprintf(expected, sizeof(expected), "%.*s%s%.*s", (int)at, in,
					 becomes[i], (int)(length - at - 1), in + at + 1);
				assert_string_equal(out, expected);
			}
		}
	}
}

/* An E of a slice in which two counters had these deltas, with one argument of the program, or none. */
static void counted_end(struct world *w, uint64_t cycles, uint64_t faults, const struct arg *own)
{
	static struct track tracks[2];
	static const struct track *const list[] = { &tracks[0], &tracks[1] };
	const uint64_t deltas[] = { cycles, faults };
	struct arg args[3];
	unsigned n_args = 0;

	tracks[0].name = n(w, "cycles");
	tracks[1].name = n(w, "faults");
	fact(w, FACT_END, START_NS + 1000, NULL);
	if (own)
		args[n_args++] = *own;
	for (unsigned i = 0; i < 2; i++) {
		if (deltas[i] != EVENT_NO_VALUE && (!own || own->key != tracks[i].name))
			args[n_args++] = (struct arg){ .key = tracks[i].name,
						       .type = ARG_UINT,
						       .u = deltas[i] };
	}
	w->fact.args = args;
	w->fact.n_args = n_args;
	w->fact.n_counters = 2;
	w->fact.counter_tracks = list;
	w->fact.counters = deltas;
	w->fact.counter_deltas = deltas;
	give(w);
}

static void deltas_of_counters(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, SINK_PLAIN, false);
	const struct arg own = { .key = n(&w, "cycles"), .type = ARG_INT, .i = -1 };
	const struct arg other = { .key = n(&w, "n"), .type = ARG_INT, .i = 0 };

	counted_end(&w, 5, 0, NULL);
	counted_end(&w, 0, 0, NULL);
	counted_end(&w, 0, 0, &other);
	counted_end(&w, 7, EVENT_NO_VALUE, NULL);
	counted_end(&w, EVENT_NO_VALUE, EVENT_NO_VALUE, NULL);
	counted_end(&w, 7, 0, &own);
	finish(&w);
	assert_non_null(strstr(w.bytes, "\"tid\":43,\"args\":{\"cycles\":5}}"));
	assert_non_null(strstr(w.bytes, "\"tid\":43},\n"));
	assert_non_null(strstr(w.bytes, "\"args\":{\"n\":0}}"));
	assert_non_null(strstr(w.bytes, "\"args\":{\"cycles\":7,\"faults\":null}}"));
	assert_non_null(strstr(w.bytes, "\"args\":{\"counters\":null}}"));
	assert_non_null(strstr(w.bytes, "\"args\":{\"cycles\":-1,\"faults\":0,\"counters\":"
					"{\"cycles\":7,\"faults\":0}}}"));
	yajl_tree_free(parse(&w));
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_and_ends),
		cmocka_unit_test(names_of_processes_and_threads),
		cmocka_unit_test(slices_with_every_kind_of_argument),
		cmocka_unit_test(instants_by_scope),
		cmocka_unit_test(counters),
		cmocka_unit_test(deltas_of_counters),
		cmocka_unit_test(async_slices_and_flows),
		cmocka_unit_test(losses),
		cmocka_unit_test(the_largest_event),
		cmocka_unit_test(an_event_takes_90_bytes),
		cmocka_unit_test(what_is_kept_is_what_was_asked_for),
		cmocka_unit_test(loads_when_cut),
		cmocka_unit_test(a_full_disk_reaches_the_caller),
		cmocka_unit_test(doubles_come_back_the_same),
		cmocka_unit_test(integers),
		cmocka_unit_test(escapes_wherever_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
