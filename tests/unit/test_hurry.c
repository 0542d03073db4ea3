/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder's priority: raised while threads are held and a while after, and not for more CPU time than allowed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "capture/internal.h"
#include "privilege/privileges.h"

#define MS 1000000ull

static uint64_t test_now_ns, test_cpu_ns;
static bool is_real_time;
static int refusal;

static uint64_t test_now(void)
{
	return test_now_ns;
}

static uint64_t test_cpu(void)
{
	return test_cpu_ns;
}

static int test_use_priority(bool real_time)
{
	if (!refusal)
		is_real_time = real_time;
	return refusal;
}

#define monotonic_now()			test_now()
#define clock_ns(clock)			test_cpu()
#define privileges_use_priority(wanted) test_use_priority(wanted)
#define hurry_update			test_hurry_update
void test_hurry_update(struct capture *c, bool is_held);
#include "capture/hurry.c"

static int begin(void **state)
{
	test_now_ns = 1000000 * MS;
	test_cpu_ns = 0;
	is_real_time = false;
	refusal = 0;
	*state = calloc(1, sizeof(struct capture));
	return *state ? 0 : -1;
}

static int end(void **state)
{
	free(*state);
	return 0;
}

static void test_while_held(void **state)
{
	struct capture *c = *state;

	hurry_update(c, false);
	assert_false(is_real_time);
	hurry_update(c, true);
	assert_true(is_real_time);
	test_now_ns += HURRY_AFTER_NS - 1;
	hurry_update(c, false);
	assert_true(is_real_time);
	test_now_ns += 1;
	hurry_update(c, false);
	assert_false(is_real_time);
}

/* Of ten seconds with held threads all the time, and a recorder that uses all of a CPU. */
static void test_not_for_ever(void **state)
{
	struct capture *c = *state;
	uint64_t real_time_ms = 0;
	int ms;

	for (ms = 0; ms < 10000; ms++) {
		hurry_update(c, true);
		real_time_ms += is_real_time;
		test_now_ns += MS;
		test_cpu_ns += MS;
	}
	assert_in_range(real_time_ms, 4000, 5000);
	/* What was used up comes back. */
	test_now_ns += 10000 * MS;
	hurry_update(c, true);
	assert_true(is_real_time);
}

static void test_not_permitted(void **state)
{
	struct capture *c = *state;

	refusal = -1;
	hurry_update(c, true);
	assert_false(c->scans.hurry.is_on);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_while_held, begin, end),
		cmocka_unit_test_setup_teardown(test_not_for_ever, begin, end),
		cmocka_unit_test_setup_teardown(test_not_permitted, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
