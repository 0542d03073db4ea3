/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes points of metrics, and gives them away when there are enough for a packet or the metric ends. */
#include "otlp/otlp.h"

#include <stdlib.h>
#include <string.h>

#include "otlp/otlp_attributes.h"

enum {
	POINTS = OTLP_ITEMS - 1024, /* the rest is for the metric around them */
	LABELS = 8 << 10,	    /* bytes of the labels of a point */
	CUMULATIVE = 2,
};

struct otlp_metrics {
	struct otlp *otlp;
	uint64_t start_ns, now_ns;
	enum otlp_metric_kind kind;
	Otlp__Metric metric;
	size_t resource_size, size, labels_size;
	uint64_t n;
	struct otlp_attributes attributes;
	char labels[LABELS];
	uint8_t resource[OTLP_RESOURCE], points[POINTS], items[OTLP_ITEMS];
};

struct otlp_metrics *otlp_metrics_begin(struct otlp *otlp, const char *host, uint64_t start_ns,
					uint64_t now_ns)
{
	struct otlp_metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->otlp = otlp;
	m->start_ns = start_ns;
	m->now_ns = now_ns;
	m->resource_size = otlp_pack_resource(NULL, host, m->resource);
	otlp_replace(otlp, OTLP_METRICS);
	return m;
}

static size_t put_head(uint8_t *out, unsigned field, size_t size)
{
	out[0] = (uint8_t)(field << 3 | 2);
	return 1 + otlp_put_varint(out + 1, size);
}

static void metrics_flush(struct otlp_metrics *m)
{
	static const unsigned fields[] = { [OTLP_GAUGE] = 5, [OTLP_SUM] = 7, [OTLP_HISTOGRAM] = 9 };
	Otlp__MetricData data = OTLP__METRIC_DATA__INIT;
	uint8_t metric[512], head[16], about[16];
	size_t metric_size, head_size, about_size, n;

	if (!m->n)
		return;
	if (m->kind != OTLP_GAUGE)
		data.aggregation_temporality = CUMULATIVE;
	data.is_monotonic = m->kind == OTLP_SUM;
	about_size = otlp__metric_data__pack(&data, about);
	head_size = put_head(head, fields[m->kind], about_size + m->size);
	metric_size = otlp__metric__pack(&m->metric, metric);
	n = put_head(m->items, 2, metric_size + head_size + about_size + m->size);
	memcpy(m->items + n, metric, metric_size);
	n += metric_size;
	memcpy(m->items + n, head, head_size);
	n += head_size;
	memcpy(m->items + n, about, about_size);
	n += about_size;
	memcpy(m->items + n, m->points, m->size);
	otlp_give(m->otlp, OTLP_METRICS, m->resource, m->resource_size, m->items, n + m->size,
		  m->n);
	m->size = m->n = 0;
}

void otlp_metric(struct otlp_metrics *m, enum otlp_metric_kind kind, const char *name,
		 const char *unit, const char *description)
{
	metrics_flush(m);
	m->kind = kind;
	otlp__metric__init(&m->metric);
	m->metric.name = (char *)name;
	m->metric.unit = (char *)unit;
	m->metric.description = (char *)description;
}

void otlp_point_label(struct otlp_metrics *m, const char *key, const char *value)
{
	size_t n = strlen(key) + 1, size = n + strlen(value) + 1;
	char *at = m->labels + m->labels_size;

	if (size > LABELS - m->labels_size)
		return;
	memcpy(at, key, n);
	memcpy(at + n, value, size - n);
	m->labels_size += size;
	otlp_attributes_add_text(&m->attributes, at, at + n);
}

/* Space for a point of this size, whose head is written. NULL: it is too large. The labels are those of the next point. */
static uint8_t *point_reserve(struct otlp_metrics *m, size_t size)
{
	uint8_t *out = NULL;

	if (m->size + size + 16 > POINTS)
		metrics_flush(m);
	if (size + 16 <= POINTS) {
		m->size += put_head(m->points + m->size, 1, size);
		out = m->points + m->size;
		m->size += size;
		m->n++;
	}
	otlp_attributes_clear(&m->attributes);
	m->labels_size = 0;
	return out;
}

static void put_number_point(struct otlp_metrics *m, Otlp__NumberDataPoint *point)
{
	uint8_t *out;

	point->start_time_unix_nano = m->kind == OTLP_SUM ? m->start_ns : 0;
	point->time_unix_nano = m->now_ns;
	point->n_attributes = m->attributes.n;
	point->attributes = m->attributes.list;
	out = point_reserve(m, otlp__number_data_point__get_packed_size(point));
	if (out)
		otlp__number_data_point__pack(point, out);
}

void otlp_point_integer(struct otlp_metrics *m, int64_t value)
{
	Otlp__NumberDataPoint point = OTLP__NUMBER_DATA_POINT__INIT;

	point.value_case = OTLP__NUMBER_DATA_POINT__VALUE_AS_INT;
	point.as_int = value;
	put_number_point(m, &point);
}

void otlp_point_double(struct otlp_metrics *m, double value)
{
	Otlp__NumberDataPoint point = OTLP__NUMBER_DATA_POINT__INIT;

	point.value_case = OTLP__NUMBER_DATA_POINT__VALUE_AS_DOUBLE;
	point.as_double = value;
	put_number_point(m, &point);
}

void otlp_point_histogram(struct otlp_metrics *m, uint64_t count, double sum, double *bounds,
			  uint64_t *counts, unsigned n_bounds)
{
	Otlp__HistogramDataPoint point = OTLP__HISTOGRAM_DATA_POINT__INIT;
	uint8_t *out;

	point.start_time_unix_nano = m->start_ns;
	point.time_unix_nano = m->now_ns;
	point.count = count;
	point.optional_sum_case = OTLP__HISTOGRAM_DATA_POINT__OPTIONAL_SUM_SUM;
	point.sum = sum;
	point.n_bucket_counts = n_bounds + 1;
	point.bucket_counts = counts;
	point.n_explicit_bounds = n_bounds;
	point.explicit_bounds = bounds;
	point.n_attributes = m->attributes.n;
	point.attributes = m->attributes.list;
	out = point_reserve(m, otlp__histogram_data_point__get_packed_size(&point));
	if (out)
		otlp__histogram_data_point__pack(&point, out);
}

void otlp_metrics_end(struct otlp_metrics *m)
{
	metrics_flush(m);
	free(m);
}
