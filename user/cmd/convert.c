/* SPDX-License-Identifier: BSD-2-Clause */
/* `proftrace convert`: one format into the other. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/rewrite.h"
#include "cmd/usage.h"
#include "target/invoker.h"

static const char doc[] =
	"Write a trace in another format.\v"
	"TRACE is a Perfetto trace or Chrome JSON, gzipped or not, by proftrace or by others; - is "
	"standard input. OUT says by its ending what is written: .pftrace, .json or .json.gz; "
	"without one of these, OUT.pftrace and OUT.json.\n\n"
	"Examples:\n"
	"  proftrace convert -o slow.json.gz slow.pftrace\n"
	"  proftrace convert -o chromium.pftrace chromium.json.gz\n";

enum {
	OPTION_COMPRESS = 256,
};

static const struct argp_option options[] = {
	{ "output", 'o', "OUT", 0, "What to write (repeatable)", 0 },
	{ "compress", OPTION_COMPRESS, NULL, 0, "Perfetto files about a fifth as large", 0 },
	{ "quiet", 'q', NULL, 0, "Say nothing on standard error but errors", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

struct convert {
	const char *outputs[REWRITE_MAX_OUTPUTS];
	unsigned n_outputs;
	const char *path;
	bool compress;
	bool quiet;
	struct rewrite rewrite;
	struct source source;
};

static int take(void *context, const struct event *event)
{
	return rewrite_event(context, event);
}

static int read_source(struct convert *c, struct reader_error *why, struct failure *f)
{
	const struct reader_sink sink = { take,
					  &c->rewrite,
					  c->rewrite.names,
					  &c->rewrite.account,
					  &c->source.origin,
					  c->rewrite.callstacks };
	int error = rewrite_source(&c->rewrite, &c->source, &sink, why, f);

	rewrite_source_end(&c->rewrite, &c->source.origin, why);
	return error;
}

static int convert(struct convert *c, struct failure *f)
{
	struct reader_error why = { 0 };
	unsigned i;
	int error = rewrite_init(&c->rewrite, f);

	c->rewrite.compress = c->compress;
	for (i = 0; !error && i < c->n_outputs; i++)
		error = rewrite_output(&c->rewrite, c->outputs[i], f);
	if (!error)
		error = source_open(&c->source, c->path, f);
	if (!error)
		error = source_look(&c->source, f);
	if (!error)
		error = rewrite_begin(&c->rewrite, &c->source.origin, c->source.first_ns, f);
	if (!error)
		error = read_source(c, &why, f);
	/* Where all outputs failed, rewrite_end() says which. */
	if (!error || c->rewrite.all_failed)
		error = rewrite_end(&c->rewrite, f);
	if (rewrite_any_written(&c->rewrite) && !c->quiet) {
		rewrite_source_notes(&c->source, &why);
		rewrite_summary(&c->rewrite);
	}
	return error;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct convert *c = state->input;

	switch (key) {
	case 'o':
		if (c->n_outputs == REWRITE_MAX_OUTPUTS)
			usage_error(state, "too many outputs");
		c->outputs[c->n_outputs++] = arg;
		return 0;
	case OPTION_COMPRESS:
		c->compress = true;
		return 0;
	case 'q':
		c->quiet = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		if (c->path)
			usage_error(state, "one trace at a time; merge puts several together");
		c->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!c->path)
			usage_error(state, "which trace?");
		if (!c->n_outputs)
			usage_error(state, "-o OUT says what to write");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = { options, parse, "-o OUT TRACE", doc, NULL, NULL, NULL };
const struct usage usage_convert = { .argp = &argp, .size = sizeof(struct convert) };

int cmd_convert(int argc, char **argv)
{
	struct convert *c = calloc(1, sizeof(*c));
	struct failure f = { 0 };
	int error;

	if (!c)
		return STATUS_FAILED;
	c->source.fd = -1;
	usage_parse(&usage_convert, argc, argv, c);
	error = invoker_become(&f);
	if (!error)
		error = convert(c, &f);
	if (error)
		failure_print(&f, stderr);
	source_close(&c->source);
	rewrite_free(&c->rewrite);
	free(c);
	return error ? STATUS_FAILED : STATUS_DONE;
}
