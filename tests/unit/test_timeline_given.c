/* SPDX-License-Identifier: BSD-2-Clause */
/* Slices and instants with times of their own: tracks, lanes, clocks, and times that cannot be. */
#include "timeline_test.h"
#include "timeline/given/given.h"

#define PUT_GIVEN(x, k, time, text, on, from, to, ...) \
	PUT_AT(x, k, 10, time, 0, text,                \
	       .given = { .track = nm(x, on), .begin = (from), .end = (to) }, ##__VA_ARGS__)

static void see_slice(struct test *x, const char *name, uint64_t begin_ns, uint64_t end_ns,
		      uint64_t track)
{
	const struct seen_fact *f = see(x, FACT_ASYNC_BEGIN, begin_ns, name);

	assert_int_equal(f->track, track);
	assert_int_equal(f->id, track);
	assert_int_equal(f->end_ns, end_ns);
	assert_int_equal(f->thread, 0);
	f = see(x, FACT_ASYNC_END, end_ns, name);
	assert_int_equal(f->track, track);
	assert_int_equal(f->begin_ns, begin_ns);
}

static uint64_t see_track(struct test *x, const char *name, unsigned lane, uint64_t parent)
{
	const struct seen_fact *f = next(x, FACT_TRACK);

	assert_string_equal(f->name, name);
	assert_true(f->first_track.is_given);
	assert_int_equal(f->first_track.lane, lane);
	assert_int_equal(f->first_track.parent ? f->first_track.parent->uuid : 0, parent);
	return f->track;
}

static void slices_are_on_tracks_within_tracks(void **state)
{
	struct test *x = test_started();
	const struct arg flow = { .key = nm(x, "flow"), .type = ARG_INT, .i = 77 };
	uint64_t gpu, stream, lane, other;

	(void)state;
	PUT_GIVEN(x, EVENT_SLICE_AT, 1000, "kernel", "GPU 0/stream 7", 100, 200, .n_args = 1,
		  .args = &flow);
	gpu = see_track(x, "GPU 0", 0, 0);
	stream = see_track(x, "stream 7", 0, gpu);
	assert_int_equal(x->facts.all[x->next].flow, 77);
	see_slice(x, "kernel", 100, 200, stream);
	/* Before, in between, and overlapping. */
	PUT_GIVEN(x, EVENT_SLICE_AT, 1001, "copy", "GPU 0/stream 7", 50, 99);
	see_slice(x, "copy", 50, 99, stream);
	PUT_GIVEN(x, EVENT_SLICE_AT, 1002, "copy", "GPU 0/stream 7", 150, 250);
	lane = see_track(x, "stream 7", 1, gpu);
	see_slice(x, "copy", 150, 250, lane);
	PUT_GIVEN(x, EVENT_SLICE_AT, 1003, "empty", "GPU 0/stream 7", 99, 99);
	see_slice(x, "empty", 99, 99, stream);
	/* One that ends where the next begins would have its END behind that BEGIN in the file. */
	PUT_GIVEN(x, EVENT_SLICE_AT, 1004, "touches", "GPU 0/stream 7", 99, 100);
	see_slice(x, "touches", 99, 100, lane);
	/* The track around has slices of its own, and a slice without a track has its name. */
	PUT_GIVEN(x, EVENT_SLICE_AT, 1005, "busy", "GPU 0", 100, 200);
	see_slice(x, "busy", 100, 200, gpu);
	PUT_GIVEN(x, EVENT_SLICE_AT, 1006, "GET /a/b", NULL, 100, 200);
	other = see_track(x, "GET /a/b", 0, 0);
	see_slice(x, "GET /a/b", 100, 200, other);
	PUT_GIVEN(x, EVENT_INSTANT_AT, 1007, "tick", "GPU 0", 150, 0);
	assert_int_equal(see(x, FACT_INSTANT, 150, "tick")->track, gpu);
	assert_int_equal(x->account.written, 8);
	test_done(x);
}

/* Whether the BEGIN of `a` and the END of `b` can be told apart by a viewer that sorts by time. */
static bool disjoint(const struct seen_fact *a, const struct seen_fact *b)
{
	bool a_is_first = a < b; /* in the file */

	return a->end_ns < b->ts_ns || b->end_ns < a->ts_ns ||
	       (a_is_first ? a->end_ns == b->ts_ns : b->end_ns == a->ts_ns);
}

static void no_lane_has_two_at_once(void **state)
{
	enum {
		SLICES = 3000
	};
	struct test *x = test_started();
	uint64_t seed = 42, lanes = 0;
	size_t i, k;

	(void)state;
	for (i = 0; i < SLICES; i++) {
		uint64_t begin = 1000 + 10 * i + chance(&seed, 20000);

		PUT_GIVEN(x, EVENT_SLICE_AT, 1000000, "kernel", "GPU", begin,
			  begin + chance(&seed, chance(&seed, 10) ? 40 : 4000));
	}
	assert_int_equal(x->account.written, SLICES);
	for (i = x->next; i < x->facts.n; i++) {
		const struct seen_fact *a = &x->facts.all[i];

		lanes += a->kind == FACT_TRACK;
		for (k = i + 1; k < x->facts.n && a->kind == FACT_ASYNC_BEGIN; k++) {
			const struct seen_fact *b = &x->facts.all[k];

			if (b->kind == FACT_ASYNC_BEGIN && b->track == a->track)
				assert_true(disjoint(a, b));
		}
	}
	/* As many as overlap at once, and few more. */
	assert_in_range(lanes, 10, 120);
	x->next = x->facts.n;
	test_done(x);
}

static void times_that_cannot_be_are_counted(void **state)
{
	struct test *x = test_started();

	(void)state;
	timeline_starts_at(x->timeline, 500);
	PUT_GIVEN(x, EVENT_SLICE_AT, 1000, "s", "t", 600, 700);
	see_slice(x, "s", 600, 700, see_track(x, "t", 0, 0));
	PUT_GIVEN(x, EVENT_SLICE_AT, 1000, "s", "t", 800, 799);
	PUT_GIVEN(x, EVENT_SLICE_AT, 1000, "s", "t", 800, UINT64_MAX);
	PUT_GIVEN(x, EVENT_SLICE_AT, 1000, "s", "t", 800, 3600000000000ull + 1001);
	PUT_GIVEN(x, EVENT_INSTANT_AT, 1000, "s", "t", UINT64_MAX, 0);
	assert_int_equal(x->account.lost[LOST_TIMES], 4);
	PUT_GIVEN(x, EVENT_SLICE_AT, 1000, "s", "t", 499, 800);
	assert_int_equal(x->account.lost[LOST_CUT], 1);
	PUT_GIVEN(x, EVENT_SLICE_AT, 1000, "s", "t", 800, 900, .size = GIVEN_TICKS);
	assert_int_equal(x->account.lost[LOST_CLOCK], 0);
	timeline_finish(x->timeline);
	assert_int_equal(x->account.lost[LOST_CLOCK], 1);
	test_done(x);
}

static void tracks_are_bounded(void **state)
{
	struct test *x = test_started();
	unsigned i;
	char name[32];

	(void)state;
	x->timeline->limits.tracks = 20;
	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "track %u/inner/a/b/c/d/e/f/g/h", i);
		PUT_GIVEN(x, EVENT_SLICE_AT, 1000, "s", name, 800, 900);
	}
	assert_int_equal(x->account.lost[LOST_LIMIT], 98);
	/* Overlapping slices of one track. */
	for (i = 0; i < 100; i++)
		PUT_GIVEN(x, EVENT_SLICE_AT, 1000, "s", "track 0/inner/a/b/c/d/e/f/g/h", 1, 900);
	assert_int_equal(x->account.written + x->account.lost[LOST_LIMIT], 200);
	assert_int_equal(x->timeline->n_tracks, 20);
	x->next = x->facts.n;
	PUT(x, EVENT_THREAD_EXIT, 10, 2000, NULL);
	PUT(x, EVENT_PROCESS_EXIT, 10, 2000, NULL);
	assert_int_equal(x->timeline->n_tracks, 0);
	assert_int_equal(x->timeline->n_gaps, 0);
	x->next = x->facts.n;
	test_done(x);
}

