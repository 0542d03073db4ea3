/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The statistics as metrics, in whatever form they are sent: what metrics there are, with which labels and values
 * (stats_metrics.c). A form is a table of functions: OpenMetrics text (stats_openmetrics.c), Prometheus' protobuf
 * (stats_protobuf.c), OTLP (stats_otlp.c).
 */
#ifndef PROFTRACE_REPORTS_TABLE_STATS_METRICS_H
#define PROFTRACE_REPORTS_TABLE_STATS_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "base/histogram.h"
#include "timeline/account.h"
#include "timeline/consumer.h"

struct stats_options;

enum metric_kind {
	METRIC_GAUGE,
	METRIC_COUNTER,	  /* never falls */
	METRIC_HISTOGRAM, /* of times */
};

struct metric {
	enum metric_kind kind;
	const char *name; /* as OpenTelemetry has names: "proftrace.slice.duration" */
	const char *unit; /* "s", "By", "1" for a ratio, "" */
	const char *help; /* may be "" */
};

/* Times of which a histogram is made. */
struct metric_times {
	const struct histogram *histogram;
	uint64_t count, sum_ns;
};

/* First the metric, then for each point of it the labels and behind these the value. */
struct metric_writer {
	void (*metric)(void *context, const struct metric *metric);
	void (*label)(void *context, const char *key, const char *value);
	void (*number)(void *context, const struct arg *value);
	void (*seconds)(void *context, uint64_t ns);
	void (*times)(void *context, const struct metric_times *times);
};

/* Writes further metrics, of `of`. */
typedef void metrics_more(const struct metric_writer *w, void *context, const void *of);

/*
 * The buckets of conventional histograms: how many times are below 2^power ns. The set of series of a name never changes,
 * because a series that appears later seems to have begun with what it had already. So every histogram has all buckets,
 * from 256 ns to 69 s. A bucket counts times up to and including its limit, and times are whole nanoseconds, so the
 * limits are one nanosecond below the powers.
 */
enum {
	METRIC_LEAST_BUCKET = 8,
	METRIC_LAST_BUCKET = 36,
	METRIC_BUCKETS = METRIC_LAST_BUCKET - METRIC_LEAST_BUCKET + 1,
};
uint64_t metric_count_below(const struct histogram *h, unsigned power);

/* "proftrace_slice_duration_seconds", without the "_total" of counters. */
void metric_prometheus_name(const struct metric *metric, char *name, size_t size);
/* "seconds", "" */
const char *metric_prometheus_unit(const struct metric *metric);

/* `metric` has a single point without labels. */
void metric_put_single(const struct metric_writer *w, void *context, const struct metric *metric,
		       uint64_t value);

/*
 * Everything since the recording began, so that a scraper computes rates and percentiles of any span of time from two
 * scrapes. `account` and `more` may be NULL.
 */
int stats_write_metrics(const struct consumer *stats, const struct stats_options *options,
			const struct account *account, metrics_more *more, const void *of,
			const struct metric_writer *w, void *context, struct failure *f);

#endif
