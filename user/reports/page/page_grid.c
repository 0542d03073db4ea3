/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Densities in bounded memory. Neither the length of the traces nor the number of threads is known before the end, so
 * the grids begin with short parts; whenever a time lies behind the last part, or there are too many grids, each pair
 * of parts becomes one. The result does not depend on when that happened.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/page/page_internal.h"

static const size_t part_sizes[GRID_TYPES] = {
	[GRID_CELLS] = sizeof(struct page_cell),
	[GRID_STATES] = sizeof(struct page_states),
	[GRID_VALUES] = sizeof(struct page_values),
	[GRID_AMOUNTS] = sizeof(double),
};

static void cell_merge(struct page_cell *to, const struct page_cell *from)
{
	to->cover_ns += from->cover_ns;
	to->count = to->count + from->count < to->count ? UINT32_MAX : to->count + from->count;
	if (from->kind && (!to->kind || from->longest_ns > to->longest_ns)) {
		to->kind = from->kind;
		to->longest_ns = from->longest_ns;
	}
}

static void values_merge(struct page_values *to, const struct page_values *from)
{
	if (!from->count)
		return;
	if (!to->count) {
		*to = *from;
		return;
	}
	to->min = fmin(to->min, from->min);
	to->max = fmax(to->max, from->max);
	to->last = from->last;
	to->count += from->count;
}

static void grid_merge_pairs(struct page_grid *grid, uint32_t n)
{
	size_t size = part_sizes[grid->type];

	for (uint32_t i = 0; i < n; i += 2) {
		switch (grid->type) {
		case GRID_CELLS:
			cell_merge(&grid->cells[i], &grid->cells[i + 1]);
			break;
		case GRID_STATES:
			for (unsigned s = 0; s < 3; s++)
				grid->states[i].ns[s] += grid->states[i + 1].ns[s];
			break;
		case GRID_AMOUNTS:
			grid->amounts[i] += grid->amounts[i + 1];
			break;
		default:
			values_merge(&grid->values[i], &grid->values[i + 1]);
		}
		memmove((char *)grid->array + i / 2 * size, (char *)grid->array + i * size, size);
	}
	memset((char *)grid->array + n / 2 * size, 0, n / 2 * size);
}

static void scale_double(struct page_scale *scale)
{
	struct page_grid *grid;

	for (grid = scale->grids; grid; grid = grid->next)
		grid_merge_pairs(grid, scale->n);
	scale->shift++;
}

void page_scale_coarsen(struct page_scale *scale)
{
	struct page_grid *grid;

	scale_double(scale);
	scale->n /= 2;
	for (grid = scale->grids; grid; grid = grid->next) {
		/* Less memory for the same: where that fails, there simply is more. */
		void *shrunk = reallocarray(grid->array, scale->n, part_sizes[grid->type]);

		if (shrunk)
			grid->array = shrunk;
	}
}

/* Makes space for the grid and for the time. */
static int grid_reserve(struct page_scale *scale, struct page_grid *grid, enum page_grid_type type,
			uint64_t end)
{
	if (!grid->array) {
		while ((uint64_t)(scale->n_grids + 1) * scale->n > PAGE_ALL_CELLS) {
			if (scale->n == PAGE_CELLS_LEAST)
				return -ENOSPC;
			page_scale_coarsen(scale);
		}
		grid->array = calloc(scale->n, part_sizes[type]);
		if (!grid->array)
			return -ENOMEM;
		grid->type = type;
		grid->next = scale->grids;
		scale->grids = grid;
		scale->n_grids++;
	}
	while (end >> scale->shift >= scale->n)
		scale_double(scale);
	if (end > scale->end_ns)
		scale->end_ns = end;
	return 0;
}

int page_grid_slice(struct page_scale *scale, struct page_grid *grid, uint64_t begin, uint64_t end,
		    uint32_t kind)
{
	int error = grid_reserve(scale, grid, GRID_CELLS, end);
	uint64_t last;

	if (error)
		return error;
	/* A slice that ends where a part begins is not in it. */
	last = (end - (end > begin)) >> scale->shift;
	for (uint64_t i = begin >> scale->shift; i <= last; i++) {
		struct page_cell *cell = &grid->cells[i];
		uint64_t from = i << scale->shift, to = (i + 1) << scale->shift;

		cell->cover_ns += (end < to ? end : to) - (begin > from ? begin : from);
		cell->count += begin >= from && cell->count < UINT32_MAX;
		if (!cell->kind || end - begin > cell->longest_ns) {
			cell->kind = kind + 1;
			cell->longest_ns = end - begin;
		}
	}
	return 0;
}

int page_grid_state(struct page_scale *scale, struct page_grid *grid, uint64_t begin, uint64_t end,
		    unsigned state)
{
	int error = grid_reserve(scale, grid, GRID_STATES, end);

	if (error)
		return error;
	for (uint64_t i = begin >> scale->shift; i <= end >> scale->shift; i++) {
		uint64_t from = i << scale->shift, to = (i + 1) << scale->shift;

		grid->states[i].ns[state] += (end < to ? end : to) - (begin > from ? begin : from);
	}
	return 0;
}

int page_grid_value(struct page_scale *scale, struct page_grid *grid, uint64_t at, double value)
{
	int error = grid_reserve(scale, grid, GRID_VALUES, at);
	const struct page_values one = { value, value, value, 1 };

	if (!error)
		values_merge(&grid->values[at >> scale->shift], &one);
	return error;
}

int page_grid_amount(struct page_scale *scale, struct page_grid *grid, uint64_t begin, uint64_t end,
		     double amount)
{
	int error = grid_reserve(scale, grid, GRID_AMOUNTS, end);

	if (error)
		return error;
	if (begin == end)
		grid->amounts[begin >> scale->shift] += amount;
	for (uint64_t i = begin >> scale->shift; i <= end >> scale->shift && begin < end; i++) {
		uint64_t from = i << scale->shift, to = (i + 1) << scale->shift;
		uint64_t ns = (end < to ? end : to) - (begin > from ? begin : from);

		grid->amounts[i] += amount * (double)ns / (double)(end - begin);
	}
	return 0;
}

void page_grid_free(struct page_grid *grid)
{
	free(grid->array);
	grid->array = NULL;
}
