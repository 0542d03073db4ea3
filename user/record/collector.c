/* SPDX-License-Identifier: BSD-2-Clause */
/* --otlp in a recording: what goes to the collector and when, and what the user is told of it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "otlp/otlp.h"
#include "record/metrics/metrics.h"
#include "record/record.h"
#include "reports/table/stats_print.h"

/* The address of the collector, from the environment only if the user says so. */
static int collector_find_url(const char **url, struct failure *f)
{
	if (strcmp(*url, "env"))
		return 0;
	*url = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
	if (*url && otlp_url_is_valid(*url))
		return 0;
	failure_set(f, -EINVAL, "cannot start", "--otlp",
		    *url ? "OTEL_EXPORTER_OTLP_ENDPOINT is not an address of http or https"
			 : "OTEL_EXPORTER_OTLP_ENDPOINT is not set");
	failure_hint(f, "sudo passes it on with --preserve-env=OTEL_EXPORTER_OTLP_ENDPOINT");
	return -EINVAL;
}

int collector_start(struct recording *r, struct failure *f)
{
	const struct record_options *o = r->options;
	int error;

	if (!o->otlp_url)
		return 0;
	r->collector.options = (struct otlp_options){
		.url = o->otlp_url,
		.spans = o->otlp_spans,
		.n_spans = o->n_otlp_spans,
		.queue_bytes = o->otlp_queue,
		.gzip = o->otlp_gzip,
	};
	error = collector_find_url(&r->collector.options.url, f);
	return error ? error : otlp_start(&r->collector.options, &r->collector.otlp, f);
}

static void collector_name_frames(void *recording)
{
	struct recording *r = recording;

	capture_name_frames(r->capture);
}

int collector_open(struct recording *r, struct failure *f)
{
	struct collector *c = &r->collector;
	const bool with_spans = c->otlp && c->options.n_spans;
	const bool with_profiles = c->otlp && r->options->otlp_profiles;
	int error = 0;

	if (with_spans)
		c->spans = otlp_spans_new(c->otlp, &c->options, &r->info);
	if (with_profiles)
		c->profiles =
			otlp_profiles_new(c->otlp, c->spans, &r->info, collector_name_frames, r);
	if (with_spans != (c->spans != NULL) || with_profiles != (c->profiles != NULL))
		return failure_set(f, -ENOMEM, "cannot start", "--otlp", NULL);
	/* In this order: a sample is linked to the span in which it is. */
	if (c->spans)
		error = timeline_add_consumer(r->timeline, c->spans);
	if (!error && c->profiles)
		error = timeline_add_consumer(r->timeline, c->profiles);
	return error;
}

/* What goes wrong with one of the signals; "": nothing. */
static const char *collector_error(const struct collector *c)
{
	const struct otlp_counts *counts = otlp_count(c->otlp);

	unsigned i;

	for (i = 0; i < OTLP_SIGNALS; i++) {
		if (counts->signals[i].error[0])
			return counts->signals[i].error;
	}
	return "";
}

/* A collector that is down is reported once, and that it is there again. */
static void collector_report(struct recording *r)
{
	struct collector *c = &r->collector;
	const char *error = collector_error(c);
	char line[COLLECTOR_LINE];

	if (c->fails == (error[0] != '\0'))
		return;
	c->fails = !c->fails;
	snprintf(line, sizeof(line), "--otlp: %s",
		 c->fails ? error : "the collector accepts requests");
	recording_log(r, 0, line);
}

/* Everything since the recording began, or since the table was reset. */
static void collector_give_metrics(struct recording *r, uint64_t now)
{
	const struct stats_options options = { .max_rows = METRICS_NAMES };
	const struct account account = recording_account(r);
	uint64_t epoch_ns = r->last_clock.realtime - r->last_clock.monotonic;
	uint64_t since = r->reset_ns ? r->reset_ns : r->started_ns;
	struct otlp_metrics *m = otlp_metrics_begin(r->collector.otlp, r->info.host,
						    epoch_ns + since, epoch_ns + now);

	r->collector.metrics_ns = now;
	if (!m)
		return;
	if (r->options->stats_only)
		stats_from_tables(r, now);
	stats_give_otlp(r->stats, &options, &account, metrics_write_recording, r, m, NULL);
	otlp_metrics_end(m);
}

static void collector_give(struct recording *r, uint64_t now)
{
	collector_give_metrics(r, now);
	if (r->collector.profiles)
		otlp_profiles_flush(r->collector.profiles);
}

void collector_poll(struct recording *r, uint64_t now)
{
	struct collector *c = &r->collector;

	if (!c->otlp)
		return;
	if (now - (c->metrics_ns ? c->metrics_ns : r->started_ns) >= r->options->otlp_interval_ns)
		collector_give(r, now);
	if (otlp_poll(c->otlp))
		recording_log(r, 0, "the process of --otlp has ended: the recording goes on");
	collector_report(r);
}

void collector_flush(struct recording *r)
{
	if (r->collector.spans)
		r->collector.spans->ops->flush(r->collector.spans);
}

void collector_finish(struct recording *r, const struct account *account)
{
	struct collector *c = &r->collector;

	if (!c->otlp)
		return;
	if (c->spans)
		c->spans->ops->close(c->spans, account);
	collector_give(r, clock_ns(CLOCK_MONOTONIC));
	otlp_finish(c->otlp, recording_should_give_up, r);
}

