/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives metrics to a collector of OpenTelemetry. One that passes them on to Prometheus gives them the names that
 * stats_openmetrics.c gives them.
 */
#include "reports/table/stats_metrics.h"
#include "reports/table/stats_print.h"

static void give_metric(void *context, const struct metric *metric)
{
	static const enum otlp_metric_kind kinds[] = {
		[METRIC_GAUGE] = OTLP_GAUGE,
		[METRIC_COUNTER] = OTLP_SUM,
		[METRIC_HISTOGRAM] = OTLP_HISTOGRAM,
	};

	otlp_metric(context, kinds[metric->kind], metric->name, metric->unit, metric->help);
}

static void give_label(void *context, const char *key, const char *value)
{
	otlp_point_label(context, key, value);
}

static void give_number(void *context, const struct arg *value)
{
	if (value->type == ARG_DOUBLE)
		otlp_point_double(context, value->d);
	else if (value->type == ARG_UINT && value->u > INT64_MAX)
		otlp_point_double(context, (double)value->u);
	else
		otlp_point_integer(context, value->i);
}

static void give_seconds(void *context, uint64_t ns)
{
	otlp_point_double(context, (double)ns / 1e9);
}

static void give_times(void *context, const struct metric_times *times)
{
	double bounds[METRIC_BUCKETS];
	uint64_t counts[METRIC_BUCKETS + 1], below = 0;

	for (unsigned i = 0; i < METRIC_BUCKETS; i++) {
		unsigned power = METRIC_LEAST_BUCKET + i;

		counts[i] = metric_count_below(times->histogram, power) - below;
		below += counts[i];
		bounds[i] = (double)((1ull << power) - 1) / 1e9;
	}
	counts[METRIC_BUCKETS] = times->count - below;
	otlp_point_histogram(context, times->count, (double)times->sum_ns / 1e9, bounds, counts,
			     METRIC_BUCKETS);
}

int stats_give_otlp(const struct consumer *stats, const struct stats_options *options,
		    const struct account *account, metrics_more *more, const void *of,
		    struct otlp_metrics *m, struct failure *f)
{
	static const struct metric_writer writer = {
		.metric = give_metric,
		.label = give_label,
		.number = give_number,
		.seconds = give_seconds,
		.times = give_times,
	};

	return stats_write_metrics(stats, options, account, more, of, &writer, m, f);
}
