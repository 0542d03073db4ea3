/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a recording: attaches, waits for events and handles them, and stops. */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/clocks.h"
#include "capture/tables/tables.h"
#include "base/clock.h"
#include "base/library/library.h"
#include "record/control/control.h"
#include "record/record.h"
#include "record/top.h"
#include "privilege/confine.h"
#include "system/system.h"
#include "privilege/privileges.h"
#include "tracee/children.h"
#include "tracee/rank.h"

#define CHILDREN_SHOWN	 8
#define TICK_NS		 100000000ull	/* ring buffers are read at least this often */
#define CLOCK_PERIOD_NS	 10000000000ull /* how often the clocks are compared */
#define STATUS_PERIOD_NS 500000000ull
#define ALIVE_PERIOD_NS	 1000000000ull

static void recording_emit_clocks(struct recording *r)
{
	struct event e = { .kind = EVENT_CLOCK, .level = -1 };

	clocks_snapshot(&r->last_clock);
	e.clock = r->last_clock;
	e.ts_ns = e.clock.monotonic;
	r->clock_ns = e.ts_ns;
	recording_emit_event(r, &e);
}

struct account recording_account(const struct recording *r)
{
	struct account account = r->accounting;

	capture_account(r->capture, &account);
	return account;
}

/* A child has exited: the command or the broker. */
static void recording_reap_command(struct recording *r)
{
	int status;
	pid_t pid;

	if (r->command.pid > 0 && r->command_status < 0) {
		pid = waitpid(r->command.pid, &status, WNOHANG);
		if (pid == r->command.pid)
			r->command_status = status;
	}
}

/*
 * Ctrl-C in a terminal also reaches the command, whose last marks belong to the recording. So with
 * a command, the first Ctrl-C only waits for it to exit. A process that was attached to goes on, so
 * the first Ctrl-C ends the recording.
 */
static bool recording_is_interrupted(const struct recording *r)
{
	return r->interrupts > (r->options->command ? 1 : 0);
}

bool recording_is_of_others(const struct recording *r)
{
	return r->options->service || !target_filter_is_empty(&r->options->targets);
}

static void recording_read_signals(struct recording *r)
{
	struct signalfd_siginfo info;

	while (read(r->signals_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			r->child_ended = true;
		} else if (info.ssi_signo == SIGUSR2) {
			r->dump_requested = true;
		} else if (info.ssi_signo == SIGUSR1) {
			if (r->options->stats_only)
				recording_reset_table(r);
			else
				recording_log(r, 0,
					      "SIGUSR1 is ignored: only --stats-only has a table "
					      "to reset");
		} else if (info.ssi_signo == SIGWINCH) {
			top_resized(r->top);
		} else {
			/* SIGXCPU comes again each second. */
			if (info.ssi_signo == SIGXCPU && r->cpu_used_up)
				continue;
			r->cpu_used_up |= info.ssi_signo == SIGXCPU;
			r->signals++;
			r->interrupts += info.ssi_signo == SIGINT ? 1 : 2;
			r->end_requests += recording_is_interrupted(r);
		}
	}
}

unsigned recording_signals(void *context)
{
	struct recording *r = context;

	if (r->signals_fd >= 0)
		recording_read_signals(r);
	return r->signals;
}

bool recording_should_give_up(void *context)
{
	return recording_signals(context) > 1;
}

unsigned recording_end_requests(void *context)
{
	struct recording *r = context;

	if (r->signals_fd >= 0)
		recording_read_signals(r);
	return r->end_requests;
}

bool recording_lost_broker(const struct recording *r)
{
	return r->broker_died || capture_stuck(r->capture, NULL);
}

