/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the status line during a recording and the summary at its end. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/tables/tables.h"
#include "record/include.h"
#include "record/quota.h"
#include "record/record.h"
#include "reports/table/stats_print.h"

void status_line(struct recording *r, uint64_t now)
{
	struct account account = recording_account(r);
	double seconds = (now - r->started_ns) / 1e9;
	struct winsize window;
	char size[32], line[160];

	print_size(size, sizeof(size), outputs_bytes(r));
	snprintf(line, sizeof(line),
		 "%.1f s  %" PRIu64 " events  %.0f events/s  %" PRIu64 " lost  %s on disk", seconds,
		 account.written, seconds > 0 ? account.written / seconds : 0.0,
		 account_lost(&account) - account.lost[LOST_CUT], size);
	/* A line that wraps cannot be overwritten. */
	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &window) && window.ws_col > 1 &&
	    window.ws_col <= strlen(line))
		line[window.ws_col - 1] = '\0';
	status_clear(r);
	print_visible(stderr, "%s", line);
}

void status_clear(const struct recording *r)
{
	if (r->show_status && r->shown_ns)
		fputs("\r\033[K", stderr);
}

/* Prints the text with that part of each `[one|many]` that matches the count. */
static void print_fitting(uint64_t count, const char *text)
{
	const char *open, *bar, *end;

	while ((open = strchr(text, '[')) && (bar = strchr(open, '|')) &&
	       (end = strchr(bar, ']'))) {
		print_visible(stderr, "%.*s", (int)(open - text), text);
		if (count == 1)
			print_visible(stderr, "%.*s", (int)(bar - open - 1), open + 1);
		else
			print_visible(stderr, "%.*s", (int)(end - bar - 1), bar + 1);
		text = end + 1;
	}
	print_visible(stderr, "%s", text);
}

static void print_count(uint64_t count, const char *text, const char *hint)
{
	if (!count)
		return;
	print_visible(stderr, "%12" PRIu64 "  ", count);
	print_fitting(count, text);
	if (hint)
		print_visible(stderr, " (%s)", hint);
	fputc('\n', stderr);
}

/* A number of the accounting, with its text and the option that helps. */
struct summary_count {
	size_t offset; /* in struct account */
	const char *text;
	const char *hint;
};

/* Marks that were not recorded on purpose, in the line of the marks. */
static const struct summary_count left_out_counts[] = {
	{ offsetof(struct account, paused), "while paused", NULL },
	{ offsetof(struct account, left_out), "of categories left out", NULL },
	{ offsetof(struct account, unscheduled), "outside the schedule", NULL },
	{ offsetof(struct account, switched_off), "of domains being switched off", NULL },
	{ offsetof(struct account, unrecorded), "while no file was written", NULL },
};

