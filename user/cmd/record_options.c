/* SPDX-License-Identifier: BSD-2-Clause */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/function_request.h"
#include "capture/usdt_request.h"
#include "cmd/cmd.h"
#include "cmd/record.h"
#include "cmd/scheduler.h"
#include "cmd/usage.h"
#include "event.h"

enum {
	KEY_NO_CHILDREN = 256,
	KEY_COUNTER_INTERVAL,
	KEY_BUFFER,
	KEY_BUFFERS,
	KEY_COMPRESS,
	KEY_DUMP_PERIOD,
	KEY_STRICT,
	KEY_SUMMARY_JSON,
	KEY_SCHEDULE,
	KEY_MODE,
	KEY_RANK,
	KEY_MAX_SIZE,
	KEY_KEEP,
	KEY_FLIGHT,
	KEY_FLIGHT_MEMORY,
	KEY_TRIGGER,
	KEY_STATS_ONLY,
	KEY_PER_THREAD,
	KEY_SYSTEM,
	KEY_HANDLER,
	KEY_SYSTEM_INTERVAL,
	KEY_INCLUDE_JSON,
	KEY_INCLUDE_OFFSET,
	KEY_SCHED,
	KEY_SAMPLE,
	KEY_STACK,
	KEY_OFFCPU,
	KEY_MAX_OVERHEAD,
};

static const char doc[] =
	"Record a running process, or a command from its first instruction on.\v"
	"Examples:\n"
	"  sudo proftrace -p 1234                 until Ctrl-C or its end\n"
	"  sudo proftrace -p 1234 -d 10s -o slow  ten seconds of it, into slow.*\n"
	"  sudo proftrace -D 'net.*' -p 1234      only domains that begin with net.\n"
	"  sudo proftrace -- ./server --port 80   a command and its children\n"
	"  sudo proftrace --flight-recorder 10s --trigger 'slice:request>50ms' -p 1234\n"
	"                                         the ten seconds before a slow request\n"
	"\n"
	"Open the .pftrace file in https://ui.perfetto.dev, or print it with `proftrace report`.";

