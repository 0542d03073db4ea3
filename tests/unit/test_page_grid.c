/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The densities of the page: whenever grids become coarser, what they say is what adding everything up directly
 * says.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/page/page_internal.h"

enum {
	SLICES = 3000,
	KINDS = 7,
};

struct slice {
	uint64_t begin, end;
	uint32_t kind;
};

static uint64_t random_state = 20;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Slices one after the other, of durations and distances of all magnitudes. */
static void make_slices(struct slice *slices)
{
	uint64_t at = next_random() % 1000;
	unsigned i;

	for (i = 0; i < SLICES; i++) {
		slices[i].begin = at;
		slices[i].end =
			at + (next_random() % 5 ? next_random() % (1ull << next_random() % 20) : 0);
		slices[i].kind = (uint32_t)(next_random() % KINDS);
		at = slices[i].end + next_random() % (1ull << next_random() % 18);
	}
}

/* The part [from, to) of the time, from the slices themselves. */
static void check_cell(const struct page_cell *cell, const struct slice *slices, uint64_t from,
		       uint64_t to)
{
	uint64_t cover = 0, longest = 0;
	bool is_kind = false, is_empty = true;
	uint32_t count = 0;
	unsigned i;

	for (i = 0; i < SLICES; i++) {
		const struct slice *s = &slices[i];
		bool begins = s->begin >= from && s->begin < to;

		if (s->begin >= to || (s->end <= from && !begins))
			continue;
		is_empty = false;
		cover += (s->end < to ? s->end : to) - (s->begin > from ? s->begin : from);
		count += begins;
		if (s->end - s->begin > longest)
			longest = s->end - s->begin;
	}
	for (i = 0; i < SLICES; i++) {
		const struct slice *s = &slices[i];

		is_kind |= s->end - s->begin == longest && s->begin < to &&
			   (s->end > from || s->begin >= from) && s->kind + 1 == cell->kind;
	}
	assert_int_equal(cell->cover_ns, cover);
	assert_int_equal(cell->count, count);
	assert_int_equal(cell->longest_ns, longest);
	assert_true(is_empty ? !cell->kind : is_kind);
}

static void check_grid(const struct page_scale *scale, const struct page_grid *grid,
		       const struct slice *slices)
{
	uint64_t part = 1ull << scale->shift, i;

	for (i = 0; i < scale->n; i++)
		check_cell(&grid->cells[i], slices, i * part, (i + 1) * part);
}

static void test_slices(void **state)
{
	static struct slice slices[SLICES];
	struct page_scale scale = { .n = PAGE_CELLS };
	struct page_grid grid = { 0 };
	unsigned i;

	(void)state;
	make_slices(slices);
	/* They come when they end, so the grid doubles its parts again and again. */
	for (i = 0; i < SLICES; i++)
		assert_int_equal(page_grid_slice(&scale, &grid, slices[i].begin, slices[i].end,
						 slices[i].kind),
				 0);
	assert_true(scale.shift > 3);
	assert_int_equal(scale.end_ns, slices[SLICES - 1].end);
	for (; scale.n > PAGE_CELLS_LEAST; page_scale_coarsen(&scale))
		check_grid(&scale, &grid, slices);
	page_grid_free(&grid);
}

static void test_states_add_up(void **state)
{
	struct page_scale scale = { .n = PAGE_CELLS };
	struct page_grid grid = { 0 };
	uint64_t expected[3] = { 0 }, sums[3] = { 0 }, at = 0;
	uint32_t i, s;

	(void)state;
	for (i = 0; i < 5000; i++) {
		uint64_t length = next_random() % (1ull << next_random() % 22);

		s = (uint32_t)(next_random() % 3);
		assert_int_equal(page_grid_state(&scale, &grid, at, at + length, s), 0);
		expected[s] += length;
		at += length;
	}
	for (i = 0; i < scale.n; i++) {
		uint64_t whole = 0;

		for (s = 0; s < 3; s++) {
			sums[s] += grid.states[i].ns[s];
			whole += grid.states[i].ns[s];
		}
		assert_true(whole <= 1ull << scale.shift);
	}
	for (s = 0; s < 3; s++)
		assert_int_equal(sums[s], expected[s]);
	page_grid_free(&grid);
}

static void test_values(void **state)
{
	struct page_scale scale = { .n = PAGE_CELLS };
	struct page_grid grid = { 0 };
	double least = 1e9, most = -1e9, value = 0;
	uint32_t i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		value = (double)(next_random() % 1000) - 500;
		least = value < least ? value : least;
		most = value > most ? value : most;
		assert_int_equal(page_grid_value(&scale, &grid, (uint64_t)i * i, value), 0);
	}
	while (scale.end_ns >> scale.shift) /* until one part has everything */
		page_scale_coarsen(&scale);
	assert_int_equal(grid.values[0].count, 20000);
	assert_true(grid.values[0].min == least && grid.values[0].max == most &&
		    grid.values[0].last == value);
	page_grid_free(&grid);
}

/* However many grids there are, their memory is bounded; what does not fit is said. */
static void test_limits(void **state)
{
	enum {
		GRIDS = PAGE_ALL_CELLS / PAGE_CELLS_LEAST
	};
	struct page_scale scale = { .n = PAGE_CELLS };
	struct page_grid *grids = calloc(GRIDS + 1, sizeof(*grids));
	uint32_t i;

	(void)state;
	assert_non_null(grids);
	for (i = 0; i < GRIDS; i++)
		assert_int_equal(page_grid_slice(&scale, &grids[i], i, i + 10, 0), 0);
	assert_int_equal(scale.n, PAGE_CELLS_LEAST);
	assert_int_equal(page_grid_slice(&scale, &grids[GRIDS], 0, 1, 0), -ENOSPC);
	assert_int_equal(page_grid_slice(&scale, &grids[0], PAGE_TIME_MAX - 2, PAGE_TIME_MAX, 0),
			 0);
	assert_int_equal(scale.end_ns, PAGE_TIME_MAX);
	assert_int_equal(grids[0].cells[(PAGE_TIME_MAX - 1) >> scale.shift].longest_ns, 2);
	for (i = 0; i < GRIDS; i++)
		page_grid_free(&grids[i]);
	free(grids);
}

/* No text can end the element of the page that it is in. */
static void test_stream(void **state)
{
	struct page_stream stream = { 0 };

	(void)state;
	assert_int_equal(page_stream_open(&stream), 0);
	put_json_string(stream.out, "", "</script><!-- \"x\"");
	assert_int_equal(page_stream_close(&stream), 0);
	assert_int_equal(stream.size, strlen("\"\\u003c/script>\\u003c!-- \\\"x\\\"\""));
	assert_null(memchr(stream.bytes, '<', stream.size));
	page_stream_free(&stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices), cmocka_unit_test(test_states_add_up),
		cmocka_unit_test(test_values), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