/* One line for each. "[a|b]": a for one, b for several. */
static const struct summary_count problem_counts[] = {
	{ offsetof(struct account, unreadable_names), "name[|s] could not be read", NULL },
	{ offsetof(struct account, unreadable_args), "argument[|s] could not be read", NULL },
	{ offsetof(struct account, cut_strings),
	  "name[ or string was cut to its|s or strings were cut to their] limit", NULL },
	{ offsetof(struct account, repaired_strings),
	  "name[ or string was not clean UTF-8 and was|s or strings were not clean UTF-8 and were] "
	  "repaired",
	  NULL },
	{ offsetof(struct account, other_names),
	  "use[|s] of the name (other): too many distinct names", NULL },
	{ offsetof(struct account, ends_lost), "slice[|s] whose END was lost", "--buffer SIZE" },
	{ offsetof(struct account, unfinished),
	  "slice[ without an END: its|s without an END: their] thread, program or enclosing scope "
	  "ended",
	  NULL },
	{ offsetof(struct account, ended_off),
	  "slice[ ended where its|s ended where their] domain was switched off",
	  "--max-overhead PERCENT" },
	{ offsetof(struct account, async_unmatched), "asynchronous END[|s] without a BEGIN", NULL },
	{ offsetof(struct account, started_twice), "marker[|s] started twice without a finish",
	  NULL },
	{ offsetof(struct account, args_dropped), "argument[|s] of marks that had too many", NULL },
	{ offsetof(struct account, readings_refused),
	  "reading[|s] of clocks that contradict others", NULL },
	{ offsetof(struct account, frees_unknown),
	  "free[|s] of memory allocated before the recording", NULL },
	{ offsetof(struct account, allocs_not_followed),
	  "allocation[|s] not followed: too many are live", NULL },
	{ offsetof(struct account, rescued),
	  "record[ went into another ring buffer: its own was|s went into other ring buffers: "
	  "their own were] full",
	  "--buffer SIZE" },
	{ offsetof(struct account, kernel_events_lost),
	  "[fork, exec, exit or rename was|forks, execs, exits or renames were] lost",
	  "--buffer SIZE" },
	{ offsetof(struct account, late_steps),
	  "step[|s] of the schedule began before all probes were attached again: marks are missing",
	  "longer wait phases" },
	{ offsetof(struct account, attached_late),
	  "file[ was attached late: its|s were attached late: their] first marks may be missing",
	  NULL },
	{ offsetof(struct account, followed_late),
	  "process[ was|es were] followed late: the first marks of [it|each] may be missing",
	  "run with sudo" },
	{ offsetof(struct account, first_exited),
	  "process[ runs|es run] on without [its|their] first thread: later marks may be missing",
	  NULL },
	{ offsetof(struct account, batches_unread),
	  "batch[|es] could not be read to [its|their] end: the last marks in [it|them] may be "
	  "missing",
	  "--mode exact" },
	{ offsetof(struct account, files_refused),
	  "file[ could not be attached to: its|s could not be attached to: their] marks are "
	  "missing",
	  NULL },
	{ offsetof(struct account, sites_refused), "site[|s] of probes could not be attached to",
	  NULL },
	{ offsetof(struct account, processes_not_followed),
	  "process[ was|es were] not followed: [it|they] ended too soon, there are too "
	  "many, [its|their] cgroups are too deep, or [its|their] first thread has ended",
	  NULL },
	{ offsetof(struct account, processes_protected),
	  "process[ was|es were] not recorded: [it has|they have] the name of a broker of "
	  "proftrace",
	  NULL },
	{ offsetof(struct account, samples_lost), "sample[|s] of counters could not be taken",
	  NULL },
	{ offsetof(struct account, sched_lost),
	  "context switch[ or wakeup|es and wakeups] lost: slices say unknown_ns, or lack where "
	  "they were blocked",
	  "--buffer SIZE" },
	{ offsetof(struct account, waits_lost), "reason[|s] of waits lost: unknown in slices",
	  "--buffer SIZE" },
	{ offsetof(struct account, syscalls_lost), "system call[|s] lost", "--buffer SIZE" },
	{ offsetof(struct account, stacks_lost), "call stack[|s] lost", "--buffer SIZE" },
	{ offsetof(struct account, stacks_cut),
	  "call stack[ is|s are] deeper than the kernel follows: outer frames are missing",
	  "sysctl kernel.perf_event_max_stack" },
	{ offsetof(struct account, stacks_other),
	  "call stack[|s] left out: too many different ones", NULL },
	{ offsetof(struct account, python_unreadable),
	  "Python frame[ has|s have] no function: [it|they] could not be read in time", NULL },
	{ offsetof(struct account, python_unmatched),
	  "call stack[|s] whose native and Python frames do not agree: [its|their] Python "
	  "functions may be out of place",
	  NULL },
	{ offsetof(struct account, python_refused),
	  "process[|es] without Python functions in call stacks: too many run Python at once",
	  NULL },
	{ offsetof(struct account, files_uncompared),
	  "file[ was|s were] not compared with another one of [its|their] path and build id: "
	  "functions that may be the same have several paths in call stacks",
	  NULL },
	{ offsetof(struct account, frames_unnamed),
	  "code address[ has|es have] no name: too many processes with generated code, or too many "
	  "files",
	  NULL },
	{ offsetof(struct account, stacks_unmapped),
	  "call stack[ ends|s end] at code that was not known to be mapped", NULL },
	{ offsetof(struct account, stacks_no_table),
	  "call stack[ ends|s end] at code without an unwind table or frame pointers", NULL },
	{ offsetof(struct account, stacks_pending),
	  "call stack[ ends|s end] at code whose unwind table was not read yet", NULL },
	{ offsetof(struct account, stacks_refused),
	  "call stack[ ends|s end] at code whose unwind table is malformed or too large", NULL },
	{ offsetof(struct account, tables_refused),
	  "file[ whose unwind table is|s whose unwind tables are] malformed or too large: "
	  "functions without a "
	  "frame pointer may be missing",
	  NULL },
	{ offsetof(struct account, stacks_unsupported),
	  "call stack[ ends|s end] at a function that keeps its frame in an unsupported way",
	  NULL },
	{ offsetof(struct account, stacks_unreadable),
	  "call stack[ ends|s end] at memory that could not be read or is no stack", NULL },
};

