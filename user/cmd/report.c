/* SPDX-License-Identifier: BSD-2-Clause */
/* `proftrace report`: a trace on disk takes the same road as a recording, and ends in the same table. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/report_flame.h"
#include "cmd/rewrite.h"
#include "cmd/terminal.h"
#include "cmd/usage.h"
#include "failure.h"
#include "handlers/flame_samples.h"
#include "handlers/slowest.h"
#include "handlers/stats_print.h"
#include "readers/reader.h"
#include "target/invoker.h"
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
	"Print the table of names of traces: how often, how long, and how much of that was their "
	"own.\v"
	"A TRACE is a Perfetto trace or Chrome JSON, gzipped or not, by proftrace or by others; - "
	"is standard input. Several become one table. A trace that was cut off is read as far as "
	"it "
	"goes.\n\n"
	"Examples:\n"
	"  proftrace report slow.pftrace\n"
	"  proftrace report -n 10 --sort p99 rank0.pftrace rank1.pftrace\n"
	"  proftrace report --columns count,cycles/call,ipc -D 'net.*' slow.json.gz\n"
	"  proftrace report --slowest 5 request slow.pftrace\n"
	"  proftrace report --flame=request -o request.svg slow.pftrace\n"
	"  proftrace report --format json slow.pftrace | jq '.slices[0]'\n";

static const struct argp_option options[] = {
	{ "limit", 'n', "N", 0, "Only the first N rows of each part (all)", 0 },
	{ "sort", KEY_SORT, "COLUMN", 0,
	  "total (the usual), self, avg, min, max, count, name, p50, p95, p99, or any other column",
	  0 },
	{ "ascending", KEY_ASCENDING, NULL, 0, "The least first", 0 },
	{ "format", KEY_FORMAT, "FORMAT", 0, "table, json or csv", 0 },
	{ "unit", KEY_UNIT, "UNIT", 0, "Times in auto, ns, us, ms or s", 0 },
	{ "domain", 'D', "GLOB", 0, "Only categories that fit; !GLOB leaves them out (repeatable)",
	  0 },
	{ "name", KEY_NAME, "GLOB", 0, "The same, of names", 0 },
	{ "per-thread", KEY_PER_THREAD, NULL, 0,
	  "A row for each thread; of counters and pools, for each process", 0 },
	{ "columns", KEY_COLUMNS, "LIST", 0,
	  "These, in this order: count, total, self, min, max, avg, p50, p95, p99, share, ipc, and "
	  "of each counter that was recorded its sum, :self, /call and /s, as in cycles/call",
	  0 },
	{ "slowest", KEY_SLOWEST, "N NAME", 0,
	  "The N longest slices called NAME (a glob) beside the median one: what happened in them, "
	  "and what was different",
	  0 },
	{ "flame", KEY_FLAME, "NAME", OPTION_ARG_OPTIONAL,
	  "A flame graph of the samples (record --sample): of all, or of those within slices "
	  "called NAME "
	  "(a glob)",
	  0 },
	{ "output", 'o', "FILE", 0,
	  "Where --flame goes: .svg is a picture, .folded or .txt stacks as text, as on standard "
	  "output without this",
	  0 },
	{ "quiet", 'q', NULL, 0, "Say nothing on standard error but errors", 0 },
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
	bool again; /* the traces are read for the second time */
	unsigned n_paths;
	char **paths;

	/* What all the traces share. */
	struct names *table;
	struct callstacks *callstacks; /* of --flame and --slowest; NULL: samples are passed over */
	struct handler *handler;
	struct stats_file *files;
	uint64_t (*uuids)[2]; /* of the files: both formats of one recording have the same */
	unsigned n_files;     /* read so far */
	struct account account;
};

/* One trace on its way into the table. */
struct reading {
	struct account account;
	struct trace_origin origin;
	struct timeline *timeline;
	uint64_t last_ns;
	uint64_t lost; /* marks that the recording had lost already */
};

static int take(void *context, const struct event *event)
{
	struct reading *r = context;

	if (event->ts_ns > r->last_ns)
		r->last_ns = event->ts_ns;
	if (event->kind == EVENT_LOST)
		r->lost += event->size;
	return timeline_event(r->timeline, event);
}