static bool recording_is_finished(const struct recording *r, uint64_t now)
{
	if (recording_is_interrupted(r))
		return true;
	if (r->options->duration_ns && !r->starts_later &&
	    now - r->started_ns >= r->options->duration_ns)
		return true;
	if (r->all_outputs_failed || recording_lost_broker(r) || r->stop_requested)
		return true;
	if (r->top && r->top->quit)
		return true;
	if (r->options->targets.waits || job_is_awaited(r, now))
		return false;
	return !capture_processes(r->capture) && (!r->options->command || r->command_status >= 0);
}

void recording_dump(struct recording *r)
{
	r->dump_requested = false;
	capture_catch_up(r->capture);
	if (r->options->stats_only && !r->top)
		recording_print_table(r);
	if (r->flight)
		flight_dump(r, clock_ns(CLOCK_MONOTONIC));
	outputs_flush(r);
	plugins_flush(r);
	r->flushed_ns = clock_ns(CLOCK_MONOTONIC);
}

void recording_pause(struct recording *r, bool pause)
{
	capture_pause(r->capture, pause);
	timeline_has_gaps(r->timeline);
	timeline_has_gaps(r->writer);
	recording_emit_instant(r, 0, pause ? "pause" : "resume", NULL, 0);
}

int recording_pause_process(struct recording *r, pid_t pid, bool pause, struct failure *f)
{
	int error = capture_pause_process(r->capture, pid, pause, f);

	if (error)
		return error;
	timeline_has_gaps(r->timeline);
	timeline_has_gaps(r->writer);
	recording_emit_instant(r, pid, pause ? "pause" : "resume", NULL, 0);
	return 0;
}

static int recording_handle_sample(void *context, const struct event *event)
{
	return recording_emit_event(context, event);
}

static void recording_read_system(struct recording *r)
{
	r->accounting.samples_lost += system_read(r->system, recording_handle_sample, r);
}

static void recording_poll(struct recording *r, uint64_t now, uint64_t *alive_ns)
{
	if (now - r->flushed_ns >= r->options->dump_period_ns || r->write_failed) {
		r->write_failed = false;
		outputs_flush(r);
		plugins_flush(r);
		collector_flush(r);
		r->flushed_ns = now;
	}
	plugins_poll(r);
	collector_poll(r, now);
	if (r->dump_requested)
		recording_dump(r);
	if (now - r->clock_ns >= CLOCK_PERIOD_NS)
		recording_emit_clocks(r);
	if (r->show_status && now - r->shown_ns >= STATUS_PERIOD_NS) {
		status_line(r, now);
		r->shown_ns = now;
	}
	if (r->options->stats_only)
		capture_table_tick(r->capture);
	if (r->top)
		top_tick(r->top, now);
	if (r->overhead)
		overhead_poll(r, now);
	if (now - *alive_ns >= ALIVE_PERIOD_NS) {
		capture_check_alive(r->capture);
		/* SIGCHLD may be about any child; it is checked in the next turn. */
		r->child_ended = true;
		*alive_ns = now;
	}
}

struct waits {
	int epoll, timer, system, start; /* -1: none */
};

