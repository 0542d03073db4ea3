/* SPDX-License-Identifier: BSD-2-Clause */
/* Which step of an epoch is in which phase, and how people say it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/record.h"

/* A letter for each step: - wait, w warm up, a active, s active and save; upper case: does not wait on. */
static void phases(const char *text, char *ret, unsigned n)
{
	struct schedule s;
	unsigned i;

	assert_true(schedule_parse(text, &s));
	for (i = 0; i < n; i++) {
		struct schedule_place place = schedule_at(&s, i);

		ret[i] = "-was"[place.phase];
		if (place.phase == PHASE_WAIT && !schedule_waits_on(&s, i))
			ret[i] = '!';
	}
	ret[n] = '\0';
}

static void check(const char *text, const char *wanted)
{
	char got[64];
	unsigned n = 0;

	while (wanted[n])
		n++;
	phases(text, got, n);
	assert_string_equal(got, wanted);
}

static void test_phases(void **state)
{
	(void)state;
	check("skip_first=1,wait=1,warmup=1,active=2,repeat=2", "-!was!was---");
	check("active=4", "waaas!!!!!!!");
	check("warmup=0,active=1,repeat=0", "ssssssssss");
	check("wait=3,warmup=0,active=2,repeat=0", "--!as--!as--!as");
	check("repeat=3,active=1,wait=2", "-!ws-!ws-!ws-----");
	check("skip_first=3,active=1", "--!ws-----");
	check("skip_first=1000000,wait=1000000,warmup=1000000,active=1000000,repeat=0", "-----");
}

static void test_cycles(void **state)
{
	struct schedule s;

	(void)state;
	assert_true(schedule_parse("skip_first=2,wait=1,warmup=0,active=2,repeat=0", &s));
	assert_int_equal(schedule_at(&s, 1).cycle, 0);
	assert_int_equal(schedule_at(&s, 4).cycle, 0);
	assert_int_equal(schedule_at(&s, 5).cycle, 1);
	assert_int_equal(schedule_at(&s, 2 + 3 * 1000).cycle, 1000);
	/* A program may make more steps than it has numbers for cycles. */
	assert_int_equal(schedule_at(&s, UINT64_MAX).phase, schedule_at(&s, UINT64_MAX - 3).phase);
}

static void test_words(void **state)
{
	static const char *const wrong[] = {
		"",
		"active",
		"active=",
		"active=x",
		"active=0",
		"active=-1",
		"active=1,",
		",active=1",
		"active=1,,wait=1",
		"active=1 ",
		"wait=1,wait=1",
		"rest=1",
		"active=1000000001",
		"active=99999999999999999999",
		"active=1;wait=1",
	};
	struct schedule s = { 0 };
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (schedule_parse(wrong[i], &s))
			fail_msg("'%s' is taken", wrong[i]);
	assert_int_equal(s.active, 0);
	assert_true(schedule_parse("wait=7", &s));
	assert_int_equal(s.skip_first, 0);
	assert_int_equal(s.wait, 7);
	assert_int_equal(s.warmup, 1);
	assert_int_equal(s.active, 4);
	assert_int_equal(s.repeat, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
