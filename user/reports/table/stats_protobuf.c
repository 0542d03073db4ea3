/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints metrics in Prometheus' protobuf format, the only one that has native histograms: messages MetricFamily, each behind
 * its length.
 *
 * Native buckets are fractions of powers of two of a second, ours are fractions of powers of two of a nanosecond. Each of
 * ours is counted where its middle is, so that no count ever falls. A native bucket is about 9 % wide, one of ours at
 * most 6 %, and so a limit is exact to 3 %.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prometheus.pb-c.h"
#include "reports/table/stats_metrics.h"
#include "reports/table/stats_print.h"

enum {
	SCHEMA = 3, /* eight native buckets for each power of two */
	FAMILY_METRIC = 4,
	METRIC_LABEL = 1,
};

/* What Prometheus' own libraries use. A shorter time counts as none. */
static const double zero_threshold = 0x1p-128;

/* Bytes of any number. */
struct bytes {
	FILE *stream;
	char *bytes;
	size_t size;
};

struct protobuf {
	FILE *out;
	char name[128 + sizeof("_total")];
	bool begun;
	struct metric metric;
	struct bytes labels, points;
};

static void put_varint(FILE *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		fputc((int)(value & 0x7f) | 0x80, out);
	fputc((int)value, out);
}

/* The head of a field that has a length. */
static void put_head(FILE *out, unsigned field, size_t size)
{
	put_varint(out, field << 3 | 2);
	put_varint(out, size);
}

static void bytes_restart(struct bytes *b)
{
	rewind(b->stream);
}

static void protobuf_flush(struct protobuf *p)
{
	static const int types[] = {
		[METRIC_GAUGE] = 1,
		[METRIC_COUNTER] = 0,
		[METRIC_HISTOGRAM] = 4,
	};
	Prometheus__MetricFamily family = PROMETHEUS__METRIC_FAMILY__INIT;
	uint8_t head[512];
	size_t n;

	if (!p->begun)
		return;
	family.name = p->name;
	family.help = (char *)p->metric.help;
	family.has_type = 1;
	family.type = types[p->metric.kind];
	family.unit = (char *)metric_prometheus_unit(&p->metric);
	fflush(p->points.stream);
	n = prometheus__metric_family__pack(&family, head);
	put_varint(p->out, n + p->points.size);
	fwrite(head, 1, n, p->out);
	fwrite(p->points.bytes, 1, p->points.size, p->out);
	bytes_restart(&p->points);
}

static void protobuf_metric(void *context, const struct metric *metric)
{
	struct protobuf *p = context;

	protobuf_flush(p);
	p->begun = true;
	p->metric = *metric;
	metric_prometheus_name(metric, p->name, sizeof(p->name) - sizeof("_total"));
	/* OpenMetrics has this in the names of points, here it is the family's. */
	if (metric->kind == METRIC_COUNTER)
		strcat(p->name, "_total");
}

static void protobuf_label(void *context, const char *key, const char *value)
{
	struct protobuf *p = context;
	Prometheus__LabelPair pair = PROMETHEUS__LABEL_PAIR__INIT;
	uint8_t *packed;
	size_t n;

	pair.name = (char *)key;
	pair.value = (char *)value;
	n = prometheus__label_pair__get_packed_size(&pair);
	packed = malloc(n);
	if (!packed)
		return;
	prometheus__label_pair__pack(&pair, packed);
	put_head(p->labels.stream, METRIC_LABEL, n);
	fwrite(packed, 1, n, p->labels.stream);
	free(packed);
}

static void put_metric(struct protobuf *p, const Prometheus__Metric *metric)
{
	size_t n = prometheus__metric__get_packed_size(metric);
	uint8_t *packed = malloc(n);

	fflush(p->labels.stream);
	if (packed) {
		prometheus__metric__pack(metric, packed);
		put_head(p->points.stream, FAMILY_METRIC, p->labels.size + n);
		fwrite(p->labels.bytes, 1, p->labels.size, p->points.stream);
		fwrite(packed, 1, n, p->points.stream);
	}
	free(packed);
	bytes_restart(&p->labels);
}

static void put_double(struct protobuf *p, double value)
{
	Prometheus__Metric metric = PROMETHEUS__METRIC__INIT;
	Prometheus__Gauge gauge = PROMETHEUS__GAUGE__INIT;
	Prometheus__Counter counter = PROMETHEUS__COUNTER__INIT;

	gauge.value = counter.value = value;
	gauge.has_value = counter.has_value = 1;
	if (p->metric.kind == METRIC_COUNTER)
		metric.counter = &counter;
	else
		metric.gauge = &gauge;
	put_metric(p, &metric);
}

static void protobuf_number(void *context, const struct arg *value)
{
	put_double(context, value->type == ARG_INT    ? (double)value->i
			    : value->type == ARG_UINT ? (double)value->u
						      : value->d);
}

static void protobuf_seconds(void *context, uint64_t ns)
{
	put_double(context, (double)ns / 1e9);
}

/* --- histograms -------------------------------------------------------------------------------- */

