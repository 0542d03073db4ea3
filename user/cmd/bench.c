/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace bench [--against COMMAND] -- COMMAND`: records runs of one command, or of two alternately, and
 * reports or compares them. The options of `record` and `diff` that it has are passed on, and checked by
 * these verbs before the first run.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>

#include "base/quantity.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "privilege/invoker.h"
#include "record/record.h"
#include "record/runs.h"

enum {
	KEY_AGAINST = 256,
	KEY_WARMUPS,
	KEY_IGNORE_FAILURE,
	KEY_SHOW_OUTPUT,
	/* Passed on to `record`. */
	KEY_RECORD,
	KEY_MODE = KEY_RECORD,
	KEY_SCHED,
	KEY_SAMPLE,
	KEY_BUFFER,
	/* Passed on to what shows the result. */
	KEY_RESULT,
	KEY_PER = KEY_RESULT,
	KEY_FAIL_OVER,
	KEY_CONFIDENCE,
	KEY_FORMAT,
	KEY_LIMIT,
	KEY_WHERE,
	KEY_END,
};

static const char doc[] =
	"Record runs of one command, or of two commands alternately, and show what differs.\v"
	"Each run is recorded with `proftrace record`. The traces are compared with `proftrace "
	"diff`: A is the command of --against, B is COMMAND. Without --against, the table of all "
	"runs is printed.\n\n"
	"Examples:\n"
	"  sudo proftrace bench -n 20 --against './old --selftest' -- ./new --selftest\n"
	"  sudo proftrace bench --per request --fail-over 5% --against ./old -- ./new\n"
	"  sudo proftrace bench -n 20 -o runs -- ./server --selftest\n";