static void times_of_a_clock_are_converted(void **state)
{
	struct test *x = test_started();
	uint64_t gpu, stream;

	(void)state;
	/* 2 ticks per ns, and then 1. */
	PUT_GIVEN(x, EVENT_CLOCK_READING, 20000, "clock reading", "GPU", 1000, 10000);
	gpu = see_track(x, "GPU", 0, 0);
	PUT_GIVEN(x, EVENT_CLOCK_READING, 20000, "clock reading", "GPU", 3000, 11000);
	PUT_GIVEN(x, EVENT_CLOCK_READING, 20000, "clock reading", "GPU", 4000, 12000);
	PUT_GIVEN(x, EVENT_SLICE_AT, 20000, "s", "GPU/stream", 2000, 3500, .size = GIVEN_TICKS);
	stream = see_track(x, "stream", 0, gpu);
	see_slice(x, "s", 10500, 11500, stream);
	/* Told again, and one that contradicts the others. */
	PUT_GIVEN(x, EVENT_CLOCK_READING, 20000, "clock reading", "GPU", 3000, 11000);
	assert_int_equal(x->account.readings_refused, 0);
	PUT_GIVEN(x, EVENT_CLOCK_READING, 20000, "clock reading", "GPU", 4500, 11500);
	assert_int_equal(x->account.readings_refused, 1);
	PUT_GIVEN(x, EVENT_INSTANT_AT, 20000, "i", "GPU", 3500, 0, .size = GIVEN_TICKS);
	see(x, FACT_INSTANT, 11500, "i");
	/* Another program has another clock. */
	PUT(x, EVENT_EXEC, 10, 21000, "main");
	PUT_GIVEN(x, EVENT_SLICE_AT, 22000, "s", "GPU/stream", 2000, 3500, .size = GIVEN_TICKS);
	PUT(x, EVENT_PROCESS_EXIT, 10, 23000, NULL);
	assert_int_equal(x->account.lost[LOST_CLOCK], 1);
	x->next = x->facts.n;
	test_done(x);
}

