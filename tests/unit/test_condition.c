/* SPDX-License-Identifier: BSD-2-Clause */
/* Conditions: what they mean, what they refuse and where, and that they stay within their limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/select/condition.h"

/* Whether a slice satisfies the condition; -1: the condition is refused. */
static int matches(const char *text)
{
	struct names *names = names_new(0);
	struct arg args[] = {
		{ .key = names_intern_string(names, "kind"),
		  .type = ARG_STRING,
		  .length = 4,
		  .s = "cold" },
		{ .key = names_intern_string(names, "n"), .type = ARG_INT, .i = -5 },
		{ .key = names_intern_string(names, "big"), .type = ARG_UINT, .u = UINT64_MAX },
		{ .key = names_intern_string(names, "two words"), .type = ARG_DOUBLE, .d = 0.25 },
		{ .key = names_intern_string(names, "null"), .type = ARG_NULL },
	};
	const struct process process = { .pid = 10, .name = names_intern_string(names, "server") };
	const struct thread thread = { .tid = 11, .process = &process };
	const struct track track = { .name = names_intern_string(names, "cache-misses") };
	const struct track *tracks[] = { &track };
	const uint64_t deltas[] = { 7000 };
	const struct slice_states states = {
		.running = 3000000,
		.runnable = 1000000,
		.blocked = 1000000,
		.has_reasons = true,
		.blocked_in = { [WAIT_FUTEX] = 900000, [WAIT_READ] = 100000 },
	};
	const struct fact fact = {
		.kind = FACT_END,
		.ts_ns = 7000000,
		.begin_ns = 2000000,
		.self_ns = 1000,
		.states = &states,
		.process = &process,
		.thread = &thread,
		.name = names_intern_string(names, "request"),
		.category = names_intern_string(names, "net,io"),
		.args = args,
		.n_args = 5,
		.n_counters = 1,
		.counter_tracks = tracks,
		.counter_deltas = deltas,
	};
	struct condition_subject subject = {
		.kind = CONDITION_SLICE,
		.fact = &fact,
		.start_ns = 1500000000,
		.has_duration = true,
		.duration_ns = 5000000,
	};
	struct condition_error error;
	struct condition *condition = condition_compile(text, &error);
	int result = -1;

	if (condition) {
		condition_bind(condition, names);
		subject.in = condition_in(condition, names_intern_string(names, "batch 7"));
		result = condition_matches(condition, &subject);
	}
	condition_free(condition);
	names_free(names);
	return result;
}

static void means(void **state)
{
	static const char *const yes[] = {
		"name == \"request\"",
		"name == 'request'",
		"dur == 5ms",
		"dur > 4.999ms && dur < 5001us",
		"category == \"io\"",
		"category == \"net\"",
		"domain =* \"n*\"",
		"category =~ \"^io$\"",
		"kind == \"slice\"",
		"start == 1.5s",
		"self == 1us",
		"process == \"server\"",
		"pid == 10",
		"tid == 11",
		"blocked >= 1ms",
		"running > blocked",
		"arg.kind == \"cold\"",
		"arg.kind != \"warm\"",
		"arg.kind != 5",
		"arg.n < 0",
		"arg.n == -5",
		"arg.n != \"x\"",
		"arg.big == 18446744073709551615",
		"arg.big > 18446744073709551614",
		"arg(\"two words\") == 0.25",
		"counter(\"cache-misses\") == 7K",
		"arg.big > 5ms",
		"in(\"batch*\")",
		"has(arg.n)",
		"!has(arg.m)",
		"!has(arg.null)",
		"!(dur < 5ms)",
		"!!(dur == 5ms)",
		"name == \"x\" || dur == 5ms",
		"name == \"x\" && dur == 1ms || dur == 5ms",
		"dur == 5ms || name == \"x\" && dur == 1ms",
		"!(name == \"x\" || name == \"y\") && dur == 5ms",
		"name =~ \"^re.{1,5}t$\"",
		"name !~ \"^x\"",
		"name !* \"x*\"",
		"dur == 0x4c4b40ns",
		"counter(\"cache-misses\") < 7Ki",
		"name == \"request\"&&(dur==5ms)",
	};
	static const char *const no[] = {
		"arg.m != 5",
		"arg.m == 5",
		"thread == \"x\"",
		"thread != \"x\"",
		"value == 1",
		"arg.kind == 5",
		"arg.n == \"-5\"",
		"in(\"request\")",
		"has(arg.null)",
		"category == \"net,io\"",
		"name == \"reques\"",
		"name == \"requestx\"",
		"arg.kind =~ \"warm|hot\"",
		"arg.null == 0",
		"dur == 5ms && (name == \"x\" || name == \"y\")",
		"!(dur == 5ms || name == \"x\")",
		"arg.big == 18446744073709551614",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (matches(yes[i]) != 1)
			fail_msg("%s: %d", yes[i], matches(yes[i]));
	}
	for (i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		if (matches(no[i]) != 0)
			fail_msg("%s: %d", no[i], matches(no[i]));
	}
}

