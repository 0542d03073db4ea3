/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings of one machine, one after the other: each switch once, and none is missing in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "merge/merge.h"

static bool takes(struct merge_sched *s, unsigned recording, unsigned cpu, uint64_t ts_ns,
		  uint32_t from, uint32_t to)
{
	const struct event e = { .kind = EVENT_SWITCH,
				 .ts_ns = ts_ns,
				 .tid = from,
				 .sched = { .cpu = (uint16_t)cpu, .tid = to } };

	return merge_sched_accept(s, recording, &e);
}

static bool takes_gap(struct merge_sched *s, unsigned recording, uint64_t ts_ns)
{
	const struct event e = { .kind = EVENT_SCHED_GAP,
				 .ts_ns = ts_ns,
				 .sched = { .cpu = SCHED_EVERY_CPU } };

	return merge_sched_accept(s, recording, &e);
}

/* The second one has other times for the same switches. */
static void test_seam(void **state)
{
	struct merge_sched *s = merge_sched_new();

	(void)state;
	assert_non_null(s);
	assert_true(takes(s, 3, 0, 1000, 1, 2));
	assert_true(takes(s, 3, 1, 1500, 7, 8));
	assert_true(takes(s, 3, 0, 2000, 2, 1));
	assert_false(takes(s, 5, 0, 1200, 1, 2));
	assert_false(takes(s, 5, 1, 1400, 7, 8));
	assert_false(takes_gap(s, 5, 1800));
	assert_false(takes(s, 5, 0, 2300, 2, 1)); /* the last one, once more */
	assert_true(takes(s, 5, 0, 2400, 1, 2));
	assert_true(takes(s, 5, 0, 2450, 2, 1)); /* not that one */
	assert_true(takes(s, 5, 1, 1700, 8, 7));
	assert_true(takes_gap(s, 5, 2500));
	/* A CPU that nobody told of. */
	assert_true(takes(s, 5, 2, 1100, 0, 9));
	/* And a third, which ends before the second. */
	assert_false(takes(s, 0, 0, 2200, 2, 1));
	assert_false(takes(s, 0, 2, 1050, 0, 9));
	free(s);
}

/* The same two threads in turn, so seldom that it is another switch. */
static void test_seldom(void **state)
{
	struct merge_sched *s = merge_sched_new();

	(void)state;
	assert_non_null(s);
	assert_true(takes(s, 0, 0, 1000, 1, 2));
	assert_true(takes(s, 1, 0, 5000000, 1, 2));
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seam),
		cmocka_unit_test(test_seldom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
