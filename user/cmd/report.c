/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace report` reads traces through the same timeline as a recording and prints the same table, or the slowest
 * slices, or a flame graph.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "merge/rewrite.h"
#include "cmd/usage.h"
#include "base/failure.h"
#include "reports/flame/flame.h"
#include "reports/slowest/slowest.h"
#include "reports/table/stats_print.h"
#include "formats/reader.h"
#include "privilege/invoker.h"
#include "timeline/callstack.h"
#include "timeline/timeline.h"

enum {
	KEY_SORT = 256,
	KEY_ASCENDING,
	KEY_FORMAT,
	KEY_UNIT,
	KEY_NAME,
	KEY_PER_THREAD,
	KEY_COLUMNS,
	KEY_SLOWEST,
	KEY_FLAME,
	MAX_GLOBS = 64,
	MAX_TRACES = 4096,
};

static const char doc[] =
	"Print a table of the slices of traces: their count, their total and their self time.\v"
	"A TRACE is a Perfetto trace or Chrome JSON, gzipped or not, by proftrace or by others; - "
	"is standard input. Several traces become one table. A trace that was cut off is read up "
	"to its end.\n\n"
	"Examples:\n"
	"  proftrace report slow.pftrace\n"
	"  proftrace report -n 10 --sort p99 rank0.pftrace rank1.pftrace\n"
	"  proftrace report --columns count,cycles/call,ipc -D 'net.*' slow.json.gz\n"
	"  proftrace report --slowest 5 request slow.pftrace\n"
	"  proftrace report --flame=request -o request.svg slow.pftrace\n"
	"  proftrace report --format json slow.pftrace | jq '.slices[0]'\n";

static const struct argp_option options[] = {
	{ "limit", 'n', "N", 0, "Print only the first N rows of each part (all)", 0 },
	{ "sort", KEY_SORT, "COLUMN", 0,
	  "Sort by total (the default), self, avg, min, max, count, name, p50, p95, p99, or any "
	  "other "
	  "column",
	  0 },
	{ "ascending", KEY_ASCENDING, NULL, 0, "Sort in ascending order", 0 },
	{ "format", KEY_FORMAT, "FORMAT", 0, "Print a table, json or csv", 0 },
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
	{ "flame", KEY_FLAME, "NAME", OPTION_ARG_OPTIONAL,
	  "Write a flame graph of the samples (record --sample): of all, or of those in slices "
	  "that "
	  "match NAME (a glob)",
	  0 },
	{ "output", 'o', "FILE", 0,
	  "Write --flame to FILE: an image if it ends in .svg, folded stacks if it ends in .folded "
	  "or .txt (folded stacks on standard output)",
	  0 },
	{ "quiet", 'q', NULL, 0, "Print errors only", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

enum format {
	FORMAT_TABLE,
	FORMAT_JSON,
	FORMAT_CSV,
};

struct report {
	struct stats_options stats;
	const char *domains[MAX_GLOBS];
	const char *names[MAX_GLOBS];
	enum format format;
	bool per_thread;
	bool quiet;
	struct slowest_options slowest; /* n 0: the table of names */
	struct flame_options flame;
	bool again; /* the traces are read a second time */
	unsigned n_paths;
	char **paths;

	/* Shared by all traces. */
	struct names *table;
	struct callstacks *callstacks; /* of --flame and --slowest; NULL: samples are ignored */
	struct consumer *consumer;
	struct stats_file *files;
	uint64_t (*uuids)[2]; /* of the files; both formats of a recording have the same */
	unsigned n_files;     /* read so far */
	struct account account;
};

/* The trace that is being read. */
struct reading {
	struct account account;
	struct trace_origin origin;
	struct timeline *timeline;
	uint64_t last_ns;
	uint64_t lost; /* marks that the recording had lost already */
};

static int report_event(void *context, const struct event *event)
{
	struct reading *r = context;

	if (event->ts_ns > r->last_ns)
		r->last_ns = event->ts_ns;
	if (event->kind == EVENT_LOST)
		r->lost += event->size;
	return timeline_event(r->timeline, event);
}

/* A recording that was not cut off contains its account. */
static void report_add_account(struct report *report, const struct reading *r)
{
	struct account account = r->account;
	unsigned i;

	if (r->origin.has_account) {
		account = r->origin.account;
		for (i = 0; i < LOST_REASONS; i++)
			account.lost[i] += r->account.lost[i];
	} else {
		account.lost[LOST_BUFFER_FULL] += r->lost;
	}
	account_merge(&report->account, &account);
}

/* `report slow.*` reads both formats of a recording, which is a likely mistake. */
static void report_warn_duplicate(const struct report *report, const struct trace_origin *origin)
{
	const uint64_t *uuid = origin->trace_uuid;
	unsigned i, last = report->n_files - 1;

	memcpy(report->uuids[last], uuid, sizeof(report->uuids[last]));
	for (i = 0; i < last && (uuid[0] || uuid[1]) && !report->quiet; i++) {
		if (memcmp(report->uuids[i], uuid, sizeof(report->uuids[i])))
			continue;
		print_visible(
			stderr,
			"proftrace: '%s': the same recording as '%s', so its events are counted "
			"twice\n",
			report->files[last].path, report->files[i].path);
		fputs("hint: each format of a recording contains all events; use one of them\n",
		      stderr);
		return;
	}
}

static void report_finish_trace(struct report *report, const char *path, const struct reading *r,
				const struct reader_error *why)
{
	if (report->slowest.n)
		slowest_next_trace(report->consumer);
	else if (!report->flame.wanted)
		stats_next_trace(report->consumer);
	report->files[report->n_files++] = (struct stats_file){ .path = path,
								.truncated_at = why->offset,
								.is_truncated = why->truncated };
	if (report->again) /* all this was reported */
		return;
	report_add_account(report, r);
	report_warn_duplicate(report, &r->origin);
	if (!report->quiet)
		source_print_ending(path, &r->origin, why);
	if (why->skipped && !report->quiet)
		print_visible(stderr,
			      "proftrace: '%s': %" PRIu64
			      " events of kinds that proftrace does not represent (%s)\n",
			      path, why->skipped, why->skipped_kinds);
}

/* Each trace has its own range of uuids, since equal PIDs of two traces are different processes. */
static int report_read_trace(struct report *report, int fd, const char *path, struct failure *f)
{
	struct reading r = { 0 };
	struct reader_error why = { 0 };
	const struct reader_sink sink = {
		.event = report_event,
		.context = &r,
		.names = report->table,
		.account = &r.account,
		.origin = &r.origin,
		.callstacks = report->callstacks,
	};
	int error = -ENOMEM;

	r.timeline = timeline_new(report->table, &r.account, (uint64_t)report->n_files << 40);
	if (r.timeline)
		error = timeline_add_consumer(r.timeline, report->consumer);
	if (!error)
		error = trace_read(fd, &sink, &why);
	if (!error)
		timeline_finish(r.timeline);
	if (error)
		source_read_failed(f, path, error, &why);
	else
		report_finish_trace(report, path, &r, &why);
	timeline_free(r.timeline);
	return error;
}

static int report_read_path(struct report *report, const char *path, struct failure *f)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int error;

	if (fd < 0)
		return failure_set(f, -errno, "cannot open", path, NULL);
	error = report_read_trace(report, fd, path, f);
	if (!is_stdin)
		close(fd);
	return error;
}

/* --- --slowest reads twice ---------------------------------------------------------------------- */

static int report_read_sources(struct report *report, struct source *sources, struct failure *f)
{
	int error = 0;
	unsigned i;

	for (i = 0; i < report->n_paths && !error; i++) {
		if (lseek(sources[i].fd, 0, SEEK_SET) < 0)
			return failure_set(f, -errno, "cannot read", sources[i].path, NULL);
		error = report_read_trace(report, sources[i].fd, sources[i].path, f);
	}
	return error;
}

static int report_read_twice(struct report *report, struct failure *f)
{
	struct source *sources = calloc(report->n_paths, sizeof(*sources));
	unsigned i, n = 0;
	int error = 0;

	if (!sources)
		return failure_set(f, -ENOMEM, "cannot read", report->paths[0], NULL);
	while (n < report->n_paths && !error) {
		error = source_open(&sources[n], report->paths[n], f);
		n++;
	}
	if (!error)
		error = report_read_sources(report, sources, f);
	if (!error && slowest_again(report->consumer))
		error = failure_set(f, -ENOMEM, "cannot read", report->paths[0], NULL);
	if (!error) {
		report->again = true;
		report->n_files = 0;
		error = report_read_sources(report, sources, f);
	}
	if (!error && !slowest_complete(report->consumer))
		error = failure_set(f, -ESTALE, "cannot read", report->paths[0],
				    "it changed while it was read");
	for (i = 0; i < n; i++)
		source_close(&sources[i]);
	free(sources);
	return error;
}

static int report_print_slowest(const struct report *report, struct failure *f)
{
	const struct stats_options *o = &report->stats;
	const struct account *account = &report->account;

	switch (report->format) {
	case FORMAT_JSON:
		return slowest_print_json(report->consumer, stdout, account, report->files,
					  report->n_files);
	case FORMAT_CSV:
		return slowest_print_csv(report->consumer, stdout, o, account, report->files,
					 report->n_files, f);
	default:
		return slowest_print_table(report->consumer, stdout, o, account, report->files,
					   report->n_files, f);
	}
}

/* --- the table ---------------------------------------------------------------------------------- */

static int report_print_names(const struct report *report, struct failure *f)
{
	const struct stats_options *o = &report->stats;
	const struct account *account = &report->account;
	int error = 0;

	switch (report->format) {
	case FORMAT_TABLE:
		error = stats_print_table(report->consumer, stdout, o, account, f);
		if (!error && !stats_events(report->consumer))
			puts("no events");
		break;
	case FORMAT_JSON:
		error = stats_print_json(report->consumer, stdout, o, account, report->files,
					 report->n_files, f);
		break;
	case FORMAT_CSV:
		error = stats_print_csv(report->consumer, stdout, o, account, f);
		break;
	}
	return error;
}

static int report_print(const struct report *report, struct failure *f)
{
	int error;

	if (report->flame.wanted)
		return report_flame(&report->flame, report->consumer, report->table, report->paths,
				    report->n_paths, f);
	error = report->slowest.n ? report_print_slowest(report, f) : report_print_names(report, f);
	if (!error && (fflush(stdout) || ferror(stdout)))
		error = failure_set(f, errno ? -errno : -EIO, "cannot write", "standard output",
				    NULL);
	return error;
}

static struct consumer *report_consumer_new(const struct report *report)
{
	if (report->flame.wanted)
		return flame_samples_new(report->flame.slice);
	return report->slowest.n ? slowest_new(&report->slowest) : stats_new();
}

/* The first error ends the report: a table without one of the traces would be wrong. */
static int report_all(struct report *report, struct failure *f)
{
	int error = 0;
	unsigned i;

	report->table = names_new(0);
	if (report->table && (report->flame.wanted || report->slowest.n))
		report->callstacks = callstacks_new(report->table, 0);
	report->consumer = report_consumer_new(report);
	report->files = calloc(report->n_paths, sizeof(*report->files));
	report->uuids = calloc(report->n_paths, sizeof(*report->uuids));
	if (!report->table || !report->consumer || !report->files || !report->uuids ||
	    ((report->flame.wanted || report->slowest.n) && !report->callstacks))
		return failure_set(f, -ENOMEM, "cannot read", report->paths[0], NULL);
	if (report->per_thread)
		stats_per_thread(report->consumer);
	if (report->slowest.n)
		error = report_read_twice(report, f);
	for (i = 0; i < report->n_paths && !error && !report->slowest.n; i++)
		error = report_read_path(report, report->paths[i], f);
	if (!error && names_count(report->table)->capped && !report->quiet)
		print_visible(stderr,
			      "proftrace: %" PRIu64
			      " uses of the name (other): too many distinct names\n",
			      names_count(report->table)->capped);
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
	char *end;
	long n = strtol(arg, &end, 10);

	if (*end || end == arg || n < 1 || n > SLOWEST_MAX)
		usage_error(state, "--slowest '%s' is not a number from 1 to %d", arg, SLOWEST_MAX);
	if (state->next >= state->argc)
		usage_error(state, "--slowest %ld requires a NAME", n);
	report->slowest.n = (unsigned)n;
	report->slowest.name = state->argv[state->next++];
	report->slowest.domains = report->domains;
}

static void report_check_options(const struct report *report, struct argp_state *state)
{
	const struct stats_options *o = &report->stats;

	const struct flame_options *flame = &report->flame;
	const char *wrong = flame_output_wrong(flame->output);

	if (flame->output && !flame->wanted)
		usage_error(state, "-o requires --flame; tables are printed on standard output");
	if (wrong)
		usage_error(state, "-o '%s': %s", flame->output, wrong);
	if (flame->wanted && (report->slowest.n || o->n_domains || report->format != FORMAT_TABLE))
		usage_error(state,
			    "--flame cannot be combined with --slowest, --domain and --format");
	if (flame->wanted &&
	    (o->sort || o->ascending || o->columns || o->n_names || report->per_thread))
		usage_error(state, "--flame cannot be combined with --sort, --ascending, "
				   "--columns, --name and --per-thread");
	if (report->slowest.n &&
	    (o->sort || o->ascending || o->columns || o->n_names || report->per_thread))
		usage_error(state, "--slowest cannot be combined with --sort, --ascending, "
				   "--columns, --name and --per-thread");
}

static error_t report_parse_other(int key, char *arg, struct argp_state *state)
{
	struct report *report = state->input;

	switch (key) {
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARGS:
		report->paths = state->argv + state->next;
		report->n_paths = (unsigned)(state->argc - state->next);
		if (report->n_paths > MAX_TRACES)
			usage_error(state, "more than %d traces", MAX_TRACES);
		return 0;
	case ARGP_KEY_END:
		report->slowest.n_domains = report->stats.n_domains;
		report_check_options(report, state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "a TRACE is required");
		return 0;
	default:
		(void)arg;
		return ARGP_ERR_UNKNOWN;
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
	static const char *const formats[] = { "table", "json", "csv" };
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
		report->format = (enum format)usage_choice(state, arg, formats, 3, "format");
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
	case KEY_FLAME:
		report->flame.wanted = true;
		report->flame.slice = arg;
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

int cmd_report(int argc, char **argv)
{
	struct report report = { 0 };
	struct failure f = { 0 };
	int error;

	report.stats.domains = report.domains;
	report.stats.names = report.names;
	stats_fit_terminal(STDOUT_FILENO, &report.stats);
	usage_parse(&usage_report, argc, argv, &report);
	error = invoker_become(&f);
	if (!error)
		error = report_all(&report, &f);
	if (error)
		failure_print(&f, stderr);
	if (report.consumer)
		report.consumer->ops->free(report.consumer);
	callstacks_free(report.callstacks);
	names_free(report.table);
	free(report.files);
	free(report.uuids);
	return error ? STATUS_FAILED : STATUS_DONE;
}
