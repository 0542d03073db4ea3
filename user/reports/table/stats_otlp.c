/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The statistics as metrics of OTLP: the same metrics, labels and buckets as stats_openmetrics.c has, which a collector that
 * passes them on to Prometheus gives the same names.
 */
#include "reports/table/stats_print.h"
#include "reports/table/stats_view.h"

enum {
	BOUNDS = STATS_LAST_BUCKET - STATS_LEAST_BUCKET + 1,
};

static void add_label(void *context, const char *key, const char *value)
{
	otlp_point_label(context, key, value);
}

static void give_histogram(const struct stats_row *row, struct otlp_metrics *m)
{
	double bounds[BOUNDS];
	uint64_t counts[BOUNDS + 1], below = 0;
	unsigned i;

	for (i = 0; i < BOUNDS; i++) {
		unsigned power = STATS_LEAST_BUCKET + i;

		counts[i] = stats_count_below(&row->histogram, power) - below;
		below += counts[i];
		bounds[i] = (double)((1ull << power) - 1) / 1e9;
	}
	counts[BOUNDS] = row->count - below;
	otlp_point_histogram(m, row->count, (double)row->sum_ns / 1e9, bounds, counts, BOUNDS);
}

static void give_value(const struct stats_row *row, struct otlp_metrics *m)
{
	switch (row->last.type) {
	case ARG_DOUBLE:
		otlp_point_double(m, row->last.d);
		break;
	case ARG_UINT:
		if (row->last.u > INT64_MAX) {
			otlp_point_double(m, (double)row->last.u);
			break;
		}
		/* fallthrough */
	default:
		otlp_point_integer(m, row->last.i);
	}
}

static void give_part(const struct stats_view *view, struct otlp_metrics *m)
{
	static const struct {
		enum otlp_metric_kind kind;
		const char *name, *unit, *description;
	} metrics[STATS_PARTS] = {
		[STATS_SLICES] = { OTLP_HISTOGRAM, "proftrace.slice.duration", "s",
				   "Durations of slices of threads." },
		[STATS_ASYNCS] = { OTLP_HISTOGRAM, "proftrace.async.duration", "s",
				   "Durations of asynchronous slices." },
		[STATS_FRAMES] = { OTLP_HISTOGRAM, "proftrace.frame.duration", "s",
				   "Durations of frames." },
		[STATS_INSTANTS] = { OTLP_SUM, "proftrace.instants", "", "Instants." },
		[STATS_COUNTERS] = { OTLP_GAUGE, "proftrace.value", "",
				     "The latest values of the program's counters." },
		[STATS_POOLS] = { OTLP_GAUGE, "proftrace.pool.live", "By",
				  "Allocated memory of pools." },
	};
	size_t i;

	otlp_metric(m, metrics[view->part].kind, metrics[view->part].name, metrics[view->part].unit,
		    metrics[view->part].description);
	for (i = 0; i < view->n_rows; i++) {
		stats_row_labels(view, &view->rows[i], add_label, m);
		if (view->part == STATS_INSTANTS)
			otlp_point_integer(m, (int64_t)view->rows[i].count);
		else if (view->part == STATS_COUNTERS)
			give_value(&view->rows[i], m);
		else if (view->part == STATS_POOLS)
			otlp_point_integer(m, view->rows[i].live);
		else
			give_histogram(&view->rows[i], m);
	}
	if (view->part != STATS_SLICES)
		return;
	otlp_metric(m, OTLP_SUM, "proftrace.slice.self", "s",
		    "Time of slices without the slices inside.");
	for (i = 0; i < view->n_rows; i++) {
		stats_row_labels(view, &view->rows[i], add_label, m);
		otlp_point_double(m, (double)view->rows[i].self_ns / 1e9);
	}
}

int stats_give_otlp(const struct consumer *stats, const struct stats_options *options,
		    const struct account *account, struct otlp_metrics *m, struct failure *f)
{
	struct stats_view view = { 0 };
	int error = stats_view_init(&view, stats, options, f);
	unsigned i;

	for (i = 0; i < STATS_PARTS && !error; i++) {
		error = stats_view_part(&view, (enum stats_part)i);
		if (!error && view.n_rows)
			give_part(&view, m);
	}
	stats_view_free(&view);
	otlp_metric(m, OTLP_GAUGE, "proftrace.account", "",
		    "What became of all marks, and what went wrong.");
	for (i = 0; i < account_numbers(); i++) {
		otlp_point_label(m, "number", account_number_name(i));
		otlp_point_integer(m, (int64_t)account_number(account, i));
	}
	return error;
}
