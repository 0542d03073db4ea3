// SPDX-License-Identifier: BSD-2-Clause
/* What packets of the Perfetto output leave to their sequence: times, tracks, names, counters. */
#include "perfetto_test.h"

/* Two threads by turns; one of them goes back in time once, which its sequence does not follow. */
static void times_and_tracks_are_of_the_sequence(void **state)
{
	static const uint64_t times[][2] = { { 5, 5 }, { 900, 6 }, { 7, 7 }, { 1000000, 8 } };
	struct decoded d;
	struct world w;
	struct thread other;
	Event *e;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	other = w.thread;
	other.uuid = 102;
	for (int i = 0; i < 4; i++) {
		fact(&w, FACT_BEGIN, START_NS + times[i][0], "step");
		give(&w);
		fact(&w, FACT_END, START_NS + times[i][1], NULL);
		w.fact.thread = &other;
		give(&w);
	}
	fact(&w, FACT_INSTANT, START_NS - 1, "global"); /* before all that was told of clocks */
	w.fact.process = NULL;
	w.fact.thread = NULL;
	w.fact.scope = SCOPE_GLOBAL;
	give(&w);
	finish(&w);
	decode(&w, &d);
	skip_start(&d);
	for (int i = 0; i < 4; i++) {
		e = next_event(&d, START_NS + times[i][0], 1, 101);
		assert_names(&d, e, "step", NULL);
		assert_int_equal(d.s - d.sequences, FIRST_THREAD);
		assert_int_equal(d.trace->packet[d.next - 1]->has_timestamp_clock_id, i == 2);
		next_event(&d, START_NS + times[i][1], 2, 102);
		assert_int_equal(d.s - d.sequences, FIRST_THREAD + 1);
	}
	next(&d); /* the global track */
	next_event(&d, START_NS - 1, 3, (0x1122334455667788 ^ 0x99aabbccddeeff00) | 1ull << 63);
	assert_int_equal(d.s - d.sequences, SHARED);
	assert_end(&d, 0, 1);
	done(&w, &d);
}

/* More threads than there are sequences, and again when those that came first are gone. */
static void threads_beyond_the_sequences(void **state)
{
	enum {
		THREADS = 300
	};
	unsigned shared = 0, own = 0;
	struct decoded d;
	struct world w;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < THREADS; i++) {
			struct thread thread = w.thread;

			thread.uuid = 1000 + i;
			fact(&w, FACT_INSTANT, START_NS + i + round * 1000, "x");
			w.fact.thread = &thread;
			give(&w);
		}
		for (unsigned i = 0; i < THREADS / 2; i++) {
			struct thread thread = w.thread;

			thread.uuid = 1000 + i;
			fact(&w, FACT_EXIT, START_NS + i + round * 1000, NULL);
			w.fact.thread = &thread;
			give(&w);
		}
	}
	finish(&w);
	decode(&w, &d);
	skip_start(&d);
	for (unsigned i = 0; i < 2 * THREADS; i++) {
		uint64_t ts = START_NS + i % THREADS + i / THREADS * 1000;

		assert_names(&d, next_event(&d, ts, 3, 1000 + i % THREADS), "x", NULL);
		shared += d.s == &d.sequences[SHARED];
		own += d.s != &d.sequences[SHARED];
		if (i == THREADS - 1)
			assert_true(own == 124 && shared == THREADS - 124);
	}
	assert_true(own == 2 * 124);
	assert_end(&d, 0, 1);
	done(&w, &d);
}

/* A thread that others have long outrun makes room for them. */
static void a_sequence_left_alone_is_taken(void **state)
{
	struct decoded d;
	struct world w;
	bool taken = false;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	for (unsigned i = 0; i < 20000; i++) {
		struct thread thread = w.thread;

		thread.uuid = 1000 + (i < 124 ? i : 200 + i % 2);
		fact(&w, FACT_INSTANT, START_NS + i, "x");
		w.fact.thread = &thread;
		give(&w);
	}
	finish(&w);
	decode(&w, &d);
	skip_start(&d);
	for (unsigned i = 0; i < 20000; i++) {
		next_event(&d, START_NS + i, 3, 1000 + (i < 124 ? i : 200 + i % 2));
		taken = i >= 124 && d.s != &d.sequences[SHARED];
	}
	assert_true(taken);
	assert_end(&d, 0, 1);
	done(&w, &d);
}

