/* SPDX-License-Identifier: BSD-2-Clause */
/* Which options of `record` need another one, and which cannot be combined. */
#include "cmd/cmd.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/usage.h"
#include "record/record.h"

/* Two outputs in one file could not be read. */
static void check_summary(struct argp_state *state, const struct record_options *o)
{
	for (unsigned i = 0; o->summary_json && i < o->n_outputs; i++) {
		if (!strcmp(o->summary_json, "-") && !strcmp(o->outputs[i], "-"))
			usage_error(state, "-o and --summary-json both write to standard output");
		if (!strcmp(o->summary_json, o->outputs[i]))
			usage_error(state, "-o and --summary-json both write to '%s'",
				    o->summary_json);
	}
}

/* The first rule that is broken is reported. */
struct option_rule {
	bool broken;
	const char *message;
};

static void check_rules(struct argp_state *state, const struct option_rule *rules, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (rules[i].broken)
			usage_error(state, "%s", rules[i].message);
	}
}

static bool outputs_share_directory(const struct record_options *o)
{
	size_t first = 0;

	for (unsigned i = 0; i < o->n_outputs; i++) {
		const char *slash = strrchr(o->outputs[i], '/');
		size_t n = slash ? (size_t)(slash - o->outputs[i]) + 1 : 0;

		if (!i)
			first = n;
		if (n != first || memcmp(o->outputs[i], o->outputs[0], n) ||
		    memchr(o->outputs[i], '{', n))
			return false;
	}
	return true;
}

static void check_flight_recorder(struct argp_state *state, const struct record_options *o)
{
	const bool flight = o->flight_ns != 0;
	const struct option_rule rules[] = {
		{ !flight && (o->n_triggers || o->flight_bytes),
		  "--trigger and --flight-memory need --flight-recorder TIME" },
		{ flight && o->schedule.active,
		  "--flight-recorder cannot be combined with --schedule" },
		{ flight && o->max_size,
		  "--flight-recorder cannot be combined with --max-size: --flight-memory bounds "
		  "what it writes" },
		{ flight && o->n_includes,
		  "--flight-recorder cannot be combined with --include-json: its files are "
		  "finished before traces are included" },
		{ o->quota && !o->max_size && !flight && !o->schedule.active,
		  "--quota is for recordings with many files: add --max-size, --schedule or "
		  "--flight-recorder" },
		{ o->quota && !outputs_share_directory(o),
		  "--quota is for one directory, without {fields} in its name" },
		{ o->keep && !o->max_size && !flight && !o->schedule.active,
		  "--keep is for recordings with many files: add --max-size, --schedule or "
		  "--flight-recorder" },
	};

	check_rules(state, rules, sizeof(rules) / sizeof(rules[0]));
}

static void check_stats_only(struct argp_state *state, const struct record_options *o)
{
	const bool stats = o->stats_only;
	const struct option_rule rules[] = {
		{ stats && (o->sample_hz || o->n_stacks || o->offcpu_ns),
		  "--stats-only writes no trace, so it cannot be combined with --sample, --stack "
		  "or --offcpu" },
		{ o->debuginfod && !(o->sample_hz || o->n_stacks || o->offcpu_ns),
		  "--debuginfod names functions in call stacks: it needs --sample, --stack or "
		  "--offcpu" },
		{ o->debuginfod && !(getenv("DEBUGINFOD_URLS") && *getenv("DEBUGINFOD_URLS")),
		  "--debuginfod needs the addresses of servers in DEBUGINFOD_URLS; sudo passes it "
		  "on with --preserve-env=DEBUGINFOD_URLS" },
		{ stats && o->syscalls, "--stats-only cannot be combined with --syscalls" },
		{ o->offcpu_ns && o->syscalls,
		  "--syscalls cannot be combined with --offcpu: the slices would overlap; "
		  "--wait-reasons says why threads were blocked" },
		{ stats && o->sched,
		  "--stats-only cannot be combined with --sched: thread states of slices are "
		  "computed from events, and there are none" },
		{ stats && (o->n_outputs || o->counters || o->system || o->flight_ns ||
			    o->schedule.active || o->max_size || o->n_plugins || o->n_includes),
		  "--stats-only writes no trace, so it cannot be combined with -o, -e, --system, "
		  "--schedule, --flight-recorder, --max-size, --handler or --include-json" },
		{ stats && (o->n_usdt || o->n_functions),
		  "--stats-only aggregates markers only, so it cannot be combined with -u or -f" },
		{ stats && o->buffers,
		  "--stats-only cannot be combined with --buffers: no event leaves the kernel" },
		{ o->per_thread && !stats, "--per-thread needs --stats-only" },
		{ o->return_probes && !o->n_functions, "--return-probes needs -f" },
		{ o->max_overhead > 0 && (stats || o->schedule.active),
		  "--max-overhead cannot be combined with --stats-only or --schedule: it measures "
		  "recorded marks one by one" },
	};

	check_rules(state, rules, sizeof(rules) / sizeof(rules[0]));
}

