/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and words of a comparison for people. */
#include <string.h>

#include "reports/diff/diff_internal.h"
#include "reports/table/table.h"

bool diff_metric_is_time(enum diff_metric metric)
{
	return metric >= METRIC_P50 && metric <= METRIC_BLOCKED && metric != METRIC_RUNNABLE &&
	       metric != METRIC_RUNNING;
}

bool diff_row_regressed(const struct diff_row *row, double *ret_change,
			enum diff_metric *ret_metric)
{
	static const enum diff_metric order[] = { METRIC_P50, METRIC_TOTAL, METRIC_P95, METRIC_SELF,
						  METRIC_BLOCKED };
	bool found = false;

	*ret_change = 0;
	for (unsigned i = 0; row->results && i < sizeof(order) / sizeof(order[0]); i++) {
		const struct diff_result *result = &row->results[order[i]];
		/* Growth from nothing is more than any share. */
		double change =
			isnan(result->change) && result->b > result->a ? INFINITY : result->change;

		if (!result->decided || !(change > *ret_change))
			continue;
		*ret_metric = order[i];
		*ret_change = change;
		found = true;
	}
	return found;
}

const char *diff_metric_name(const struct diff *d, enum diff_metric metric)
{
	static const char *const names[] = { "count",  "p50",	   "p95",     "total",	"self",
					     "on-cpu", "runnable", "waiting", "average" };

	return metric < METRIC_COUNTED ? names[metric] : d->counters[metric - METRIC_COUNTED]->text;
}

void diff_format_value(char *out, size_t size, enum diff_metric metric, double value)
{
	if (isnan(value))
		snprintf(out, size, "-");
	else if (metric >= METRIC_P50 && metric <= METRIC_BLOCKED && value >= 0 && value < 1e18)
		format_duration(out, size, (uint64_t)(value + 0.5));
	else
		format_real(out, size, value);
}

void diff_format_change(char *out, size_t size, const struct diff_result *r, bool interval)
{
	if (!r->known)
		snprintf(out, size, "-");
	else if (isnan(r->change))
		snprintf(out, size, r->b > 0 ? "from 0" : "=");
	else if (interval)
		snprintf(out, size, "%+.1f %% [%+.1f, %+.1f]%s", 100 * r->change, 100 * r->low,
			 100 * r->high, r->decided ? " *" : "");
	else
		snprintf(out, size, "%+.1f %%%s", 100 * r->change, r->decided ? " *" : "");
}

const char *diff_verdict_text(const struct diff_row *row)
{
	static const char *const texts[] = {
		[VERDICT_NONE] = "no difference",    [VERDICT_SLOWER] = "slower",
		[VERDICT_FASTER] = "faster",	     [VERDICT_CHANGED] = "changed",
		[VERDICT_ONLY_A] = "only in A",	     [VERDICT_ONLY_B] = "only in B",
		[VERDICT_UNTESTED] = "too few runs",
	};

	return texts[row->verdict];
}

const char *diff_row_title(const struct diff_row *row, char out[DIFF_CELL])
{
	text_shorten(out, DIFF_CELL, row->key.name ? row->key.name->text : "", DIFF_CELL - 1);
	return out;
}

const char *diff_unit_text(const struct diff *d, char out[DIFF_CELL])
{
	if (d->options->per)
		snprintf(out, DIFF_CELL, "%.100s", d->options->per);
	else
		snprintf(out, DIFF_CELL, d->in_blocks ? "s" : "run");
	return out;
}
