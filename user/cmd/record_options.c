/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the options of `proftrace record` do. Most options are one row of a table: where their value goes, its bounds,
 * and the message about a wrong value. Which options cannot be combined is a second table.
 */
#include <argp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/quantity.h"
#include "capture/probes/function_request.h"
#include "capture/probes/usdt_request.h"
#include "cmd/cmd.h"
#include "cmd/record_options.h"
#include "cmd/usage.h"
#include "bpf/event.h"
#include "privilege/invoker.h"
#include "record/record.h"

/* How the value of an option is read, and where it goes. */
struct option_value {
	int key;
	enum {
		VALUE_FLAG, /* bool: set */
		VALUE_TEXT, /* const char * */
		VALUE_LIST, /* const char *[max], its length at `count` */
		VALUE_TIME, /* uint64_t, ns */
		VALUE_SIZE, /* uint64_t, bytes */
	} kind;
	size_t at, count; /* offsets in struct record_options */
	uint64_t min, max;
	const char *expected; /* what a wrong value is not; of a list what there are too many of */
};

#define FIELD(name) offsetof(struct record_options, name)

static const struct option_value option_values[] = {
	{ 'd', VALUE_TIME, FIELD(duration_ns), 0, 0, UINT64_MAX,
	  "a time such as 500ms, 10s or 5m" },
	{ 'e', VALUE_TEXT, FIELD(counters), 0, 0, 0, NULL },
	{ 'D', VALUE_LIST, FIELD(domains), FIELD(n_domains), 0, MAX_DOMAINS, "domains" },
	{ KEY_COUNTER_INTERVAL, VALUE_TIME, FIELD(counter_interval_ns), 0, 100000, UINT64_MAX,
	  "a time of 100us or more" },
	{ KEY_PER_RANK, VALUE_FLAG, FIELD(per_rank), 0, 0, 0, NULL },
	{ KEY_NO_CHILDREN, VALUE_FLAG, FIELD(no_children), 0, 0, 0, NULL },
	{ KEY_RETURN_PROBES, VALUE_FLAG, FIELD(return_probes), 0, 0, 0, NULL },
	{ KEY_DUMP_PERIOD, VALUE_TIME, FIELD(dump_period_ns), 0, 1000000, UINT64_MAX,
	  "a time such as 500ms, 10s or 5m" },
	{ KEY_MAX_SIZE, VALUE_SIZE, FIELD(max_size), 0, 64 << 10, UINT64_MAX,
	  "a size such as 100M, of 64K or more" },
	{ KEY_QUOTA, VALUE_SIZE, FIELD(quota), 0, 1, UINT64_MAX, "a size such as 500M or 2G" },
	{ KEY_FLIGHT, VALUE_TIME, FIELD(flight_ns), 0, 0, UINT64_MAX,
	  "a time such as 500ms, 10s or 5m" },
	{ KEY_FLIGHT_MEMORY, VALUE_SIZE, FIELD(flight_bytes), 0, 64 << 10, 1ull << 40,
	  "a size such as 64M, of 64K or more" },
	{ KEY_INCLUDE_JSON, VALUE_LIST, FIELD(includes), FIELD(n_includes), 0, MAX_INCLUDES,
	  "traces to include" },
	{ KEY_SYSTEM, VALUE_TEXT, FIELD(system), 0, 0, 0, NULL },
	{ KEY_SYSTEM_INTERVAL, VALUE_TIME, FIELD(system_interval_ns), 0, 10000000, UINT64_MAX,
	  "a time of 10ms or more" },
	{ KEY_SCHED, VALUE_FLAG, FIELD(sched), 0, 0, 0, NULL },
	{ KEY_WAIT_REASONS, VALUE_FLAG, FIELD(wait_reasons), 0, 0, 0, NULL },
	{ KEY_SYSCALLS, VALUE_FLAG, FIELD(syscalls), 0, 0, 0, NULL },
	{ KEY_DEBUGINFOD, VALUE_FLAG, FIELD(debuginfod), 0, 0, 0, NULL },
	{ KEY_ITT, VALUE_FLAG, FIELD(itt), 0, 0, 0, NULL },
	{ KEY_NVTX, VALUE_FLAG, FIELD(nvtx), 0, 0, 0, NULL },
	{ KEY_STACK, VALUE_LIST, FIELD(stacks), FIELD(n_stacks), 0, MAX_STACKS, "--stack options" },
	{ KEY_OFFCPU, VALUE_TIME, FIELD(offcpu_ns), 0, 0, UINT64_MAX,
	  "a time such as 500us, 10ms or 1s" },
	{ KEY_STATS_ONLY, VALUE_FLAG, FIELD(stats_only), 0, 0, 0, NULL },
	{ KEY_PER_THREAD, VALUE_FLAG, FIELD(per_thread), 0, 0, 0, NULL },
	{ KEY_SUMMARY_JSON, VALUE_TEXT, FIELD(summary_json), 0, 0, 0, NULL },
	{ KEY_COMPRESS, VALUE_FLAG, FIELD(compress), 0, 0, 0, NULL },
	{ KEY_OTLP_SPANS, VALUE_LIST, FIELD(otlp_spans), FIELD(n_otlp_spans), 0, MAX_OTLP_SPANS,
	  "--otlp-spans options" },
	{ KEY_OTLP_QUEUE, VALUE_SIZE, FIELD(otlp_queue), 0, 64 << 10, 1ull << 30,
	  "a size from 64K to 1G" },
	{ KEY_OTLP_INTERVAL, VALUE_TIME, FIELD(otlp_interval_ns), 0, 1000000000, UINT64_MAX,
	  "a time of 1s or more" },
	{ KEY_OTLP_GZIP, VALUE_FLAG, FIELD(otlp_gzip), 0, 0, 0, NULL },
	{ KEY_OTLP_PROFILES, VALUE_FLAG, FIELD(otlp_profiles), 0, 0, 0, NULL },
	{ KEY_STRICT, VALUE_FLAG, FIELD(strict), 0, 0, 0, NULL },
};

