/* SPDX-License-Identifier: BSD-2-Clause */
/* How the clocks of two traces stand to each other, whatever is said to be what they showed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "merge/merge.h"

#define SECOND	   1000000000ull
#define SINCE_1970 (1700000000 * SECOND)

/* Every difference of two of them, and of two such differences, is beyond one of the types somewhere. */
static const uint64_t odd[] = {
	1, SECOND, SINCE_1970, 1ull << 62, INT64_MAX, 1ull << 63, (1ull << 63) + SECOND, UINT64_MAX,
};

enum {
	ODD = sizeof(odd) / sizeof(odd[0])
};

static struct part part_of(uint64_t monotonic, uint64_t realtime, uint64_t first_ns)
{
	struct part part = { .source = { .path = "x", .fd = -1, .first_ns = first_ns } };

	strcpy(part.source.origin.version, "1");
	part.source.origin.clock.monotonic = monotonic;
	part.source.origin.clock.realtime = realtime;
	return part;
}

static void by_wall_clocks(void **state)
{
	const struct part reference = part_of(SECOND, SINCE_1970, 5);
	struct part part = part_of(3 * SECOND, SINCE_1970 + 1, 7);
	struct failure f;

	(void)state;
	assert_int_equal(align_by_clocks(&reference, &part, ALIGN_AUTO, &f), 0);
	assert_string_equal(part.how, "by the realtime clocks");
	assert_int_equal(part.offset_ns, 1 - 2 * (int64_t)SECOND);
}

static bool fits(__int128 ns)
{
	return ns >= INT64_MIN && ns <= INT64_MAX;
}

/* Either it is what it must be, or it is said that it cannot be. */
static void look_at(const struct part *reference, struct part *part)
{
	const struct clock_reading *a = &reference->source.origin.clock;
	const struct clock_reading *b = &part->source.origin.clock;
	__int128 ours = (__int128)a->realtime - a->monotonic;
	__int128 theirs = (__int128)b->realtime - b->monotonic;
	bool usable = fits(ours) && fits(theirs) && fits(theirs - ours) &&
		      fits(theirs - ours + part->source.first_ns);
	struct failure f;

	assert_int_equal(align_by_clocks(reference, part, ALIGN_REALTIME, &f),
			 usable ? 0 : -EINVAL);
	assert_int_equal(align_by_clocks(reference, part, ALIGN_AUTO, &f), 0);
	if (usable) {
		assert_string_equal(part->how, "by the realtime clocks");
		assert_true(part->offset_ns == theirs - ours);
	} else {
		assert_non_null(strstr(part->how, "realtime clocks are invalid"));
		assert_int_equal(part->offset_ns, 0);
	}
}

static void odd_wall_clocks(void **state)
{
	unsigned i, first;

	(void)state;
	for (i = 0; i < ODD * ODD * ODD * ODD; i++) {
		const struct part reference = part_of(odd[i % ODD], odd[i / ODD % ODD], 1);

		for (first = 0; first < ODD; first++) {
			struct part part = part_of(odd[i / ODD / ODD % ODD],
						   odd[i / ODD / ODD / ODD], odd[first]);

			look_at(&reference, &part);
		}
	}
}

/* No time of the merge is below zero, and none wraps around. */
static void odd_beginnings(void **state)
{
	static const int64_t offsets[] = { 0, 1, INT64_MAX - 1, INT64_MAX };
	unsigned i, k;

	(void)state;
	for (i = 0; i < ODD; i++) {
		for (k = 0; k < sizeof(offsets) / sizeof(offsets[0]); k++) {
			struct part parts[2] = { part_of(1, 1, odd[i]), part_of(1, 1, INT64_MAX) };
			uint64_t first_ns;
			int64_t shift_ns;
			struct failure f;
			__int128 at;

			parts[0].offset_ns = offsets[k];
			assert_int_equal(merge_first(parts, 2, &shift_ns, &first_ns, &f), 0);
			assert_int_equal(shift_ns, 0);
			/* The latest that there is stands for none. */
			at = (__int128)odd[i] + offsets[k];
			assert_int_equal(first_ns, at < INT64_MAX ? (uint64_t)at : 0);
		}
	}
}

/* The other clock is 500 behind; a message takes 30 at least one way, and 10 the other. */
static void by_messages(void **state)
{
	struct part part = part_of(SECOND, SINCE_1970, 1);
	struct message_limits l = { 0 };
	uint64_t at;

	(void)state;
	align_by_messages(&l, &part);
	assert_false(part.by_messages);
	for (at = 1000; at < 2000; at += 100) {
		message_limits_add(&l, at, at - 500 + 30 + at % 700, true);
		align_by_messages(&l, &part);
		assert_false(part.by_messages);
	}
	for (at = 1000; at < 2000; at += 100)
		message_limits_add(&l, at - 500, at + 10 + at % 300, false);
	align_by_messages(&l, &part);
	assert_true(part.by_messages);
	assert_int_equal(part.offset_ns, 490);
	assert_int_equal(part.pair_error_ns, 20);
	/* A wall clock that is known better, and agrees. */
	part.by_messages = false;
	part.by_realtime = true;
	part.offset_ns = 505;
	part.pair_error_ns = 6;
	align_by_messages(&l, &part);
	assert_true(part.by_realtime && part.offset_ns == 505);
	/* One that does not. */
	part.offset_ns = 511;
	align_by_messages(&l, &part);
	assert_true(part.by_messages && part.offset_ns == 490 && !part.by_realtime);
	/* One message that was received before it was sent. */
	part.by_messages = false;
	message_limits_add(&l, 1000, 400, true);
	align_by_messages(&l, &part);
	assert_false(part.by_messages);
	assert_non_null(strstr(part.how, "they contradict each other"));
}

static void odd_messages(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < ODD * ODD * ODD * ODD; i++) {
		struct part part = part_of(SECOND, SINCE_1970, 1);
		struct message_limits l = { 0 };

		message_limits_add(&l, odd[i % ODD], odd[i / ODD % ODD], true);
		message_limits_add(&l, odd[i / ODD / ODD % ODD], odd[i / ODD / ODD / ODD], false);
		align_by_messages(&l, &part);
		if (!part.by_messages)
			continue;
		assert_true(part.offset_ns >= l.least_ns && part.offset_ns <= l.most_ns);
		assert_true((__int128)l.most_ns - part.offset_ns <= part.pair_error_ns &&
			    (__int128)part.offset_ns - l.least_ns <= part.pair_error_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_wall_clocks), cmocka_unit_test(odd_wall_clocks),
		cmocka_unit_test(odd_beginnings), cmocka_unit_test(by_messages),
		cmocka_unit_test(odd_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
