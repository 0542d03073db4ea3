/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace ctl stats`: the table of a running recording, in the formats of `proftrace report`. It
 * contains every mark that was made before the request, but no open slices.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "record/control/control.h"
#include "record/metrics/metrics.h"
#include "record/record.h"
#include "reports/table/stats_print.h"

/* "stats FORMAT LIMIT ASCENDING RESET SORT", where SORT is - for the default. */
struct stats_request {
	char format[16];
	unsigned limit, ascending, reset;
	char sort[CONTROL_REQUEST];
};

static bool stats_request_parse(const char *text, struct stats_request *ret_request)
{
	struct stats_request *q = ret_request;

	return sscanf(text, "stats %15s %u %u %u %255s", q->format, &q->limit, &q->ascending,
		      &q->reset, q->sort) == 5;
}

static int control_print_stats(struct recording *r, const struct stats_request *q, FILE *out,
			       struct failure *f)
{
	struct account account = recording_account(r);
	const struct stats_options options = {
		.max_rows = q->limit,
		.ascending = q->ascending,
		.sort = strcmp(q->sort, "-") ? q->sort : NULL,
	};

	if (!strcmp(q->format, "json"))
		return stats_print_json(r->stats, out, &options, &account, NULL, 0, f);
	if (!strcmp(q->format, "csv"))
		return stats_print_csv(r->stats, out, &options, &account, f);
	if (!strcmp(q->format, "openmetrics"))
		return stats_print_openmetrics(r->stats, out, &options, &account,
					       metrics_write_recording, r, f);
	if (!strcmp(q->format, "protobuf"))
		return stats_print_protobuf(r->stats, out, &options, &account,
					    metrics_write_recording, r, f);
	return stats_print_table(r->stats, out, &options, &account, f);
}

int control_stats(struct recording *r, const char *request, bool only_read, char **ret_text,
		  size_t *ret_size, struct failure *f)
{
	struct stats_request q = { 0 };
	FILE *out;
	int error;

	if (!stats_request_parse(request, &q))
		return failure_set(f, -EINVAL, "malformed request", "", NULL);
	q.reset = q.reset && !only_read;
	out = open_memstream(ret_text, ret_size);
	if (!out)
		return failure_set(f, -errno, "cannot print the table", "", NULL);
	capture_catch_up(r->capture);
	if (r->options->stats_only)
		stats_from_tables(r, clock_ns(CLOCK_MONOTONIC));
	fputs("ok ", out);
	error = control_print_stats(r, &q, out, f);
	if (fclose(out) && !error)
		error = failure_set(f, -errno, "cannot print the table", "", NULL);
	if (!error && *ret_size > CONTROL_LONG_REPLY)
		error = failure_set(f, -E2BIG, "the table is too large", "",
				    "limit its rows with -n N");
	if (error) {
		free(*ret_text);
		*ret_text = NULL;
	} else if (q.reset && r->options->stats_only) {
		recording_reset_table(r);
	} else if (q.reset) {
		stats_clear(r->stats);
		r->reset_ns = clock_ns(CLOCK_MONOTONIC);
	}
	return error;
}