static void add_to_list(struct argp_state *state, const char **list, unsigned *n, unsigned max,
			const char *what, const char *arg)
{
	if (*n == max)
		usage_error(state, "more than %u %s", max, what);
	list[(*n)++] = arg;
}

static void set_value(struct argp_state *state, struct record_options *o,
		      const struct option_value *v, const char *arg)
{
	void *at = (char *)o + v->at;
	uint64_t number;

	switch (v->kind) {
	case VALUE_FLAG:
		*(bool *)at = true;
		return;
	case VALUE_TEXT:
		*(const char **)at = arg;
		return;
	case VALUE_LIST:
		add_to_list(state, at, (unsigned *)((char *)o + v->count), v->max, v->expected,
			    arg);
		return;
	case VALUE_TIME:
	case VALUE_SIZE:
		if (!(v->kind == VALUE_TIME ? parse_duration : parse_size)(arg, &number) ||
		    number < v->min || number > v->max)
			usage_error(state, "'%s' is not %s", arg, v->expected);
		*(uint64_t *)at = number;
	}
}

void record_options_pids(struct argp_state *state, struct record_options *o, const char *list)
{
	static const char between[] = ", \t\n";
	const char *at = list;

	/* `pidof` and `pgrep` separate with spaces and newlines. */
	at += strspn(at, between + 1);
	do {
		size_t n = strcspn(at, between);
		char text[16] = "";
		uint64_t pid;

		if (n < sizeof(text))
			memcpy(text, at, n);
		if (!parse_integer(text, 1, 0x3fffffff, &pid))
			usage_error(state, "'%s' is not a PID list", list);
		if (o->n_pids == MAX_PIDS)
			usage_error(state, "more than %d processes", MAX_PIDS);
		o->pids[o->n_pids++] = (pid_t)pid;
		at += n;
		at += strspn(at, between + 1);
		at += *at == ',';
		at += strspn(at, between + 1);
	} while (*at);
}

void record_options_buffer(struct argp_state *state, struct record_options *o, const char *text)
{
	uint64_t bytes, size = 64 << 10;

	if (!parse_size(text, &bytes) || bytes < 64 << 10 || bytes > 2ull << 30)
		usage_error(state, "'%s' is not a size from 64K to 2G", text);
	/* The kernel requires a power of two. */
	while (size < bytes)
		size <<= 1;
	o->buffer_bytes = size;
}

