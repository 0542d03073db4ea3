/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints metrics as OpenMetrics text 1.0, which Prometheus and others scrape. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reports/table/stats_metrics.h"
#include "reports/table/stats_print.h"

struct openmetrics {
	FILE *out;
	char name[128];
	enum metric_kind kind;
	/* Those of the next point, with commas between: a histogram has them in each line. */
	FILE *labels;
	char *text;
	size_t size;
};

static void openmetrics_metric(void *context, const struct metric *metric)
{
	static const char *const types[] = {
		[METRIC_GAUGE] = "gauge",
		[METRIC_COUNTER] = "counter",
		[METRIC_HISTOGRAM] = "histogram",
	};
	struct openmetrics *o = context;
	const char *unit = metric_prometheus_unit(metric);

	metric_prometheus_name(metric, o->name, sizeof(o->name));
	o->kind = metric->kind;
	fprintf(o->out, "# TYPE %s %s\n", o->name, types[metric->kind]);
	if (*unit)
		fprintf(o->out, "# UNIT %s %s\n", o->name, unit);
	if (*metric->help)
		fprintf(o->out, "# HELP %s %s\n", o->name, metric->help);
}

/* A name from the target: the format has escapes for these three, and all else is UTF-8. */
static void openmetrics_label(void *context, const char *key, const char *value)
{
	struct openmetrics *o = context;

	fprintf(o->labels, "%s%s=\"", ftello(o->labels) ? "," : "", key);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", o->labels);
		else if (*value == '"' || *value == '\\')
			fprintf(o->labels, "\\%c", *value);
		else
			fputc(*value, o->labels);
	}
	fputc('"', o->labels);
}

/* Up to the value. `limit`: of a bucket, or NULL. */
static void put_point(const struct openmetrics *o, const char *suffix, const char *limit)
{
	fprintf(o->out, "%s%s", o->name, suffix);
	if (o->size || limit)
		fputc('{', o->out);
	fwrite(o->text, 1, o->size, o->out);
	if (limit)
		fprintf(o->out, "%sle=\"%s\"", o->size ? "," : "", limit);
	fputs(o->size || limit ? "} " : " ", o->out);
}

static void openmetrics_begin(struct openmetrics *o)
{
	fflush(o->labels);
	if (o->kind != METRIC_HISTOGRAM)
		put_point(o, o->kind == METRIC_COUNTER ? "_total" : "", NULL);
}

static void openmetrics_end(struct openmetrics *o)
{
	rewind(o->labels);
}

static void put_metric_double(FILE *out, double value)
{
	if (value != value)
		fputs("NaN", out);
	else if (value - value != 0)
		fputs(value > 0 ? "+Inf" : "-Inf", out);
	else
		fprintf(out, "%.17g", value);
}

static void openmetrics_number(void *context, const struct arg *value)
{
	struct openmetrics *o = context;

	openmetrics_begin(o);
	put_number(o->out, value, put_metric_double);
	fputc('\n', o->out);
	openmetrics_end(o);
}

/* With all digits: a double has too few for sums of many days. */
static void put_seconds(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64 "\n", ns / 1000000000, ns % 1000000000);
}

static void openmetrics_seconds(void *context, uint64_t ns)
{
	struct openmetrics *o = context;

	openmetrics_begin(o);
	put_seconds(o->out, ns);
	openmetrics_end(o);
}

static void openmetrics_times(void *context, const struct metric_times *times)
{
	struct openmetrics *o = context;
	char limit[32];

	openmetrics_begin(o);
	for (unsigned power = METRIC_LEAST_BUCKET; power <= METRIC_LAST_BUCKET; power++) {
		const uint64_t ns = (1ull << power) - 1;

		snprintf(limit, sizeof(limit), "%" PRIu64 ".%09" PRIu64, ns / 1000000000,
			 ns % 1000000000);
		put_point(o, "_bucket", limit);
		fprintf(o->out, "%" PRIu64 "\n", metric_count_below(times->histogram, power));
	}
	put_point(o, "_bucket", "+Inf");
	fprintf(o->out, "%" PRIu64 "\n", times->count);
	put_point(o, "_count", NULL);
	fprintf(o->out, "%" PRIu64 "\n", times->count);
	put_point(o, "_sum", NULL);
	put_seconds(o->out, times->sum_ns);
	openmetrics_end(o);
}

int stats_print_openmetrics(const struct consumer *stats, FILE *out,
			    const struct stats_options *options, const struct account *account,
			    metrics_more *more, const void *of, struct failure *f)
{
	static const struct metric_writer writer = {
		.metric = openmetrics_metric,
		.label = openmetrics_label,
		.number = openmetrics_number,
		.seconds = openmetrics_seconds,
		.times = openmetrics_times,
	};
	struct openmetrics o = { .out = out };
	int error;

	o.labels = open_memstream(&o.text, &o.size);
	if (!o.labels)
		return failure_set(f, -errno, "cannot print", "the table", NULL);
	error = stats_write_metrics(stats, options, account, more, of, &writer, &o, f);
	if (!error && ferror(o.labels))
		error = failure_set(f, -ENOMEM, "cannot print", "the table", NULL);
	if (!error)
		fputs("# EOF\n", out);
	fclose(o.labels);
	free(o.text);
	return error;
}