static void marks_wait_for_the_readings_of_their_clock(void **state)
{
	struct test *x = test_started();
	const struct arg arg = { .key = nm(x, "a"), .type = ARG_INT, .i = -5 };
	uint64_t gpu, stream, other;
	unsigned i;

	(void)state;
	PUT_GIVEN(x, EVENT_SLICE_AT, 19000, "first", "GPU/stream", 2000, 2500, .size = GIVEN_TICKS,
		  .n_args = 1, .args = &arg);
	gpu = see_track(x, "GPU", 0, 0);
	stream = see_track(x, "stream", 0, gpu);
	PUT_GIVEN(x, EVENT_INSTANT_AT, 19000, "i", "other", 7, 0, .size = GIVEN_TICKS);
	other = see_track(x, "other", 0, 0);
	PUT_GIVEN(x, EVENT_CLOCK_READING, 20000, "clock reading", "GPU", 1000, 10000);
	PUT_GIVEN(x, EVENT_CLOCK_READING, 20000, "clock reading", "GPU", 3000, 11000);
	assert_int_equal(x->account.written, 2);
	/* Those before come first. */
	PUT_GIVEN(x, EVENT_SLICE_AT, 20000, "s", "GPU/stream", 2600, 3000, .size = GIVEN_TICKS);
	assert_int_equal(x->facts.all[x->next].args[0].i, -5);
	see_slice(x, "first", 10500, 10750, stream);
	see_slice(x, "s", 10800, 11000, stream);
	assert_int_equal(x->account.written, 4);
	/* Another clock of the process. */
	PUT_GIVEN(x, EVENT_CLOCK_READING, 20000, "clock reading", "other", 7, 10000);
	PUT_GIVEN(x, EVENT_INSTANT_AT, 20000, "j", "other", 8, 0, .size = GIVEN_TICKS);
	assert_int_equal(see(x, FACT_INSTANT, 10000, "i")->track, other);
	see(x, FACT_INSTANT, 10001, "j");
	assert_int_equal(x->account.lost[LOST_CLOCK], 0);
	/* No more of them than have space. */
	for (i = 0; i < 5000; i++)
		PUT_GIVEN(x, EVENT_INSTANT_AT, 30000, "k", "none", i, 0, .size = GIVEN_TICKS);
	assert_true(x->account.lost[LOST_CLOCK] > 3000);
	timeline_finish(x->timeline);
	assert_int_equal(x->account.lost[LOST_CLOCK], 5000);
	assert_int_equal(x->timeline->n_held, 0);
	x->next = x->facts.n;
	test_done(x);
}