static void check_buffered_mode(struct argp_state *state, const struct record_options *o)
{
	const struct option_rule rules[] = {
		{ o->batching && o->n_stacks,
		  "--mode batch cannot be combined with --stack: marks do not enter the kernel" },
		{ o->batching && (o->stats_only || o->schedule.active || o->max_overhead > 0 ||
				  o->n_usdt || o->n_functions),
		  "--mode batch cannot be combined with --stats-only, --schedule, --max-overhead, "
		  "-u or -f, which work in the kernel at each mark" },
	};

	check_rules(state, rules, sizeof(rules) / sizeof(rules[0]));
}

void record_rules_check(struct argp_state *state, const struct record_options *o)
{
	const bool filtered = !target_filter_is_empty(&o->targets);
	const struct option_rule rules[] = {
		{ o->system_interval_ns && !o->system, "--system-interval needs --system" },
		{ o->counter_interval_ns && o->counters && !strcmp(o->counters, "none"),
		  "--counter-interval cannot be combined with -e none" },
		{ !o->n_pids && !o->command && !filtered,
		  "nothing to record: give -p PID, -n NAME or -- COMMAND" },
		{ filtered && (o->n_pids || o->command),
		  "-n, --user, --cgroup, --unit, --container and --all cannot be combined with -p "
		  "or -- COMMAND" },
		{ o->targets.waits && !filtered,
		  "--wait needs -n, --user, --cgroup, --unit, --container or --all: which "
		  "processes to wait for" },
		{ o->targets.all && (o->targets.n_globs || o->targets.n_users ||
				     o->targets.n_cgroups || o->targets.n_containers),
		  "--all cannot be combined with -n, --user, --cgroup, --unit or --container" },
		{ !o->otlp_url && (o->n_otlp_spans || o->otlp_queue || o->otlp_gzip ||
				   o->otlp_interval_ns || o->otlp_profiles),
		  "--otlp-spans, --otlp-profiles, --otlp-queue, --otlp-interval and --otlp-gzip "
		  "need "
		  "--otlp URL" },
		{ o->otlp_profiles && !o->sample_hz, "--otlp-profiles needs --sample HZ" },
		{ o->n_otlp_spans && o->stats_only,
		  "--otlp-spans cannot be combined with --stats-only: no slice leaves the kernel" },
		{ o->n_pids && o->command, "give either -p PID or -- COMMAND, not both" },
		{ o->per_rank && !o->command, "--per-rank needs -- COMMAND" },
		{ !o->command && (o->itt || o->nvtx),
		  "--itt and --nvtx need -- COMMAND: a program that runs has read its environment; "
		  "proftrace-annotations(7) says how to set it for a service" },
	};

	check_flight_recorder(state, o);
	check_rules(state, rules, sizeof(rules) / sizeof(rules[0]));
	check_stats_only(state, o);
	check_buffered_mode(state, o);
	check_summary(state, o);
}