/* A recording says itself what went wrong, where it was not cut off. */
static void add_account(struct report *report, const struct reading *r)
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
	account_add(&report->account, &account);
}

static int failed(struct failure *f, const char *path, int error, const struct reader_error *why)
{
	char reason[sizeof(why->message) + 32];

	if (!why->message[0])
		return failure_set(f, error, "cannot read", path, NULL);
	if (error == -ENOEXEC)
		return failure_set(f, error, "cannot read", path, why->message);
	snprintf(reason, sizeof(reason), "at byte %" PRIu64 ": %s", why->offset, why->message);
	return failure_set(f, error, "cannot read", path, reason);
}

/* `report slow.*` is easily typed. */
static void tell_twice(const struct report *report, const struct trace_origin *origin)
{
	const uint64_t *uuid = origin->trace_uuid;
	unsigned i, last = report->n_files - 1;

	memcpy(report->uuids[last], uuid, sizeof(report->uuids[last]));
	for (i = 0; i < last && (uuid[0] || uuid[1]) && !report->quiet; i++) {
		if (memcmp(report->uuids[i], uuid, sizeof(report->uuids[i])))
			continue;
		fprintf(stderr, "proftrace: '%s': the same recording as '%s', counted twice\n",
			report->files[last].path, report->files[i].path);
		fputs("hint: one of the files of a recording tells all of it\n", stderr);
		return;
	}
}

static void was_read(struct report *report, const char *path, const struct reading *r,
		     const struct reader_error *why)
{
	if (report->slowest.n)
		slowest_next_trace(report->handler);
	else if (!report->flame.wanted)
		stats_next_trace(report->handler);
	report->files[report->n_files++] = (struct stats_file){ .path = path,
								.truncated_at = why->offset,
								.is_truncated = why->truncated };
	if (report->again) /* all this was said */
		return;
	add_account(report, r);
	tell_twice(report, &r->origin);
	if (!report->quiet)
		source_tell_ending(path, &r->origin, why);
	if (why->skipped && !report->quiet)
		fprintf(stderr,
			"proftrace: '%s': %" PRIu64
			" events of kinds that have no place here (%s)\n",
			path, why->skipped, why->skipped_kinds);
}

/* The uuids of each trace are its own: a process of one is none of another, whatever its number. */
static int read_trace(struct report *report, int fd, const char *path, struct failure *f)
{
	struct reading r = { 0 };
	struct reader_error why = { 0 };
	const struct reader_sink sink = {
		.event = take,
		.context = &r,
		.names = report->table,
		.account = &r.account,
		.origin = &r.origin,
		.callstacks = report->callstacks,
	};
	int error = -ENOMEM;

	r.timeline = timeline_new(report->table, &r.account, (uint64_t)report->n_files << 40);
	if (r.timeline)
		error = timeline_add_handler(r.timeline, report->handler);
	if (!error)
		error = trace_read(fd, &sink, &why);
	if (!error)
		error = timeline_finish(r.timeline, r.last_ns);
	if (error)
		failed(f, path, error, &why);
	else
		was_read(report, path, &r, &why);
	timeline_free(r.timeline);
	return error;
}

static int read_path(struct report *report, const char *path, struct failure *f)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int error;

	if (fd < 0)
		return failure_set(f, -errno, "cannot open", path, NULL);
	error = read_trace(report, fd, path, f);
	if (!is_stdin)
		close(fd);
	return error;
}

/* --- the slowest: read twice -------------------------------------------------------------------- */

static int read_sources(struct report *report, struct source *sources, struct failure *f)
{
	int error = 0;
	unsigned i;

	for (i = 0; i < report->n_paths && !error; i++) {
		if (lseek(sources[i].fd, 0, SEEK_SET) < 0)
			return failure_set(f, -errno, "cannot read", sources[i].path, NULL);
		error = read_trace(report, sources[i].fd, sources[i].path, f);
	}
	return error;
}

