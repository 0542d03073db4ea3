/* SPDX-License-Identifier: BSD-2-Clause */
/* What all readers share: telling formats apart, gzip, numbers; and that what is written is read again. */
#include "readers_test.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>

#include "formats/sink.h"
#include "base/number.h"
#include "timeline/timeline.h"

/* --- telling formats apart --------------------------------------------------------------------- */

#define SNIFF(text, format, what) check_sniff(text, sizeof(text) - 1, format, what)

static void check_sniff(const char *bytes, size_t size, enum trace_format format, const char *what)
{
	const char *found = NULL;

	assert_int_equal(trace_sniff(bytes, size, &found), format);
	assert_non_null(strstr(found, what));
	assert_int_equal(trace_sniff(bytes, size, NULL), format);
}

static void sniff_knows_what_it_sees(void **state)
{
	(void)state;
	SNIFF("", TRACE_UNKNOWN, "empty");
	SNIFF("\x7f"
	      "ELF\2\1\1",
	      TRACE_UNKNOWN, "an ELF file");
	SNIFF("PERFILE2........", TRACE_UNKNOWN, "perf.data");
	SNIFF("some text\n", TRACE_UNKNOWN, "text");
	SNIFF("\n text after a line feed, which is the tag of a packet", TRACE_UNKNOWN, "text");
	SNIFF("\0\0\0\0\0\0", TRACE_UNKNOWN, "zeros");
	SNIFF("\xff\xfe\x01\x02", TRACE_UNKNOWN, "binary");
	SNIFF("[]", TRACE_CHROME_JSON, "JSON");
	SNIFF(" \n[ {\"ph\"", TRACE_CHROME_JSON, "JSON");
	SNIFF("\xef\xbb\xbf{\"traceEvents\"", TRACE_CHROME_JSON, "JSON");
	SNIFF("[1,2]", TRACE_UNKNOWN, "text");
	SNIFF("\n\x02\x50\x01", TRACE_PERFETTO, "Perfetto");
	SNIFF("\n\x7f\x50\x01", TRACE_PERFETTO, "Perfetto");  /* goes on beyond what is seen */
	SNIFF("\n\x02\x57\x01", TRACE_UNKNOWN, "binary");     /* no such wire type */
	SNIFF("\n\x03\x5a\x7f\x01", TRACE_UNKNOWN, "binary"); /* longer than its packet */
	SNIFF("\n", TRACE_UNKNOWN, "binary");
}

static void sniff_looks_into_gzip(void **state)
{
	static const char json[] = "[{\"ph\":\"B\"}]", text[] = "hello, this is no trace at all";
	size_t size;
	char *bytes = packed(json, sizeof(json) - 1, 31, &size);

	(void)state;
	check_sniff(bytes, size, TRACE_CHROME_JSON, "JSON");
	check_sniff(bytes, 10, TRACE_UNKNOWN, "gzip file of something else");
	free(bytes);
	bytes = packed(text, sizeof(text) - 1, 31, &size);
	check_sniff(bytes, size, TRACE_UNKNOWN, "gzip file of something else");
	free(bytes);
}

static void files_that_are_no_trace(void **state)
{
	struct heard *h = hear("\x7f"
			       "ELF\2\1\1\0\0",
			       9);

	(void)state;
	assert_int_equal(h->status, -ENOEXEC);
	assert_string_equal(h->why.message, "not a trace: looks like an ELF file");
	heard_free(h);
	h = hear("", 0);
	assert_int_equal(h->status, -ENOEXEC);
	assert_string_equal(h->why.message, "not a trace: empty");
	heard_free(h);
}

/* --- gzip -------------------------------------------------------------------------------------- */

#define EVENT_1 "{\"ph\":\"B\",\"ts\":1,\"pid\":1,\"tid\":2,\"name\":\"a\"}"
#define EVENT_2 "{\"ph\":\"E\",\"ts\":2,\"pid\":1,\"tid\":2}"
#define BOTH	"B 1/2 1000 a\nE 1/2 2000\n"