static const struct argp_option options[] = {
	{ "pid", 'p', "LIST", 0, "Processes to attach to, separated by commas", 0 },
	{ "output", 'o', "NAME", 0,
	  "Write NAME.pftrace and NAME.json; a NAME ending in .pftrace, .json or .json.gz writes "
	  "only "
	  "that; - writes Perfetto to standard output (repeatable)",
	  0 },
	{ "duration", 'd', "TIME", 0, "Stop after 500ms, 10s, 5m", 0 },
	{ "domain", 'D', "GLOB", 0,
	  "Only domains whose names fit; !GLOB leaves them out (repeatable)", 0 },
	{ "usdt", 'u', "SPEC", 0,
	  "Also probes of others (USDT): PROVIDER:NAME, globs, as instants; BEGIN~END as slices; "
	  "/TEMPLATE makes their names (repeatable)",
	  0 },
	{ "func", 'f', "SPEC", 0,
	  "Also functions, as slices, without recompiling: [LIB:]NAME[(ARG,...)], globs; of the "
	  "main "
	  "program without LIB; ARG is argN:TYPE or ret:TYPE (repeatable)",
	  0 },
	{ "counters", 'e', "LIST", 0,
	  "Count these at the begin and the end of every slice: at most eight, by the names of "
	  "perf "
	  "and libpfm4, or none "
	  "(cycles,instructions,cache-misses,branch-misses where the machine counts them, else "
	  "task-clock,page-faults,context-switches)",
	  0 },
	{ "counter-interval", KEY_COUNTER_INTERVAL, "TIME", 0,
	  "Also read them this often on every thread that runs, in slices or not; 100us at least",
	  0 },
	{ "no-children", KEY_NO_CHILDREN, NULL, 0, "Do not follow children", 0 },
	{ "mode", KEY_MODE, "MODE", 0,
	  "exact: the kernel is entered for each mark, and counters are read there. batch: once "
	  "for "
	  "hundreds, which costs a thirtieth, without counters, when a program has run for a "
	  "second; batch-now: at once",
	  0 },
	{ "stats-only", KEY_STATS_ONLY, NULL, 0,
	  "Write no events: let the kernel add up, and print the table of names at the end (and on "
	  "SIGUSR2; SIGUSR1 begins anew)",
	  0 },
	{ "per-thread", KEY_PER_THREAD, NULL, 0, "In that table, a row for each thread", 0 },
	{ "buffer", KEY_BUFFER, "SIZE", 0, "Kernel ring buffers, all together, 64K to 2G (64M)",
	  0 },
	{ "buffers", KEY_BUFFERS, "N", 0,
	  "How many of them, each for some of the CPUs, up to 32 (1; on more than 4 CPUs one for "
	  "every two, up to 16)",
	  0 },
	{ "dump-period", KEY_DUMP_PERIOD, "TIME", 0,
	  "Make the files complete on disk at least this often (1s)", 0 },
	{ "compress", KEY_COMPRESS, NULL, 0,
	  "Perfetto files a fifth as large, at twice the recorder's time for each event", 0 },
	{ "max-size", KEY_MAX_SIZE, "SIZE", 0,
	  "Go on in new files when one has become so large, 64K or more", 0 },
	{ "keep", KEY_KEEP, "N", 0, "Keep the newest N files of each name, delete older ones", 0 },
	{ "flight-recorder", KEY_FLIGHT, "TIME", 0,
	  "Keep the last TIME in memory, and write it when a trigger fires", 0 },
	{ "trigger", KEY_TRIGGER, "SPEC", 0,
	  "slice:NAME>50ms or instant:NAME (repeatable); SIGUSR2 always is one", 0 },
	{ "flight-memory", KEY_FLIGHT_MEMORY, "SIZE", 0,
	  "How much memory the flight recorder may take, 64K or more (64M)", 0 },
	{ "rank", KEY_RANK, "N", 0,
	  "Which process of a parallel program it is (RANK, OMPI_COMM_WORLD_RANK or SLURM_PROCID "
	  "of the process)",
	  0 },
	{ "handler", KEY_HANDLER, "LIB[=ARG]", 0,
	  "Hand everything to a trace handler of your own as well: a shared object "
	  "(repeatable)",
	  0 },
	{ "sched", KEY_SCHED, NULL, 0,
	  "Also record who has which CPU and who wakes whom: the viewer then shows the states of "
	  "threads, and every slice says how long its thread ran, waited for a CPU, and was "
	  "blocked",
	  0 },
	{ "sample", KEY_SAMPLE, "HZ", 0,
	  "Also take the call stacks of the threads that run, so many times a second on each CPU: "
	  "997 disturbs little",
	  0 },
	{ "stack", KEY_STACK, "GLOB", 0,
	  "Also take the call stack where slices and instants of such a name begin (repeatable)",
	  0 },
	{ "offcpu", KEY_OFFCPU, "TIME", 0,
	  "Also show where threads block for longer in a slice, with the call stack", 0 },
	{ "system", KEY_SYSTEM, "LIST", 0, "Counters of the whole machine: cpu,memory,disk,network",
	  0 },
	{ "system-interval", KEY_SYSTEM_INTERVAL, "TIME", 0,
	  "How often these are read, 10ms at least (500ms)", 0 },
	{ "schedule", KEY_SCHEDULE, "SPEC", 0,
	  "Record only some steps (PROF_STEP) of each epoch: skip_first=0,wait=0,warmup=1,active=4,"
	  "repeat=1, with files for each cycle; repeat=0 is until the epoch ends",
	  0 },
	{ "include-json", KEY_INCLUDE_JSON, "FILE", 0,
	  "At the end, read the trace that another profiler wrote meanwhile into this one "
	  "(repeatable)",
	  0 },
	{ "include-offset", KEY_INCLUDE_OFFSET, "TIME", 0,
	  "Move what is included by TIME, which may be negative", 0 },
	{ "max-overhead", KEY_MAX_OVERHEAD, "PERCENT", 0,
	  "Switch domains off, the costliest first, when the markers take more than this of the "
	  "processes' CPU time",
	  0 },
	{ "summary-json", KEY_SUMMARY_JSON, "FILE", 0,
	  "Write the account of the recording for machines", 0 },
	{ "strict", KEY_STRICT, NULL, 0, "Exit 3 if anything was lost or malformed", 0 },
	{ "quiet", 'q', NULL, 0, "Say nothing but errors", 0 },
	{ "verbose", 'v', NULL, 0, "Say more", 0 },
	{ 0 },
};