/* The thread of one file after the other, all of which were recorded at the same time. */
static void threads_of_the_same_time(void **state)
{
	enum {
		FILES = 300,
		EVENTS = 5,
		CLOCKS = 64, /* of one sequence */
	};
	struct decoded d;
	struct world w;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	fact(&w, FACT_CLOCK, START_NS, NULL);
	w.fact.clock = (struct clock_reading){ .monotonic = START_NS + 1000000000 };
	give(&w);
	for (unsigned i = 0; i < FILES; i++) {
		struct thread thread = w.thread;

		thread.uuid = 1000 + i;
		for (unsigned k = 0; k < EVENTS; k++) {
			fact(&w, FACT_INSTANT, START_NS - i + k * 10000000ull, "x");
			w.fact.thread = &thread;
			give(&w);
		}
		fact(&w, FACT_EXIT, START_NS + 100000000, NULL);
		w.fact.thread = &thread;
		give(&w);
	}
	finish(&w);
	decode(&w, &d);
	skip_start(&d);
	next(&d); /* the clock */
	for (unsigned i = 0; i < FILES; i++) {
		const unsigned clock = i % CLOCKS, ids = i / CLOCKS;

		for (unsigned k = 0; k < EVENTS; k++) {
			assert_names(&d,
				     next_event(&d, START_NS - i + k * 10000000ull, 3, 1000 + i),
				     "x", NULL);
			assert_false(d.trace->packet[d.next - 1]->has_timestamp_clock_id);
			assert_int_equal(d.s->clock_id, 64 + clock);
			assert_int_equal(d.s - d.sequences, ids ? 126 + ids : FIRST_THREAD);
			assert_int_equal(d.s->names.n, 1);
		}
	}
	assert_end(&d, 0, 1);
	done(&w, &d);
}

/* Whose values they are is said once, and again where one is not known. */
static void counters_of_a_thread(void **state)
{
	const struct track tracks[] = { { .kind = TRACK_COUNTER, .uuid = 500 },
					{ .kind = TRACK_COUNTER, .uuid = 501 },
					{ .kind = TRACK_COUNTER, .uuid = 502 } };
	const struct track *const list[] = { &tracks[0], &tracks[1], &tracks[2] };
	uint64_t values[] = { 7, EVENT_NO_VALUE, UINT64_MAX - 1 };
	struct decoded d;
	struct world w;
	Event *e;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	for (unsigned i = 0; i < 4; i++) {
		fact(&w, i % 2 ? FACT_END : FACT_BEGIN, START_NS + i, "step");
		w.fact.n_counters = i < 2 ? 2 : 3;
		w.fact.counter_tracks = list;
		w.fact.counters = values;
		values[1] = i == 1 ? EVENT_NO_VALUE : i;
		give(&w);
	}
	finish(&w);
	decode(&w, &d);
	skip_start(&d);
	for (unsigned i = 0; i < 4; i++) {
		unsigned n = i == 1 ? 1 : i < 2 ? 2 : 3, k;

		e = next_event(&d, START_NS + i, i % 2 ? 2 : 1, 101);
		assert_int_equal(e->n_extra_counter_values, n);
		assert_int_equal(e->n_extra_counter_track_uuids, i == 1 ? 1 : 0);
		assert_int_equal(d.s->n_counters, i < 2 ? 2 : 3);
		assert_int_equal(e->extra_counter_values[0], 7);
		assert_true(n < 2 || e->extra_counter_values[1] == i);
		assert_true(n < 3 || e->extra_counter_values[2] == -2);
		for (k = 0; k < d.s->n_counters; k++)
			assert_int_equal(d.s->counters[k], 500 + k);
		assert_true(i != 1 || e->extra_counter_track_uuids[0] == 500);
	}
	assert_end(&d, 0, 1);
	done(&w, &d);
}

static size_t bytes_of_events(const struct decoded *d)
{
	size_t bytes = 0;

	for (size_t i = 0; i < d->trace->n_packet; i++)
		if (d->trace->packet[i]->track_event)
			bytes += 2 + perfetto__protos__trace_packet__get_packed_size(
					     d->trace->packet[i]);
	return bytes;
}

/* What a slice without arguments takes, and an instant with an integer of `value` bytes beside it. */
static void bytes_of_a_slice_and_an_integer(void **state)
{
	enum {
		SLICES = 1000,
		SLICE = 15 + 11,
		INTEGER = 20
	};
	const struct {
		uint64_t number;
		unsigned bytes;
	} values[] = { { 100, 1 }, { 16000, 2 }, { 2000000, 3 } };

	(void)state;
	for (unsigned v = 0; v < 3; v++) {
		const enum fact_kind kinds[] = { FACT_BEGIN, FACT_INSTANT, FACT_END };
		struct arg arg = { .type = ARG_INT, .u = values[v].number };
		struct decoded d;
		struct world w;

		world_open(&w, SINK_PLAIN, true);
		for (size_t i = 0; i < 3 * SLICES; i++) {
			fact(&w, kinds[i % 3], START_NS + i * 10000, "step");
			w.fact.category = n(&w, "default");
			arg.key = n(&w, "value");
			w.fact.args = &arg;
			w.fact.n_args = i % 3 == 1;
			give(&w);
		}
		finish(&w);
		decode(&w, &d);
		assert_in_range(bytes_of_events(&d), 1,
				SLICES * (SLICE + INTEGER + values[v].bytes));
		done(&w, &d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_and_tracks_are_of_the_sequence),
		cmocka_unit_test(threads_beyond_the_sequences),
		cmocka_unit_test(a_sequence_left_alone_is_taken),
		cmocka_unit_test(threads_of_the_same_time),
		cmocka_unit_test(counters_of_a_thread),
		cmocka_unit_test(bytes_of_a_slice_and_an_integer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