#define LEAST_BUFFER (64 << 10)

static void options_set_buffers(struct argp_state *state, struct record_options *o,
				const char *text)
{
	uint64_t n;

	if (!parse_integer(text, 1, MAX_BUFFERS, &n))
		usage_error(state, "'%s' is not a number from 1 to %d", text, MAX_BUFFERS);
	/* A CPU finds its buffer by some bits of its number. */
	for (o->buffers = 1; o->buffers < n;)
		o->buffers <<= 1;
}

/*
 * The kernel clears a ring buffer when it is made, at the start of every recording: 64 MiB take it 10 ms. In exact mode a mark
 * takes its CPU a microsecond at least, so it needs a fifth of a second to fill 8 MiB; the recorder, which has a higher priority,
 * is later only where a disk stops it. In buffered mode a mark takes 20 ns, and other events have other rates.
 */
static uint64_t default_buffer_bytes(const struct record_options *o, long cpus)
{
	bool marks_alone = !(o->stats_only || o->batching || o->changing || o->sched ||
			     o->syscalls || o->sample_hz || o->n_stacks || o->offcpu_ns);

	if (!marks_alone || cpus > 4)
		return 64 << 20;
	return cpus > 2 ? 32 << 20 : 16 << 20;
}

/* Few CPUs hardly contend for one buffer. Many small buffers fill up sooner than one. */
static unsigned default_buffers(long cpus, uint64_t bytes)
{
	unsigned n = 1;

	while (cpus > 4 && n < 16 && n * 4 <= (unsigned long)cpus && bytes / (n * 2) >= 1 << 20)
		n <<= 1;
	return n;
}

/* NAME alone is NAME.pftrace and NAME.json. */
static bool is_same_output(const char *name, const char *other)
{
	size_t n = strlen(name);

	return !strncmp(name, other, n) &&
	       (!other[n] || !strcmp(other + n, ".pftrace") || !strcmp(other + n, ".json"));
}

/* What the user who called cannot find out of a path, the usage does not say. */
static bool output_is_special(const char *path)
{
	int fd = invoker_place(path);
	struct stat st;
	bool special = fd >= 0 && !fstat(fd, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);

	if (fd >= 0)
		close(fd);
	return special;
}

static void add_output(struct argp_state *state, struct record_options *o, char *arg)
{
	int unknown = output_name_check(arg);

	if (!*arg)
		usage_error(state, "an output needs a name");
	if (arg[strlen(arg) - 1] == '/')
		usage_error(state, "'%s' is a directory: an output needs a name in it", arg);
	if (unknown >= 0 && !strchr(arg + unknown, '}'))
		usage_error(state,
			    "the { in '%s' is not closed: it begins a field, one of " OUTPUT_FIELDS,
			    arg);
	if (unknown >= 0)
		usage_error(state, "'%.*s' in '%s' is not a field; the fields are " OUTPUT_FIELDS,
			    (int)strcspn(arg + unknown, "}") + 1, arg + unknown, arg);
	if (o->n_outputs == MAX_OUTPUTS)
		usage_error(state, "more than %d outputs", MAX_OUTPUTS);
	for (unsigned i = 0; i < o->n_outputs; i++) {
		if (is_same_output(o->outputs[i], arg) || is_same_output(arg, o->outputs[i]))
			usage_error(state, "output '%s' is given twice", arg);
	}
	if (output_is_special(arg))
		usage_error(state,
			    "'%s' is not a regular file, and -o names files; --stats-only writes "
			    "none",
			    arg);
	if (!strcmp(arg, "-") && isatty(STDOUT_FILENO))
		usage_error(state, "a trace cannot be written to a terminal: redirect -o -");
	o->outputs[o->n_outputs++] = arg;
}

static void add_usdt(struct argp_state *state, struct record_options *o, const char *arg)
{
	struct usdt_request request;
	const char *why = usdt_request_parse(arg, &request);

	if (why)
		usage_error(state, "'%s' does not name a probe: %s (column %u)", arg, why,
			    request.column);
	add_to_list(state, o->usdt, &o->n_usdt, MAX_USDT, "-u options", arg);
}

