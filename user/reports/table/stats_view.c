/* SPDX-License-Identifier: BSD-2-Clause */
/* Which rows are printed, and in which order. */
#include "reports/table/stats_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"

static const char *name_or_empty(const struct name *name)
{
	return name ? name->text : "";
}

const char *stats_row_name(const struct stats_row *row, char buffer[STATS_DISPLAY_NAME])
{
	if (row->other)
		return "(other)";
	if (!row->key.series)
		return name_or_empty(row->key.name);
	snprintf(buffer, STATS_DISPLAY_NAME, "%.*s %.*s", STATS_DISPLAY_NAME / 2 - 2,
		 name_or_empty(row->key.name), STATS_DISPLAY_NAME / 2 - 2, row->key.series->text);
	return buffer;
}

const struct stats_owner *stats_row_owner(const struct stats *stats, const struct stats_row *row)
{
	struct stats_owner *owner = NULL;

	if (row->key.owner)
		HASH_FIND(hh, stats->owners, &row->key.owner, sizeof(row->key.owner), owner);
	return owner;
}

/* --- which ------------------------------------------------------------------------------------- */

static bool row_wanted(const struct stats_view *view, const struct stats_row *row)
{
	const struct stats_options *o = view->options;
	char buffer[STATS_DISPLAY_NAME];

	if (!o->n_domains && !o->n_names)
		return true;
	/* (other) has rows of any name, so it cannot be matched. */
	if (row->other)
		return false;
	return globs_select(o->domains, o->n_domains, name_or_empty(row->key.category), true) &&
	       globs_select(o->names, o->n_names, stats_row_name(row, buffer), false);
}

bool stats_leak_wanted(const struct stats_view *view, const struct stats_leak *leak)
{
	const struct stats_options *o = view->options;

	return globs_select(o->domains, o->n_domains, name_or_empty(leak->category), true) &&
	       globs_select(o->names, o->n_names, name_or_empty(leak->pool), false);
}

bool stats_wait_wanted(const void *context, const struct stats_wait_key *key)
{
	const struct stats_view *view = context;
	const struct stats_options *o = view->options;

	return globs_select(o->domains, o->n_domains, name_or_empty(key->category), true) &&
	       globs_select(o->names, o->n_names, name_or_empty(key->slice), false);
}

/* --- in which order ---------------------------------------------------------------------------- */

static int compare_names(const struct stats_row *a, const struct stats_row *b)
{
	char x[STATS_DISPLAY_NAME], y[STATS_DISPLAY_NAME];
	int order = strcmp(stats_row_name(a, x), stats_row_name(b, y));

	if (!order)
		order = strcmp(name_or_empty(a->key.category), name_or_empty(b->key.category));
	if (!order)
		order = !b->key.category - !a->key.category;
	if (!order && a->key.owner != b->key.owner)
		order = a->key.owner < b->key.owner ? -1 : 1;
	return order;
}

/*
 * Rows by name. Counters without a category, which the recorder samples from the machine, come
 * last: they are not what people look for in a table that is cut short.
 */
static int compare_rows_by_name(const void *left, const void *right, void *part)
{
	const struct stats_row *a = left, *b = right;

	if (*(const enum stats_part *)part == STATS_COUNTERS && a->other == b->other &&
	    !a->key.category != !b->key.category)
		return a->key.category ? -1 : 1;
	return a->other != b->other ? a->other - b->other : compare_names(a, b);
}

/* The column by which a part is sorted: the requested one if the part has it, else the default. */
static struct stats_column sort_column(const struct stats_view *view)
{
	static const enum stats_what usual[STATS_PARTS] = {
		[STATS_SLICES] = STATS_TOTAL,  [STATS_ASYNCS] = STATS_TOTAL,
		[STATS_FRAMES] = STATS_TOTAL,  [STATS_INSTANTS] = STATS_COUNT,
		[STATS_COUNTERS] = STATS_NAME, [STATS_POOLS] = STATS_PEAK,
	};

	if (view->has_sort && stats_part_has(view->part, view->sort.what))
		return view->sort;
	return (struct stats_column){ .what = usual[view->part] };
}

struct sort_key {
	long double number;
	size_t row;
};

