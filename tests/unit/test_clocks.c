/* SPDX-License-Identifier: BSD-2-Clause */
/* The differences between clocks (capture/clocks.c), with given samples and on this machine. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <time.h>

#include "capture/clocks.h"
#include "base/clock.h"

#define SECOND 1000000000ull

static void test_nothing_known(void **state)
{
	struct clocks k = { 0 };

	(void)state;
	assert_int_equal(clocks_ahead(&k, 5 * SECOND), 0);
	clocks_add(&k, 5 * SECOND, 900 * SECOND);
	assert_int_equal(clocks_ahead(&k, 5 * SECOND), 0);
	assert_int_equal(clocks_ahead(&k, 6 * SECOND), 0);
}

/* 50 us a second from the first pair of looks on, also for marks from before and after the last. */
static void test_steady(void **state)
{
	struct clocks k = { 0 };
	uint64_t t;

	(void)state;
	for (t = 100 * SECOND; t <= 110 * SECOND; t += SECOND / 4)
		clocks_add(&k, t, 7 * SECOND + t + (t - 100 * SECOND) / 20000);
	assert_int_equal(clocks_ahead(&k, 100 * SECOND), 0);
	assert_int_equal(clocks_ahead(&k, 104 * SECOND), 200000);
	assert_int_equal(clocks_ahead(&k, 110 * SECOND), 500000);
	assert_int_equal(clocks_ahead(&k, 111 * SECOND), 550000);
	assert_int_equal(clocks_ahead(&k, 110 * SECOND + 20000), 500001);
}

static void test_other_way_and_changes(void **state)
{
	struct clocks k = { 0 };

	(void)state;
	clocks_add(&k, 10 * SECOND, 4 * SECOND);
	clocks_add(&k, 11 * SECOND, 5 * SECOND - 30000);
	assert_int_equal(clocks_ahead(&k, 11 * SECOND), -30000);
	assert_int_equal(clocks_ahead(&k, 12 * SECOND), -60000);
	/* Where lines meet, nothing jumps. */
	clocks_add(&k, 12 * SECOND, 6 * SECOND - 20000);
	assert_int_equal(clocks_ahead(&k, 11 * SECOND), -30000);
	assert_int_equal(clocks_ahead(&k, 12 * SECOND), -20000);
	assert_int_equal(clocks_ahead(&k, 13 * SECOND), -10000);
}

/* What cannot be is no rate: a machine that slept between the reading of the two, a clock that stood. */
static void test_nonsense(void **state)
{
	struct clocks k = { 0 };

	(void)state;
	clocks_add(&k, 10 * SECOND, 10 * SECOND);
	clocks_add(&k, 11 * SECOND, 31 * SECOND);
	assert_int_equal(clocks_ahead(&k, 12 * SECOND), 20 * SECOND);
	clocks_add(&k, 11 * SECOND, 90 * SECOND);
	clocks_add(&k, 9 * SECOND, 90 * SECOND);
	assert_int_equal(clocks_ahead(&k, 12 * SECOND), 20 * SECOND);
}

static void test_this_machine(void **state)
{
	const struct timespec pause = { 0, 110000000 };
	struct clocks k = { 0 };
	uint64_t first;

	(void)state;
	clocks_sample(&k);
	assert_true(k.since);
	first = k.at;
	clocks_sample(&k);
	assert_int_equal(k.at, first); /* too soon to tell */
	nanosleep(&pause, NULL);
	clocks_sample(&k);
	assert_true(k.at > first);
	assert_true(llabs(clocks_ahead(&k, k.at)) < 1000000);
}

/* Readings come with the time that they take; the clocks stay as far apart as they were. */
static void test_moments(void **state)
{
	struct clock_reading moment = { 0 };
	struct clock_reading read = { 100 * SECOND, 107 * SECOND + 40, 5000 * SECOND + 80 };

	(void)state;
	clocks_adjust(&moment, &read, 120);
	assert_memory_equal(&moment, &read, sizeof(read));
	read = (struct clock_reading){ 110 * SECOND, 117 * SECOND + 180, 5010 * SECOND };
	clocks_adjust(&moment, &read, 300);
	assert_int_equal(moment.monotonic, 110 * SECOND);
	assert_int_equal(moment.boottime, 117 * SECOND + 40);
	assert_int_equal(moment.realtime, 5010 * SECOND + 80);
	/* As wrong as it took long. */
	read = (struct clock_reading){ 120 * SECOND, 127 * SECOND + 4000000, 5020 * SECOND + 90 };
	clocks_adjust(&moment, &read, 4000000);
	assert_int_equal(moment.boottime, 127 * SECOND + 40);
	/* The machine slept, and the wall clock was set back a little. */
	read = (struct clock_reading){ 130 * SECOND, 140 * SECOND, 5030 * SECOND - 2000 };
	clocks_adjust(&moment, &read, 100);
	assert_memory_equal(&moment, &read, sizeof(read));
}

static void test_moments_of_this_machine(void **state)
{
	struct clock_reading moment = { 0 }, first;
	uint64_t before = clock_ns(CLOCK_MONOTONIC);

	(void)state;
	clocks_snapshot(&moment);
	assert_true(moment.monotonic >= before && moment.monotonic <= clock_ns(CLOCK_MONOTONIC));
	assert_true(moment.boottime >= moment.monotonic);
	first = moment;
	clocks_snapshot(&moment);
	assert_true(moment.monotonic >= first.monotonic);
}

/* What the kernel says of a time namespace. */
static void test_offsets(void **state)
{
	static const char text[] =
		"monotonic         -10         5\nboottime       86400         0\n";

	(void)state;
	assert_int_equal(clock_offset(text, CLOCK_MONOTONIC), -10 * (int64_t)SECOND + 5);
	assert_int_equal(clock_offset(text, CLOCK_BOOTTIME), 86400 * (int64_t)SECOND);
	assert_int_equal(clock_offset(text, CLOCK_REALTIME), 0);
	assert_int_equal(clock_offset("", CLOCK_MONOTONIC), 0);
	assert_int_equal(clock_offset("monotonic", CLOCK_MONOTONIC), 0);
	assert_int_equal(clock_offset("monotonic 9223372036854775807 0", CLOCK_MONOTONIC), 0);
	assert_int_equal(clock_offset("monotonic 1 1000000000", CLOCK_MONOTONIC), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offsets),	 cmocka_unit_test(test_nothing_known),
		cmocka_unit_test(test_steady),	 cmocka_unit_test(test_other_way_and_changes),
		cmocka_unit_test(test_nonsense), cmocka_unit_test(test_this_machine),
		cmocka_unit_test(test_moments),	 cmocka_unit_test(test_moments_of_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