static void refuses(void **state)
{
	static const struct {
		const char *text;
		unsigned column;
	} wrong[] = {
		{ "", 0 },
		{ "name", 4 },
		{ "name ==", 7 },
		{ "name == 5", 8 },
		{ "dur == 5", 7 },
		{ "dur == \"5ms\"", 7 },
		{ "5ms == dur", 0 },
		{ "name < \"b\"", 0 },
		{ "dur =~ \"5\"", 0 },
		{ "name =~ name", 8 },
		{ "(dur == 5ms", 11 },
		{ "dur == 5ms)", 10 },
		{ "dur == 5ms dur", 11 },
		{ "dur & 5ms", 4 },
		{ "a.b == 1", 0 },
		{ "arg == 1", 4 },
		{ "arg(1) == 1", 4 },
		{ "in(5)", 3 },
		{ "in(\"a\"", 6 },
		{ "has(5)", 4 },
		{ "name =~ \"\\1\"", 8 },
		{ "name =~ \"(a{9}){9}{9}\"", 8 },
		{ "name =~ \"a{1000}\"", 8 },
		{ "name =~ \"a++++++++++++++\"", 8 },
		{ "name =~ \"(((a{99})b){99})+\"", 8 },
		{ "name =~ \"[\"", 8 },
		{ "name =* \"*********\"", 8 },
		{ "dur > 1.2.3ms", 6 },
		{ "dur > 5 ms", 6 },
		{ "tid == 5ms", 7 },
		{ "name == \"a", 8 },
		{ "\x01", 0 },
		{ "dur == 5ms && ", 14 },
	};
	struct condition_error error;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_null(condition_compile(wrong[i].text, &error));
		if (error.column != wrong[i].column)
			fail_msg("%s: column %u: %s", wrong[i].text, error.column, error.message);
	}
}

static void repeated(char *text, const char *piece, unsigned n, const char *end)
{
	text[0] = '\0';
	while (n--)
		strcat(text, piece);
	strcat(text, end);
}

static void stays_within_limits(void **state)
{
	char text[3 * CONDITION_MAX_TEXT];
	struct condition_error error;

	(void)state;
	repeated(text, "!", CONDITION_MAX_DEPTH - 1, "(dur == 5ms)");
	assert_int_equal(matches(text), -1); /* and the parenthesis is one more */
	repeated(text, "!", CONDITION_MAX_DEPTH - 2, "(dur == 5ms)");
	assert_int_equal(matches(text), 1);
	repeated(text, "dur>1ns&&", CONDITION_MAX_TESTS - 1, "dur>1ns");
	assert_int_equal(matches(text), 1);
	repeated(text, "dur>1ns&&", CONDITION_MAX_TESTS, "dur>1ns");
	assert_int_equal(matches(text), -1);
	repeated(text, "in(\"a\")||", CONDITION_MAX_INS, "dur==5ms");
	assert_int_equal(matches(text), 1);
	repeated(text, "in(\"a\")||", CONDITION_MAX_INS + 1, "dur==5ms");
	assert_int_equal(matches(text), -1);
	repeated(text, " ", CONDITION_MAX_TEXT, "dur==5ms");
	assert_null(condition_compile(text, &error));
	assert_non_null(strstr(error.message, "4096"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(means),
		cmocka_unit_test(refuses),
		cmocka_unit_test(stays_within_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
