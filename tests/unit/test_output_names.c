/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of files, and what makes a flight recorder write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/record.h"

static const char *const both[] = { ".pftrace", ".json" }, *const none[] = { "" };

static void next_is(struct output_names *names, const char *name, const char *const *suffixes,
		    uint64_t set, const char *wanted)
{
	const struct output_fields fields = { true, 3, 17, 2 };
	char *text =
		output_name_next(names, name, suffixes, suffixes == both ? 2 : 1, set, &fields);

	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
}

static void which_fields(void **state)
{
	(void)state;
	assert_int_equal(output_name_check("plain"), -1);
	assert_int_equal(output_name_check("{epoch}{batch}{cycle}{rank}{pid}{host}{time}{n}"), -1);
	assert_int_equal(output_name_check("a{nothing}"), 1);
	assert_int_equal(output_name_check("{n}{}"), 3);
	assert_int_equal(output_name_check("{n}{epochs}"), 3);
	assert_int_equal(output_name_check("{{n}}"), 0);
	assert_int_equal(output_name_check("not closed {epoch"), 11);
	assert_int_equal(output_name_check(""), -1);
}

static void fields_expand(void **state)
{
	struct output_names *names = output_names_new("4", "node/../7", 1234);

	(void)state;
	next_is(names, "e{epoch}b{batch}c{cycle}-{rank}-{pid}-{host}-{n}", both, 9,
		"e3b17c2-4-1234-node_.._7-9");
	next_is(names, "{n}{", none, 10, "10{");
	output_names_free(names);
}

static void none_twice(void **state)
{
	struct output_names *names = output_names_new("0", "h", 1);
	char wanted[32];
	unsigned i;

	(void)state;
	next_is(names, "t", both, 1, "t");
	for (i = 2; i < 2000; i++) {
		snprintf(wanted, sizeof(wanted), "t-%u", i);
		next_is(names, "t", both, i, wanted);
	}
	/* The number stands before the ending. */
	next_is(names, "dir.json/x.json.gz", none, 1, "dir.json/x.json.gz");
	next_is(names, "dir.json/x.json.gz", none, 2, "dir.json/x-2.json.gz");
	next_is(names, ".json", none, 1, ".json");
	next_is(names, ".json", none, 2, ".json-2");
	/* Two names that make one path, whichever comes first. */
	next_is(names, "one", both, 1, "one");
	next_is(names, "one.json", none, 1, "one-2.json");
	next_is(names, "one", both, 2, "one-3");
	next_is(names, "two.pftrace", none, 1, "two.pftrace");
	next_is(names, "two", both, 1, "two-2");
	/* What a field makes may have been used, too. */
	next_is(names, "x-{n}", none, 2, "x-2");
	next_is(names, "x", none, 1, "x");
	next_is(names, "x", none, 2, "x-3");
	output_names_free(names);
}

static void triggers(void **state)
{
	static const char *const bad[] = {
		"",
		"slice",
		"slice:",
		"slice:x",
		"slice:>50ms",
		"slice:x>",
		"slice:x>soon",
		"slice:x>-1ms",
		"instant:",
		"counter:x",
		"instantx:name",
		"Slice:x>50ms",
		"slice:x>50ms>",
		"x",
		"slice:x>0",
		"slice:x>1e30s",
		"slice:x>nanms",
		"slice:x<50ms",
	};
	char longest[160] = "instant:";
	struct trigger t;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(trigger_parse(bad[i], &t));
	assert_true(trigger_parse("slice:step>50ms", &t));
	assert_true(t.is_slice);
	assert_string_equal(t.name, "step");
	assert_int_equal(t.longer_ns, 50000000);
	assert_true(trigger_parse("slice:a > b>1.5s", &t));
	assert_string_equal(t.name, "a > b");
	assert_int_equal(t.longer_ns, 1500000000);
	assert_true(trigger_parse("instant:x>50ms", &t));
	assert_false(t.is_slice);
	assert_string_equal(t.name, "x>50ms");
	memset(longest + 8, 'n', 128);
	assert_true(trigger_parse(longest, &t));
	assert_int_equal(strlen(t.name), 128);
	longest[8 + 128] = 'n';
	assert_false(trigger_parse(longest, &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_fields),
		cmocka_unit_test(fields_expand),
		cmocka_unit_test(none_twice),
		cmocka_unit_test(triggers),
	};

	return cmocka_run_group_tests_name("output names, triggers", tests, NULL, NULL);
}
