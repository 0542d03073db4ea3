// SPDX-License-Identifier: BSD-2-Clause
/*
 * Ordinary events of the Perfetto output are written by other code than all others. Here the same events
 * are written by both, and have to be the same bytes: whatever their times, names, tracks and values are.
 */
#include "output_fixture.h"

#include "formats/perfetto/write_packet.h"

enum {
	ROUNDS = 40000, /* several buffers of a sink */
	MOST = 10,
	COUNTERS = 3,
};

/* Where the length of a number changes, and between. */
static const uint64_t numbers[] = {
	0,
	1,
	127,
	128,
	5000,
	(1 << 14) - 1,
	1 << 14,
	(1 << 21) - 1,
	1 << 21,
	(1 << 28) - 1,
	1 << 28,
	1ull << 35,
	(1ull << 56) - 1,
	1ull << 56,
	INT64_MAX,
	1ull << 63,
	UINT64_MAX,
};

enum {
	NUMBERS = sizeof(numbers) / sizeof(numbers[0])
};

static uint64_t seed;

static unsigned below(unsigned limit)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % limit;
}

/* Few of them are used often, and some are defined only when much was written. */
static const struct name *some_name(struct world *w, const char *kind)
{
	char text[32];

	snprintf(text, sizeof(text), "%s %u", kind, below(4) ? below(8) : below(300));
	return n(w, text);
}

static void make_args(struct world *w, struct arg *args, unsigned n_args)
{
	for (unsigned i = 0; i < n_args; i++) {
		args[i] = (struct arg){
			.key = below(20) ? some_name(w, "key") : NULL,
			.type = below(3) ? ARG_INT + below(3) : ARG_INT + below(ARG_NULL),
			.u = numbers[below(NUMBERS)],
		};
		if (args[i].type == ARG_STRING) {
			args[i].s = "text";
			args[i].length = 4;
		}
	}
}

/* Mostly all that the thread has, in one order; some become 0, or are not known. */
static void make_counters(struct fact *f, const struct track *const *tracks, uint64_t *values)
{
	f->n_counters = below(3) ? below(20) ? COUNTERS : 1 + below(COUNTERS) : 0;
	f->counter_tracks = tracks + !below(50);
	f->counters = values;
	for (unsigned i = 0; i < COUNTERS; i++)
		values[i] = below(4)   ? numbers[1 + below(NUMBERS - 1)]
			    : below(9) ? 0
				       : EVENT_NO_VALUE;
}

static void make_event(struct world *w, struct track *tracks, struct arg *args, uint64_t now)
{
	static const enum fact_kind kinds[] = { FACT_BEGIN, FACT_END, FACT_INSTANT, FACT_COUNTER };
	struct fact *f = &w->fact;

	fact(w, kinds[below(4)], now, NULL);
	f->name = below(50) ? some_name(w, "name") : NULL;
	f->category = below(4) ? n(w, below(8) ? "one" : "one,two") : NULL;
	f->end_reason = f->kind == FACT_END && !below(20) ? END_LOST : END_NORMAL;
	f->n_args = below(3) ? below(2) : below(MOST + 1);
	f->args = args;
	make_args(w, args, MOST);
	if (f->kind == FACT_COUNTER) {
		f->n_args += !f->n_args;
		f->continued = !below(20);
		for (unsigned i = 0; i < 2; i++)
			w->tracks[i] = &tracks[below(NUMBERS)];
		f->n_args = f->n_args > 2 ? 2 : f->n_args;
		f->tracks = w->tracks;
	}
}

static void write_in_general(struct world *w)
{
	static const enum event_type types[] = {
		[FACT_BEGIN] = TYPE_BEGIN, [FACT_END] = TYPE_END, [FACT_INSTANT] = TYPE_INSTANT
	};
	struct perfetto *p = (struct perfetto *)w->consumer;

	if (w->fact.kind == FACT_COUNTER)
		assert_int_equal(perfetto_write_samples(p, &w->fact), 0);
	else
		assert_int_equal(perfetto_write_event(p, &w->fact, types[w->fact.kind],
						      w->fact.thread->uuid),
				 0);
}

static void write_file(struct world *w, enum sink_format format, bool in_general)
{
	struct track tracks[NUMBERS];
	const struct track *counted[COUNTERS + 1];
	uint64_t now = START_NS, values[COUNTERS];
	struct arg args[MOST];

	world_open(w, format, true);
	for (unsigned i = 0; i < NUMBERS; i++)
		tracks[i] = (struct track){ .uuid = numbers[i] };
	for (unsigned i = 0; i < COUNTERS + 1; i++)
		counted[i] = &tracks[5 + i];
	seed = 1;
	for (unsigned i = 0; i < ROUNDS; i++) {
		/* Now and then it is older than the one before. */
		now += below(50) ? numbers[below(i % 100 ? 6 : 11)] : 0ull - 100;
		make_event(w, tracks, args, now);
		if (w->fact.kind != FACT_COUNTER)
			make_counters(&w->fact, counted, values);
		if (in_general)
			write_in_general(w);
		else
			give(w);
	}
	finish(w);
}

static void both_write_the_same(void **state)
{
	static const enum sink_format formats[] = { SINK_PLAIN, SINK_BUNDLES };
	struct world a, b;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		write_file(&a, formats[i], false);
		write_file(&b, formats[i], true);
		assert_int_equal(a.size, b.size);
		assert_true(a.size > 100000);
		assert_memory_equal(a.bytes, b.bytes, a.size);
		world_free(&a);
		world_free(&b);
	}
}

static void check_number(uint64_t value)
{
	uint8_t *(*const writers[])(uint8_t *, uint64_t) = { wire_varint, wire_varint_any,
							     wire_varint_long };
	uint8_t exact[16] = { 0 };
	size_t size = (size_t)(wire_varint_exact(exact, value) - exact);

	assert_int_equal(size, wire_varint_size(value));
	for (unsigned i = 0; i < 3; i++) {
		uint8_t bytes[16] = { 0 };

		assert_int_equal(writers[i](bytes, value) - bytes, size);
		assert_memory_equal(bytes, exact, size);
	}
}

/* Byte by byte, and by words at once. */
static void numbers_are_the_same_however_written(void **state)
{
	(void)state;
	seed = 2;
	for (unsigned bit = 0; bit < 64; bit++) {
		check_number((1ull << bit) - 1);
		check_number(1ull << bit);
		for (unsigned i = 0; i < 100; i++)
			check_number(((uint64_t)below(1u << 31) << 33 | below(1u << 31)) >> bit);
	}
	check_number(UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_the_same_however_written),
		cmocka_unit_test(both_write_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
