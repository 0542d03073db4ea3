/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace record`: starts a recording and runs it; record_end.c ends it. `proftrace top` calls the same functions.
 *
 * The order of the start matters. The command is forked first, because its process belongs to the user, who may take
 * every descriptor that it holds. Then everything that needs privileges is opened, and only then is untrusted data
 * read.
 */
#include "record/record.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/library/library.h"
#include "base/text.h"
#include "capture/capture.h"
#include "capture/clocks.h"
#include "cmd/cmd.h"
#include "record/include.h"
#include "record/control/control.h"
#include "record/metrics/labels.h"
#include "record/top.h"
#include "reports/table/stats.h"
#include "system/system.h"
#include "privilege/invoker.h"
#include "privilege/privileges.h"

/* Fewer are not enough for any recording: programs, maps, ring buffers, outputs and the files of a small program. */
#define LEAST_DESCRIPTORS  76
#define RECORDER_NICE	   (-15)
#define KERNEL_EVENTS	   (4 << 20) /* buffer bytes with --stats-only, which has no marks in buffers */
#define INCLUDED_BEFORE_NS 3600000000000ull

void recording_log(void *context, int verbosity, const char *line)
{
	struct recording *r = context;

	if (verbosity > r->options->verbosity)
		return;
	status_clear(r);
	print_visible(stderr, "proftrace: %s\n", line);
}

/* The bound that NTP or PTP has given to the kernel. Without them it grows for ever, and means nothing. */
static void record_read_clock_error(struct trace_origin *o)
{
	struct timex clock = { 0 };
	int state = adjtimex(&clock);

	if (state < 0 || state == TIME_ERROR || clock.status & STA_UNSYNC)
		return;
	snprintf(o->clock_error, sizeof(o->clock_error), "%" PRIu64,
		 (uint64_t)clock.maxerror * 1000);
}

/* `proftrace merge` needs the host, the boot id and the rank. */
static void record_fill_origin(struct recording *r, const struct utsname *u)
{
	struct trace_origin *o = &r->origin;
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	/* Whoever has a UTS namespace chooses its name, and the trace is text in Chrome JSON. */
	text_copy_visible(o->host, sizeof(o->host), u->nodename);
	if (file) {
		if (fgets(o->boot_id, sizeof(o->boot_id), file))
			o->boot_id[strcspn(o->boot_id, "\n")] = '\0';
		fclose(file);
	}
	r->info.host = o->host;
	r->info.boot_id = o->boot_id;
	r->info.rank = o->rank;
	record_read_clock_error(o);
	r->info.clock_error = o->clock_error;
}

/* A random base makes the uuids of tracks unique, so that traces can be joined. */
static int record_make_timelines(struct recording *r, uint64_t uuid_base)
{
	bool delayed = r->options->flight_ns != 0;

	r->writer = timeline_new(r->names, &r->accounting, uuid_base);
	r->timeline = delayed ? timeline_new(r->names, &r->seen, uuid_base) : r->writer;
	r->stats = stats_new();
	if (!r->writer || !r->timeline || !r->stats)
		return -ENOMEM;
	timeline_starts_at(r->writer, r->info.start_ns);
	timeline_starts_at(r->timeline, r->info.start_ns);
	if (delayed)
		timeline_set_recorded(r->writer, false);
	return timeline_add_consumer(r->timeline, r->stats);
}

static bool records_stacks(const struct record_options *o)
{
	return o->sample_hz || o->n_stacks || o->offcpu_ns;
}

int check_limits(struct failure *f)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_max >= LEAST_DESCRIPTORS)
		return 0;
	return failure_set(f, -EMFILE, "cannot start", "", NULL);
}

/*
 * The recorder keeps every mapped file of the targets open. At the hard limit of CPU time the kernel sends SIGKILL: the
 * recording ends a second before.
 */
static void record_set_limits(const struct command_limits *old)
{
	struct rlimit files = old->files, cpu = old->cpu;

	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (cpu.rlim_max != RLIM_INFINITY && cpu.rlim_cur == cpu.rlim_max && cpu.rlim_max > 1)
		cpu.rlim_cur = cpu.rlim_max - 1;
	setrlimit(RLIMIT_CPU, &cpu);
}

static void record_set_process(struct recording *r)
{
	/*
	 * A target that keeps all CPUs busy with marks would otherwise starve the recorder, which drains
	 * the buffers. The recorder sleeps when there is nothing to do.
	 */
	command_limits_read(&r->limits);
	stack_limit_callers(&r->limits.stack);
	setpriority(PRIO_PROCESS, 0, RECORDER_NICE);
	/* Shell scripts start background commands with SIGINT ignored. */
	signal(SIGINT, SIG_DFL);
	/* If the caller ignores it, the exit of the command would not be reported. */
	signal(SIGCHLD, SIG_DFL);

	record_set_limits(&r->limits);
}

static int record_prepare(struct recording *r, struct utsname *u, struct failure *f)
{
	uint64_t base = 0;

	uname(u);
	clocks_snapshot(&r->info.clock);
	r->info.start_ns = r->info.clock.monotonic;
	/* An included trace may begin before the recording. */
	if (r->options->n_includes)
		r->info.start_ns -= r->info.start_ns < INCLUDED_BEFORE_NS ? r->info.start_ns
									  : INCLUDED_BEFORE_NS;
	r->last_clock = r->info.clock;
	r->info.version = PROFTRACE_VERSION;
	r->info.sysname = u->sysname;
	r->info.kernel_release = u->release;
	r->info.kernel_version = u->version;
	r->info.machine = u->machine;
	record_fill_origin(r, u);
	if (getrandom(r->info.trace_uuid, sizeof(r->info.trace_uuid), 0) < 0 ||
	    getrandom(&base, 4, 0) < 0)
		return failure_set(f, -errno, "cannot start", "", NULL);
	r->names = names_new(0);
	if (r->names && records_stacks(r->options))
		r->callstacks = callstacks_new(r->names, 0);
	if (!r->names || (records_stacks(r->options) && !r->callstacks) ||
	    record_make_timelines(r, base << 31))
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	if (r->options->per_thread)
		stats_per_thread(r->stats);
	if (r->options->service && !r->options->per_thread) {
		r->labels = labels_new(r->names);
		if (!r->labels)
			return failure_set(f, -ENOMEM, "cannot start", "", NULL);
		stats_by(r->stats, LABEL_NAMES);
	}
	if (r->options->sched) {
		timeline_states(r->timeline);
		timeline_states(r->writer);
	}
	if (r->options->wait_reasons) {
		timeline_wait_reasons(r->timeline);
		timeline_wait_reasons(r->writer);
	}
	if (r->options->schedule.active) {
		r->scheduler = scheduler_new();
		if (!r->scheduler)
			return failure_set(f, -ENOMEM, "cannot start", "", NULL);
		timeline_scheduled(r->timeline);
		timeline_set_recorded(r->timeline, false);
	}
	return r->options->flight_ns ? flight_new(r, &r->flight, f) : 0;
}

static uint32_t record_label_process(void *context, uint32_t pid)
{
	const struct recording *r = context;

	return labels_of(r->labels, pid);
}

static int record_open_capture(struct recording *r, struct failure *f)
{
	const struct record_options *o = r->options;
	struct capture_options options = {
		.buffer_bytes = o->stats_only ? KERNEL_EVENTS : o->buffer_bytes,
		.buffers = o->stats_only ? 1 : o->buffers,
		.table_rows = table_rows(o),
		.batching = r->batching,
		.changing = r->changing,
		.begin_buffered = o->command != NULL,
		.per_thread = o->per_thread,
		.follow_children = !o->no_children,
		.own_links = getuid() != 0,
		.guarded = o->max_overhead > 0 || r->changing,
		.switches_off = o->max_overhead > 0,
		.schedule = o->schedule,
		.counters = r->counters,
		.counter_interval_ns = o->counter_interval_ns,
		.sched = o->sched,
		.wait_reasons = o->wait_reasons,
		.syscalls = o->syscalls,
		.sample_hz = o->sample_hz,
		.stacks = o->stacks,
		.n_stacks = o->n_stacks,
		.debuginfod = o->debuginfod,
		.offcpu_ns = o->offcpu_ns,
		.callstacks = r->callstacks,
		.pids = o->pids,
		.n_pids = o->n_pids,
		.adopts = r->job.socket >= 0,
		.targets = target_filter_is_empty(&o->targets) ? NULL : &o->targets,
		.target_names = o->names,
		.n_target_names = o->n_names,
		.domains = o->domains,
		.n_domains = o->n_domains,
		.usdt = o->usdt,
		.n_usdt = o->n_usdt,
		.functions = o->functions,
		.return_probes = o->return_probes,
		.n_functions = o->n_functions,
		.owner_of = r->labels ? record_label_process : NULL,
		.event = recording_handle_event,
		.end_requests = recording_end_requests,
		.give_up = recording_should_give_up,
		.context = r,
		.names = r->names,
		.log = recording_log,
	};

	return capture_open(&options, &r->capture, f);
}

static void record_set_counters(struct recording *r)
{
	const struct name *names[MAX_COUNTERS], *shares[MAX_COUNTERS];
	char share[COUNTER_NAME + 8];

	for (unsigned i = 0; i < r->counters.n; i++) {
		names[i] = names_intern_string(r->names, r->counters.list[i].name);
		snprintf(share, sizeof(share), "%s_share", r->counters.list[i].name);
		shares[i] = names_intern_string(r->names, share);
	}
	timeline_count(r->timeline, names, r->counters.n);
	if (r->flight)
		timeline_count(r->writer, names, r->counters.n);
	if (r->counters.multiplexed)
		timeline_multiplex(r->timeline, shares);
	if (r->counters.multiplexed && r->flight)
		timeline_multiplex(r->writer, shares);
}

/* Whether -e lists counters that only exact mode has. What it cannot list is refused later. */
static bool counts_in_exact_mode(const struct record_options *o)
{
	struct counters c;

	return o->counters && !counters_parse(o->counters, &c, NULL) && !counters_are_of_tasks(&c);
}

/* Why --mode auto stays in exact mode with these options; NULL: it does not. */
static const char *record_why_exact(const struct record_options *o)
{
	if (o->stats_only || o->schedule.active || o->n_usdt || o->n_functions || o->n_stacks)
		return "--stats-only, --schedule, -u, -f and --stack work in the kernel at each "
		       "mark";
	if (counts_in_exact_mode(o) || o->counter_interval_ns)
		return "perf events of -e, and --counter-interval, are read in the kernel";
	return NULL;
}

static void record_stay_exact(struct recording *r, const char *why_not)
{
	char line[160];

	r->changing = false;
	r->why_exact = r->options->changing ? why_not : NULL;
	snprintf(line, sizeof(line), "buffered mode is not available, using --mode exact: %s",
		 why_not);
	recording_log(r, 0, line);
}

/* Buffered mode needs a usable time-stamp counter. */
static void record_choose_mode(struct recording *r)
{
	const struct record_options *o = r->options;
	const char *why_not = o->changing ? record_why_exact(o) : NULL;

	if (!why_not && (o->batching || o->changing))
		why_not = capture_no_batches();
	r->batching = (o->batching || o->changing) && !why_not;
	r->changing = o->changing && !why_not;
	if (why_not)
		record_stay_exact(r, why_not);
}

static int record_choose_counters(struct recording *r, struct failure *f)
{
	char note[256] = "";
	bool refused = false;
	int error;

	if (r->options->counters) {
		error = counters_parse(r->options->counters, &r->counters, f);
		error = error ?: counters_check(&r->counters, f);
		if (!error && r->batching)
			error = counters_require_tasks(&r->counters, f);
	} else if (r->batching) {
		error = counters_default_tasks(&r->counters, note, sizeof(note));
	} else {
		error = counters_default(&r->counters, note, sizeof(note), &refused);
		if (error)
			failure_set(f, error, "cannot count", "", NULL);
	}
	/* A machine without such counters is as it is; a permission can be had. */
	if (note[0])
		recording_log(r, refused ? 0 : 1, note);
	if (!error)
		record_set_counters(r);
	return error;
}

/* A failure is not fatal: the recording just cannot be controlled. */
static void record_open_control(struct recording *r)
{
	int error = r->top ? 0 : control_open(&r->control);
	char line[128];

	if (!error)
		return;
	r->control = NULL;
	snprintf(line, sizeof(line), "`proftrace ctl` cannot reach this recording: %s",
		 strerror(-error));
	recording_log(r, 0, line);
}

/*
 * Starts the command, and hands it over if another recorder takes it: a rank of a job has nothing of its own to prepare then,
 * and its processes are small. After the fork, the recorder becomes undumpable, so that other processes of the user cannot
 * trace it.
 */
static int record_fork_command(struct recording *r, struct failure *f)
{
	struct annotations annotations = { .itt = r->options->itt, .nvtx = r->options->nvtx };
	int error = annotations_find(&annotations, f);

	if (!error && r->options->command)
		error = command_fork(r->options->command, &r->limits, &annotations, &r->command, f);
	if (error)
		return error;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	r->handed_over = job_join(&r->job, r->options, &r->command);
	return 0;
}

/* Does everything that needs privileges or system calls that the recorder gives up before it reads untrusted data. */
static int record_start(struct recording *r, struct failure *f)
{
	int error = recording_load_libraries(r, f);

	if (!error && r->options->metrics.is_set)
		error = metrics_start(&r->options->metrics, &r->metrics, f);
	error = error ?: collector_start(r, f);
	if (error)
		return error;
	record_choose_mode(r);
	error = r->options->stats_only ? 0 : record_choose_counters(r, f);

	if (!error && r->options->system)
		error = system_open(r->options->system, r->names, &r->system, f);
	error = error ?: record_open_capture(r, f);
	if (!error && r->options->command)
		error = command_await(&r->command, r->options->command[0], f);
	if (!error && r->changing && !capture_can_hold(r->capture))
		record_stay_exact(r, "this kernel cannot hold a thread that forbids itself the "
				     "time-stamp counter");
	if (!error && (r->options->max_overhead > 0 || r->changing))
		error = overhead_new(r, f);
	if (!error && r->changing && modes_new(r))
		error = failure_set(f, -ENOMEM, "cannot start", "", NULL);
	error = error ?: invoker_become(f);
	r->many_files = r->options->max_size || r->flight || r->scheduler;
	error = error ?: plugins_open(r, f);
	error = error ?: collector_open(r, f);
	if (!error && r->top)
		error = top_begin(r->top, r, f);
	if (!error)
		record_open_control(r);
	return error;
}

static int record_command_status(const struct recording *r)
{
	if (r->command_status < 0)
		return STATUS_DONE;
	if (WIFSIGNALED(r->command_status))
		return 128 + WTERMSIG(r->command_status);
	return WEXITSTATUS(r->command_status);
}

static void record_free(struct recording *r)
{
	sink_discard(r->summary);
	control_free(r->control);
	job_close(&r->job);
	metrics_stop(&r->metrics);
	command_abandon(&r->command);
	capture_free(r->capture);
	if (r->signals_fd >= 0)
		close(r->signals_fd);
	scheduler_free(r->scheduler);
	overhead_free(r->overhead);
	modes_free(r->modes);
	system_free(r->system);
	outputs_free(r);
	if (r->writer != r->timeline)
		timeline_free(r->writer);
	timeline_free(r->timeline);
	flight_free(r->flight);
	includes_free(r->includes);
	plugins_free(r);
	collector_free(r);
	if (r->stats)
		r->stats->ops->free(r->stats);
	callstacks_free(r->callstacks);
	labels_free(r->labels);
	names_free(r->names);
	free(r);
}

/* Only waits for the command: signals that end a recording are not for this process. */
static int record_leave_to_other(struct recording *r)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct failure f = { 0 };
	int status, error;

	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		signal(ends[i], SIG_IGN);
	error = invoker_become(&f) ?: privileges_keep(NULL, 0, false);
	error = error ?: command_go(&r->command, r->options->command[0], &f);
	if (!error)
		TEMP_FAILURE_RETRY(waitpid(r->command.pid, &r->command_status, 0));
	else
		failure_print(&f, stderr);
	status = error ? STATUS_FAILED : record_command_status(r);
	record_free(r);
	return status;
}

int record(const struct record_options *options, struct top *top)
{
	struct recording *r = calloc(1, sizeof(*r));
	struct failure f = { 0 };
	struct utsname u;
	int status, error;

	if (!r)
		return STATUS_FAILED;
	r->options = options;
	r->top = top;
	r->command_status = -1;
	r->job.socket = r->job.directory = -1;
	r->signals_fd = -1;
	r->show_status = options->verbosity >= 0 && !options->service && isatty(STDERR_FILENO);
	error = check_limits(&f);
	if (!error) {
		record_set_process(r);
		error = record_fork_command(r, &f);
	}
	if (!error && r->handed_over)
		return record_leave_to_other(r);
	error = error ?: library_load_common(&f) ?: record_prepare(r, &u, &f);
	error = error ?: record_start(r, &f);
	error = error ?: recording_run(r, &f);
	if (top)
		top_end(top);
	if (error) {
		failure_print(&f, stderr);
		record_free(r);
		return STATUS_FAILED;
	}
	status = record_finish(r);
	/* `proftrace ctl` does not find the recording from now on. */
	if (r->control)
		control_ended(r->control, r);
	control_free(r->control);
	r->control = NULL;
	recording_wait_for_command(r);
	/* The command's own failure is what its caller looks for. */
	status = record_command_status(r) ?: status;
	record_free(r);
	return status;
}

int cmd_record(int argc, char **argv)
{
	struct record_options options;
	int status = record_options_parse(argc, argv, &options);

	return status ? status : record(&options, NULL);
}