static void add_function(struct argp_state *state, struct record_options *o, const char *arg)
{
	struct function_request request;
	const char *why = function_request_parse(arg, &request);

	if (why)
		usage_error(state, "'%s' does not name a function: %s", arg, why);
	add_to_list(state, o->functions, &o->n_functions, MAX_FUNCTIONS, "-f options", arg);
}

static void add_plugin(struct argp_state *state, struct record_options *o, const char *arg)
{
	if (!*arg || *arg == '=')
		usage_error(state, "a handler needs a file");
	add_to_list(state, o->plugins, &o->n_plugins, MAX_PLUGINS, "handlers", arg);
}

static void add_trigger(struct argp_state *state, struct record_options *o, const char *arg)
{
	if (o->n_triggers == MAX_TRIGGERS)
		usage_error(state, "more than %d triggers", MAX_TRIGGERS);
	if (!trigger_parse(arg, &o->triggers[o->n_triggers++]))
		usage_error(state, "'%s' is neither slice:NAME>50ms nor instant:NAME", arg);
}

/* The conditions for whom to record; false: not one of these options. */
static bool parse_condition(int key, const char *arg, struct argp_state *state,
			    struct record_options *o)
{
	static const struct {
		int key;
		const char *(*add)(struct target_filter *filter, const char *arg);
		const char *expected;
	} conditions[] = {
		{ 'n', target_filter_add_name, "a name to look for" },
		{ KEY_USER, target_filter_add_user, "a user" },
		{ KEY_CGROUP, target_filter_add_cgroup, "a cgroup" },
		{ KEY_UNIT, target_filter_add_unit, "a unit" },
		{ KEY_CONTAINER, target_filter_add_container, "a container" },
	};
	const char *why;

	if (key == KEY_WAIT)
		o->targets.waits = 1;
	else if (key == KEY_ALL)
		o->targets.all = 1;
	if (key == KEY_WAIT || key == KEY_ALL)
		return true;
	for (unsigned i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
		if (conditions[i].key != key)
			continue;
		why = conditions[i].add(&o->targets, arg);
		if (why)
			usage_error(state, "'%s' is not %s: %s", arg, conditions[i].expected, why);
		if (key == 'n')
			o->names[o->n_names++] = arg;
		return true;
	}
	return false;
}

static void set_mode(struct argp_state *state, struct record_options *o, const char *arg)
{
	o->batching = !strcmp(arg, "batch") || !strcmp(arg, "batch-now");
	o->changing = !strcmp(arg, "auto");
	if (!o->batching && !o->changing && strcmp(arg, "exact"))
		usage_error(state,
			    "unknown mode '%s': the modes are exact, auto, batch and batch-now",
			    arg);
}

static void set_rank(struct argp_state *state, struct record_options *o, const char *arg)
{
	uint64_t rank;

	if (!parse_integer(arg, 0, 999999999, &rank))
		usage_error(state, "'%s' is not a rank", arg);
	o->rank = arg;
}

static void set_start_at(struct argp_state *state, struct record_options *o, const char *arg)
{
	if (!parse_moment(arg, clock_ns(CLOCK_REALTIME), &o->start_at_ns))
		usage_error(state, "'%s' is not a time to come such as 14:30:00, @SECONDS or /10s",
			    arg);
}

static void set_sample_rate(struct argp_state *state, struct record_options *o, const char *arg)
{
	uint64_t rate;

	if (!parse_integer(arg, 1, MAX_SAMPLE_HZ, &rate))
		usage_error(state, "'%s' is not a rate from 1 to %d samples per second", arg,
			    MAX_SAMPLE_HZ);
	o->sample_hz = (uint32_t)rate;
}

void record_options_init(struct record_options *o)
{
	memset(o, 0, sizeof(*o));
	o->dump_period_ns = 1000000000;
}

/* Values that depend on other options, or on the machine. */
static void set_defaults(struct argp_state *state, struct record_options *o)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!o->flight_bytes)
		o->flight_bytes = 64 << 20;
	if (!o->system_interval_ns)
		o->system_interval_ns = 500000000;
	if (!o->otlp_interval_ns)
		o->otlp_interval_ns = 60000000000ull;
	if (!o->otlp_queue)
		o->otlp_queue = 16 << 20;
	if (!o->buffer_bytes)
		o->buffer_bytes = default_buffer_bytes(o, cpus);
	if (!o->buffers)
		o->buffers = default_buffers(cpus, o->buffer_bytes);
	if (o->buffer_bytes / o->buffers < LEAST_BUFFER)
		usage_error(state, "--buffers %u needs a --buffer of at least %uK", o->buffers,
			    o->buffers * LEAST_BUFFER >> 10);
}