static int epoll_add(int epoll, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int timer_open(uint64_t period_ns)
{
	const struct timespec period = { period_ns / 1000000000, period_ns % 1000000000 };
	const struct itimerspec every = { period, period };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0 && timerfd_settime(fd, 0, &every, NULL)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int waits_open(struct recording *r, struct waits *w)
{
	/* At least as often as --dump-period. */
	uint64_t period =
		r->options->dump_period_ns < TICK_NS ? r->options->dump_period_ns : TICK_NS;
	sigset_t signals;
	int error;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGXCPU);
	sigaddset(&signals, SIGUSR2);
	if (r->top)
		sigaddset(&signals, SIGWINCH);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* writing then fails, as on a full disk */
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->timer = timer_open(period);
	w->system = r->system ? timer_open(r->options->system_interval_ns) : -1;
	w->start = r->options->start_at_ns ? start_timer_open(r->options->start_at_ns) : -1;
	r->signals_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->epoll < 0 || w->timer < 0 || r->signals_fd < 0 || (r->system && w->system < 0) ||
	    (r->options->start_at_ns && w->start < 0))
		return -errno;
	error = epoll_add(w->epoll, w->timer);
	if (!error && r->system)
		error = epoll_add(w->epoll, w->system);
	if (!error && w->start >= 0)
		error = epoll_add(w->epoll, w->start);
	error = error ?: epoll_add(w->epoll, r->signals_fd);
	error = error ?: epoll_add(w->epoll, capture_epoll_fd(r->capture));
	error = error ?: epoll_add(w->epoll, capture_broker_fd(r->capture));
	if (!error && r->top && top_keys_fd(r->top) >= 0)
		error = epoll_add(w->epoll, top_keys_fd(r->top));
	if (!error && r->control)
		error = epoll_add(w->epoll, control_fd(r->control));
	if (!error && r->metrics.pid)
		error = epoll_add(w->epoll, r->metrics.socket);
	if (!error && r->options->service)
		error = epoll_add(w->epoll, r->options->service->socket);
	if (!error && r->job.socket >= 0)
		error = epoll_add(w->epoll, r->job.socket);
	return error;
}

static void waits_close(struct waits *w)
{
	close(w->epoll);
	close(w->timer);
	if (w->system >= 0)
		close(w->system);
	if (w->start >= 0)
		close(w->start);
}

static void recording_accept_scrape(struct recording *r)
{
	int fd = metrics_accept(&r->metrics);

	if (fd >= 0 && r->control)
		control_add_scraper(r->control, fd);
	else if (fd >= 0)
		close(fd);
	else if (fd == -EPIPE)
		recording_log(r, 0, "the process of --metrics has ended: the recording goes on");
}

static void waits_poll(struct recording *r, struct waits *w, uint64_t *alive_ns, bool *more)
{
	struct epoll_event events[8];
	uint64_t expirations;
	int i, n = epoll_wait(w->epoll, events, 8, *more || r->child_ended ? 0 : -1);
	bool ended;

	for (i = 0; i < n; i++) {
		if (events[i].data.fd == w->timer) {
			if (read(w->timer, &expirations, sizeof(expirations)) < 0)
				continue;
		} else if (events[i].data.fd == w->system) {
			if (read(w->system, &expirations, sizeof(expirations)) > 0)
				recording_read_system(r);
		} else if (events[i].data.fd == w->start) {
			epoll_ctl(w->epoll, EPOLL_CTL_DEL, w->start, NULL);
			recording_start(r);
		} else if (events[i].data.fd == r->signals_fd) {
			recording_read_signals(r);
		} else if (events[i].data.fd == capture_broker_fd(r->capture)) {
			r->broker_died = true;
		} else if (r->top && events[i].data.fd == top_keys_fd(r->top)) {
			top_keys(r->top);
		} else if (r->control && events[i].data.fd == control_fd(r->control)) {
			control_serve(r->control, r);
		} else if (r->metrics.pid && events[i].data.fd == r->metrics.socket) {
			recording_accept_scrape(r);
		} else if (events[i].data.fd == r->job.socket) {
			job_accept(r);
		} else if (r->options->service &&
			   events[i].data.fd == r->options->service->socket) {
			/* The supervisor has died. */
			r->interrupts++;
		}
	}
	ended = r->child_ended;
	capture_drain(r->capture, more);
	/*
	 * waitpid() comes after draining, because the last marks of the command may need its owner
	 * in /proc; in buffered mode they would wait for others.
	 */
	if (ended && !*more) {
		r->child_ended = false;
		capture_catch_up(r->capture);
		recording_reap_command(r);
	}
	if (r->scheduler && !*more)
		scheduler_poll(r);
	recording_poll(r, clock_ns(CLOCK_MONOTONIC), alive_ns);
}

static bool process_is_ours(pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return !stat(path, &st) && st.st_uid == geteuid();
}

