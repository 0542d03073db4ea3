/* SPDX-License-Identifier: BSD-2-Clause */
/* `proftrace diff A... -- B...` compares two sets of traces. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "privilege/invoker.h"
#include "reports/diff/diff.h"
#include "reports/reading.h"

enum {
	KEY_PER = 256,
	KEY_FAIL_OVER,
	KEY_FORMAT,
	KEY_CONFIDENCE,
	KEY_FLAME,
};

static const char doc[] =
	"Compare two sets of traces: what changed between A and B, and why.\v"
	"Each A and B is a trace of one run, or a table saved by `proftrace report --format json`. "
	"The default confidence needs at least five runs on each side; more runs show smaller "
	"changes. One trace on each side is compared in blocks of its time.\n\n"
	"Examples:\n"
	"  proftrace diff --per request old*.pftrace -- new*.pftrace\n"
	"  proftrace diff --fail-over 5% --format markdown old*.pftrace -- new*.pftrace\n"
	"  proftrace diff --flame -o change.svg old.pftrace -- new.pftrace\n";

static const struct argp_option options[] = {
	{ "per", KEY_PER, "NAME", 0,
	  "Divide counts and totals by the number of slices NAME (default: by the number of "
	  "runs; with one trace on each side, by seconds)",
	  0 },
	{ "fail-over", KEY_FAIL_OVER, "PERCENT", 0,
	  "Exit with 4 if a time has certainly grown, and by PERCENT or more", 0 },
	{ "confidence", KEY_CONFIDENCE, "PERCENT", 0,
	  "The confidence of all decisions together (99%)", 0 },
	{ "format", KEY_FORMAT, "FORMAT", 0, "Print a table, markdown or json", 0 },
	{ "limit", 'n', "N", 0, "Print only the first N rows of each part (all)", 0 },
	{ "flame", KEY_FLAME, NULL, 0,
	  "Instead of the table, write a flame graph of B, coloured by the change: samples, or "
	  "time of slices",
	  0 },
	{ "output", 'o', "FILE", 0,
	  "Write --flame to FILE: an image if it ends in .svg, else folded stacks as text", 0 },
	SELECT_CUT_OPTIONS,
	{ "quiet", 'q', NULL, 0, "Print errors only", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

struct diff_verb {
	struct diff_options options;
	struct select_options select;
	const char *output;
	bool quiet;
	char **paths; /* of both sides, those of A first */
	unsigned n_a, n_b, n_paths;
	char **a, **b; /* the same, in the arguments */
	struct reading reading;
	struct diff *diff;
};

/* --- reading ----------------------------------------------------------------------------------- */

static int diff_read_saved(struct diff_verb *v, const char *path, bool *ret_saved,
			   struct failure *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), error = 0;

	*ret_saved = false;
	if (fd < 0)
		return failure_set(f, -errno, "cannot open", path, NULL);
	*ret_saved = diff_is_saved(fd);
	if (*ret_saved && select_is_wanted(&v->select)) {
		error = failure_set(f, -EINVAL, "cannot select from", path,
				    "a saved report has no single slices");
		failure_hint(f, "use --where, --from and --to when it is saved, or give the trace");
	} else if (*ret_saved) {
		error = diff_add_saved(v->diff, fd, path, f);
	}
	close(fd);
	return error;
}

static int diff_read_run(struct diff_verb *v, unsigned i, struct failure *f)
{
	struct reading *r = &v->reading;
	const char *path = v->paths[i];
	bool is_b = i >= v->n_a, saved = false;
	bool single = v->n_a == 1 && v->n_paths == 2;
	int error = 0;

	diff_begin_run(v->diff, is_b, single, path);
	if (strcmp(path, "-"))
		error = diff_read_saved(v, path, &saved, f);
	if (error || saved)
		return error;
	error = reading_read_path(r, path, f);
	return error ? error : diff_end_run(v->diff, &r->origin, f);
}

static int diff_read_all(struct diff_verb *v, struct failure *f)
{
	struct reading *r = &v->reading;
	int error = 0;

	r->how = READING_PLACES;
	r->paths = v->paths;
	r->n_paths = v->n_paths;
	r->quiet = v->quiet;
	r->select = select_is_wanted(&v->select) ? &v->select : NULL;
	/* Which samples are in selected slices is known only when these have ended. */
	if (reading_init(r, !r->select))
		return failure_set(f, -ENOMEM, "cannot read", v->paths[0], NULL);
	v->diff = diff_new(&v->options, r->names);
	if (!v->diff)
		return failure_set(f, -ENOMEM, "cannot read", v->paths[0], NULL);
	r->consumer = diff_consumer(v->diff);
	if (r->selection)
		select_add_out(r->selection, r->consumer);
	for (unsigned i = 0; i < v->n_paths && !error; i++)
		error = diff_read_run(v, i, f);
	return error;
}

/* --- results ----------------------------------------------------------------------------------- */

static int diff_write_flame(const struct diff_verb *v, struct failure *f)
{
	static const struct flame_text texts[] = {
		{ "B compared with A", "widths: time of slices in B; colours: change", "ns" },
		{ "B compared with A", "widths: samples in B; colours: change", "samples" },
	};
	bool of_samples;
	struct flame *flame = diff_flame(v->diff, &of_samples);

	return flame_write_file(flame, &texts[of_samples], v->output, f);
}

static int diff_print_result(const struct diff_verb *v, struct failure *f)
{
	int error;

	if (v->options.with_flame)
		return diff_write_flame(v, f);
	error = diff_print(v->diff, stdout);
	if (!error && (fflush(stdout) || ferror(stdout)))
		error = errno ? -errno : -EIO;
	return error ? failure_set(f, error, "cannot write", "standard output", NULL) : 0;
}