static int read_twice(struct report *report, struct failure *f)
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
		error = read_sources(report, sources, f);
	if (!error && slowest_again(report->handler))
		error = failure_set(f, -ENOMEM, "cannot read", report->paths[0], NULL);
	if (!error) {
		report->again = true;
		report->n_files = 0;
		error = read_sources(report, sources, f);
	}
	if (!error && !slowest_complete(report->handler))
		error = failure_set(f, -ESTALE, "cannot read", report->paths[0],
				    "it changed while it was read");
	for (i = 0; i < n; i++)
		source_close(&sources[i]);
	free(sources);
	return error;
}

static int print_slowest(const struct report *report, struct failure *f)
{
	const struct stats_options *o = &report->stats;
	const struct account *account = &report->account;

	switch (report->format) {
	case FORMAT_JSON:
		return slowest_print_json(report->handler, stdout, account, report->files,
					  report->n_files);
	case FORMAT_CSV:
		return slowest_print_csv(report->handler, stdout, o, account, report->files,
					 report->n_files, f);
	default:
		return slowest_print_table(report->handler, stdout, o, account, report->files,
					   report->n_files, f);
	}
}

/* --- the table ---------------------------------------------------------------------------------- */

static int print_names(const struct report *report, struct failure *f)
{
	const struct stats_options *o = &report->stats;
	const struct account *account = &report->account;
	int error = 0;

	switch (report->format) {
	case FORMAT_TABLE:
		error = stats_print_table(report->handler, stdout, o, account, f);
		if (!error && !stats_events(report->handler))
			puts("no events");
		break;
	case FORMAT_JSON:
		error = stats_print_json(report->handler, stdout, o, account, report->files,
					 report->n_files, f);
		break;
	case FORMAT_CSV:
		error = stats_print_csv(report->handler, stdout, o, account, f);
		break;
	}
	return error;
}

static int print(const struct report *report, struct failure *f)
{
	int error;

	if (report->flame.wanted)
		return report_flame(&report->flame, report->handler, report->table, report->paths,
				    report->n_paths, f);
	error = report->slowest.n ? print_slowest(report, f) : print_names(report, f);
	if (!error && (fflush(stdout) || ferror(stdout)))
		error = failure_set(f, errno ? -errno : -EIO, "cannot write", "standard output",
				    NULL);
	return error;
}

static struct handler *handler_new(const struct report *report)
{
	if (report->flame.wanted)
		return flame_handler_new(report->flame.slice);
	return report->slowest.n ? slowest_handler_new(&report->slowest) : stats_handler_new();
}

/* A table that lacks one of the traces would not be what was asked for: the first error ends it. */
static int report_all(struct report *report, struct failure *f)
{
	int error = 0;
	unsigned i;

	report->table = names_new(0);
	if (report->table && (report->flame.wanted || report->slowest.n))
		report->callstacks = callstacks_new(report->table, 0);
	report->handler = handler_new(report);
	report->files = calloc(report->n_paths, sizeof(*report->files));
	report->uuids = calloc(report->n_paths, sizeof(*report->uuids));
	if (!report->table || !report->handler || !report->files || !report->uuids ||
	    ((report->flame.wanted || report->slowest.n) && !report->callstacks))
		return failure_set(f, -ENOMEM, "cannot read", report->paths[0], NULL);
	if (report->per_thread)
		stats_per_thread(report->handler);
	if (report->slowest.n)
		error = read_twice(report, f);
	for (i = 0; i < report->n_paths && !error && !report->slowest.n; i++)
		error = read_path(report, report->paths[i], f);
	if (!error && names_count(report->table)->capped && !report->quiet)
		fprintf(stderr,
			"proftrace: %" PRIu64
			" uses of the name (other): too many distinct names\n",
			names_count(report->table)->capped);
	return error ? error : print(report, f);
}

/* --- options ----------------------------------------------------------------------------------- */

static int choice(struct argp_state *state, const char *arg, const char *const *words, unsigned n,
		  const char *what)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		if (!strcmp(words[i], arg))
			return (int)i;
	}
	usage_error(state, "'%s' is no %s", arg, what);
	return 0;
}

static void add_glob(struct argp_state *state, const char **globs, unsigned *n, const char *arg)
{
	if (*n == MAX_GLOBS)
		usage_error(state, "more than %d of the same option", MAX_GLOBS);
	globs[(*n)++] = arg;
}