static void clocks_drift(void **state)
{
	struct track_clock c = { 0 };
	uint64_t i;

	(void)state;
	/* A tick is 40 ns; the rate is 50 ppm off; readings are 100 ns wrong, in turn early and late. */
	for (i = 0; i < 200; i++) {
		uint64_t ns = 5000000000 + i * 50000000;

		assert_true(clock_add_reading(
			&c, (uint64_t)((double)(ns - 5000000000) * 1.00005 / 40) + 7,
			ns + (i % 2 ? 100 : 0)));
	}
	assert_int_equal(c.n, CLOCK_READINGS);
	for (i = 0; i < 1000; i++) {
		/* Within the readings that are kept, and half a second beyond. */
		uint64_t ns = 5000000000 + 7000000000 + i * 3500000;
		uint64_t got =
			clock_to_ns(&c, (uint64_t)((double)(ns - 5000000000) * 1.00005 / 40) + 7);

		assert_in_range(got, ns - 300, ns + 300);
	}
	/* Set anew: what was known is forgotten. */
	assert_true(clock_add_reading(&c, 5, 16000000000));
	assert_int_equal(c.n, 1);
	assert_int_equal(clock_to_ns(&c, 105), 16000000100);
	assert_int_equal(clock_to_ns(&c, 0), 15999999995);
	/* The same moment has one reading. */
	assert_false(clock_add_reading(&c, 6, 16000000000));
	assert_true(clock_add_reading(&c, 5, 16000000000));
	/* Absurd rates end at the limits of the numbers. */
	assert_true(clock_add_reading(&c, 6, 160000000000));
	assert_int_equal(clock_to_ns(&c, UINT64_MAX), UINT64_MAX);
	assert_int_equal(clock_to_ns(&c, 0), 0);
}

static void later_files_know_the_tracks(void **state)
{
	struct test *x = test_started();
	struct facts late;
	size_t i;
	unsigned tracks = 0;

	(void)state;
	PUT_GIVEN(x, EVENT_SLICE_AT, 1000, "s", "a/b", 100, 200);
	PUT_GIVEN(x, EVENT_SLICE_AT, 1000, "s", "a/b", 100, 200);
	facts_init(&late, BASE);
	late.midway = true;
	timeline_replay(x->timeline, &late.consumer);
	assert_int_equal(timeline_add_consumer(x->timeline, &late.consumer), 0);
	for (i = 0; i < late.n; i++)
		tracks += late.all[i].kind == FACT_TRACK;
	assert_int_equal(tracks, 3);
	PUT_GIVEN(x, EVENT_SLICE_AT, 1000, "s", "a/b", 150, 160);
	x->next = x->facts.n;
	test_done(x);
	facts_free(&late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_are_on_tracks_within_tracks),
		cmocka_unit_test(no_lane_has_two_at_once),
		cmocka_unit_test(times_that_cannot_be_are_counted),
		cmocka_unit_test(tracks_are_bounded),
		cmocka_unit_test(times_of_a_clock_are_converted),
		cmocka_unit_test(marks_wait_for_the_readings_of_their_clock),
		cmocka_unit_test(clocks_drift),
		cmocka_unit_test(later_files_know_the_tracks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