/* --- options ----------------------------------------------------------------------------------- */

static void diff_parse_share(const char *arg, const char *option, double *ret_share,
			     struct argp_state *state)
{
	double percent;

	if (strcmp(arg, "0") && strcmp(arg, "0%") && !parse_percent(arg, &percent))
		usage_error(state, "%s '%s' is not a percentage", option, arg);
	*ret_share = arg[0] == '0' && !strpbrk(arg, "123456789") ? 0 : percent / 100;
}

static void diff_check_options(const struct diff_verb *v, struct argp_state *state)
{
	const char *wrong = flame_output_wrong(v->output);

	if (!v->n_a)
		usage_error(state, "side A has no traces: diff A... -- B...");
	if (!v->n_b)
		usage_error(state, "side B has no traces: diff A... -- B...");
	for (unsigned i = 0; i < v->n_b; i++) {
		if (v->b[i][0] == '-' && v->b[i][1])
			usage_error(state, "'%s' is behind --, where only traces of B are",
				    v->b[i]);
	}
	if (v->n_a + v->n_b > DIFF_MAX_RUNS)
		usage_error(state, "more than %d traces", DIFF_MAX_RUNS);
	if (v->options.confidence < 0.5 || v->options.confidence > 0.9999)
		usage_error(state, "--confidence is not between 50%% and 99.99%%");
	if (v->output && !v->options.with_flame)
		usage_error(state, "-o requires --flame; tables are printed on standard output");
	if (wrong)
		usage_error(state, "-o '%s': %s", v->output, wrong);
}

static error_t diff_parse_argument(int key, char *arg, struct argp_state *state)
{
	struct diff_verb *v = state->input;
	uint64_t rows;

	switch (key) {
	case 'n':
		if (!parse_integer(arg, 1, 1000000, &rows))
			usage_error(state, "'%s' is not a number of rows", arg);
		v->options.max_rows = (unsigned)rows;
		return 0;
	case ARGP_KEY_ARGS:
		v->a = state->argv + state->next;
		v->n_a = (unsigned)(state->argc - state->next);
		return 0;
	case ARGP_KEY_SUCCESS:
		return usage_select(key, arg, state, &v->select);
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	default:
		return usage_select(key, arg, state, &v->select);
	}
}

static error_t diff_parse_option(int key, char *arg, struct argp_state *state)
{
	static const char *const formats[] = { "table", "markdown", "json" };
	struct diff_verb *v = state->input;

	switch (key) {
	case KEY_PER:
		v->options.per = arg;
		return 0;
	case KEY_FAIL_OVER:
		diff_parse_share(arg, "--fail-over", &v->options.fail_over, state);
		return 0;
	case KEY_CONFIDENCE:
		diff_parse_share(arg, "--confidence", &v->options.confidence, state);
		return 0;
	case KEY_FORMAT:
		v->options.format = usage_choice(state, arg, formats, 3, "format");
		return 0;
	case KEY_FLAME:
		v->options.with_flame = true;
		return 0;
	case 'o':
		v->output = arg;
		return 0;
	case 'q':
		v->quiet = true;
		return 0;
	case ARGP_KEY_END:
		diff_check_options(v, state);
		return 0;
	default:
		return diff_parse_argument(key, arg, state);
	}
}

static const struct argp argp = {
	options, diff_parse_option, "A... -- B...", doc, NULL, NULL, NULL
};
const struct usage usage_diff = { .argp = &argp, .size = sizeof(struct diff_verb) };

/* argp permutes arguments, and then nobody knows where "--" was. So it gets what comes before it. */
static int diff_split_sides(struct diff_verb *v, int argc, char **argv)
{
	int n;

	for (n = 1; n < argc && strcmp(argv[n], "--"); n++)
		;
	v->b = argv + n + 1;
	v->n_b = argc > n ? (unsigned)(argc - n - 1) : 0;
	return n;
}

static void diff_join_sides(struct diff_verb *v)
{
	for (unsigned i = 0; i < v->n_a; i++)
		v->paths[i] = v->a[i];
	for (unsigned i = 0; i < v->n_b; i++)
		v->paths[v->n_a + i] = v->b[i];
	v->n_paths = v->n_a + v->n_b;
}

static int diff_run_verb(struct diff_verb *v, struct failure *f)
{
	int error = invoker_become(f);

	error = error ?: diff_read_all(v, f);
	error = error ?: diff_decide(v->diff, v->quiet, f);
	error = error ?: diff_print_result(v, f);
	return error;
}

static const struct diff_verb diff_defaults = { .options = { .confidence = 0.99,
							     .fail_over = -1 } };

void diff_check_arguments(int argc, char **argv)
{
	struct diff_verb v = diff_defaults;
	int n = diff_split_sides(&v, argc, argv);

	usage_parse(&usage_diff, n, argv, &v);
}

int cmd_diff(int argc, char **argv)
{
	struct diff_verb v = diff_defaults;
	struct stats_options terminal = { 0 };
	struct failure f = { 0 };
	unsigned failures = 0;
	int error, n = diff_split_sides(&v, argc, argv);

	v.paths = calloc((size_t)argc + 1, sizeof(*v.paths));
	if (!v.paths)
		return STATUS_FAILED;
	stats_fit_terminal(STDOUT_FILENO, &terminal);
	v.options.color = terminal.color;
	v.options.width = terminal.width;
	usage_parse(&usage_diff, n, argv, &v);
	diff_join_sides(&v);
	error = diff_run_verb(&v, &f);
	if (error)
		failure_print(&f, stderr);
	else
		failures = diff_print_failures(v.diff, stderr);
	reading_free(&v.reading);
	diff_free(v.diff);
	free(v.paths);
	return error ? STATUS_FAILED : failures ? STATUS_REGRESSED : STATUS_DONE;
}