/* "N NAME": the name is the next argument. */
static void parse_slowest(struct report *report, const char *arg, struct argp_state *state)
{
	char *end;
	long n = strtol(arg, &end, 10);

	if (*end || end == arg || n < 1 || n > SLOWEST_MAX)
		usage_error(state, "--slowest '%s': how many, from 1 to %d?", arg, SLOWEST_MAX);
	if (state->next >= state->argc)
		usage_error(state, "--slowest %ld of which name?", n);
	report->slowest.n = (unsigned)n;
	report->slowest.name = state->argv[state->next++];
	report->slowest.domains = report->domains;
}

/* What chooses and orders rows of the table of names. */
static void check_options(const struct report *report, struct argp_state *state)
{
	const struct stats_options *o = &report->stats;

	const struct flame_options *flame = &report->flame;
	const char *wrong = flame_output_wrong(flame->output);

	if (flame->output && !flame->wanted)
		usage_error(state, "-o is where --flame goes; tables are on standard output");
	if (wrong)
		usage_error(state, "-o '%s': %s", flame->output, wrong);
	if (flame->wanted && (report->slowest.n || o->n_domains || report->format != FORMAT_TABLE))
		usage_error(state, "--flame has nothing of --slowest, --domain and --format");
	if (flame->wanted &&
	    (o->sort || o->ascending || o->columns || o->n_names || report->per_thread))
		usage_error(state, "--flame is no table of names: it has nothing of --sort, "
				   "--ascending, --columns, --name and --per-thread");
	if (report->slowest.n &&
	    (o->sort || o->ascending || o->columns || o->n_names || report->per_thread))
		usage_error(state, "--slowest is no table of names: it has nothing of --sort, "
				   "--ascending, --columns, --name and --per-thread");
}

static error_t parse_rest(int key, char *arg, struct argp_state *state)
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
		check_options(report, state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "which trace?");
		return 0;
	default:
		(void)arg;
		return ARGP_ERR_UNKNOWN;
	}
}

static unsigned parse_rows(const char *arg, struct argp_state *state)
{
	char *end;
	long rows;

	errno = 0;
	rows = strtol(arg, &end, 10);
	if (errno || *end || end == arg || rows < 1 || rows > 1000000)
		usage_error(state, "'%s' is no number of rows", arg);
	return (unsigned)rows;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const formats[] = { "table", "json", "csv" };
	static const char *const units[] = { "auto", "ns", "us", "ms", "s" };
	struct report *report = state->input;
	struct stats_options *o = &report->stats;

	switch (key) {
	case 'n':
		o->max_rows = parse_rows(arg, state);
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
		report->format = (enum format)choice(state, arg, formats, 3, "format");
		return 0;
	case KEY_UNIT:
		o->unit = (enum stats_unit)choice(state, arg, units, 5, "unit of time");
		return 0;
	case 'D':
		add_glob(state, report->domains, &o->n_domains, arg);
		return 0;
	case KEY_NAME:
		add_glob(state, report->names, &o->n_names, arg);
		return 0;
	case KEY_PER_THREAD:
		report->per_thread = true;
		return 0;
	case KEY_COLUMNS:
		o->columns = arg;
		return 0;
	case KEY_SLOWEST:
		parse_slowest(report, arg, state);
		return 0;
	case KEY_FLAME:
		report->flame.wanted = true;
		report->flame.slice = arg;
		return 0;
	case 'o':
		report->flame.output = arg;
		return 0;
	default:
		return parse_rest(key, arg, state);
	}
}

static const struct argp argp = { options, parse, "TRACE...", doc, NULL, NULL, NULL };
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
	terminal_fit(STDOUT_FILENO, &report.stats);
	usage_parse(&usage_report, argc, argv, &report);
	error = invoker_become(&f);
	if (!error)
		error = report_all(&report, &f);
	if (error)
		failure_print(&f, stderr);
	if (report.handler)
		report.handler->ops->free(report.handler);
	callstacks_free(report.callstacks);
	names_free(report.table);
	free(report.files);
	free(report.uuids);
	return error ? STATUS_FAILED : STATUS_DONE;
}
