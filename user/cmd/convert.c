/* SPDX-License-Identifier: BSD-2-Clause */
/* `proftrace convert` reads a trace of one format and writes it in others, by the functions of merge/rewrite.h. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "merge/rewrite.h"
#include "cmd/usage.h"
#include "privilege/invoker.h"
#include "reports/critical/critical.h"
#include "reports/critical/critical_tracks.h"
#include "reports/select/select_cut.h"

static const char doc[] =
	"Write a trace in another format.\v"
	"TRACE is a Perfetto trace or Chrome JSON, gzipped or not, from proftrace or another "
	"program; - is "
	"standard input. The ending of OUT selects the format: .pftrace, .json or .json.gz; "
	"without one of these, OUT.pftrace and OUT.json are written.\n\n"
	"Examples:\n"
	"  proftrace convert -o slow.json.gz slow.pftrace\n"
	"  proftrace convert --where 'in(\"request\") && dur > 1ms' -o part slow.pftrace\n"
	"  proftrace convert --from 2s --to 2500ms -o part slow.pftrace\n"
	"  proftrace convert --critical request -o paths slow.pftrace\n"
	"  proftrace convert -o chromium.pftrace chromium.json.gz\n";

enum {
	OPTION_COMPRESS = 256,
	OPTION_CRITICAL,
};

static const struct argp_option options[] = {
	{ "output", 'o', "OUT", 0, "Write OUT (repeatable)", 0 },
	{ "compress", OPTION_COMPRESS, NULL, 0,
	  "Compress Perfetto files to about a fifth of their size", 0 },
	{ "critical", OPTION_CRITICAL, "NAME", 0,
	  "Add tracks with the critical paths of the slices that match NAME (a glob), as report "
	  "--critical finds them",
	  0 },
	SELECT_CUT_OPTIONS,
	{ "quiet", 'q', NULL, 0, "Print errors only", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

struct convert_trace {
	const char *outputs[REWRITE_MAX_OUTPUTS];
	unsigned n_outputs;
	const char *path;
	bool compress;
	bool quiet;
	struct select_cut cut;
	const char *critical_name; /* NULL: not wanted */
	struct consumer *critical;
	struct rewrite rewrite;
	struct source source;
};

static int convert_event(void *context, const struct event *event)
{
	return rewrite_event(context, event);
}

/* The first reading, which only decides what is selected. */
static int convert_decide(void *context, struct failure *f)
{
	struct convert_trace *c = context;
	struct reader_error why = { 0 };
	const struct reader_sink sink = { convert_event,       &c->rewrite, c->rewrite.names,
					  &c->rewrite.account, NULL,	    c->rewrite.callstacks };

	return rewrite_source(&c->rewrite, &c->source, &sink, &why, f);
}

static int convert_source(struct convert_trace *c, struct reader_error *why, struct failure *f)
{
	const struct reader_sink sink = { convert_event,     &c->rewrite,
					  c->rewrite.names,  &c->rewrite.account,
					  &c->source.origin, c->rewrite.callstacks };
	int error = rewrite_source(&c->rewrite, &c->source, &sink, why, f);

	rewrite_source_end(&c->rewrite, &c->source.origin, why);
	return error;
}

/* Before the source is read. */
static int convert_begin_critical(struct convert_trace *c, struct failure *f)
{
	int error = -ENOMEM;

	if (!c->critical_name)
		return 0;
	c->critical = critical_new(c->critical_name);
	if (c->critical)
		error = timeline_add_consumer(c->rewrite.timeline, c->critical);
	return error ? failure_set(f, error, "cannot start", "", NULL) : 0;
}

static int convert_trace(struct convert_trace *c, struct failure *f)
{
	struct reader_error why = { 0 };
	int error = rewrite_init(&c->rewrite, f);

	c->rewrite.compress = c->compress;
	select_cut_attach(&c->cut, &c->rewrite);
	for (unsigned i = 0; !error && i < c->n_outputs; i++)
		error = rewrite_output(&c->rewrite, c->outputs[i], f);
	error = error ?: source_open(&c->source, c->path, f);
	c->source.quiet = c->quiet;
	error = error ?: source_read_start(&c->source, f);
	if (!error && select_needs_start(&c->cut.options))
		error = source_find_first(&c->source, f);
	if (!error && c->rewrite.cut)
		error = rewrite_decide(&c->rewrite, c->source.first_ns, convert_decide, c, f);
	error = error ?: rewrite_begin(&c->rewrite, &c->source.origin, c->source.first_ns, f);
	error = error ?: convert_begin_critical(c, f);
	error = error ?: convert_source(c, &why, f);
	if (!error && c->critical)
		error = critical_write_tracks(c->critical, &c->rewrite, f);
	/* If all outputs failed, rewrite_end() reports the errors. */
	if (!error || c->rewrite.all_failed)
		error = rewrite_end(&c->rewrite, f);
	if (rewrite_any_written(&c->rewrite) && !c->quiet) {
		rewrite_source_notes(&c->source, &why);
		select_cut_summary(&c->cut);
		if (c->critical)
			critical_tracks_summary(c->critical);
		rewrite_summary(&c->rewrite);
	}
	return error;
}

static error_t convert_parse_option(int key, char *arg, struct argp_state *state)
{
	struct convert_trace *c = state->input;

	switch (key) {
	case 'o':
		if (c->n_outputs == REWRITE_MAX_OUTPUTS)
			usage_error(state, "too many outputs");
		c->outputs[c->n_outputs++] = arg;
		return 0;
	case OPTION_COMPRESS:
		c->compress = true;
		return 0;
	case OPTION_CRITICAL:
		c->critical_name = arg;
		return 0;
	case 'q':
		c->quiet = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		if (c->path)
			usage_error(state, "convert reads one trace; merge combines several");
		c->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!c->path)
			usage_error(state, "a TRACE is required");
		if (!c->n_outputs)
			usage_error(state, "-o OUT is required");
		if (c->critical_name && select_is_wanted(&c->cut.options))
			usage_error(state,
				    "--critical needs the whole trace: it cannot be combined with "
				    "--where, --from, --to");
		return 0;
	default:
		return usage_select(key, arg, state, &c->cut.options);
	}
}

static const struct argp argp = { options, convert_parse_option, "-o OUT TRACE", doc, NULL, NULL,
				  NULL };
const struct usage usage_convert = { .argp = &argp, .size = sizeof(struct convert_trace) };

int cmd_convert(int argc, char **argv)
{
	struct convert_trace *c = calloc(1, sizeof(*c));
	struct failure f = { 0 };
	int error;

	if (!c)
		return STATUS_FAILED;
	c->source.fd = -1;
	usage_parse(&usage_convert, argc, argv, c);
	error = invoker_become(&f);
	error = error ?: convert_trace(c, &f);
	if (error)
		failure_print(&f, stderr);
	source_close(&c->source);
	rewrite_free(&c->rewrite);
	if (c->critical)
		c->critical->ops->free(c->critical);
	select_cut_free(&c->cut);
	free(c);
	return error ? STATUS_FAILED : STATUS_DONE;
}