bool parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {
		{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 },   { "s", 1e9 },
		{ "", 1e9 }, { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 },
	};
	char *end;
	double value;
	unsigned i;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return false;
	value = strtod(text, &end);
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit))
			continue;
		value *= units[i].ns;
		if (!(value >= 1 && value < 1e18))
			return false;
		*ret_ns = value;
		return true;
	}
	return false;
}

bool parse_offset(const char *text, int64_t *ret_ns)
{
	bool negative = *text == '-';
	uint64_t ns;

	if (!parse_duration(text + (negative || *text == '+'), &ns))
		return false;
	*ret_ns = negative ? -(int64_t)ns : (int64_t)ns;
	return true;
}

/* Above 0 and at most 100. */
static bool parse_percent(const char *text, double *ret_percent)
{
	char *end;
	double value;

	if (!isdigit((unsigned char)text[0]) || strspn(text, "0123456789.") > 20 ||
	    text[strspn(text, "0123456789.%")])
		return false;
	value = strtod(text, &end);
	if ((*end && strcmp(end, "%")) || !(value > 0 && value <= 100))
		return false;
	*ret_percent = value;
	return true;
}

static bool parse_rate(const char *text, uint32_t *ret_hz)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || !isdigit((unsigned char)*text) || *end || value < 1 || value > MAX_SAMPLE_HZ)
		return false;
	*ret_hz = (uint32_t)value;
	return true;
}

bool parse_size(const char *text, uint64_t *ret_bytes)
{
	unsigned long long value;
	unsigned shift = 0;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	switch (toupper((unsigned char)*end)) {
	case 'K':
		shift = 10;
		break;
	case 'M':
		shift = 20;
		break;
	case 'G':
		shift = 30;
		break;
	}
	end += shift != 0;
	if (errno || value > (~0ull >> shift) || (*end && strcmp(end, "B") && strcmp(end, "iB")))
		return false;
	*ret_bytes = value << shift;
	return true;
}

void record_options_pids(struct argp_state *state, struct record_options *o, const char *list)
{
	const char *at = list;

	while (*at) {
		char *end;
		long pid;

		errno = 0;
		pid = strtol(at, &end, 10);
		if (errno || end == at || pid <= 0 || pid > 0x3fffffff || (*end && *end != ','))
			usage_error(state, "'%s' is no list of process numbers", list);
		if (o->n_pids == MAX_PIDS)
			usage_error(state, "more than %d processes", MAX_PIDS);
		o->pids[o->n_pids++] = pid;
		at = *end ? end + 1 : end;
	}
	if (at == list)
		usage_error(state, "'%s' is no list of process numbers", list);
}

void record_options_buffer(struct argp_state *state, struct record_options *o, const char *text)
{
	uint64_t bytes, size = 64 << 10;

	if (!parse_size(text, &bytes) || bytes < 64 << 10 || bytes > 2ull << 30)
		usage_error(state, "'%s' is no size from 64K to 2G", text);
	/* The kernel wants a power of two: the next one. */
	while (size < bytes)
		size <<= 1;
	o->buffer_bytes = size;
}

#define LEAST_BUFFER (64 << 10)

static void set_buffers(struct argp_state *state, struct record_options *o, const char *text)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || *text < '1' || *text > '9' || *end || n > MAX_BUFFERS)
		usage_error(state, "'%s' is no number from 1 to %d", text, MAX_BUFFERS);
	/* A CPU finds its own by some bits of its number. */
	for (o->buffers = 1; o->buffers < n;)
		o->buffers <<= 1;
}

/* Few CPUs do not get into each other's way. Many small buffers are full sooner than one. */
static unsigned buffers_for(long cpus, uint64_t bytes)
{
	unsigned n = 1;

	while (cpus > 4 && n < 16 && n * 4 <= (unsigned long)cpus && bytes / (n * 2) >= 1 << 20)
		n <<= 1;
	return n;
}

/* NAME alone is NAME.pftrace and NAME.json. */
static bool same_file(const char *name, const char *other)
{
	size_t n = strlen(name);

	return !strncmp(name, other, n) &&
	       (!other[n] || !strcmp(other + n, ".pftrace") || !strcmp(other + n, ".json"));
}

