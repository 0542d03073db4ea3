/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace report` reads traces through the same timeline as a recording and prints the same table, or the slowest
 * slices, or a flame graph.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "base/failure.h"
#include "reports/critical/critical.h"
#include "reports/flame/flame.h"
#include "reports/page/page.h"
#include "reports/ranks/ranks.h"
#include "reports/reading.h"
#include "reports/slowest/slowest.h"
#include "reports/table/stats_print.h"
#include "privilege/invoker.h"

enum {
	KEY_SORT = 256,
	KEY_ASCENDING,
	KEY_FORMAT,
	KEY_UNIT,
	KEY_NAME,
	KEY_PER_THREAD,
	KEY_COLUMNS,
	KEY_SLOWEST,
	KEY_CRITICAL,
	KEY_RANKS,
	KEY_FLAME,
	KEY_HTML,
	MAX_GLOBS = 64,
	MAX_TRACES = 4096,
};

static const char doc[] =
	"Print a table of the slices of traces: their count, their total and their self time.\v"
	"A TRACE is a Perfetto trace or Chrome JSON, gzipped or not, from proftrace or another "
	"program; - is standard input. Several traces become one table. A truncated trace is read "
	"up to where it was cut off.\n\n"
	"Examples:\n"
	"  proftrace report slow.pftrace\n"
	"  proftrace report -n 10 --sort p99 rank0.pftrace rank1.pftrace\n"
	"  proftrace report --columns count,cycles/call,ipc -D 'net.*' slow.json.gz\n"
	"  proftrace report --slowest 5 request slow.pftrace\n"
	"  proftrace report --ranks rank*.pftrace\n"
	"  proftrace report --flame=request -o request.svg slow.pftrace\n"
	"  proftrace report --html -o page.html slow.pftrace\n"
	"  proftrace report --where 'in(\"request\") && dur > 1ms' --by kind slow.pftrace\n"
	"  proftrace report --format json slow.pftrace | jq '.slices[0]'\n";

static const struct argp_option options[] = {
	{ "limit", 'n', "N", 0, "Print only the first N rows of each part (all)", 0 },
	{ "sort", KEY_SORT, "COLUMN", 0,
	  "Sort by total (the default), self, avg, min, max, count, name, p50, p95, p99, or any "
	  "other "
	  "column",
	  0 },
	{ "ascending", KEY_ASCENDING, NULL, 0, "Sort in ascending order", 0 },
	{ "format", KEY_FORMAT, "FORMAT", 0, "Print a table, json, csv or openmetrics", 0 },
	{ "unit", KEY_UNIT, "UNIT", 0, "Unit of times: auto, ns, us, ms or s", 0 },
	{ "domain", 'D', "GLOB", 0,
	  "Include only categories that match; !GLOB excludes them (repeatable)", 0 },
	{ "name", KEY_NAME, "GLOB", 0,
	  "Include only names that match; !GLOB excludes them (repeatable)", 0 },
	{ "per-thread", KEY_PER_THREAD, NULL, 0,
	  "One row for each thread; one for each process for asynchronous slices, counters and "
	  "pools",
	  0 },
	{ "columns", KEY_COLUMNS, "LIST", 0,
	  "Columns in this order: count, total, self, min, max, avg, p50, p95, p99, share, ipc, "
	  "and "
	  "for each recorded counter its sum, :self, /call and /s, as in cycles/call",
	  0 },
	{ "slowest", KEY_SLOWEST, "N NAME", 0,
	  "Compare the N longest slices that match NAME (a glob) with the median one: what "
	  "happened "
	  "in them, and what was different",
	  0 },
	{ "critical", KEY_CRITICAL, "NAME", 0,
	  "Show the critical path of the slices that match NAME (a glob): what they were waiting "
	  "for at each moment, across threads and processes (record --wait-reasons)",
	  0 },
	{ "ranks", KEY_RANKS, "NAME", OPTION_ARG_OPTIONAL,
	  "For each collective operation of a parallel job, show which rank came last, and what it "
	  "did before. Collectives are the slices that match NAME (a glob; default: the names of "
	  "MPI, NCCL and others)",
	  0 },
	{ "flame", KEY_FLAME, "NAME", OPTION_ARG_OPTIONAL,
	  "Write a flame graph of the samples (record --sample): all samples, or the samples in "
	  "slices that match NAME (a glob)",
	  0 },
	{ "html", KEY_HTML, NULL, 0,
	  "Write a page for a browser that needs no network: the table, histograms, flame graphs "
	  "and the timeline. With --slowest (repeatable), the timeline shows these slices in full "
	  "detail",
	  0 },
	{ "output", 'o', "FILE", 0,
	  "Write the page or the flame graph to FILE. A flame graph is an image if FILE ends in "
	  ".svg, and folded stacks if FILE ends in .folded or .txt. Default: standard output, "
	  "where a flame graph is folded stacks",
	  0 },
	SELECT_CUT_OPTIONS,
	{ "by", USAGE_BY, "KEY", 0,
	  "One row for each thread, process, rank, epoch, or value of the argument KEY", 0 },
	{ "quiet", 'q', NULL, 0, "Print errors only", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

enum format {
	FORMAT_TABLE,
	FORMAT_JSON,
	FORMAT_CSV,
	FORMAT_OPENMETRICS,
};

struct report {
	struct stats_options stats;
	const char *domains[MAX_GLOBS];
	const char *names[MAX_GLOBS];
	enum format format;
	bool per_thread;
	bool quiet;
	bool html;
	unsigned n_slowest;   /* 0: the table of names */
	const char *critical; /* NULL: not wanted */
	struct slowest_options slowest[PAGE_NAMES];
	struct page_options page;
	struct flame_options flame;
	struct ranks_options ranks;
	struct select_options select;
	struct reading reading;
	struct consumer *consumer;
};

static int report_print_slowest(const struct report *report, struct failure *f)
{
	const struct stats_options *o = &report->stats;
	const struct account *account = &report->reading.account;

	switch (report->format) {
	case FORMAT_JSON:
		return slowest_print_json(report->consumer, stdout, account, report->reading.files,
					  report->reading.n_files);
	case FORMAT_CSV:
		return slowest_print_csv(report->consumer, stdout, o, account,
					 report->reading.files, report->reading.n_files, f);
	default:
		return slowest_print_table(report->consumer, stdout, o, account,
					   report->reading.files, report->reading.n_files, f);
	}
}

static int report_print_critical(const struct report *report, struct failure *f)
{
	const struct reading *r = &report->reading;

	if (report->format == FORMAT_JSON)
		return critical_print_json(report->consumer, stdout, &r->account, r->files,
					   r->n_files, f);
	return critical_print_table(report->consumer, stdout, &report->stats, &r->account, f);
}

/* --- the table ---------------------------------------------------------------------------------- */

static int report_print_names(const struct report *report, struct failure *f)
{
	const struct stats_options *o = &report->stats;
	const struct account *account = &report->reading.account;
	int error = 0;

	switch (report->format) {
	case FORMAT_TABLE:
		error = stats_print_table(report->consumer, stdout, o, account, f);
		if (!error && !stats_events(report->consumer))
			print_visible(stdout, "%s\n",
				      report->reading.select ? "nothing is selected" : "no events");
		break;
	case FORMAT_JSON:
		error = stats_print_json(report->consumer, stdout, o, account,
					 report->reading.files, report->reading.n_files, f);
		break;
	case FORMAT_CSV:
		error = stats_print_csv(report->consumer, stdout, o, account, f);
		break;
	case FORMAT_OPENMETRICS:
		error = stats_print_openmetrics(report->consumer, stdout, o, account, NULL, NULL,
						f);
		break;
	}
	return error;
}

static int report_flush(int error, struct failure *f)
{
	if (!error && (fflush(stdout) || ferror(stdout)))
		error = failure_set(f, errno ? -errno : -EIO, "cannot write", "standard output",
				    NULL);
	return error;
}

static int report_print(const struct report *report, struct failure *f)
{
	int error;

	if (report->html)
		return page_write(report->consumer, &report->reading, f);
	if (report->flame.wanted)
		return report_flame(&report->flame, report->consumer, report->reading.names,
				    report->reading.paths, report->reading.n_paths, f);
	error = report->critical    ? report_print_critical(report, f)
		: report->n_slowest ? report_print_slowest(report, f)
				    : report_print_names(report, f);
	return report_flush(error, f);
}

static struct consumer *report_consumer_new(const struct report *report)
{
	if (report->html)
		return page_new(&report->page);
	if (report->flame.wanted)
		return flame_samples_new(report->flame.slice);
	if (report->critical)
		return critical_new(report->critical);
	return report->n_slowest ? slowest_new(&report->slowest[0]) : stats_new();
}

static void report_next_trace(struct consumer *consumer, const struct reading *reading)
{
	uint64_t first_ns, last_ns;

	if (reading->how == READING_PAGE) {
		page_next_trace(consumer, reading);
	} else if (reading->how == READING_TWICE) {
		slowest_next_trace(consumer);
	} else if (reading->how == READING_WHOLE) {
		critical_next_trace(consumer);
	} else if (reading->how == READING_ONCE) {
		if (reading->selection && select_span(reading->selection, &first_ns, &last_ns))
			stats_extend_span(consumer, first_ns, last_ns);
		stats_next_trace(consumer);
	}
}

static int report_prepare(struct report *report)
{
	struct reading *r = &report->reading;
	bool stacks = report->html || report->flame.wanted || report->n_slowest;

	r->how = report->html		? READING_PAGE
		 : report->critical	? READING_WHOLE
		 : report->n_slowest	? READING_TWICE
		 : report->flame.wanted ? READING_SAMPLES
					: READING_ONCE;
	r->next_trace = report_next_trace;
	r->again = report->html ? page_again : slowest_again;
	r->wants_samples = report->html ? page_wants_samples : NULL;
	r->quiet = report->quiet;
	r->select = select_is_wanted(&report->select) ? &report->select : NULL;
	r->consumer = report->consumer = report_consumer_new(report);
	if (!report->consumer || reading_init(r, stacks))
		return -ENOMEM;
	if (report->html && r->select)
		page_select(report->consumer);
	if (report->per_thread)
		stats_per_thread(report->consumer);
	if (report->select.by) {
		stats_by(report->consumer, report->select.by_key);
		select_group_by(r->selection, stats_set_group);
	}
	return 0;
}

/* The first error ends the report: a table without one of the traces would be wrong. */
static int report_all(struct report *report, struct failure *f)
{
	const char *first = report->reading.paths[0];
	int error;

	if (report->ranks.wanted)
		return report_flush(report_ranks(&report->ranks, stdout, f), f);
	error = report_prepare(report);
	if (error)
		return failure_set(f, error, "cannot read", first, NULL);
	error = reading_read(&report->reading, f);
	if (!error && report->n_slowest && !report->html && !slowest_complete(report->consumer))
		error = failure_set(f, -ESTALE, "cannot read", first,
				    "it changed while it was read");
	return error ? error : report_print(report, f);
}

/* --- options ----------------------------------------------------------------------------------- */

static void report_add_glob(struct argp_state *state, const char **globs, unsigned *n,
			    const char *arg)
{
	if (*n == MAX_GLOBS)
		usage_error(state, "more than %d of the same option", MAX_GLOBS);
	globs[(*n)++] = arg;
}

/* "N NAME": the name is the next argument. */
static void report_parse_slowest(struct report *report, const char *arg, struct argp_state *state)
{
	struct slowest_options *slowest;
	char *end;
	long n = strtol(arg, &end, 10);

	if (*end || end == arg || n < 1 || n > SLOWEST_MAX)
		usage_error(state, "--slowest '%s' is not a number from 1 to %d", arg, SLOWEST_MAX);
	if (state->next >= state->argc)
		usage_error(state, "--slowest %ld requires a NAME", n);
	if (report->n_slowest == PAGE_NAMES)
		usage_error(state, "--slowest more than %d times", PAGE_NAMES);
	slowest = &report->slowest[report->n_slowest++];
	slowest->n = (unsigned)n;
	slowest->name = state->argv[state->next++];
	slowest->domains = report->domains;
}

static void report_check_html(const struct report *report, struct argp_state *state)
{
	const struct stats_options *o = &report->stats;
	const char *output = report->flame.output;

	if (output && strcmp(output, "-") && !text_ends_with(output, ".html") &&
	    !text_ends_with(output, ".htm"))
		usage_error(state, "-o '%s': its name must end with .html", output);
	if (!output && isatty(STDOUT_FILENO))
		usage_error(state, "--html requires -o FILE; it is not for a terminal");
	if (report->flame.wanted || report->format != FORMAT_TABLE || report->per_thread ||
	    report->select.by || report->critical || report->ranks.wanted)
		usage_error(state, "--html cannot be combined with --flame, --critical, --ranks, "
				   "--format, --per-thread and --by");
	if (o->sort || o->ascending || o->columns || o->max_rows || o->unit)
		usage_error(state, "--html cannot be combined with --sort, --ascending, --columns, "
				   "--limit and "
				   "--unit: the page sorts and selects");
}

static void report_check_critical(const struct report *report, struct argp_state *state)
{
	const struct stats_options *o = &report->stats;

	if (!report->critical)
		return;
	if (report->n_slowest || report->flame.wanted || report->per_thread || o->sort ||
	    o->ascending || o->columns || o->n_names || o->n_domains)
		usage_error(state, "--critical cannot be combined with --slowest, --flame, --sort, "
				   "--ascending, --columns, --name, --domain and --per-thread");
	if (select_is_wanted(&report->select))
		usage_error(state, "--critical needs the whole trace: it cannot be combined with "
				   "--where, --by, --from and --to");
	if (report->format == FORMAT_CSV)
		usage_error(state, "--critical prints a table or json");
}

static void report_check_ranks(const struct report *report, struct argp_state *state)
{
	const struct stats_options *o = &report->stats;

	if (!report->ranks.wanted)
		return;
	if (report->critical || report->n_slowest || report->flame.wanted || report->per_thread ||
	    o->sort || o->ascending || o->columns || o->n_names || o->n_domains)
		usage_error(state,
			    "--ranks cannot be combined with --critical, --slowest, --flame, "
			    "--sort, --ascending, --columns, --name, --domain and --per-thread");
	if (select_is_wanted(&report->select))
		usage_error(state, "--ranks needs the whole trace: it cannot be combined with "
				   "--where, --by, --from and --to");
	if (report->format != FORMAT_TABLE && report->format != FORMAT_JSON)
		usage_error(state, "--ranks prints a table or json");
}

/* Metrics are all rows of the table in one unit. */
static void report_check_openmetrics(const struct report *report, struct argp_state *state)
{
	const struct stats_options *o = &report->stats;

	if (report->format == FORMAT_OPENMETRICS &&
	    (report->n_slowest || report->critical || report->select.by || o->columns || o->unit))
		usage_error(state, "--format openmetrics cannot be combined with --slowest, "
				   "--critical, --by, --columns and --unit");
}

static void report_check_options(const struct report *report, struct argp_state *state)
{
	const struct stats_options *o = &report->stats;

	const struct flame_options *flame = &report->flame;
	const char *wrong = flame_output_wrong(flame->output);

	if (report->html) {
		report_check_html(report, state);
		return;
	}
	if (report->n_slowest > 1)
		usage_error(state, "several --slowest require --html");
	if (flame->output && !flame->wanted)
		usage_error(state,
			    "-o requires --flame or --html; tables are printed on standard output");
	if (wrong)
		usage_error(state, "-o '%s': %s", flame->output, wrong);
	if (flame->wanted && (report->n_slowest || o->n_domains || report->format != FORMAT_TABLE))
		usage_error(state,
			    "--flame cannot be combined with --slowest, --domain and --format");
	if (flame->wanted &&
	    (o->sort || o->ascending || o->columns || o->n_names || report->per_thread))
		usage_error(state, "--flame cannot be combined with --sort, --ascending, "
				   "--columns, --name and --per-thread");
	if (report->select.by && (flame->wanted || report->n_slowest || report->per_thread))
		usage_error(state, "--by cannot be combined with --flame, --slowest and "
				   "--per-thread");
	report_check_critical(report, state);
	report_check_ranks(report, state);
	report_check_openmetrics(report, state);
	if (report->n_slowest &&
	    (o->sort || o->ascending || o->columns || o->n_names || report->per_thread))
		usage_error(state, "--slowest cannot be combined with --sort, --ascending, "
				   "--columns, --name and --per-thread");
}

/* What other options say about --slowest and --html is known at the end. */
static void report_set_options(struct report *report, struct argp_state *state)
{
	for (unsigned i = 0; i < report->n_slowest; i++)
		report->slowest[i].n_domains = report->stats.n_domains;
	report->page = (struct page_options){
		.output = report->flame.output,
		.table = &report->stats,
		.n_slowest = report->n_slowest,
		.slowest = report->slowest,
	};
	report->ranks.json = report->format == FORMAT_JSON;
	report->ranks.quiet = report->quiet;
	report->ranks.table = &report->stats;
	report->ranks.paths = report->reading.paths;
	report->ranks.n_paths = report->reading.n_paths;
	report_check_options(report, state);
}

static error_t report_parse_other(int key, char *arg, struct argp_state *state)
{
	struct report *report = state->input;

	switch (key) {
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARGS:
		report->reading.paths = state->argv + state->next;
		report->reading.n_paths = (unsigned)(state->argc - state->next);
		if (report->reading.n_paths > MAX_TRACES)
			usage_error(state, "more than %d traces", MAX_TRACES);
		return 0;
	case ARGP_KEY_END:
		report_set_options(report, state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "a TRACE is required");
		return 0;
	default:
		return usage_select(key, arg, state, &report->select);
	}
}

static unsigned report_parse_rows(const char *arg, struct argp_state *state)
{
	char *end;
	long rows;

	errno = 0;
	rows = strtol(arg, &end, 10);
	if (errno || *end || end == arg || rows < 1 || rows > 1000000)
		usage_error(state, "'%s' is not a number of rows", arg);
	return (unsigned)rows;
}

static error_t report_parse_option(int key, char *arg, struct argp_state *state)
{
	static const char *const formats[] = { "table", "json", "csv", "openmetrics" };
	static const char *const units[] = { "auto", "ns", "us", "ms", "s" };
	struct report *report = state->input;
	struct stats_options *o = &report->stats;

	switch (key) {
	case 'n':
		o->max_rows = report_parse_rows(arg, state);
		return 0;
	case 'q':
		report->quiet = report->flame.quiet = true;
		return 0;
	case KEY_SORT:
		o->sort = arg;
		return 0;
	case KEY_ASCENDING:
		o->ascending = true;
		return 0;
	case KEY_FORMAT:
		report->format = (enum format)usage_choice(state, arg, formats, 4, "format");
		return 0;
	case KEY_UNIT:
		o->unit = (enum stats_unit)usage_choice(state, arg, units, 5, "unit of time");
		return 0;
	case 'D':
		report_add_glob(state, report->domains, &o->n_domains, arg);
		return 0;
	case KEY_NAME:
		report_add_glob(state, report->names, &o->n_names, arg);
		return 0;
	case KEY_PER_THREAD:
		report->per_thread = true;
		return 0;
	case KEY_COLUMNS:
		o->columns = arg;
		return 0;
	case KEY_SLOWEST:
		report_parse_slowest(report, arg, state);
		return 0;
	case KEY_CRITICAL:
		report->critical = arg;
		return 0;
	case KEY_RANKS:
		report->ranks.wanted = true;
		report->ranks.name = arg;
		return 0;
	case KEY_FLAME:
		report->flame.wanted = true;
		report->flame.slice = arg;
		return 0;
	case KEY_HTML:
		report->html = true;
		return 0;
	case 'o':
		report->flame.output = arg;
		return 0;
	default:
		return report_parse_other(key, arg, state);
	}
}

static const struct argp argp = { options, report_parse_option, "TRACE...", doc, NULL, NULL, NULL };
const struct usage usage_report = { .argp = &argp,
				    .size = sizeof(struct report),
				    .two_words = KEY_SLOWEST };

static void report_init(struct report *report)
{
	report->stats.domains = report->domains;
	report->stats.names = report->names;
}

void report_check_arguments(int argc, char **argv)
{
	struct report report = { 0 };

	report_init(&report);
	usage_parse(&usage_report, argc, argv, &report);
}

int cmd_report(int argc, char **argv)
{
	struct report report = { 0 };
	struct failure f = { 0 };
	int error;

	report_init(&report);
	stats_fit_terminal(STDOUT_FILENO, &report.stats);
	usage_parse(&usage_report, argc, argv, &report);
	error = invoker_become(&f);
	error = error ?: report_all(&report, &f);
	if (error)
		failure_print(&f, stderr);
	if (report.consumer)
		report.consumer->ops->free(report.consumer);
	reading_free(&report.reading);
	return error ? STATUS_FAILED : STATUS_DONE;
}