/* The native buckets of a histogram of ours: never more than ours are. */
struct native {
	unsigned n_spans, n_deltas;
	uint64_t zero, count;
	Prometheus__BucketSpan spans[HISTOGRAM_BUCKETS], *span_list[HISTOGRAM_BUCKETS];
	int64_t deltas[HISTOGRAM_BUCKETS];
};

/* Bucket i has the times above 2^((i - 1) / 8) s, up to and including 2^(i / 8) s. */
static int native_bucket(unsigned bucket)
{
	const uint64_t least = histogram_least(bucket), next = histogram_least(bucket + 1);
	const double middle = ((double)least + (double)(next - 1)) / 2 / 1e9;

	return (int)ceil(log2(middle) * (1 << SCHEMA));
}

static void native_add_span(struct native *n, int offset)
{
	Prometheus__BucketSpan *span = &n->spans[n->n_spans];

	prometheus__bucket_span__init(span);
	span->has_offset = span->has_length = 1;
	span->offset = offset;
	n->span_list[n->n_spans++] = span;
}

static void native_fill(struct native *n, const struct histogram *h)
{
	unsigned i, first = h->first * HISTOGRAM_GROUP;
	int at = 0, latest = 0;
	uint64_t counted = 0, before = 0; /* in the latest bucket, and in the one before it */

	for (i = 0; i < h->n * HISTOGRAM_GROUP; i++) {
		if (!h->counts[i])
			continue;
		n->count += h->counts[i];
		if (!histogram_least(first + i)) {
			n->zero = h->counts[i];
			continue;
		}
		at = native_bucket(first + i);
		if (!n->n_deltas || at != latest) {
			if (!n->n_spans || at != latest + 1)
				native_add_span(n, n->n_spans ? at - latest - 1 : at);
			n->spans[n->n_spans - 1].length++;
			before = counted;
			counted = 0;
			latest = at;
			n->n_deltas++;
		}
		counted += h->counts[i];
		n->deltas[n->n_deltas - 1] = (int64_t)(counted - before);
	}
	/* Without a span it would be a conventional histogram. */
	if (!n->n_spans)
		native_add_span(n, 0);
}

static void protobuf_times(void *context, const struct metric_times *times)
{
	Prometheus__Metric metric = PROMETHEUS__METRIC__INIT;
	Prometheus__Histogram histogram = PROMETHEUS__HISTOGRAM__INIT;
	Prometheus__Bucket buckets[METRIC_BUCKETS], *list[METRIC_BUCKETS];
	struct native *native = calloc(1, sizeof(*native));

	if (!native)
		return;
	native_fill(native, times->histogram);
	for (unsigned i = 0; i < METRIC_BUCKETS; i++) {
		const unsigned power = METRIC_LEAST_BUCKET + i;

		prometheus__bucket__init(&buckets[i]);
		buckets[i].has_cumulative_count = buckets[i].has_upper_bound = 1;
		buckets[i].cumulative_count = metric_count_below(times->histogram, power);
		buckets[i].upper_bound = (double)((1ull << power) - 1) / 1e9;
		list[i] = &buckets[i];
	}
	histogram.n_bucket = METRIC_BUCKETS;
	histogram.bucket = list;
	/* Prometheus refuses a native histogram whose buckets have another sum. */
	histogram.has_sample_count = histogram.has_sample_sum = 1;
	histogram.sample_count = native->count;
	histogram.sample_sum = (double)times->sum_ns / 1e9;
	histogram.has_schema = histogram.has_zero_threshold = histogram.has_zero_count = 1;
	histogram.schema = SCHEMA;
	histogram.zero_threshold = zero_threshold;
	histogram.zero_count = native->zero;
	histogram.n_positive_span = native->n_spans;
	histogram.positive_span = native->span_list;
	histogram.n_positive_delta = native->n_deltas;
	histogram.positive_delta = native->deltas;
	metric.histogram = &histogram;
	put_metric(context, &metric);
	free(native);
}

/* --- all of it --------------------------------------------------------------------------------- */

static bool bytes_open(struct bytes *b)
{
	b->stream = open_memstream(&b->bytes, &b->size);
	return b->stream != NULL;
}

static void bytes_close(struct bytes *b)
{
	if (b->stream)
		fclose(b->stream);
	free(b->bytes);
}

int stats_print_protobuf(const struct consumer *stats, FILE *out,
			 const struct stats_options *options, const struct account *account,
			 metrics_more *more, const void *of, struct failure *f)
{
	static const struct metric_writer writer = {
		.metric = protobuf_metric,
		.label = protobuf_label,
		.number = protobuf_number,
		.seconds = protobuf_seconds,
		.times = protobuf_times,
	};
	struct protobuf p = { .out = out };
	int error = 0;

	if (!bytes_open(&p.labels) || !bytes_open(&p.points))
		error = failure_set(f, -errno, "cannot print", "the table", NULL);
	error = error ?: stats_write_metrics(stats, options, account, more, of, &writer, &p, f);
	if (!error) {
		protobuf_flush(&p);
		if (ferror(p.labels.stream) || ferror(p.points.stream))
			error = failure_set(f, -ENOMEM, "cannot print", "the table", NULL);
	}
	bytes_close(&p.labels);
	bytes_close(&p.points);
	return error;
}