static void add_output(struct argp_state *state, struct record_options *o, char *arg)
{
	int unknown = output_name_check(arg);
	struct stat st;

	if (!*arg)
		usage_error(state, "an output needs a name");
	if (arg[strlen(arg) - 1] == '/')
		usage_error(state, "'%s' is a directory: an output needs a name in it", arg);
	if (unknown >= 0 && !strchr(arg + unknown, '}'))
		usage_error(state,
			    "the { in '%s' is not closed: it begins a field, of which there "
			    "are " OUTPUT_FIELDS,
			    arg);
	if (unknown >= 0)
		usage_error(state, "'%.*s' in '%s' is no field: there are " OUTPUT_FIELDS,
			    (int)strcspn(arg + unknown, "}") + 1, arg + unknown, arg);
	if (o->n_outputs == MAX_OUTPUTS)
		usage_error(state, "more than %d outputs", MAX_OUTPUTS);
	for (unsigned i = 0; i < o->n_outputs; i++) {
		if (same_file(o->outputs[i], arg) || same_file(arg, o->outputs[i]))
			usage_error(state, "output '%s' is given twice", arg);
	}
	if (!stat(arg, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		usage_error(state,
			    "'%s' is no file, and files are what -o names; --stats-only writes "
			    "none",
			    arg);
	if (!strcmp(arg, "-") && isatty(STDOUT_FILENO))
		usage_error(state, "a trace is not for a terminal: redirect -o -");
	o->outputs[o->n_outputs++] = arg;
}

static void set_keep(struct argp_state *state, struct record_options *o, const char *arg)
{
	char *end;

	errno = 0;
	o->keep = strtoull(arg, &end, 10);
	if (errno || *end || !isdigit((unsigned char)*arg) || !o->keep)
		usage_error(state, "'%s' is no number of files", arg);
}

static void add_usdt(struct argp_state *state, struct record_options *o, const char *arg)
{
	struct usdt_request request;
	const char *why = usdt_request_parse(arg, &request);

	if (why)
		usage_error(state, "'%s' names no probe: %s", arg, why);
	if (o->n_usdt == MAX_USDT)
		usage_error(state, "more than %d -u", MAX_USDT);
	o->usdt[o->n_usdt++] = arg;
}

static void add_function(struct argp_state *state, struct record_options *o, const char *arg)
{
	struct function_request request;
	const char *why = function_request_parse(arg, &request);

	if (why)
		usage_error(state, "'%s' names no function: %s", arg, why);
	if (o->n_functions == MAX_FUNCTIONS)
		usage_error(state, "more than %d -f", MAX_FUNCTIONS);
	o->functions[o->n_functions++] = arg;
}

void record_options_init(struct record_options *o)
{
	memset(o, 0, sizeof(*o));
	o->dump_period_ns = 1000000000;
	o->buffer_bytes = 64 << 20;
}

/* Neither could be read where both are. */
static void check_summary(struct argp_state *state, const struct record_options *o)
{
	unsigned i;

	for (i = 0; o->summary_json && i < o->n_outputs; i++) {
		if (!strcmp(o->summary_json, "-") && !strcmp(o->outputs[i], "-"))
			usage_error(state, "-o and --summary-json both write to standard output");
		if (!strcmp(o->summary_json, o->outputs[i]))
			usage_error(state, "-o and --summary-json both write to '%s'",
				    o->summary_json);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		record_options_init(o);
		break;
	case 'p':
		record_options_pids(state, o, arg);
		break;
	case 'o':
		add_output(state, o, arg);
		break;
	case 'd':
		if (!parse_duration(arg, &o->duration_ns))
			usage_error(state, "'%s' is no time such as 500ms, 10s or 5m", arg);
		break;
	case 'D':
		if (o->n_domains == MAX_DOMAINS)
			usage_error(state, "more than %d domains", MAX_DOMAINS);
		o->domains[o->n_domains++] = arg;
		break;
	case 'u':
		add_usdt(state, o, arg);
		break;
	case 'f':
		add_function(state, o, arg);
		break;
	case 'e':
		o->counters = arg;
		break;
	case KEY_COUNTER_INTERVAL:
		if (!parse_duration(arg, &o->counter_interval_ns) ||
		    o->counter_interval_ns < 100000)
			usage_error(state, "'%s' is no time of 100us or more", arg);
		break;
	case KEY_NO_CHILDREN:
		o->no_children = true;
		break;
	case KEY_MODE:
		o->batching_now = !strcmp(arg, "batch-now");
		o->batching = o->batching_now || !strcmp(arg, "batch");
		if (!o->batching && strcmp(arg, "exact"))
			usage_error(state,
				    "unknown mode '%s': there are exact, batch and batch-now", arg);
		break;
	case KEY_BUFFER:
		record_options_buffer(state, o, arg);
		break;
	case KEY_BUFFERS:
		set_buffers(state, o, arg);
		break;
	case KEY_DUMP_PERIOD:
		if (!parse_duration(arg, &o->dump_period_ns) || o->dump_period_ns < 1000000)
			usage_error(state, "'%s' is no time such as 500ms, 10s or 5m", arg);
		break;
	case KEY_RANK:
		if (!*arg || strspn(arg, "0123456789") != strlen(arg) || strlen(arg) > 9)
			usage_error(state, "'%s' is no rank", arg);
		o->rank = arg;
		break;
	case KEY_MAX_SIZE:
		if (!parse_size(arg, &o->max_size) || o->max_size < 64 << 10)
			usage_error(state, "'%s' is no size such as 100M, of 64K or more", arg);
		break;
	case KEY_FLIGHT:
		if (!parse_duration(arg, &o->flight_ns))
			usage_error(state, "'%s' is no time such as 500ms, 10s or 5m", arg);
		break;
	case KEY_FLIGHT_MEMORY:
		if (!parse_size(arg, &o->flight_bytes) || o->flight_bytes < 64 << 10 ||
		    o->flight_bytes > 1ull << 40)
			usage_error(state, "'%s' is no size such as 64M, of 64K or more", arg);
		break;
	case KEY_TRIGGER:
		if (o->n_triggers == MAX_TRIGGERS)
			usage_error(state, "more than %d triggers", MAX_TRIGGERS);
		if (!trigger_parse(arg, &o->triggers[o->n_triggers++]))
			usage_error(state, "'%s' is neither slice:NAME>50ms nor instant:NAME", arg);
		break;
	case KEY_KEEP:
		set_keep(state, o, arg);
		break;
	case KEY_HANDLER:
		if (!*arg || *arg == '=')
			usage_error(state, "a handler needs a file");
		if (o->n_plugins == MAX_PLUGINS)
			usage_error(state, "more than %d handlers", MAX_PLUGINS);
		o->plugins[o->n_plugins++] = arg;
		break;
	case KEY_INCLUDE_JSON:
		if (o->n_includes == MAX_INCLUDES)
			usage_error(state, "more than %d traces to include", MAX_INCLUDES);
		o->includes[o->n_includes++] = arg;
		break;
	case KEY_INCLUDE_OFFSET:
		if (!parse_offset(arg, &o->include_offset_ns))
			usage_error(state, "'%s' is no time such as 5ms or -1s", arg);
		break;
	case KEY_SYSTEM:
		o->system = arg;
		break;
	case KEY_SYSTEM_INTERVAL:
		if (!parse_duration(arg, &o->system_interval_ns) ||
		    o->system_interval_ns < 10000000)
			usage_error(state, "'%s' is no time of 10ms or more", arg);
		break;
	case KEY_SCHED:
		o->sched = true;
		break;
	case KEY_SAMPLE:
		if (!parse_rate(arg, &o->sample_hz))
			usage_error(state, "'%s' is no rate from 1 to %d samples a second", arg,
				    MAX_SAMPLE_HZ);
		break;
	case KEY_STACK:
		if (o->n_stacks == MAX_STACKS)
			usage_error(state, "more than %d --stack", MAX_STACKS);
		o->stacks[o->n_stacks++] = arg;
		break;
	case KEY_OFFCPU:
		if (!parse_duration(arg, &o->offcpu_ns))
			usage_error(state, "'%s' is no time such as 500us, 10ms or 1s", arg);
		break;
	case KEY_STATS_ONLY:
		o->stats_only = true;
		break;
	case KEY_PER_THREAD:
		o->per_thread = true;
		break;
	case KEY_SCHEDULE:
		if (!schedule_parse(arg, &o->schedule))
			usage_error(state,
				    "'%s' is no schedule such as wait=5,warmup=1,active=3,repeat=2",
				    arg);
		break;
	case KEY_MAX_OVERHEAD:
		if (!parse_percent(arg, &o->max_overhead))
			usage_error(state, "'%s' is no share such as 5%% or 0.5%%", arg);
		break;
	case KEY_SUMMARY_JSON:
		o->summary_json = arg;
		break;
	case KEY_COMPRESS:
		o->compress = true;
		break;
	case KEY_STRICT:
		o->strict = true;
		break;
	case 'q':
		o->verbosity = -1;
		break;
	case 'v':
		o->verbosity = o->verbosity < 0 ? 1 : o->verbosity + 1;
		break;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		break;
	case ARGP_KEY_END:
		if (!o->flight_ns && (o->n_triggers || o->flight_bytes))
			usage_error(state, "triggers and memory are for --flight-recorder TIME");
		if (o->flight_ns && o->schedule.active)
			usage_error(state, "a flight recorder keeps whatever comes last: it has no "
					   "--schedule");
		if (o->flight_ns && o->max_size)
			usage_error(state, "--flight-memory bounds what a flight recorder writes, "
					   "not --max-size");
		if (o->flight_ns && o->n_includes)
			usage_error(state, "a flight recorder's files are finished before "
					   "--include-json could add to them");
		if (!o->flight_bytes)
			o->flight_bytes = 64 << 20;
		if (!o->system_interval_ns)
			o->system_interval_ns = 500000000;
		else if (!o->system)
			usage_error(state, "--system-interval is for --system");
		if (o->counter_interval_ns && o->counters && !strcmp(o->counters, "none"))
			usage_error(state, "--counter-interval has nothing to read with -e none");
		if (!o->n_pids && !o->command)
			usage_error(state, "nothing to record: give -p PID or -- COMMAND");
		if (o->n_pids && o->command)
			usage_error(state, "give either -p PID or -- COMMAND");
		if (o->stats_only && (o->sample_hz || o->n_stacks || o->offcpu_ns))
			usage_error(state, "--stats-only writes no trace for call stacks to go to");
		if (o->batching && o->n_stacks)
			usage_error(state, "--mode batch has no --stack: the kernel is not entered "
					   "where marks are");
		if (o->stats_only && o->sched)
			usage_error(state,
				    "--sched has no place in --stats-only: what slices did is "
				    "found out of events, and there are none");
		if (o->stats_only &&
		    (o->n_outputs || o->counters || o->system || o->flight_ns ||
		     o->schedule.active || o->max_size || o->n_plugins || o->n_includes))
			usage_error(state,
				    "--stats-only writes no trace: without -o, -e, --system, "
				    "--schedule, --flight-recorder, --max-size, --handler, "
				    "--include-json");
		if (o->max_overhead > 0 && (o->stats_only || o->schedule.active))
			usage_error(state,
				    "--max-overhead measures the marks that are recorded, one by "
				    "one: it does not go with --stats-only or --schedule");
		if (o->keep && !o->max_size && !o->flight_ns && !o->schedule.active)
			usage_error(state,
				    "--keep is for many files: with --max-size, --schedule or "
				    "--flight-recorder");
		if (o->batching && (o->stats_only || o->schedule.active || o->max_overhead > 0 ||
				    o->n_usdt || o->n_functions))
			usage_error(state,
				    "--mode batch has no --stats-only, --schedule, --max-overhead, "
				    "-u, -f: these happen in the kernel, at each mark");
		if (o->batching &&
		    ((o->counters && strcmp(o->counters, "none")) || o->counter_interval_ns))
			usage_error(state,
				    "--mode batch has no counters (-e): they are read in the "
				    "kernel, at each mark");
		if (o->stats_only && (o->n_usdt || o->n_functions))
			usage_error(state,
				    "--stats-only adds up markers, not what -u and -f ask for");
		if (o->stats_only && o->buffers)
			usage_error(state, "--stats-only writes no events that --buffers would "
					   "take");
		if (!o->buffers)
			o->buffers = buffers_for(sysconf(_SC_NPROCESSORS_ONLN), o->buffer_bytes);
		if (o->buffer_bytes / o->buffers < LEAST_BUFFER)
			usage_error(state, "--buffers %u needs a --buffer of %uK", o->buffers,
				    o->buffers * LEAST_BUFFER >> 10);
		if (o->per_thread && !o->stats_only)
			usage_error(state, "--per-thread is for --stats-only");
		check_summary(state, o);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = { options, parse, "-p PID[,PID...]\n-- COMMAND [ARG...]", doc, NULL,
				  NULL,	   NULL };

/* In order: the command's own options are its own. */
const struct usage usage_record = { .argp = &argp,
				    .flags = ARGP_IN_ORDER,
				    .size = sizeof(struct record_options) };

int record_options_parse(int argc, char **argv, struct record_options *o)
{
	return usage_parse(&usage_record, argc, argv, o) ? STATUS_USAGE : 0;
}