static uint64_t summary_number(const struct account *a, const struct summary_count *count)
{
	return *(const uint64_t *)((const char *)a + count->offset);
}

static const char *summary_hint(const struct account *a, const struct summary_count *count)
{
	/* No ring buffer has lost any. */
	if (count->offset == offsetof(struct account, sched_lost) &&
	    a->sched_lost == a->sched_unseen)
		return "this kernel does not show all";
	return count->hint;
}

/* `taken`: the word for marks that were not lost. */
static void print_lost(const struct account *a, const char *taken)
{
	/* Ends of slices that began before the recording are not lost data. */
	print_visible(stderr, "%" PRIu64 " mark%s: %" PRIu64 " %s, %" PRIu64 " lost", a->marked,
		      a->marked == 1 ? "" : "s", a->written, taken,
		      account_lost(a) - a->lost[LOST_CUT]);
	if (a->lost[LOST_CUT])
		print_visible(stderr, ", %" PRIu64 " cut", a->lost[LOST_CUT]);
	for (size_t i = 0; i < sizeof(left_out_counts) / sizeof(left_out_counts[0]); i++) {
		uint64_t number = summary_number(a, &left_out_counts[i]);

		if (number)
			print_visible(stderr, ", %" PRIu64 " %s", number, left_out_counts[i].text);
	}
	fputc('\n', stderr);
	for (size_t i = 0; i < LOST_REASONS; i++) {
		char text[128];

		snprintf(text, sizeof(text), "%s: %s", i == LOST_CUT ? "cut" : "lost",
			 lost_reason_text(i));
		print_count(a->lost[i], text, lost_reason_hint(i));
	}
	for (size_t i = 0; i < sizeof(problem_counts) / sizeof(problem_counts[0]); i++)
		print_count(summary_number(a, &problem_counts[i]), problem_counts[i].text,
			    summary_hint(a, &problem_counts[i]));
}

static void print_samples(const struct recording *r, const struct account *a)
{
	uint64_t frames, without_symbols, without_map;
	bool perfetto = false;

	if (!r->callstacks)
		return;
	for (unsigned i = 0; i < r->n_files; i++)
		perfetto |= !strcmp(r->files[i].format, "Perfetto");
	capture_frames(r->capture, &frames, &without_symbols, &without_map);
	print_visible(stderr, "%" PRIu64 " call stack%s", a->stacks, a->stacks == 1 ? "" : "s");
	/* Stacks of marks and of blocked threads are in both formats. */
	if (r->options->sample_hz)
		print_visible(stderr, "; samples at %u Hz by %s%s", r->options->sample_hz,
			      capture_sample_cycles(r->capture) ? "cycles" : "cpu-clock",
			      perfetto ? " are only in Perfetto files"
				       : " are in no file: Chrome JSON cannot represent them");
	fputc('\n', stderr);
	if (without_symbols)
		print_visible(stderr,
			      "%" PRIu64 " of %" PRIu64
			      " code addresses have no name: their files have no symbols\n",
			      without_symbols, frames);
	if (without_map)
		print_visible(stderr,
			      "%" PRIu64 " of %" PRIu64
			      " code addresses have no name: no perf map or jitdump file of their "
			      "process names the generated code\n",
			      without_map, frames);
}