static int recording_attach(struct recording *r, struct failure *f)
{
	int fds[3], error = 0;
	unsigned n;

	if (!target_filter_is_empty(&r->options->targets)) {
		r->of_others = !geteuid();
		return capture_find(r->capture, f);
	}
	if (!r->options->command) {
		for (unsigned i = 0; !error && i < r->options->n_pids; i++) {
			r->of_others |= !process_is_ours(r->options->pids[i]);
			error = capture_attach(r->capture, r->options->pids[i], f);
		}
		return error;
	}
	n = command_files(r->options->command[0], fds, 3);
	error = capture_expect(r->capture, r->command.pid, fds, n, f);
	while (n)
		close(fds[--n]);
	if (error)
		return error;
	return command_go(&r->command, r->options->command[0], f);
}

/*
 * Waits for the command after the recording was stopped: proftrace returns its exit status, and a
 * shell expects proftrace to run as long as the command.
 */
void recording_wait_for_command(struct recording *r)
{
	sigset_t signals;
	siginfo_t info;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	while (r->stop_requested && r->command.pid > 0 && r->command_status < 0) {
		recording_reap_command(r);
		if (r->command_status < 0 && sigwaitinfo(&signals, &info) != SIGCHLD &&
		    errno != EINTR)
			return;
	}
}

/*
 * If root calls proftrace, the recorder stays root, but only keeps the capabilities that it needs
 * to write files, to read those of any process, and for its own priority (capture/hurry.c).
 */
static int give_up_capabilities(void)
{
	static const int keep[] = { CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER,
				    CAP_SYS_PTRACE, CAP_SYS_NICE };

	return privileges_keep(keep, getuid() ? 0 : 5, true);
}

/*
 * Runs before the first untrusted byte is read. The command was forked before, because it would
 * inherit no_new_privs and could not use sudo.
 */
static void recording_confine(struct recording *r)
{
	pid_t hosts[MAX_PLUGINS + 1];
	unsigned n = plugins_pids(r, hosts);
	char line[128];
	int error;

	if (r->collector.otlp)
		hosts[n++] = otlp_pid(r->collector.otlp);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	error = give_up_capabilities();
	if (error) {
		snprintf(line, sizeof(line), "the recorder keeps its privileges: %s",
			 strerror(-error));
		recording_log(r, 0, line);
	}
	capture_begin_names(r->capture);
	error = confine_recorder(hosts, n);
	if (error) {
		snprintf(line, sizeof(line), "no filter of system calls for the recorder: %s",
			 strerror(-error));
		recording_log(r, 1, line);
	}
	if (!capture_broker_confined(r->capture))
		recording_log(r, 1, "no filter of system calls for the broker");
}

/*
 * Everything that can be refused is refused before anything is attached. Names of files may contain
 * words of the target: its name, and the rank in its environment.
 */
static int recording_open_files(struct recording *r, struct failure *f)
{
	const struct record_options *o = r->options;
	int error = 0, unread = 0;

	r->info.instructions_compared = capture_compares_copies(r->capture) ? "true" : "false";
	/* A recorder of several ranks is of none. */
	if (o->rank)
		snprintf(r->origin.rank, sizeof(r->origin.rank), "%s", o->rank);
	else if (r->job.socket < 0)
		unread = target_rank(o->command ? 0 : o->pids[0], r->origin.rank,
				     sizeof(r->origin.rank));
	if (unread)
		recording_log(r, 0,
			      "the rank of the process is not known: it holds the lock of its "
			      "memory, where its environment is");
	if (!o->stats_only)
		error = outputs_prepare(r, f);
	if (!error && !o->stats_only && !r->flight && !r->scheduler)
		error = outputs_begin(r, NULL, f);
	return error ? error : summary_prepare(r, f);
}

static bool recording_is_selected(const struct record_options *o, pid_t pid)
{
	for (unsigned i = 0; i < o->n_pids; i++) {
		if (o->pids[i] == pid)
			return true;
	}
	return false;
}

