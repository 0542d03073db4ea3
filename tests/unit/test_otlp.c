/* SPDX-License-Identifier: BSD-2-Clause */
/* What --otlp reads: trace contexts, headers, addresses, and the replies of collectors. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "otlp/otlp_internal.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN  "b7ad6b7169203331"

static bool context_of(const char *text, struct otlp_context *ret_context)
{
	return otlp_parse_traceparent(text, strlen(text), ret_context);
}

/* The examples of the W3C's Trace Context, and what it says to refuse. */
static void contexts(void **state)
{
	static const char *const refused[] = {
		"",
		"00",
		"00-" TRACE "-" SPAN,
		"00-" TRACE "-" SPAN "-01-more",
		"00-" TRACE "-" SPAN "-0",
		"00-" TRACE "-" SPAN "-0x",
		"ff-" TRACE "-" SPAN "-01",
		"0x-" TRACE "-" SPAN "-01",
		"00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01",
		"00-00000000000000000000000000000000-" SPAN "-01",
		"00-" TRACE "-0000000000000000-01",
		"00_" TRACE "-" SPAN "-01",
		"01-" TRACE "-" SPAN "-01more",
	};
	struct otlp_context c = { 0 };
	unsigned i;

	(void)state;
	assert_true(context_of("00-" TRACE "-" SPAN "-01", &c));
	assert_true(c.sampled);
	assert_int_equal(c.trace_id[0], 0x0a);
	assert_int_equal(c.trace_id[15], 0x9c);
	assert_int_equal(c.span_id[0], 0xb7);
	assert_int_equal(c.span_id[7], 0x31);
	assert_true(context_of("00-" TRACE "-" SPAN "-00", &c));
	assert_false(c.sampled);
	assert_true(context_of("00-" TRACE "-" SPAN "-ff", &c));
	assert_true(c.sampled);
	/* A later version may say more. */
	assert_true(context_of("cc-" TRACE "-" SPAN "-01-what-comes", &c));
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_false(context_of(refused[i], &c));
}

static void headers(void **state)
{
	static const char *const refused[] = {
		"no-value", "=x",  "a b=c",    "a=%0d%0aevil: 1",
		"a=%0",	    "a=%", "a=b\r\nc", "\xc3\xa4=b",
	};
	char out[64];
	unsigned i;

	(void)state;
	assert_int_equal(otlp_parse_headers("", out, sizeof(out)), 0);
	assert_int_equal(otlp_parse_headers(" api-key=a%2Cb%20c , x= ,,y=1=2", out, sizeof(out)),
			 3);
	assert_memory_equal(out, "api-key: a,b c\0x: \0y: 1=2", 26);
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(otlp_parse_headers(refused[i], out, sizeof(out)), -EINVAL);
	assert_int_equal(otlp_parse_headers("a=b", out, 4), -EINVAL);
	assert_int_equal(otlp_parse_headers("a=b", out, 5), 1);
}

static void addresses(void **state)
{
	static const char *const good[] = {
		"http://a",
		"https://a.b:4318",
		"http://[::1]:4318/x/",
		"http://127.0.0.1/y",
	};
	static const char *const refused[] = {
		"",
		"a",
		"ftp://a",
		"http://",
		"http://:1",
		"http:///x",
		"http://a:",
		"http://a:0",
		"http://a:65536",
		"http://a:1x",
		"http://u:p@a",
		"http://a?x",
		"http://a b",
		"http://[]:1",
		"http://[::1",
		"HTTP://a",
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(otlp_url_is_valid(good[i]));
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_false(otlp_url_is_valid(refused[i]));
}

static int64_t rejected_by(const char *reply, size_t size, const char *message)
{
	char text[8];
	int64_t n = otlp_reply_rejected((const uint8_t *)reply, size, text, sizeof(text));

	assert_string_equal(text, message);
	return n;
}

static void replies(void **state)
{
	(void)state;
	assert_int_equal(rejected_by("", 0, ""), 0);
	assert_int_equal(rejected_by("\x0a\x00", 2, ""), 0);
	assert_int_equal(rejected_by("\x0a\x09\x08\x05\x12\x05late\n", 11, "late?"), 5);
	assert_int_equal(rejected_by("\x0a\x0a\x12\x08too long", 12, "too lon"), 0);
	assert_int_equal(
		rejected_by("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, ""), -1);
	assert_int_equal(rejected_by("\x0a\x7f", 2, ""), -1);
	assert_int_equal(rejected_by("<html>", 6, ""), -1);
}

/* The lengths of what is nested have one byte or more. */
static void frames(void **state)
{
	static uint8_t items[OTLP_ITEMS], resource[OTLP_RESOURCE],
		out[sizeof(items) + sizeof(resource) + OTLP_FRAMING];
	static const size_t sizes[] = { 0, 1, 127, 128, 16384, OTLP_ITEMS };
	unsigned i;

	(void)state;
	memset(items, 'i', sizeof(items));
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t r = sizes[i] < OTLP_RESOURCE ? sizes[i] : OTLP_RESOURCE;
		size_t n = otlp_frame(out, resource, r, items, sizes[i]), at = 1, value = 0;
		unsigned shift;

		assert_in_range(n, sizes[i] + r, sizes[i] + r + OTLP_FRAMING);
		assert_int_equal(out[0], 0x0a);
		for (shift = 0; out[at] & 0x80; shift += 7)
			value |= (size_t)(out[at++] & 0x7f) << shift;
		value |= (size_t)out[at++] << shift;
		assert_int_equal(at + value, n);
		assert_memory_equal(out + n - sizes[i], items, sizes[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contexts), cmocka_unit_test(headers), cmocka_unit_test(addresses),
		cmocka_unit_test(replies),  cmocka_unit_test(frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