/* Two members in a row, then what is no member. */
static char *two_members(size_t *ret_size, size_t *ret_first)
{
	static const char first[] = "[" EVENT_1 ",", second[] = EVENT_2 "]\n";
	size_t n1, n2;
	char *a = packed(first, sizeof(first) - 1, 31, &n1);
	char *b = packed(second, sizeof(second) - 1, 31, &n2);
	char *both = malloc(n1 + n2 + 8);

	memcpy(both, a, n1);
	memcpy(both + n1, b, n2);
	memset(both + n1 + n2, 0, 8);
	free(a);
	free(b);
	*ret_size = n1 + n2;
	*ret_first = n1;
	return both;
}

static void gzip_of_several_members(void **state)
{
	size_t size, first;
	char *bytes = two_members(&size, &first);

	(void)state;
	expect_events(bytes, size, BOTH, 0);
	expect_events(bytes, size + 8, BOTH, 0); /* padding */
	free(bytes);
}

static void gzip_cut_anywhere(void **state)
{
	size_t size, first, n;
	char *bytes = two_members(&size, &first);

	(void)state;
	for (n = first; n < size; n++) {
		struct heard *h = hear(bytes, n);

		assert_int_equal(h->status, 0);
		assert_true(h->why.truncated);
		assert_true(h->n == 1 || h->n == 2);
		assert_memory_equal(h->text, BOTH, h->length);
		heard_free(h);
	}
	free(bytes);
}

static void gzip_damaged(void **state)
{
	size_t size, first;
	char *bytes = two_members(&size, &first);

	(void)state;
	bytes[size - 8] ^= 1; /* of the checksum */
	expect_error(bytes, size, strlen("[" EVENT_1 "," EVENT_2 "]\n"), "damaged gzip");
	bytes[size - 8] ^= 1;
	memset(bytes + 10, 0xff, 4); /* a block of a type that is none */
	expect_error(bytes, size, 0, "damaged gzip");
	free(bytes);
}

/* What a pipe holds comes in pieces and cannot be read twice. */
static void a_pipe_is_read(void **state)
{
	static const char json[] = "[" EVENT_1 "," EVENT_2 "]";
	struct heard *h = calloc(1, sizeof(*h));
	struct reader_sink sink = { heard_event, h, names_new(0), &h->account, NULL, NULL };
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], json, sizeof(json) - 1), sizeof(json) - 1);
	close(fds[1]);
	assert_int_equal(trace_read(fds[0], &sink, &h->why), 0);
	assert_string_equal(h->text, BOTH);
	close(fds[0]);
	names_free(sink.names);
	free(h);
}

static void a_directory_is_an_error_of_the_system(void **state)
{
	struct account account = { 0 };
	struct reader_sink sink = { heard_event, NULL, NULL, &account, NULL, NULL };
	struct reader_error why;
	int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(directory >= 0);
	assert_int_equal(trace_read(directory, &sink, &why), -EISDIR);
	assert_string_equal(why.message, "");
	assert_int_equal(trace_read(-1, &sink, &why), -EBADF);
	close(directory);
}

/* --- numbers ----------------------------------------------------------------------------------- */

static void check_time(const char *text, bool valid, int64_t ns)
{
	int64_t found = -1;

	assert_int_equal(number_microseconds(text, strlen(text), &found), valid);
	if (valid)
		assert_int_equal(found, ns);
}

static void times_are_exact(void **state)
{
	(void)state;
	check_time("0", true, 0);
	check_time("1.5", true, 1500);
	check_time("123456789012.345", true, 123456789012345);
	check_time("1700000000000000.001", true, 1700000000000000001); /* no double holds it */
	check_time("1.0004", true, 1000);
	check_time("1.0005", true, 1001);
	check_time("-2.25", true, -2250);
	check_time("1.5e3", true, 1500000);
	check_time("-1E-3", true, -1);
	check_time("", false, 0);
	check_time("-", false, 0);
	check_time("1.2.3", false, 0);
	check_time("abc", false, 0);
	check_time("1e300", false, 0);
	check_time("99999999999999999999", false, 0);
	check_time("0x10", false, 0);
}