bool collector_has_lost(const struct recording *r)
{
	const struct collector *c = &r->collector;

	return c->otlp &&
	       (otlp_lost(c->otlp, OTLP_SPANS) || otlp_lost(c->otlp, OTLP_METRICS) ||
		otlp_lost(c->otlp, OTLP_PROFILES) || (c->spans && otlp_spans_refused(c->spans)) ||
		(c->profiles && otlp_profiles_refused(c->profiles)));
}

/* --- what is said of it ------------------------------------------------------------------------ */

unsigned collector_numbers(const struct recording *r, struct collector_number *ret_numbers)
{
	static const struct otlp_counts none;
	const struct collector *c = &r->collector;
	const struct otlp_counts *counts = c->otlp ? otlp_count(c->otlp) : &none;
	const struct otlp_count *spans = &counts->signals[OTLP_SPANS];
	const struct collector_number numbers[COLLECTOR_NUMBERS] = {
		{ "spans_chosen", c->otlp ? otlp_given(c->otlp, OTLP_SPANS) : 0 },
		{ "spans_delivered", spans->delivered },
		{ "spans_lost", c->otlp ? otlp_lost(c->otlp, OTLP_SPANS) : 0 },
		{ "spans_queue_full", spans->full },
		{ "spans_rejected", spans->rejected },
		{ "spans_unsampled", c->spans ? otlp_spans_unsampled(c->spans) : 0 },
		{ "spans_refused", c->spans ? otlp_spans_refused(c->spans) : 0 },
		{ "points_delivered", counts->signals[OTLP_METRICS].delivered },
		{ "points_lost", c->otlp ? otlp_lost(c->otlp, OTLP_METRICS) : 0 },
		{ "points_replaced", counts->signals[OTLP_METRICS].replaced },
		{ "requests", counts->requests },
		{ "requests_repeated", counts->retries },
		{ "replies_unreadable", counts->replies_unreadable },
		{ "profiles_chosen", c->otlp ? otlp_given(c->otlp, OTLP_PROFILES) : 0 },
		{ "profiles_delivered", counts->signals[OTLP_PROFILES].delivered },
		{ "profiles_lost", c->otlp ? otlp_lost(c->otlp, OTLP_PROFILES) : 0 },
		{ "profiles_rejected", counts->signals[OTLP_PROFILES].rejected },
		{ "samples_refused", c->profiles ? otlp_profiles_refused(c->profiles) : 0 },
	};

	memcpy(ret_numbers, numbers, sizeof(numbers));
	return COLLECTOR_NUMBERS;
}

bool collector_line(const struct recording *r, unsigned i, char *line, size_t size)
{
	const struct collector *c = &r->collector;
	struct collector_number n[COLLECTOR_NUMBERS];
	const char *error = c->otlp ? collector_error(c) : "";
	int used;

	if (!c->otlp || i > 1 || (i == 1 && !error[0]))
		return false;
	if (i == 1) {
		snprintf(line, size, "collector: %s", error);
		return true;
	}
	collector_numbers(r, n);
	used = snprintf(line, size, "collector %s: ", c->options.url);
	if (c->spans)
		used += snprintf(line + used, size - (size_t)used,
				 "%" PRIu64 " of %" PRIu64 " spans delivered, %" PRIu64 " lost",
				 n[1].value, n[0].value, n[2].value);
	if (c->spans && n[3].value)
		used += snprintf(line + used, size - (size_t)used,
				 " (%" PRIu64 " because of --otlp-queue)", n[3].value);
	if (c->spans && (n[5].value || n[6].value))
		used += snprintf(line + used, size - (size_t)used,
				 ", %" PRIu64 " not sampled by their service, %" PRIu64
				 " without memory",
				 n[5].value, n[6].value);
	if (c->profiles)
		used += snprintf(line + used, size - (size_t)used,
				 "%s%" PRIu64 " profiles delivered, %" PRIu64 " lost",
				 c->spans ? "; " : "", n[14].value, n[15].value);
	snprintf(line + used, size - (size_t)used,
		 "%s%" PRIu64 " metric points delivered, %" PRIu64 " lost",
		 c->spans || c->profiles ? "; " : "", n[7].value, n[8].value);
	return true;
}

void collector_print(const struct recording *r, FILE *out)
{
	char line[COLLECTOR_LINE];
	unsigned i;

	for (i = 0; collector_line(r, i, line, sizeof(line)); i++)
		print_visible(out, "%s\n", line);
}

void collector_json(const struct recording *r, FILE *out)
{
	struct collector_number n[COLLECTOR_NUMBERS];
	unsigned i, all = collector_numbers(r, n);

	if (!r->collector.otlp)
		return;
	fputs("  \"otlp\": {", out);
	for (i = 0; i < all; i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "", n[i].name, n[i].value);
	fputs("},\n", out);
}

void collector_free(struct recording *r)
{
	if (r->collector.profiles)
		r->collector.profiles->ops->free(r->collector.profiles);
	if (r->collector.spans)
		r->collector.spans->ops->free(r->collector.spans);
	otlp_free(r->collector.otlp);
}
