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
#include "failure.h"
#include "handlers/stats.h"
#include "readers/reader.h"
#include "timeline/timeline.h"

static const char doc[] =
	"Print the table of names of traces: how often, how long, and how much of that was their "
	"own.\v"
	"A TRACE is a Perfetto trace or Chrome JSON, gzipped or not, by proftrace or by others; - "
	"is standard input. Each gets a table of its own. A trace that was cut off is read as far "
	"as it goes.\n\n"
	"Examples:\n"
	"  proftrace report slow.pftrace\n"
	"  proftrace report -n 10 before.json.gz after.json.gz\n";

static const struct argp_option options[] = {
	{ "rows", 'n', "N", 0, "Only the first N rows of each part (all)", 0 },
	{ "quiet", 'q', NULL, 0, "Say nothing on standard error but errors", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

struct report {
	struct stats_options stats;
	bool quiet;
	unsigned n_paths;
	char **paths;
};

/* One trace on its way to its table. */
struct reading {
	struct names *names;
	struct account account;
	struct timeline *timeline;
	struct handler *stats;
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

static void reading_free(struct reading *r)
{
	timeline_free(r->timeline);
	if (r->stats)
		r->stats->ops->free(r->stats);
	names_free(r->names);
}

static int reading_init(struct reading *r)
{
	r->names = names_new(0);
	r->stats = stats_handler_new();
	if (r->names)
		r->timeline = timeline_new(r->names, &r->account, 0);
	if (!r->names || !r->stats || !r->timeline)
		return -ENOMEM;
	return timeline_add_handler(r->timeline, r->stats);
}

static void note(const char *path, uint64_t count, const char *text)
{
	if (count)
		fprintf(stderr, "proftrace: '%s': %" PRIu64 " %s\n", path, count, text);
}

static void notes(const char *path, const struct reading *r, const struct reader_error *end)
{
	unsigned i;

	if (end->truncated)
		fprintf(stderr,
			"proftrace: '%s': truncated at byte %" PRIu64 ", read up to there\n", path,
			end->offset);
	note(path, r->lost, "marks were lost while it was recorded");
	for (i = 0; i < LOST_REASONS; i++)
		note(path, r->account.lost[i], lost_reason_text(i));
	note(path, names_count(r->names)->capped,
	     "uses of the name (other): too many distinct names");
	note(path, r->account.open_at_end, "slices are still open at its end");
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

static int read_trace(int fd, const char *path, const struct report *report, struct failure *f)
{
	struct reading r = { 0 };
	struct reader_error why = { 0 };
	int error = reading_init(&r);
	const struct reader_sink sink = {
		.event = take,
		.context = &r,
		.names = r.names,
		.account = &r.account,
	};

	if (!error)
		error = trace_read(fd, &sink, &why);
	if (!error)
		error = timeline_finish(r.timeline, r.last_ns);
	if (error) {
		failed(f, path, error, &why);
	} else {
		if (report->n_paths > 1)
			printf("%s:\n", path);
		stats_print(r.stats, stdout, &report->stats);
		if (!stats_events(r.stats))
			puts("no events");
		fflush(stdout); /* before what is said on standard error */
		if (!report->quiet)
			notes(path, &r, &why);
	}
	reading_free(&r);
	return error;
}

static int report_path(const char *path, const struct report *report)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct failure f = { 0 };
	int error;

	if (fd < 0)
		error = failure_set(&f, -errno, "cannot open", path, NULL);
	else
		error = read_trace(fd, path, report, &f);
	if (error)
		failure_print(&f, stderr);
	if (fd >= 0 && !is_stdin)
		close(fd);
	return error;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct report *report = state->input;
	char *end;
	long rows;

	switch (key) {
	case 'n':
		errno = 0;
		rows = strtol(arg, &end, 10);
		if (errno || *end || end == arg || rows < 1 || rows > 1000000)
			argp_error(state, "'%s' is no number of rows", arg);
		report->stats.max_rows = (unsigned)rows;
		return 0;
	case 'q':
		report->quiet = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARGS:
		report->paths = state->argv + state->next;
		report->n_paths = (unsigned)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which trace?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_report(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "TRACE...", doc, NULL, NULL, NULL };
	struct report report = { 0 };
	int status = STATUS_DONE;
	unsigned i;

	argp_err_exit_status = STATUS_USAGE;
	report.stats.color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	argp_parse(&argp, argc, argv, 0, NULL, &report);
	for (i = 0; i < report.n_paths; i++) {
		if (i)
			putchar('\n');
		if (report_path(report.paths[i], &report))
			status = STATUS_FAILED;
	}
	if (fflush(stdout) || ferror(stdout)) {
		struct failure f = { 0 };

		failure_set(&f, errno ? -errno : -EIO, "cannot write", "standard output", NULL);
		failure_print(&f, stderr);
		status = STATUS_FAILED;
	}
	return status;
}