/*
 * The processor's counter is compared with the kernel's clock regularly. Smaller differences are
 * noise.
 */
static void print_clock_error(const struct account *a)
{
	if (a->clock_error_ns >= 1000)
		print_visible(
			stderr,
			"times of buffered marks differ from the kernel's clock by up to %.1f us\n",
			(double)a->clock_error_ns / 1000);
}

/* The overall shares; each slice has its own in the trace. */
static void print_shares(const struct recording *r)
{
	unsigned i, n = 0;

	if (!r->counters.multiplexed)
		return;
	fputs("counters were multiplexed, so their values are estimates; share of the time: ",
	      stderr);
	for (i = 0; i < r->counters.n; i++) {
		double share = timeline_share(r->timeline, i);

		if (!isnan(share))
			print_visible(stderr, "%s%s %.0f %%", n++ ? ", " : "",
				      r->counters.list[i].name, 100 * share);
	}
	print_visible(stderr, "%s\n", n ? "" : "none");
}

#define OPEN_NAMES_SHOWN 8
#define OPEN_NAMES_KEPT	 64
#define SUMMARY_ROWS	 15 /* of each part of the table */

/* The open slices of one name, and the oldest of them. */
struct open_name {
	const struct name *name;
	uint64_t n;
	uint64_t begin_ns;
	uint32_t tid; /* 0: an asynchronous slice is on no thread */
};

struct open_slices {
	struct open_name names[OPEN_NAMES_KEPT];
	unsigned n_names;
	uint64_t n_other; /* slices of further names */
	uint64_t now;
};

static void count_open_slice(void *context, const struct thread *thread, const struct name *name,
			     uint64_t begin_ns)
{
	struct open_slices *o = context;
	struct open_name *found = o->names;

	while (found < o->names + o->n_names && found->name != name)
		found++;
	if (found == o->names + OPEN_NAMES_KEPT) {
		o->n_other++;
		return;
	}
	if (found == o->names + o->n_names)
		o->names[o->n_names++] = (struct open_name){ .name = name, .begin_ns = UINT64_MAX };
	found->n++;
	if (begin_ns < found->begin_ns) {
		found->begin_ns = begin_ns;
		found->tid = thread ? thread->tid : 0;
	}
}

static void print_open_slices(const struct open_slices *o)
{
	uint64_t n_more = o->n_other;

	for (unsigned i = 0; i < o->n_names; i++) {
		const struct open_name *open = &o->names[i];
		uint64_t begin_ns = open->begin_ns < o->now ? open->begin_ns : o->now;

		if (i >= OPEN_NAMES_SHOWN) {
			n_more += open->n;
			continue;
		}
		print_visible(stderr, "  open: %s, ", open->name ? open->name->text : "?");
		if (open->n > 1)
			print_visible(stderr, "%" PRIu64 " times, the oldest ", open->n);
		if (open->tid)
			print_visible(stderr, "on thread %u, ", open->tid);
		print_visible(stderr, "for %.6f s\n", (double)(o->now - begin_ns) / 1e9);
	}
	if (n_more)
		print_visible(stderr, "  and %" PRIu64 " more open slice%s\n", n_more,
			      n_more == 1 ? "" : "s");
}

#define FILES_SHOWN 16