static void numbers_keep_their_type(void **state)
{
	struct number n;

	(void)state;
	n = number_read("-9223372036854775808", 20, false);
	assert_int_equal(n.type, NUMBER_INT);
	assert_int_equal(n.i, INT64_MIN);
	n = number_read("18446744073709551615", 20, false);
	assert_int_equal(n.type, NUMBER_UINT);
	assert_true(n.u == UINT64_MAX);
	n = number_read("18446744073709551616", 20, false);
	assert_int_equal(n.type, NUMBER_DOUBLE);
	assert_true(n.d == 18446744073709551616.0);
	n = number_read("1.0", 3, false);
	assert_int_equal(n.type, NUMBER_DOUBLE);
	n = number_read("0.1", 3, false);
	assert_true(n.d == 0.1);
	assert_int_equal(number_read("NaN", 3, false).type, NUMBER_NONE);
	assert_true(isnan(number_read("NaN", 3, true).d));
	assert_true(number_read("-Infinity", 9, true).d < 0);
	assert_int_equal(number_read("nan", 3, true).type, NUMBER_NONE);
	assert_int_equal(number_read("12 ", 3, true).type, NUMBER_NONE);
	assert_int_equal(number_read("", 0, true).type, NUMBER_NONE);
}

/* Short ones are put together here, and must be what the C library makes of them. */
static void decimals_are_the_nearest_double(void **state)
{
	uint64_t seed = 88172645463325252ull;
	char text[64];
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		int length, digits = 1 + i % 15, behind = i / 15 % digits;
		uint64_t limit = 10;

		while (--digits)
			limit *= 10;
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		length = snprintf(text, sizeof(text), "%s%llu", i & 1 ? "-" : "",
				  (unsigned long long)(seed % limit));
		if (behind && length > behind + (i & 1)) {
			memmove(text + length - behind + 1, text + length - behind,
				(size_t)behind + 1);
			text[length - behind] = '.';
			length++;
		} else {
			length += snprintf(text + length, sizeof(text) - (size_t)length, ".0");
		}
		assert_true(number_read(text, (size_t)length, false).d == strtod(text, NULL));
	}
	assert_true(signbit(number_read("-0.0", 4, false).d));
	assert_int_equal(number_read("1.2.3", 5, false).type, NUMBER_NONE);
	assert_int_equal(number_read("-.", 2, false).type, NUMBER_NONE);
}

static void ids(void **state)
{
	uint64_t id = 0;

	(void)state;
	assert_true(number_id("0xFfffffffffffffff", 18, &id));
	assert_true(id == UINT64_MAX);
	assert_true(number_id("31", 2, &id));
	assert_int_equal(id, 31);
	assert_false(number_id("0x10000000000000000", 19, &id));
	assert_false(number_id("0xg", 3, &id));
	assert_false(number_id("", 0, &id));
}

/* --- what is written is read again ------------------------------------------------------------- */

struct writing {
	struct names *names;
	struct account account;
	struct timeline *timeline;
	struct consumer *consumers[2];
	char paths[2][64];
	char directory[32];
};

static void writing_open(struct writing *w)
{
	static const char *const files[] = { "t.pftrace", "t.json" };
	struct trace_info info = {
		.start_ns = 5000000123,
		.clock = { 5000000123, 6000000000, 1700000000000000000 },
		.version = "1",
		.kernel_release = "6.1.0",
		.kernel_version = "#1",
		.machine = "x86_64",
		.sysname = "Linux",
		.trace_uuid = { 0x0123456789abcdef, 1 },
		.host = "node7",
		.boot_id = "0b1c2d3e-0000-4000-8000-123456789abc",
		.rank = "3",
		.instructions_compared = "false",
	};
	struct sink *sink;
	unsigned i;

	w->names = names_new(0);
	w->timeline = timeline_new(w->names, &w->account, 0);
	strcpy(w->directory, "/tmp/readers-XXXXXX");
	assert_non_null(mkdtemp(w->directory));
	for (i = 0; i < 2; i++) {
		snprintf(w->paths[i], sizeof(w->paths[i]), "%s/%s", w->directory, files[i]);
		assert_int_equal(sink_open(w->paths[i], SINK_PLAIN, &sink), 0);
		w->consumers[i] =
			i ? chrome_writer_new(sink, &info) : perfetto_writer_new(sink, &info);
		assert_non_null(w->consumers[i]);
		assert_int_equal(timeline_add_consumer(w->timeline, w->consumers[i]), 0);
	}
}

static struct heard *writing_close(struct writing *w, unsigned i)
{
	struct heard *h;
	size_t capacity = 1 << 20, size;
	char *bytes = malloc(capacity);
	FILE *file;

