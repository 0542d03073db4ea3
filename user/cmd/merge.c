/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace merge` puts several traces on one timeline (merge/merge_traces.c): its options, and the summary that it
 * prints.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/quantity.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "merge/merge_traces.h"
#include "privilege/invoker.h"
#include "reports/select/select_cut.h"

static const char doc[] =
	"Merge several traces into one: of ranks, of hosts, and Chrome JSON of other programs.\v"
	"Processes and threads of different files stay separate and are labelled by rank, host or "
	"file. Traces of one boot share a clock. Others are aligned by their wall clocks, or by "
	"common training steps (PROF_STEP) if the wall clocks are implausible.\n\n"
	"Examples:\n"
	"  proftrace merge -o all rank0.pftrace rank1.pftrace rank2.pftrace\n"
	"  proftrace merge -o both train.pftrace torch.json --offset torch.json=-2ms\n";

enum {
	OPTION_ALIGN = 256,
	OPTION_OFFSET,
	OPTION_JOIN_FLOWS,
	OPTION_COMPRESS,
};

static const struct argp_option options[] = {
	{ "output", 'o', "OUT", 0, "Write OUT (repeatable)", 0 },
	{ "align", OPTION_ALIGN, "HOW", 0,
	  "How to align the clocks: auto, step, realtime, monotonic or none (auto)", 0 },
	{ "offset", OPTION_OFFSET, "FILE=TIME", 0,
	  "Shift the aligned events of FILE by TIME, which may be negative (repeatable)", 0 },
	{ "join-flows", OPTION_JOIN_FLOWS, NULL, 0,
	  "Join flows of different files that have the same id", 0 },
	{ "compress", OPTION_COMPRESS, NULL, 0,
	  "Compress Perfetto files to about a fifth of their size", 0 },
	SELECT_CUT_OPTIONS,
	{ "quiet", 'q', NULL, 0, "Print errors only", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

/* What the options say, and the merge that they describe. */
struct merge_run {
	struct merge_traces merge;
	struct select_cut cut;
	bool compress;
	bool quiet;
};

/* Both formats of a recording have the same uuid. `merge -o all slow.*` is a likely mistake. */
static void part_warn_duplicate(const struct merge_traces *m, unsigned last)
{
	const struct source *source = &m->parts[last].source;
	const uint64_t *uuid = source->origin.trace_uuid;

	for (unsigned i = 0; i < last && (uuid[0] || uuid[1]); i++) {
		const struct source *other = &m->parts[i].source;

		if (memcmp(other->origin.trace_uuid, uuid, sizeof(other->origin.trace_uuid)))
			continue;
		print_visible(
			stderr,
			"proftrace: '%s': the same recording as '%s', so its events are there "
			"twice\n",
			source->path, other->path);
		fputs("hint: each format of a recording contains all events; use one of them\n",
		      stderr);
		return;
	}
}

static void merge_print_summary(const struct merge_run *run)
{
	const struct merge_traces *m = &run->merge;

	for (unsigned i = 0; i < m->n_parts; i++) {
		const struct part *part = &m->parts[i];

		rewrite_source_notes(&part->source, &part->end);
		part_warn_duplicate(m, i);
		print_visible(stderr, "%s (%s): %+.9f s, %s\n", part->source.path, part->label,
			      (double)(part->offset_ns - m->shift_ns) / 1e9, part->how);
	}
	if (m->shift_ns)
		print_visible(
			stderr,
			"all traces: %+.9f s, since some begin before the zero of the clock\n",
			(double)m->shift_ns / 1e9);
	select_cut_summary(&run->cut);
	rewrite_summary(&m->rewrite);
	if (m->sched_twice)
		print_visible(stderr,
			      "%12" PRIu64
			      "  context switches and wakeups of several files: written once\n",
			      m->sched_twice);
	if (m->sched_elsewhere)
		print_visible(stderr,
			      "%12" PRIu64
			      "  context switches and wakeups of other machines: left out\n",
			      m->sched_elsewhere);
	if (m->before_zero)
		print_visible(stderr,
			      "%12" PRIu64 "  events before the zero of the clock: moved to zero\n",
			      m->before_zero);
	if (m->after_end)
		print_visible(stderr,
			      "%12" PRIu64
			      "  events beyond the end of the clock: moved to the end\n",
			      m->after_end);
}

/* --- options ----------------------------------------------------------------------------------- */

static void merge_add_offset(struct merge_traces *m, const char *arg, struct argp_state *state)
{
	const char *sign = strrchr(arg, '=');
	struct merge_offset *offset = &m->offsets[m->n_offsets];

	if (m->n_offsets == MERGE_MAX_OFFSETS)
		usage_error(state, "too many offsets");
	if (!sign || sign == arg)
		usage_error(state, "'%s' is not FILE=TIME", arg);
	*offset = (struct merge_offset){ .file = arg, .length = (size_t)(sign - arg) };
	if (!parse_offset(sign + 1, &offset->ns))
		usage_error(state, "'%s' is not a time", sign + 1);
	m->n_offsets++;
}

static void merge_parse_align(struct merge_traces *m, const char *arg, struct argp_state *state)
{
	static const char *const names[] = { "auto", "step", "realtime", "monotonic", "none" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(arg, names[i])) {
			m->align = (enum align)i;
			return;
		}
	}
	usage_error(state, "'%s' is not one of auto, step, realtime, monotonic, none", arg);
}

static error_t merge_parse_option(int key, char *arg, struct argp_state *state)
{
	struct merge_run *run = state->input;
	struct merge_traces *m = &run->merge;

	switch (key) {
	case 'o':
		if (m->n_outputs == REWRITE_MAX_OUTPUTS)
			usage_error(state, "too many outputs");
		m->outputs[m->n_outputs++] = arg;
		return 0;
	case OPTION_ALIGN:
		merge_parse_align(m, arg, state);
		return 0;
	case OPTION_OFFSET:
		merge_add_offset(m, arg, state);
		return 0;
	case OPTION_JOIN_FLOWS:
		m->join_flows = true;
		return 0;
	case OPTION_COMPRESS:
		run->compress = true;
		return 0;
	case 'q':
		run->quiet = m->quiet = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARGS:
		m->paths = state->argv + state->next;
		m->n_parts = (unsigned)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "TRACEs are required");
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!m->n_outputs)
			usage_error(state, "-o OUT is required");
		return usage_select(key, arg, state, &run->cut.options);
	default:
		return usage_select(key, arg, state, &run->cut.options);
	}
}

static const struct argp argp = { options, merge_parse_option, "-o OUT TRACE...", doc, NULL, NULL,
				  NULL };
const struct usage usage_merge = { .argp = &argp, .size = sizeof(struct merge_run) };

int cmd_merge(int argc, char **argv)
{
	struct merge_run *run = calloc(1, sizeof(*run));
	struct rewrite *rewrite;
	struct failure f = { 0 };
	int error;

	if (!run)
		return STATUS_FAILED;
	rewrite = &run->merge.rewrite;
	usage_parse(&usage_merge, argc, argv, run);
	error = invoker_become(&f);
	error = error ?: rewrite_init(rewrite, &f);
	rewrite->compress = run->compress;
	select_cut_attach(&run->cut, rewrite);
	error = error ?: merge_traces(&run->merge, &f);
	if (rewrite_any_written(rewrite) && !run->quiet)
		merge_print_summary(run);
	if (error)
		failure_print(&f, stderr);
	merge_traces_free(&run->merge);
	select_cut_free(&run->cut);
	free(run);
	return error ? STATUS_FAILED : STATUS_DONE;
}