static const struct argp_option options[] = {
	{ "runs", 'n', "N", 0, "Runs of each command (10)", 0 },
	{ "against", KEY_AGAINST, "COMMAND", 0,
	  "The command to compare with: a command line for /bin/sh", 0 },
	{ "output", 'o', "DIR", 0, "Keep the traces in this directory; it must be new or empty",
	  0 },
	{ "warmup", KEY_WARMUPS, "N", 0, "Runs of each command before those that count (1)", 0 },
	{ "ignore-failure", KEY_IGNORE_FAILURE, NULL, 0,
	  "Continue if a command or a recording fails", 0 },
	{ "show-output", KEY_SHOW_OUTPUT, NULL, 0,
	  "Show what the commands print on standard output", 0 },
	{ NULL, 0, NULL, 0, "Options of `proftrace record`:", 1 },
	{ "domain", 'D', "GLOB", 0, "Record only these domains (repeatable)", 0 },
	{ "usdt", 'u', "SPEC", 0, "Also record existing USDT probes (repeatable)", 0 },
	{ "func", 'f', "SPEC", 0, "Also record functions (repeatable)", 0 },
	{ "counters", 'e', "LIST", 0, "Count these events in each slice", 0 },
	{ "mode", KEY_MODE, "MODE", 0, "exact, auto, batch or batch-now", 0 },
	{ "sched", KEY_SCHED, NULL, 0,
	  "Also record thread states, which distinguish waiting from work", 0 },
	{ "sample", KEY_SAMPLE, "HZ", 0, "Also sample call stacks", 0 },
	{ "buffer", KEY_BUFFER, "SIZE", 0, "Size of the kernel ring buffers", 0 },
	{ NULL, 0, NULL, 0, "Options of `proftrace diff`:", 2 },
	{ "per", KEY_PER, "NAME", 0, "Divide counts and totals by the number of slices NAME", 0 },
	{ "fail-over", KEY_FAIL_OVER, "PERCENT", 0,
	  "Exit with 4 if a time has certainly grown, and by PERCENT or more", 0 },
	{ "confidence", KEY_CONFIDENCE, "PERCENT", 0,
	  "The confidence of all decisions together (99%)", 0 },
	{ "format", KEY_FORMAT, "FORMAT", 0,
	  "table, markdown or json; without --against: table, json or csv", 0 },
	{ "limit", KEY_LIMIT, "N", 0, "Print only the first N rows of each part", 0 },
	{ "where", KEY_WHERE, "EXPR", 0,
	  "Only slices, instants and counter values for which EXPR is true", 0 },
	{ NULL, 0, NULL, 0, "Other:", 3 },
	{ "quiet", 'q', NULL, 0, "Print the result and errors only", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

struct bench {
	struct runs runs;
	const char *against[4]; /* sh -c LINE */
	struct {
		int key;
		const char *arg;
	} passed[RUNS_OPTIONS]; /* on to other verbs */
	unsigned n_passed;
	char *result[RUNS_OPTIONS]; /* of these, spelled: options of `diff` and `report` */
	unsigned n_result;
};

/* --- options ----------------------------------------------------------------------------------- */

static const struct argp_option *bench_find_option(int key)
{
	const struct argp_option *o;

	for (o = options; o->key != key; o++)
		;
	return o;
}

static bool option_is_of_record(int key)
{
	return (key >= KEY_RECORD && key < KEY_RESULT) || key == 'D' || key == 'u' || key == 'f' ||
	       key == 'e';
}

static bool option_is_of_result(int key)
{
	return key >= KEY_RESULT && key < KEY_END;
}

/* "--name=value", as the other verb reads it. */
static int bench_spell_options(struct bench *b, struct failure *f)
{
	char *text;

	for (unsigned i = 0; i < b->n_passed; i++) {
		const char *arg = b->passed[i].arg;

		if (asprintf(&text, arg ? "--%s=%s" : "--%s",
			     bench_find_option(b->passed[i].key)->name, arg) < 0)
			return failure_set(f, -ENOMEM, "cannot start", "", NULL);
		if (option_is_of_record(b->passed[i].key))
			b->runs.options[b->runs.n_options++] = text;
		else
			b->result[b->n_result++] = text;
	}
	return 0;
}

static unsigned bench_parse_runs(const char *arg, unsigned least, struct argp_state *state)
{
	uint64_t n;

	if (!parse_integer(arg, least, RUNS_MAX, &n))
		usage_error(state, "'%s' is not a number of runs from %u to %d", arg, least,
			    RUNS_MAX);
	return (unsigned)n;
}

static void bench_check_options(const struct bench *b, const struct argp_state *state)
{
	if (!b->runs.commands[RUN_B] || !b->runs.commands[RUN_B][0])
		usage_error(state, "a command is required: bench -- COMMAND [ARG...]");
	for (unsigned i = 0; i < b->n_passed && !b->runs.commands[RUN_A]; i++) {
		int key = b->passed[i].key;

		if (key == KEY_PER || key == KEY_FAIL_OVER || key == KEY_CONFIDENCE)
			usage_error(state,
				    "--%s needs a command to compare with: --against COMMAND",
				    bench_find_option(key)->name);
	}
}

static error_t bench_parse_option(int key, char *arg, struct argp_state *state)
{
	struct bench *b = state->input;

	if (option_is_of_record(key) || option_is_of_result(key)) {
		if (b->n_passed == RUNS_OPTIONS)
			usage_error(state, "more than %d options of other verbs", RUNS_OPTIONS);
		b->passed[b->n_passed].key = key;
		b->passed[b->n_passed++].arg = arg;
		return 0;
	}
	switch (key) {
	case 'n':
		b->runs.n = bench_parse_runs(arg, 1, state);
		return 0;
	case KEY_AGAINST:
		b->against[0] = "/bin/sh";
		b->against[1] = "-c";
		b->against[2] = arg;
		b->runs.commands[RUN_A] = (char *const *)b->against;
		return 0;
	case 'o':
		b->runs.directory = arg;
		return 0;
	case KEY_WARMUPS:
		b->runs.warmups = bench_parse_runs(arg, 0, state);
		return 0;
	case KEY_IGNORE_FAILURE:
		b->runs.ignore_failures = true;
		return 0;
	case KEY_SHOW_OUTPUT:
		b->runs.show_output = true;
		return 0;
	case 'q':
		b->runs.quiet = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARGS:
		b->runs.commands[RUN_B] = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		bench_check_options(b, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, bench_parse_option, "[--] COMMAND [ARG...]", doc, NULL, NULL, NULL
};
const struct usage usage_bench = { .argp = &argp,
				   .flags = ARGP_IN_ORDER,
				   .size = sizeof(struct bench) };

/* --- the result -------------------------------------------------------------------------------- */

/* The arguments of `diff` or, of a single command, `report`. */
static const char **bench_result_arguments(const struct bench *b, int *ret_n)
{
	const struct runs *r = &b->runs;
	bool compares = r->commands[RUN_A];
	const char **argv = calloc(2 * RUNS_MAX + RUNS_OPTIONS + 8, sizeof(*argv));
	unsigned i, n = 0;

	if (!argv)
		return NULL;
	argv[n++] = compares ? "proftrace diff" : "proftrace report";
	if (r->quiet)
		argv[n++] = "-q";
	for (i = 0; i < b->n_result; i++)
		argv[n++] = b->result[i];
	for (i = 0; i < r->n_traces[RUN_A]; i++)
		argv[n++] = r->traces[RUN_A][i];
	if (compares)
		argv[n++] = "--";
	for (i = 0; i < r->n_traces[RUN_B]; i++)
		argv[n++] = r->traces[RUN_B][i];
	*ret_n = (int)n;
	return argv;
}

/* A mistake in the options of the other verbs shows before the first run. */
static void bench_check_verbs(const struct bench *b)
{
	static char trace[] = "x.pftrace";
	struct record_options *record = calloc(1, sizeof(*record));
	const char *words[RUNS_OPTIONS + 16];
	struct bench copy = *b;
	const char **argv;
	int n;

	for (unsigned side = b->runs.commands[RUN_A] ? RUN_A : RUN_B; side < RUN_SIDES; side++) {
		copy.runs.traces[side][0] = trace;
		copy.runs.n_traces[side] = 1;
	}
	argv = bench_result_arguments(&copy, &n);
	if (argv && b->runs.commands[RUN_A])
		diff_check_arguments(n, (char **)argv);
	else if (argv)
		report_check_arguments(n, (char **)argv);
	free((void *)argv);
	n = (int)runs_arguments(&b->runs, RUN_B, trace, words, RUNS_OPTIONS + 16);
	words[1] = "proftrace record";
	if (record && n)
		record_options_parse(n - 1, (char **)words + 1, record);
	free(record);
}

static int bench_show_result(const struct bench *b, struct failure *f)
{
	const char **argv;
	int n, status;

	argv = bench_result_arguments(b, &n);
	if (!argv) {
		failure_set(f, -ENOMEM, "cannot compare", "", NULL);
		failure_print(f, stderr);
		return STATUS_FAILED;
	}
	if (b->runs.directory && !b->runs.quiet)
		print_visible(stderr, "proftrace: the traces are in '%s'\n", b->runs.path);
	status =
		b->runs.commands[RUN_A] ? cmd_diff(n, (char **)argv) : cmd_report(n, (char **)argv);
	free((void *)argv);
	return status;
}

static void bench_free(struct bench *b)
{
	runs_free(&b->runs);
	for (unsigned i = 0; i < b->runs.n_options; i++)
		free((void *)b->runs.options[i]);
	for (unsigned i = 0; i < b->n_result; i++)
		free(b->result[i]);
	free(b);
}

int cmd_bench(int argc, char **argv)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct failure f = { 0 };
	int error, status = STATUS_FAILED;

	if (!b)
		return STATUS_FAILED;
	b->runs.n = 10;
	b->runs.warmups = 1;
	usage_parse(&usage_bench, argc, argv, b);
	error = bench_spell_options(b, &f);
	if (!error)
		bench_check_verbs(b);
	/* Else each run says so of itself, and --ignore-failure would be advised. */
	error = error ?: check_limits(&f);
	error = error ?: runs_record(&b->runs, &f);
	if (error) {
		failure_print(&f, stderr);
		/* The traces are the invoking user's, and so is their removal. */
		if (invoker_become(&f))
			failure_print(&f, stderr);
	} else {
		status = bench_show_result(b, &f);
	}
	bench_free(b);
	return status;
}