	assert_int_equal(w->consumers[i]->ops->close(w->consumers[i], &w->account), 0);
	w->consumers[i]->ops->free(w->consumers[i]);
	file = fopen(w->paths[i], "re");
	assert_non_null(file);
	size = fread(bytes, 1, capacity, file);
	fclose(file);
	unlink(w->paths[i]);
	h = hear(bytes, size);
	free(bytes);
	assert_string_equal(h->why.message, "");
	assert_false(h->why.truncated);
	assert_int_equal(account_lost(&h->account), 0);
	return h;
}

static void write_one(struct writing *w, struct event e, const char *name, const char *category)
{
	e.pid = 10;
	e.tid = e.tid ? e.tid : 11;
	e.level = -1;
	e.name = name ? names_intern_string(w->names, name) : NULL;
	e.category = category ? names_intern_string(w->names, category) : NULL;
	assert_int_equal(timeline_event(w->timeline, &e), 0);
}

#define KEY(text) .key = names_intern_string(w.names, text)

static void assert_origin(const struct trace_origin *o)
{
	assert_string_equal(o->version, "1");
	assert_string_equal(o->sysname, "Linux");
	assert_string_equal(o->kernel_release, "6.1.0");
	assert_string_equal(o->kernel_version, "#1");
	assert_string_equal(o->machine, "x86_64");
	assert_string_equal(o->host, "node7");
	assert_string_equal(o->boot_id, "0b1c2d3e-0000-4000-8000-123456789abc");
	assert_string_equal(o->rank, "3");
	assert_string_equal(o->instructions_compared, "false");
	assert_int_equal(o->trace_uuid[0], 0x0123456789abcdef);
	assert_int_equal(o->trace_uuid[1], 1);
	assert_int_equal(o->clock.monotonic, 5000000123);
	assert_int_equal(o->clock.realtime, 1700000000000000000);
}

