/* SPDX-License-Identifier: BSD-2-Clause */
/* What the recorder itself did, beside the table of the programs: traces, losses of files, and its own cost. */
#include "record/metrics/metrics.h"

#include <stdio.h>

#include "capture/capture.h"
#include "record/metrics/labels.h"
#include "record/quota.h"
#include "record/record.h"

/* What became of spans and points for a collector. */
static void write_collector(const struct metric_writer *w, void *context, const struct recording *r)
{
	struct collector_number sent[COLLECTOR_NUMBERS];
	unsigned i, n = r->collector.otlp ? collector_numbers(r, sent) : 0;
	char name[64];

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "proftrace.otlp.%s", sent[i].name);
		metric_put_single(w, context, &(struct metric){ METRIC_COUNTER, name, "", "" },
				  sent[i].value);
	}
}

void metrics_write_recording(const struct metric_writer *w, void *context, const void *recording)
{
	static const struct flight_count no_flight;
	static const struct service_counts no_service;
	static const struct metric overhead = { METRIC_GAUGE, "proftrace.overhead", "1",
						"Share of the processes' CPU time for markers." };
	const struct recording *r = recording;
	const struct flight_count *flight = r->flight ? flight_count(r->flight) : &no_flight;
	const struct service_counts *service =
		r->options->service ? r->options->service->counts : &no_service;
	const struct {
		struct metric metric;
		uint64_t value;
	} numbers[] = {
		{ { METRIC_GAUGE, "proftrace.processes", "", "Recorded processes that are alive." },
		  capture_processes(r->capture) },
		{ { METRIC_COUNTER, "proftrace.processes_without_labels", "",
		    "Processes that share the labels (other)." },
		  r->labels ? labels_beyond(r->labels) : 0 },
		{ { METRIC_GAUGE, "proftrace.domains_off", "", "Domains that cost too much." },
		  overhead_domains_off(r) },
		{ { METRIC_COUNTER, "proftrace.dumps", "",
		    "How often the flight recorder wrote files." },
		  flight->dumps },
		{ { METRIC_COUNTER, "proftrace.dumps_failed", "",
		    "How often it could not write all of them." },
		  flight->failed },
		{ { METRIC_COUNTER, "proftrace.triggers_suppressed", "",
		    "Triggers soon after another one." },
		  flight->suppressed },
		{ { METRIC_COUNTER, "proftrace.requests_ignored", "",
		    "Calls of prof_dump() that wrote nothing." },
		  flight->ignored },
		{ { METRIC_GAUGE, "proftrace.files", "By", "Size of the files within the quota." },
		  r->quota ? quota_bytes(r->quota) : 0 },
		{ { METRIC_COUNTER, "proftrace.files_deleted", "",
		    "Files that were deleted for newer ones." },
		  r->files_deleted + (r->quota ? quota_removed(r->quota) : 0) },
		{ { METRIC_COUNTER, "proftrace.reloads", "", "New configurations." },
		  service->reloads },
		{ { METRIC_COUNTER, "proftrace.reloads_failed", "",
		    "Configurations that were refused." },
		  service->reloads_failed },
	};

	write_collector(w, context, r);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		metric_put_single(w, context, &numbers[i].metric, numbers[i].value);
	w->metric(context, &overhead);
	w->number(context, &(struct arg){ .type = ARG_DOUBLE, .d = overhead_latest(r) / 100 });
}