/*
 * The children of a process are followed from its attachment on. Servers fork their workers at their start, so whoever
 * names the first process of one would wonder where the work is.
 */
static void recording_note_children(struct recording *r, pid_t pid)
{
	pid_t children[CHILDREN_SHOWN];
	unsigned i, n = target_children(pid, children, CHILDREN_SHOWN), n_others = 0;
	char list[CHILDREN_SHOWN * 12] = "", line[128];

	for (i = 0; i < n && i < CHILDREN_SHOWN; i++) {
		if (recording_is_selected(r->options, children[i]))
			continue;
		n_others++;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), ",%d", children[i]);
	}
	if (!n_others)
		return;
	n_others += n > CHILDREN_SHOWN ? n - CHILDREN_SHOWN : 0;
	snprintf(line, sizeof(line), "process %d has %u %s that %s already: %s not recorded", pid,
		 n_others, n_others == 1 ? "child" : "children", n_others == 1 ? "runs" : "run",
		 n_others == 1 ? "it is" : "they are");
	recording_log(r, 0, line);
	if (r->options->verbosity >= 0)
		print_visible(stderr,
			      "hint: -p %d%s%s records them, too; -n NAME selects by name\n", pid,
			      list, n > CHILDREN_SHOWN ? ",..." : "");
}

/* Targets may name traces to include at any time. */
int recording_load_libraries(const struct recording *r, struct failure *f)
{
	const struct record_options *o = r->options;
	int error = 0;

	if (r->callstacks)
		error = library_load(&library_dw, f);
	if (!error && o->n_functions)
		error = library_load(&library_lzma, f);
	if (!error && !o->stats_only)
		error = library_load(&library_yajl, f);
	return error || !outputs_are_packed(r) ? error : library_load(&library_deflate, f);
}

int recording_run(struct recording *r, struct failure *f)
{
	uint64_t alive_ns;
	bool more = false;
	struct waits w;
	int error;

	recording_confine(r);
	error = recording_open_files(r, f);
	if (error)
		return error;
	/*
	 * From now on signals do not end the process; before, opening a pipe without a reader may
	 * need that.
	 */
	error = waits_open(r, &w);
	if (error)
		return failure_set(f, error, "cannot wait for events", "", NULL);
	r->started_ns = r->flushed_ns = alive_ns = clock_ns(CLOCK_MONOTONIC);
	recording_emit_clocks(r);
	if (r->system)
		recording_read_system(r);
	for (unsigned i = 0; !r->options->no_children && i < r->options->n_pids; i++)
		recording_note_children(r, r->options->pids[i]);
	r->starts_later = r->options->start_at_ns != 0;
	if (r->starts_later)
		capture_pause(r->capture, true);
	error = recording_attach(r, f);
	/* The recording starts here. */
	r->started_ns = clock_ns(CLOCK_MONOTONIC);
	/* A signal ended the recording before it began. It is empty, and ends like any other. */
	if (error == -ECANCELED && recording_is_interrupted(r))
		error = 0;
	if (!error && r->options->service)
		service_send(r->options->service, SERVICE_RECORDS);
	else if (!error && r->options->verbosity >= 0 && !r->options->command)
		print_visible(stderr, "proftrace: recording, Ctrl-C ends it\n");
	while (!error && !recording_is_finished(r, clock_ns(CLOCK_MONOTONIC)))
		waits_poll(r, &w, &alive_ns, &more);
	if (r->system)
		recording_read_system(r);
	/* Marks that were made until now may still have to be read. */
	r->ended_ns = clock_ns(CLOCK_MONOTONIC);
	/* Ranks that come later record themselves. */
	job_close(&r->job);
	capture_stop(r->capture);
	recording_reap_command(r);
	waits_close(&w);
	if (error)
		capture_stuck(r->capture, f);
	return error;
}