static void print_files(const struct recording *r)
{
	unsigned i, first = r->n_files > FILES_SHOWN ? r->n_files - FILES_SHOWN : 0;

	if (first)
		print_visible(stderr, "%u files, the last ones:\n", r->n_files);
	for (i = first; i < r->n_files; i++) {
		const struct written_file *file = &r->files[i];
		char size[32];

		print_size(size, sizeof(size), file->bytes);
		/* If nothing was written, the file does not exist or is an older one. */
		if (file->error && !file->bytes)
			print_visible(stderr, "%s  was not written (%s)\n", file->path,
				      file->format);
		else if (file->error)
			print_visible(
				stderr,
				"%s  %s, %" PRIu64 " of %" PRIu64 " marks, then no more (%s)\n",
				file->path, size, file->marks, file->marks_of_set, file->format);
		else
			print_visible(stderr, "%s  %s (%s)\n", file->path, size, file->format);
	}
	if (r->files_deleted)
		print_visible(stderr, "%" PRIu64 " older file%s deleted (--keep)\n",
			      r->files_deleted, r->files_deleted == 1 ? "" : "s");
	if (r->quota && quota_removed(r->quota))
		print_visible(stderr, "%" PRIu64 " older file%s deleted (--quota)\n",
			      quota_removed(r->quota), quota_removed(r->quota) == 1 ? "" : "s");
}

static void print_flight(const struct recording *r)
{
	const struct flight_count *n = flight_count(r->flight);

	if (!n->dumps)
		print_visible(stderr, "no trigger fired: no file was written\n");
	if (n->dumps_short)
		print_visible(stderr,
			      "%" PRIu64 " of %" PRIu64
			      " times the memory did not reach %.3f s back, "
			      "only %.3f s (--flight-memory SIZE)\n",
			      n->dumps_short, n->dumps, r->options->flight_ns / 1e9,
			      n->shortest_ns / 1e9);
	if (n->suppressed)
		print_visible(
			stderr, "%" PRIu64 " trigger%s less than %.3f s after another, ignored\n",
			n->suppressed, n->suppressed == 1 ? "" : "s", r->options->flight_ns / 1e9);
	if (n->ignored)
		print_visible(stderr, "%" PRIu64 " call%s of prof_dump() ignored\n", n->ignored,
			      n->ignored == 1 ? "" : "s");
}

static void print_controls(const struct recording *r)
{
	if (r->controls_ignored)
		print_visible(stderr,
			      "%" PRIu64 " call%s of prof_stop() or prof_dump() ignored: only a "
			      "command, a process of "
			      "-p and their children control the recording of others\n",
			      r->controls_ignored, r->controls_ignored == 1 ? "" : "s");
}

static void print_places(const struct recording *r)
{
	char line[1024];

	capture_print_places(r->capture, line, sizeof(line));
	if (line[0])
		print_visible(stderr, "processes: %s\n", line);
}

void summary_print(struct recording *r, const struct account *a)
{
	struct stats_options options = { .max_rows = SUMMARY_ROWS };
	struct open_slices open_slices = { .now = r->ended_ns };
	unsigned lines = stats_fit_terminal(STDERR_FILENO, &options);

	print_files(r);
	if (r->flight)
		print_flight(r);
	print_controls(r);
	print_places(r);
	killed_print(r, stderr);
	modes_print(r, stderr);
	overhead_print(r, stderr);
	includes_print(r);
	collector_print(r, stderr);
	print_lost(a, r->options->stats_only ? "aggregated" : "written");
	print_samples(r, a);
	print_shares(r);
	print_clock_error(a);
	timeline_open_slices(r->timeline, count_open_slice, &open_slices);
	if (r->options->stats_only)
		capture_table_open(r->capture, count_open_slice, &open_slices);
	print_open_slices(&open_slices);
	if (!capture_adds_up(r->capture))
		print_visible(stderr, "  the accounting does not add up: please report this\n");
	/* A journal does not need what the scraper has. */
	if (r->options->service)
		return;
	/* Parts behind the slices must not push them off a small screen. */
	if (lines && lines < 3 * SUMMARY_ROWS)
		options.max_rows = lines < 12 ? 4 : lines / 3;
	if (r->options->stats_only) {
		options.max_rows = 0;
		stats_from_tables(r, r->ended_ns);
	}
	stats_print_table(r->stats, stderr, &options, NULL, NULL);
}