struct sort {
	const struct stats_row *rows;
	bool ascending;
};

/* Unknown values come last in both directions; equal values stay in the order of names. */
static int compare_sort_keys(const void *left, const void *right, void *context)
{
	const struct sort_key *a = left, *b = right;
	const struct sort *sort = context;
	const struct stats_row *x = &sort->rows[a->row], *y = &sort->rows[b->row];

	if (x->other != y->other)
		return x->other - y->other;
	if (isnan(a->number) != isnan(b->number))
		return isnan(a->number) ? 1 : -1;
	if (a->number < b->number)
		return sort->ascending ? -1 : 1;
	if (a->number > b->number)
		return sort->ascending ? 1 : -1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static int sort_rows(struct stats_view *view, const struct stats_column *column)
{
	struct sort sort = { .rows = view->rows, .ascending = view->options->ascending };
	struct sort_key *keys = malloc((view->n_rows + 1) * sizeof(*keys));
	struct stats_row *sorted = malloc((view->n_rows + 1) * sizeof(*sorted));

	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < view->n_rows; i++)
		keys[i] = (struct sort_key){ stats_value(view, &view->rows[i], column).number, i };
	qsort_r(keys, view->n_rows, sizeof(*keys), compare_sort_keys, &sort);
	for (size_t i = 0; i < view->n_rows; i++)
		sorted[i] = view->rows[keys[i].row];
	free(keys);
	free(view->rows);
	view->rows = sorted;
	return 0;
}

/* --- the rows of a part ------------------------------------------------------------------------ */

static void clear_rows(struct stats_view *view)
{
	for (size_t i = 0; i < view->n_all; i++)
		stats_row_clear(&view->rows[i]);
	free(view->rows);
	view->rows = NULL;
	view->n_rows = view->n_all = 0;
}

/* Copies a row, because joining rows must not change the statistics. */
static void copy_row(struct stats_view *view, const struct stats_row *row)
{
	struct stats_row *own = &view->rows[view->n_all++];

	*own = (struct stats_row){ .key = row->key, .other = row->other };
	stats_row_merge(own, row);
}

/*
 * Joins rows with the same name. The series of a counter have a name of two parts, which some
 * formats write as one, so the same series of two traces may be two rows. The rows are sorted by
 * name here.
 */
static void join_rows(struct stats_view *view)
{
	size_t i, n = 0;

	for (i = 0; i < view->n_all; i++) {
		struct stats_row *row = &view->rows[i];

		if (n && !row->other && !view->rows[n - 1].other &&
		    !compare_names(&view->rows[n - 1], row)) {
			stats_row_merge(&view->rows[n - 1], row);
			stats_row_clear(row);
		} else if (n++ != i) {
			view->rows[n - 1] = *row;
		}
	}
	view->n_all = view->n_rows = n;
}

int stats_view_part(struct stats_view *view, enum stats_part part)
{
	const struct stats_row *row = view->stats->parts[part];
	struct stats_column column;
	int error = 0;

	clear_rows(view);
	view->part = part;
	view->rows = malloc((HASH_CNT(hh, row) + 1) * sizeof(*view->rows));
	if (!view->rows)
		return -ENOMEM;
	for (; row; row = row->hh.next) {
		if (row_wanted(view, row))
			copy_row(view, row);
	}
	if (view->stats->other[part].count && row_wanted(view, &view->stats->other[part]))
		copy_row(view, &view->stats->other[part]);
	qsort_r(view->rows, view->n_all, sizeof(*view->rows), compare_rows_by_name, &view->part);
	join_rows(view);
	column = sort_column(view);
	if (column.what != STATS_NAME)
		error = sort_rows(view, &column);
	if (view->options->max_rows && view->n_rows > view->options->max_rows)
		view->n_rows = view->options->max_rows;
	return error;
}

int stats_view_init(struct stats_view *view, const struct consumer *stats,
		    const struct stats_options *options, struct failure *f)
{
	*view = (struct stats_view){ .stats = (const struct stats *)stats, .options = options };
	view->wall_ns = stats_wall_ns(view->stats);
	return stats_columns_init(view, f);
}

void stats_view_free(struct stats_view *view)
{
	clear_rows(view);
	free(view->columns);
}
