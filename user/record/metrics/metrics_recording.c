/* SPDX-License-Identifier: BSD-2-Clause */
/* What the recorder itself did, beside the table of the programs: traces, losses of files, and its own cost. */
#include "record/metrics/metrics.h"

#include <inttypes.h>

#include "capture/capture.h"
#include "record/metrics/labels.h"
#include "record/quota.h"
#include "record/record.h"

void metrics_print_recording(FILE *out, const void *recording)
{
	static const struct flight_count no_flight;
	static const struct service_counts no_service;
	const struct recording *r = recording;
	const struct flight_count *flight = r->flight ? flight_count(r->flight) : &no_flight;
	const struct service_counts *service =
		r->options->service ? r->options->service->counts : &no_service;
	const struct {
		const char *name, *type, *help;
		uint64_t value;
	} numbers[] = {
		{ "processes", "gauge", "Recorded processes that are alive.",
		  capture_processes(r->capture) },
		{ "processes_without_labels", "counter", "Processes that share the labels (other).",
		  r->labels ? labels_beyond(r->labels) : 0 },
		{ "domains_off", "gauge", "Domains that cost too much.", overhead_domains_off(r) },
		{ "dumps", "counter", "How often the flight recorder wrote files.", flight->dumps },
		{ "dumps_failed", "counter", "How often it could not write all of them.",
		  flight->failed },
		{ "triggers_suppressed", "counter", "Triggers soon after another one.",
		  flight->suppressed },
		{ "files_bytes", "gauge", "Size of the files within the quota.",
		  r->quota ? quota_bytes(r->quota) : 0 },
		{ "files_deleted", "counter", "Files that were deleted for newer ones.",
		  r->files_deleted + (r->quota ? quota_removed(r->quota) : 0) },
		{ "reloads", "counter", "New configurations.", service->reloads },
		{ "reloads_failed", "counter", "Configurations that were refused.",
		  service->reloads_failed },
	};
	struct collector_number sent[COLLECTOR_NUMBERS];
	unsigned i, n_sent = r->collector.otlp ? collector_numbers(r, sent) : 0;

	for (i = 0; i < n_sent; i++)
		fprintf(out,
			"# TYPE proftrace_otlp_%s counter\nproftrace_otlp_%s_total %" PRIu64 "\n",
			sent[i].name, sent[i].name, sent[i].value);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		fprintf(out,
			"# TYPE proftrace_%s %s\n# HELP proftrace_%s %s\nproftrace_%s%s %" PRIu64
			"\n",
			numbers[i].name, numbers[i].type, numbers[i].name, numbers[i].help,
			numbers[i].name, numbers[i].type[0] == 'c' ? "_total" : "",
			numbers[i].value);
	fprintf(out,
		"# TYPE proftrace_overhead_ratio gauge\n# UNIT proftrace_overhead_ratio ratio\n"
		"# HELP proftrace_overhead_ratio Share of the processes' CPU time for markers.\n"
		"proftrace_overhead_ratio %g\n",
		overhead_latest(r) / 100);
}
