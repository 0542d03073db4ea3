/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the statistics as OpenMetrics text 1.0, which Prometheus and others scrape. Everything is a sum since the
 * recording began, so a scraper computes rates and percentiles of any span of time from two scrapes.
 *
 * The set of series of a name never changes, because a series that appears later seems to have begun with what it had
 * already. So every histogram has all buckets: one for each power of two, from 256 ns to 69 s. A bucket counts times up
 * to and including its limit, and times are whole nanoseconds, so the limits are one nanosecond below the powers.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "reports/table/stats_print.h"
#include "reports/table/stats_view.h"

struct metric {
	const char *name, *type, *unit, *help;
};

static void put_metric_head(FILE *out, const struct metric *metric)
{
	fprintf(out, "# TYPE %s %s\n", metric->name, metric->type);
	if (metric->unit)
		fprintf(out, "# UNIT %s %s\n", metric->name, metric->unit);
	fprintf(out, "# HELP %s %s\n", metric->name, metric->help);
}

/* A name from the target: the format has escapes for these three, and all else is UTF-8. */
static void put_label(FILE *out, const char *before, const char *text)
{
	fputs(before, out);
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

/* The group "a/b/c" of "x/y/z" has the labels x, y and z. The last one is the rest, which may have a slash. */
static void add_group_labels(const char *titles, const char *group, stats_add_label *add,
			     void *context)
{
	char value[4096 + 1], title[64], *at;
	size_t n, m;

	for (; *titles; titles += n + (titles[n] != '\0'), group += m + (group[m] != '\0')) {
		n = strcspn(titles, "/");
		m = titles[n] ? strcspn(group, "/") : strlen(group);
		snprintf(title, sizeof(title), "%.*s", (int)n, titles);
		/* The key of an argument may have any characters. */
		for (at = title; *at; at++) {
			if (!isalnum((unsigned char)*at))
				*at = '_';
		}
		snprintf(value, sizeof(value), "%.*s", (int)m, group);
		add(context, title, value);
	}
}

void stats_row_labels(const struct stats_view *view, const struct stats_row *row,
		      stats_add_label *add, void *context)
{
	const struct stats_owner *owner = stats_row_owner(view->stats, row);
	char number[16];

	add(context, "category", row->key.category ? row->key.category->text : "");
	add(context, "name", row->key.name ? row->key.name->text : "(other)");
	if (row->key.series)
		add(context, "series", row->key.series->text);
	if (owner && owner->group)
		add_group_labels(view->stats->by, owner->group->text, add, context);
	if (!owner || !view->stats->per_thread)
		return;
	snprintf(number, sizeof(number), "%" PRIu32, owner->pid);
	add(context, "pid", number);
	if (owner->process)
		add(context, "process", owner->process->text);
	if (!owner->tid)
		return;
	snprintf(number, sizeof(number), "%" PRIu32, owner->tid);
	add(context, "tid", number);
	if (owner->thread)
		add(context, "thread", owner->thread->text);
}

struct label_list {
	FILE *out;
	char before;
};

static void print_label(void *context, const char *key, const char *value)
{
	struct label_list *list = context;

	fprintf(list->out, "%c%s", list->before, key);
	put_label(list->out, "=\"", value);
	list->before = ',';
}

static void put_row_labels(const struct stats_view *view, const struct stats_row *row, FILE *out)
{
	stats_row_labels(view, row, print_label, &(struct label_list){ out, '{' });
}

static void put_row_u64(const struct stats_view *view, const struct stats_row *row,
			const char *name, uint64_t value, FILE *out)
{
	fputs(name, out);
	put_row_labels(view, row, out);
	fprintf(out, "} %" PRIu64 "\n", value);
}

/* Seconds with all digits: a double has too few for sums of many days. */
static void put_seconds(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static void put_row_seconds(const struct stats_view *view, const struct stats_row *row,
			    const char *name, uint64_t ns, FILE *out)
{
	fputs(name, out);
	put_row_labels(view, row, out);
	fputs("} ", out);
	put_seconds(out, ns);
	fputc('\n', out);
}

uint64_t stats_count_below(const struct histogram *h, unsigned power)
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

static void put_histogram(const struct stats_view *view, const struct stats_row *row,
			  const char *name, FILE *out)
{
	char part[96];
	unsigned power;

	for (power = STATS_LEAST_BUCKET; power <= STATS_LAST_BUCKET; power++) {
		fprintf(out, "%s_bucket", name);
		put_row_labels(view, row, out);
		fputs(",le=\"", out);
		put_seconds(out, (1ull << power) - 1);
		fprintf(out, "\"} %" PRIu64 "\n", stats_count_below(&row->histogram, power));
	}
	fprintf(out, "%s_bucket", name);
	put_row_labels(view, row, out);
	fprintf(out, ",le=\"+Inf\"} %" PRIu64 "\n", row->count);
	snprintf(part, sizeof(part), "%s_count", name);
	put_row_u64(view, row, part, row->count, out);
	snprintf(part, sizeof(part), "%s_sum", name);
	put_row_seconds(view, row, part, row->sum_ns, out);
}

static void put_durations(const struct stats_view *view, FILE *out)
{
	static const struct metric metrics[] = {
		[STATS_SLICES] = { "proftrace_slice_duration_seconds", "histogram", "seconds",
				   "Durations of slices of threads." },
		[STATS_ASYNCS] = { "proftrace_async_duration_seconds", "histogram", "seconds",
				   "Durations of asynchronous slices." },
		[STATS_FRAMES] = { "proftrace_frame_duration_seconds", "histogram", "seconds",
				   "Durations of frames." },
	};
	static const struct metric self = { "proftrace_slice_self_seconds", "counter", "seconds",
					    "Time of slices without the slices inside." };
	size_t i;

	put_metric_head(out, &metrics[view->part]);
	for (i = 0; i < view->n_rows; i++)
		put_histogram(view, &view->rows[i], metrics[view->part].name, out);
	if (view->part != STATS_SLICES)
		return;
	put_metric_head(out, &self);
	for (i = 0; i < view->n_rows; i++)
		put_row_seconds(view, &view->rows[i], "proftrace_slice_self_seconds_total",
				view->rows[i].self_ns, out);
}

static void put_instants(const struct stats_view *view, FILE *out)
{
	static const struct metric metric = { "proftrace_instants", "counter", NULL, "Instants." };
	size_t i;

	put_metric_head(out, &metric);
	for (i = 0; i < view->n_rows; i++)
		put_row_u64(view, &view->rows[i], "proftrace_instants_total", view->rows[i].count,
			    out);
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

static void put_counters(const struct stats_view *view, FILE *out)
{
	static const struct metric metric = { "proftrace_value", "gauge", NULL,
					      "The latest values of the program's counters." };
	size_t i;

	put_metric_head(out, &metric);
	for (i = 0; i < view->n_rows; i++) {
		fputs(metric.name, out);
		put_row_labels(view, &view->rows[i], out);
		fputs("} ", out);
		put_number(out, &view->rows[i].last, put_metric_double);
		fputc('\n', out);
	}
}

static void put_pools(const struct stats_view *view, FILE *out)
{
	static const struct metric live = { "proftrace_pool_live_bytes", "gauge", "bytes",
					    "Allocated memory of pools." };
	size_t i;

	put_metric_head(out, &live);
	for (i = 0; i < view->n_rows; i++) {
		fputs(live.name, out);
		put_row_labels(view, &view->rows[i], out);
		fprintf(out, "} %" PRId64 "\n", view->rows[i].live);
	}
}

/* Every number of the account, also zero, so that an alert can be written before the first loss. */
static void put_account(const struct account *account, FILE *out)
{
	static const struct metric metric = {
		"proftrace_account", "gauge", NULL,
		"What became of all marks, and what went wrong, as in the summary of a recording."
	};
	unsigned i;

	put_metric_head(out, &metric);
	for (i = 0; i < account_numbers(); i++) {
		fputs(metric.name, out);
		put_label(out, "{number=\"", account_number_name(i));
		fprintf(out, "} %" PRIu64 "\n", account_number(account, i));
	}
}

static void put_part(const struct stats_view *view, FILE *out)
{
	switch (view->part) {
	case STATS_INSTANTS:
		put_instants(view, out);
		break;
	case STATS_COUNTERS:
		put_counters(view, out);
		break;
	case STATS_POOLS:
		put_pools(view, out);
		break;
	default:
		put_durations(view, out);
		break;
	}
}

int stats_print_openmetrics(const struct consumer *stats, FILE *out,
			    const struct stats_options *options, const struct account *account,
			    void (*more)(FILE *out, const void *context), const void *context,
			    struct failure *f)
{
	static const struct metric left_out = { "proftrace_names_left_out", "gauge", NULL,
						"Names beyond the limit of rows." };
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
			put_part(&view, out);
	}
	if (!error) {
		put_metric_head(out, &left_out);
		fprintf(out, "%s %" PRIu64 "\n", left_out.name, beyond);
		if (account)
			put_account(account, out);
		if (more)
			more(out, context);
		fputs("# EOF\n", out);
	}
	stats_view_free(&view);
	return error;
}
