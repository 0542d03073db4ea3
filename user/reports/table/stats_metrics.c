/* SPDX-License-Identifier: BSD-2-Clause */
/* The statistics as metrics: what there is of each row. */
#include "reports/table/stats_metrics.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reports/table/stats_view.h"

struct output {
	const struct metric_writer *w;
	void *context;
};

/* --- names and numbers ------------------------------------------------------------------------- */

const char *metric_prometheus_unit(const struct metric *metric)
{
	static const char *const units[][2] = {
		{ "s", "seconds" },
		{ "By", "bytes" },
		{ "1", "ratio" },
	};

	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(metric->unit, units[i][0]))
			return units[i][1];
	}
	return "";
}

void metric_prometheus_name(const struct metric *metric, char *name, size_t size)
{
	const char *unit = metric_prometheus_unit(metric);

	snprintf(name, size, "%s%s%s", metric->name, *unit ? "_" : "", unit);
	for (; *name; name++) {
		if (*name == '.')
			*name = '_';
	}
}

uint64_t metric_count_below(const struct histogram *h, unsigned power)
{
	unsigned i, first = h->first * HISTOGRAM_GROUP;
	uint64_t n = 0;

	for (i = 0; i < h->n * HISTOGRAM_GROUP; i++) {
		if (histogram_least(first + i) >= 1ull << power)
			break;
		n += h->counts[i];
	}
	return n;
}

static void put_count(const struct output *o, uint64_t value)
{
	o->w->number(o->context, &(struct arg){ .type = ARG_UINT, .u = value });
}

void metric_put_single(const struct metric_writer *w, void *context, const struct metric *metric,
		       uint64_t value)
{
	const struct output o = { w, context };

	w->metric(context, metric);
	put_count(&o, value);
}

/* --- labels ------------------------------------------------------------------------------------ */

/* See stats_by(). The value of the last label is the rest, which may have spaces. */
static void put_group_labels(const struct output *o, const char *titles, const char *group)
{
	char value[4096 + 1], title[64], *at;
	size_t n, m;

	for (; *titles; titles += n + (titles[n] != '\0'), group += m + (group[m] != '\0')) {
		n = strcspn(titles, "\t");
		m = titles[n] ? strcspn(group, " ") : strlen(group);
		snprintf(title, sizeof(title), "%.*s", (int)n, titles);
		/* The key of an argument may have any characters. */
		for (at = title; *at; at++) {
			if (!isalnum((unsigned char)*at))
				*at = '_';
		}
		snprintf(value, sizeof(value), "%.*s", (int)m, group);
		o->w->label(o->context, title, value);
	}
}

static void put_number_label(const struct output *o, const char *key, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, value);
	o->w->label(o->context, key, text);
}

static void put_labels(const struct output *o, const struct stats_view *view,
		       const struct stats_row *row)
{
	const struct stats_owner *owner = stats_row_owner(view->stats, row);

	o->w->label(o->context, "category", row->key.category ? row->key.category->text : "");
	o->w->label(o->context, "name", row->key.name ? row->key.name->text : "(other)");
	if (row->key.series)
		o->w->label(o->context, "series", row->key.series->text);
	if (owner && owner->group)
		put_group_labels(o, view->stats->by, owner->group->text);
	if (!owner || !view->stats->per_thread)
		return;
	put_number_label(o, "pid", owner->pid);
	if (owner->process)
		o->w->label(o->context, "process", owner->process->text);
	if (!owner->tid)
		return;
	put_number_label(o, "tid", owner->tid);
	if (owner->thread)
		o->w->label(o->context, "thread", owner->thread->text);
}

/* --- the parts of the table -------------------------------------------------------------------- */

static void put_value(const struct output *o, enum stats_part part, const struct stats_row *row)
{
	switch (part) {
	case STATS_INSTANTS:
		put_count(o, row->count);
		break;
	case STATS_COUNTERS:
		o->w->number(o->context, &row->last);
		break;
	case STATS_POOLS:
		o->w->number(o->context, &(struct arg){ .type = ARG_INT, .i = row->live });
		break;
	default:
		o->w->times(o->context,
			    &(struct metric_times){ &row->histogram, row->count, row->sum_ns });
		break;
	}
}

static void put_part(const struct output *o, const struct stats_view *view)
{
	static const struct metric metrics[STATS_PARTS] = {
		[STATS_SLICES] = { METRIC_HISTOGRAM, "proftrace.slice.duration", "s",
				   "Durations of slices of threads." },
		[STATS_ASYNCS] = { METRIC_HISTOGRAM, "proftrace.async.duration", "s",
				   "Durations of asynchronous slices." },
		[STATS_FRAMES] = { METRIC_HISTOGRAM, "proftrace.frame.duration", "s",
				   "Durations of frames." },
		[STATS_INSTANTS] = { METRIC_COUNTER, "proftrace.instants", "", "Instants." },
		[STATS_COUNTERS] = { METRIC_GAUGE, "proftrace.value", "",
				     "The latest values of the program's counters." },
		[STATS_POOLS] = { METRIC_GAUGE, "proftrace.pool.live", "By",
				  "Allocated memory of pools." },
	};
	static const struct metric self = { METRIC_COUNTER, "proftrace.slice.self", "s",
					    "Time of slices without the slices inside." };

	o->w->metric(o->context, &metrics[view->part]);
	for (size_t i = 0; i < view->n_rows; i++) {
		put_labels(o, view, &view->rows[i]);
		put_value(o, view->part, &view->rows[i]);
	}
	if (view->part != STATS_SLICES)
		return;
	o->w->metric(o->context, &self);
	for (size_t i = 0; i < view->n_rows; i++) {
		put_labels(o, view, &view->rows[i]);
		o->w->seconds(o->context, view->rows[i].self_ns);
	}
}

/* Every number of the account, also zero, so that an alert can be written before the first loss. */
static void put_account(const struct output *o, const struct account *account)
{
	static const struct metric metric = {
		METRIC_GAUGE, "proftrace.account", "",
		"What became of all marks, and what went wrong, as in the summary of a recording."
	};

	o->w->metric(o->context, &metric);
	for (unsigned i = 0; i < account_numbers(); i++) {
		o->w->label(o->context, "number", account_number_name(i));
		put_count(o, account_number(account, i));
	}
}

int stats_write_metrics(const struct consumer *stats, const struct stats_options *options,
			const struct account *account, metrics_more *more, const void *of,
			const struct metric_writer *w, void *context, struct failure *f)
{
	static const struct metric left_out = { METRIC_GAUGE, "proftrace.names_left_out", "",
						"Names beyond the limit of rows." };
	const struct output o = { w, context };
	struct stats_view view = { 0 };
	uint64_t beyond = 0;
	int part, error = stats_view_init(&view, stats, options, f);

	for (part = 0; part < STATS_PARTS && !error; part++) {
		error = stats_view_part(&view, (enum stats_part)part);
		if (error) {
			failure_set(f, error, "cannot print", "the table", NULL);
			break;
		}
		beyond += view.n_all - view.n_rows;
		if (view.n_rows)
			put_part(&o, &view);
	}
	if (!error) {
		metric_put_single(w, context, &left_out, beyond);
		if (account)
			put_account(&o, account);
		if (more)
			more(w, context, of);
	}
	stats_view_free(&view);
	return error;
}