static void both_outputs_are_read_as_they_were_written(void **state)
{
	struct writing w = { 0 };
	struct heard *h;

	(void)state;
	writing_open(&w);
	struct arg args[] = {
		{ KEY("int"), .type = ARG_INT, .i = -5 },
		{ KEY("uint"), .type = ARG_UINT, .u = 7 },
		{ KEY("double"), .type = ARG_DOUBLE, .d = 0.1 },
		{ KEY("text"), .type = ARG_STRING, .s = "a \"b\" \\ \xc3\xa9", .length = 10 },
		{ KEY("yes"), .type = ARG_BOOL, .u = 1 },
	};
	struct arg depth[] = { { .type = ARG_INT, .i = 3 }, { .type = ARG_INT, .i = -5 } };
	struct arg single = { .type = ARG_UINT, .u = UINT64_MAX };
	struct arg series[] = { { KEY("x"), .type = ARG_INT, .i = 1 },
				{ KEY("y"), .type = ARG_DOUBLE, .d = 2 } };

#define AT(k, ns, ...) ((struct event){ .kind = (k), .ts_ns = 5000001000 + (ns), __VA_ARGS__ })
	write_one(&w, AT(EVENT_THREAD_NAME, 0), "main \"1\"", NULL);
	/* Of a thread, but not counted: it falls below 0, and slices have no share of it. */
	write_one(&w, AT(EVENT_COUNTER, 1, .on_thread = true, .n_args = 1, .args = &depth[0]),
		  "depth", NULL);
	write_one(&w, AT(EVENT_BEGIN, 1, .n_args = 5, .args = args), "slice", "a,b");
	write_one(&w, AT(EVENT_FLOW_OUT, 2, .id = 99), NULL, NULL);
	write_one(&w, AT(EVENT_INSTANT, 3), "now", "c");
	write_one(&w, AT(EVENT_INSTANT, 4, .scope = SCOPE_GLOBAL), "all", NULL);
	write_one(&w, AT(EVENT_COUNTER, 5, .n_args = 1, .args = &single), "big", NULL);
	write_one(&w, AT(EVENT_COUNTER, 6, .n_args = 2, .args = series), "pair", NULL);
	write_one(&w, AT(EVENT_ASYNC_BEGIN, 7, .id = 0xabc), "lane", "c");
	write_one(&w, AT(EVENT_COUNTER, 8, .on_thread = true, .n_args = 1, .args = &depth[1]),
		  "depth", NULL);
	write_one(&w, AT(EVENT_COUNTER, 8, .on_thread = true, .n_args = 1, .args = &depth[1]),
		  "counters", NULL);
	write_one(&w, AT(EVENT_END, 8, .n_args = 1, .args = args), NULL, NULL);
	write_one(&w, AT(EVENT_FLOW_IN, 9, .id = 99, .tid = 12), NULL, NULL);
	write_one(&w, AT(EVENT_LOST, 10, .size = 1234), NULL, NULL);
	write_one(&w, AT(EVENT_ASYNC_END, 11, .id = 0xabc), "lane", "c");
#undef AT
	h = writing_close(&w, 0);
	assert_string_equal(
		h->text,
		"clock 0/0 5000000123 5000000123 6000000000 1700000000000000000\n"
		"thread 10/11 0 main \"1\"\n"
		"Ct 10/11 5000001001 depth =i3\n"
		"B 10/11 5000001001 slice [a,b] int=i-5 uint=u7 double=d0.10000000000000001"
		" text='a \"b\" \\ \xc3\xa9' yes=true\n"
		"s 10/11 5000001002 #63\n"
		"i 10/11 5000001003 now [c]\n"
		"ig 0/0 5000001004 all\n"
		"C 10/0 5000001005 big =u18446744073709551615\n"
		"C 10/0 5000001006 pair x =i1\n"
		"C 10/0 5000001006 pair y =d2\n"
		"b 10/11 5000001007 lane [c] #abc\n"
		"Ct 10/11 5000001008 depth =i-5\n"
		"Ct 10/11 5000001008 counters =i-5\n"
		"E 10/11 5000001008 int=i-5\n"
		"f 10/12 5000001009 #63\n"
		"lost 10/11 5000001010 *1234\n"
		"e 10/11 5000001011 lane [c] #abc\n");
	assert_origin(&h->origin);
	heard_free(h);
	h = writing_close(&w, 1);
	assert_string_equal(
		h->text,
		"clock 0/0 5000000123 5000000123 6000000000 1700000000000000000\n"
		"thread 10/11 0 main \"1\"\n"
		"Ct 10/11 5000001001 depth =i3\n"
		"B 10/11 5000001001 slice [a,b] int=i-5 uint=i7 double=d0.10000000000000001"
		" text='a \"b\" \\ \xc3\xa9' yes=true\n"
		"s 10/11 5000001002 #63\n"
		"i 10/11 5000001003 now [c]\n"
		"ig 10/11 5000001004 all\n"
		"C 10/0 5000001005 big =u18446744073709551615\n"
		"C 10/0 5000001006 pair x=i1 y=d2\n"
		"b 10/11 5000001007 lane [c] #abc\n"
		"Ct 10/11 5000001008 depth =i-5\n"
		"Ct 10/11 5000001008 counters =i-5\n"
		"E 10/11 5000001008 int=i-5\n"
		"f 10/12 5000001009 #63\n"
		"lost 10/11 5000001010 *1234\n"
		"e 10/11 5000001011 lane [c] #abc\n");
	assert_origin(&h->origin);
	assert_int_equal(h->origin.base_ns, 5000000000);
	heard_free(h);
	rmdir(w.directory);
	timeline_free(w.timeline);
	names_free(w.names);
}

/* What a sink says ends the reading, and is what the reader says. */
static void the_sink_stops_the_reading(void **state)
{
	struct heard *h =
		hear_until("[" EVENT_1 "," EVENT_2 "]", 1 + strlen(EVENT_1 EVENT_2) + 2, 7);

	(void)state;
	assert_int_equal(h->status, 7);
	assert_int_equal(h->n, 1);
	assert_string_equal(h->why.message, "");
	heard_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sniff_knows_what_it_sees),
		cmocka_unit_test(sniff_looks_into_gzip),
		cmocka_unit_test(files_that_are_no_trace),
		cmocka_unit_test(gzip_of_several_members),
		cmocka_unit_test(gzip_cut_anywhere),
		cmocka_unit_test(gzip_damaged),
		cmocka_unit_test(a_pipe_is_read),
		cmocka_unit_test(a_directory_is_an_error_of_the_system),
		cmocka_unit_test(times_are_exact),
		cmocka_unit_test(numbers_keep_their_type),
		cmocka_unit_test(decimals_are_the_nearest_double),
		cmocka_unit_test(ids),
		cmocka_unit_test(both_outputs_are_read_as_they_were_written),
		cmocka_unit_test(the_sink_stops_the_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