/* The options that are not in the table; false: not an option. */
static bool parse_special(int key, char *arg, struct argp_state *state, struct record_options *o)
{
	switch (key) {
	case 'p':
		record_options_pids(state, o, arg);
		break;
	case 'o':
		add_output(state, o, arg);
		break;
	case 'u':
		add_usdt(state, o, arg);
		break;
	case 'f':
		add_function(state, o, arg);
		break;
	case 'q':
		o->verbosity = -1;
		break;
	case 'v':
		o->verbosity = o->verbosity < 0 ? 1 : o->verbosity + 1;
		break;
	case KEY_MODE:
		set_mode(state, o, arg);
		break;
	case KEY_BUFFER:
		record_options_buffer(state, o, arg);
		break;
	case KEY_BUFFERS:
		options_set_buffers(state, o, arg);
		break;
	case KEY_START_AT:
		set_start_at(state, o, arg);
		break;
	case KEY_RANK:
		set_rank(state, o, arg);
		break;
	case KEY_TRIGGER:
		add_trigger(state, o, arg);
		break;
	case KEY_KEEP:
		if (!parse_integer(arg, 1, UINT64_MAX, &o->keep))
			usage_error(state, "'%s' is not a number of files", arg);
		break;
	case KEY_HANDLER:
		add_plugin(state, o, arg);
		break;
	case KEY_INCLUDE_OFFSET:
		if (!parse_offset(arg, &o->include_offset_ns))
			usage_error(state, "'%s' is not a time such as 5ms or -1s", arg);
		break;
	case KEY_SAMPLE:
		set_sample_rate(state, o, arg);
		break;
	case KEY_SCHEDULE:
		if (!schedule_parse(arg, &o->schedule))
			usage_error(state,
				    "'%s' is not a schedule such as "
				    "wait=5,warmup=1,active=3,repeat=2",
				    arg);
		break;
	case KEY_METRICS:
		if (!metrics_parse_address(arg, &o->metrics))
			usage_error(state, "'%s' is not an address such as 9464 or 10.0.0.1:9464",
				    arg);
		break;
	case KEY_OTLP:
		if (strcmp(arg, "env") && !otlp_url_is_valid(arg))
			usage_error(state, "'%s' is not an address such as http://localhost:4318",
				    arg);
		o->otlp_url = arg;
		break;
	case KEY_MAX_OVERHEAD:
		if (!parse_percent(arg, &o->max_overhead))
			usage_error(state, "'%s' is not a share such as 5%% or 0.5%%", arg);
		break;
	default:
		return false;
	}
	return true;
}

error_t record_options_parse_one(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		record_options_init(o);
		return 0;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		o->arguments = state->argv;
		o->n_arguments = (unsigned)state->next;
		return 0;
	case ARGP_KEY_END:
		o->sched |= o->wait_reasons;
		record_rules_check(state, o);
		set_defaults(state, o);
		return 0;
	}
	for (unsigned i = 0; i < sizeof(option_values) / sizeof(option_values[0]); i++) {
		if (option_values[i].key == key) {
			set_value(state, o, &option_values[i], arg);
			return 0;
		}
	}
	if (parse_condition(key, arg, state, o) || parse_special(key, arg, state, o))
		return 0;
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = { record_options,
				  record_options_parse_one,
				  "-p PID[,PID...]\n-n NAME [--wait]\n-- COMMAND [ARG...]",
				  record_doc,
				  NULL,
				  NULL,
				  NULL };

/* In order: the command's own options are its own. */
const struct usage usage_record = { .argp = &argp,
				    .flags = ARGP_IN_ORDER,
				    .size = sizeof(struct record_options) };

int record_options_parse(int argc, char **argv, struct record_options *o)
{
	return usage_parse(&usage_record, argc, argv, o) ? STATUS_USAGE : 0;
}
