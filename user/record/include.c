/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the traces of other profilers when the recording has ended. Equal process numbers mean the same process; the
 * threads become separate threads, because slices of two profilers on one thread need not nest. A trace that a program names
 * speaks for this process only: what it says of others might be false.
 *
 * A program must not be able to delay the end of a recording. All files that programs name share one limit of
 * bytes and one of time; files of the command line are read completely. A signal that gives up the end of the
 * recording ends both.
 */
#include "record/include.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "base/clock.h"
#include "merge/merge.h"
#include "record/include_list.h"
#include "reports/table/stats_print.h"

enum {
	FILE_SHIFT = 50, /* of ids, as in a merge */
	PROGRAMS_GIB = 1,
	PROGRAMS_SECONDS = 30,
	AFTER_SECONDS = 3600, /* --include-offset may move events beyond the end on purpose */
};

/* The state while all files are read. */
struct including {
	struct recording *r;
	struct owners *owners;
	struct reader_limits limits;
	uint64_t until_ns;  /* 0: no limit */
	uint64_t latest_ns; /* later events have another clock, and are left out */
	unsigned signals;   /* number of signals before the reading */
	enum left_out why;  /* why the remaining files are not read */
};

/* The state while one file is read. */
struct joining {
	struct including *all;
	struct recording *r;
	struct include *include;
	struct part part;
	unsigned index;
	bool is_again; /* another process has named it, too: only the events of this one are new */
	uint64_t left_out; /* events of kinds that only the recording itself has */
};

/*
 * Where a process runs, and which rank it is, is what the recorder has found out: reports and OTLP's resources believe it.
 * A program says nothing of this, neither about itself nor in a process that only its trace has.
 */
static bool include_may_label(const struct joining *j, const struct event *event)
{
	static const char *const of_recorder[] = { "rank ", "container ", "unit ", "PID " };

	if (!j->include->from_program)
		return true;
	if (event->pid == j->include->pid || !event->name)
		return false;
	for (unsigned i = 0; i < sizeof(of_recorder) / sizeof(of_recorder[0]); i++) {
		if (strstr(event->name->text, of_recorder[i]))
			return false;
	}
	return true;
}

/* What only the recording itself says: its context switches, what it has lost, and what it knows of its processes. */
static bool include_is_left_out(const struct joining *j, const struct event *event)
{
	return (event->kind >= EVENT_SWITCH && event->kind <= EVENT_SCHED_GAP) ||
	       (event->kind == EVENT_LOST && j->include->from_program) ||
	       (event->kind == EVENT_PROCESS_LABELS && !include_may_label(j, event)) ||
	       /* report finds the rank in the name as well, where there are no labels. */
	       (event->kind == EVENT_PROCESS_NAME && j->include->from_program && event->name &&
		strstr(event->name->text, "rank "));
}

static int include_handle_event(void *context, const struct event *event)
{
	struct joining *j = context;
	struct recording *r = j->r;
	bool marked = event->kind <= EVENT_STEP || event->kind == EVENT_THREAD_NAME;
	struct arg args[EVENT_MAX_ARGS];
	struct event e = *event;
	int64_t at;

	if (j->is_again && e.pid != j->include->pid) {
		r->accounting.marked -= marked;
		return 0;
	}
	/* The recording has its own clocks, and its own names of processes. */
	if (e.kind == EVENT_CLOCK)
		return 0;
	if (include_is_left_out(j, &e)) {
		j->left_out += e.kind != EVENT_SCHED_GAP;
		return 0;
	}
	if (e.ts_ns) {
		/* Before the recording, or beyond the range of the clock. */
		if (__builtin_add_overflow(e.ts_ns, j->part.offset_ns, &at) ||
		    at < (int64_t)r->info.start_ns) {
			j->include->before++;
			r->accounting.marked -= marked;
			return 0;
		}
		if ((uint64_t)at > j->all->latest_ns) {
			j->include->after++;
			r->accounting.marked -= marked;
			return 0;
		}
		e.ts_ns = (uint64_t)at;
		if (e.kind == EVENT_SLICE_AT || e.kind == EVENT_INSTANT_AT) {
			e.given.begin += (uint64_t)j->part.offset_ns;
			e.given.end += (uint64_t)j->part.offset_ns;
		}
	}
	merge_mix_ids(&e, (uint64_t)(j->index + 1) << FILE_SHIFT, true, args);
	owners_map(j->all->owners, &e);
	/* Only now: a process of another file that has the same number keeps the name that the file gives it. */
	if (e.kind == EVENT_PROCESS_NAME && timeline_has_process(r->writer, e.pid))
		return 0;
	j->include->events += marked;
	/* If one of several outputs fails, the others go on; the error is handled when they are closed. */
	outputs_write_event(r, &e);
	return 0;
}

static int include_emit_name(void *context, const struct event *event)
{
	struct joining *j = context;

	j->r->accounting.marked += event->kind == EVENT_THREAD_NAME;
	outputs_write_event(j->r, event);
	return 0;
}

static void include_set_label(struct part *part, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(part->label, sizeof(part->label), "%s", slash ? slash + 1 : path);
	/* A process with the name "rank N: ..." is taken for that rank, and a program chooses the file's name. */
	for (char *at = part->label; (at = strstr(at, "rank ")); at += 5)
		at[4] = '_';
}

/* The recording as the reference to which clocks are aligned. */
static struct part recording_as_part(const struct recording *r)
{
	struct part part = { .is_reference = true, .same_boot = true };

	part.source.origin = r->origin;
	part.source.origin.clock = r->info.clock;
	snprintf(part.source.origin.version, sizeof(part.source.origin.version), "%s",
		 PROFTRACE_VERSION);
	return part;
}

static int include_read_trace(struct joining *j, struct failure *f)
{
	const struct part reference = recording_as_part(j->r);
	const struct reader_sink sink = { include_handle_event, j,    j->r->names,
					  &j->r->accounting,	NULL, NULL };
	struct reader_error end = { 0 };
	int error = source_read_start(&j->part.source, f);

	if (error || j->all->limits.end)
		return error;
	error = align_by_clocks(&reference, &j->part, ALIGN_AUTO, f);
	if (error)
		return error;
	/* Where nothing says which clock it is, it is the program's monotonic one. */
	if (!j->part.source.origin.version[0] && !j->part.source.origin.clock.monotonic &&
	    !j->part.offset_ns)
		j->part.offset_ns = -j->include->clock_shift_ns;
	if (__builtin_add_overflow(j->part.offset_ns, j->r->options->include_offset_ns,
				   &j->part.offset_ns))
		return failure_set(f, -ERANGE, "cannot move", j->include->path, NULL);
	include_set_label(&j->part, j->include->path);
	j->part.recording = j->index + 1;
	plugins_announce_trace(j->r, j->include->path);
	owners_begin(j->all->owners, &j->part);
	if (j->include->from_program)
		owners_restrict(j->all->owners, j->include->pid);
	error = source_read(&j->part.source, &sink, &end, f);
	error = error ?: owners_end(j->all->owners, include_emit_name, j);
	j->include->truncated = end.truncated;
	j->include->skipped = end.skipped + j->left_out;
	/* A failing output is reported by outputs.c. */
	return error < 0 && !end.message[0] ? 0 : error;
}

/* Called regularly while a file is read. */
static bool include_should_stop(void *context)
{
	struct including *all = context;

	recording_should_give_up(all->r);
	if (all->r->signals > all->signals)
		all->why = LEFT_BY_SIGNAL;
	else if (all->until_ns && clock_ns(CLOCK_MONOTONIC) >= all->until_ns)
		all->why = LEFT_BY_TIME;
	return all->why != LEFT_NOTHING;
}

static void include_report_left_out(const struct include *in)
{
	struct failure f = { 0 };
	char reason[96];

	if (in->left_out == LEFT_BY_SIGNAL)
		snprintf(reason, sizeof(reason), "a signal ended it");
	else if (in->left_out == LEFT_BY_TIME)
		snprintf(reason, sizeof(reason),
			 "files that programs name are read for at most %d seconds",
			 PROGRAMS_SECONDS);
	else
		snprintf(
			reason, sizeof(reason),
			"at most %d GiB of files that programs name are read, packed plus unpacked",
			PROGRAMS_GIB);
	failure_set(&f, 0, "cannot include the rest of", in->path, reason);
	if (in->left_out != LEFT_BY_SIGNAL)
		failure_hint(&f, "--include-json FILE reads all of a trace");
	failure_print(&f, stderr);
}

static void include_report_refused(const struct include *in, struct failure *f)
{
	failure_set(f, in->error, "cannot include", in->path,
		    in->error == -EINVAL    ? "it is not a regular file"
		    : in->error == -ENODATA ? "it is empty, or not a file on a disk"
		    : in->error == -ESRCH   ? "its program has ended, and may have had another root"
		    : in->unreachable ? "the program's user may not search a directory on the path"
				      : NULL);
	if (in->from_program && in->error == -EACCES)
		failure_hint(f, "--include-json FILE reads with the permissions of the caller");
}

static bool include_was_read(const struct includes *all, unsigned index)
{
	const struct include *in = &all->list[index];

	for (unsigned i = 0; i < index && in->absolute; i++) {
		const struct include *before = &all->list[i];

		if (before->absolute && !before->error && before->device == in->device &&
		    before->inode == in->inode && !strcmp(before->path, in->path))
			return true;
	}
	return false;
}

static int include_one(struct including *all, struct include *in, unsigned index)
{
	struct joining j = { .all = all, .r = all->r, .include = in, .index = index };
	struct failure f = { 0 };

	j.part.source.path = in->path;
	j.part.source.limits = &all->limits;
	if (!in->error) {
		j.part.source.fd = include_open(in);
		in->error = j.part.source.fd < 0 ? j.part.source.fd : 0;
	}
	if (in->error) {
		include_report_refused(in, &f);
	} else {
		j.is_again = include_was_read(all->r->includes, index);
		in->error = include_read_trace(&j, &f);
		source_close(&j.part.source);
	}
	if (all->limits.end) {
		if (all->limits.end == READ_ENOUGH)
			all->why = LEFT_BY_SIZE;
		in->left_out = all->why;
		in->error = in->from_program ? 0 : -EINTR;
	}
	if (in->error || in->left_out)
		status_clear(all->r);
	if (in->left_out)
		include_report_left_out(in);
	else if (in->error)
		failure_print(&f, stderr);
	return in->error;
}

/* Before the files of the command line, which only a signal ends. */
static void include_lift_limits(struct including *all)
{
	all->until_ns = 0;
	all->limits.bytes = 0;
	if (all->why == LEFT_BY_SIGNAL)
		return;
	all->why = LEFT_NOTHING;
	all->limits.end = READ_ON;
}

/* The first `from_programs` files were named by programs. */
static int include_read_files(struct including *all, struct includes *in, unsigned from_programs)
{
	unsigned i, unread = in->refused;
	int error = 0;

	for (i = 0; i < in->n; i++) {
		struct include *include = &in->list[i];

		if (i == from_programs)
			include_lift_limits(all);
		if (all->limits.end) {
			include->left_out = all->why;
			unread += i < from_programs;
			error = i < from_programs ? error : -EINTR;
			continue;
		}
		if (include_one(all, include, i) && i >= from_programs)
			error = include->error;
	}
	if (unread)
		print_visible(stderr,
			      "proftrace: %u more trace%s that programs named not included\n",
			      unread, unread == 1 ? "" : "s");
	return error;
}

int include_all(struct recording *r)
{
	struct includes *in = r->includes || r->options->n_includes ? includes_get(r) : NULL;
	struct including all = {
		.r = r,
		.limits = { .bytes = (uint64_t)PROGRAMS_GIB << 30,
			    .stop = include_should_stop,
			    .context = &all },
		.until_ns = clock_ns(CLOCK_MONOTONIC) + PROGRAMS_SECONDS * 1000000000ull,
		.latest_ns = clock_ns(CLOCK_MONOTONIC) + AFTER_SECONDS * 1000000000ull,
		/* Signals that ended the recording do not end the reading. */
		.signals = r->signals ? r->signals : 1,
	};
	unsigned from_programs;
	int error;

	if (!in)
		return 0;
	if (r->flight) {
		print_visible(stderr,
			      "proftrace: traces that programs named are not included: files of a "
			      "flight recorder are finished before them\n");
		return 0;
	}
	/* The recording itself is complete on disk whatever happens now. */
	outputs_flush(r);
	plugins_flush(r);
	from_programs = in->n;
	for (unsigned i = 0; i < r->options->n_includes; i++)
		include_add(in, r->options->includes[i]);
	all.owners = owners_new(r->names, true);
	if (!all.owners)
		return -ENOMEM;
	error = include_read_files(&all, in, from_programs);
	owners_free(all.owners);
	return error;
}

bool includes_are_whole(const struct recording *r)
{
	for (unsigned i = 0; r->includes && i < r->includes->n; i++) {
		if (r->includes->list[i].left_out || r->includes->list[i].error)
			return false;
	}
	return true;
}

void includes_print(const struct recording *r)
{
	for (unsigned i = 0; r->includes && i < r->includes->n; i++) {
		const struct include *in = &r->includes->list[i];

		if (in->error)
			continue;
		print_visible(stderr, "%s  %" PRIu64 " event%s included", in->path, in->events,
			      in->events == 1 ? "" : "s");
		if (in->before)
			print_visible(stderr, ", %" PRIu64 " from before the recording left out",
				      in->before);
		if (in->after)
			print_visible(stderr,
				      ", %" PRIu64 " from an hour after it left out: another clock "
				      "(--include-offset)",
				      in->after);
		if (in->skipped)
			print_visible(stderr, ", %" PRIu64 " of kinds that are not represented",
				      in->skipped);
		print_visible(stderr, "%s\n",
			      in->left_out    ? ", the rest left out"
			      : in->truncated ? ", truncated"
					      : "");
	}
}

void includes_json(const struct recording *r, FILE *out)
{
	static const char *const reasons[] = { "", "size", "time", "signal" };
	unsigned i, n = r->includes ? r->includes->n : 0;

	fputs("  \"included\": [", out);
	for (i = 0; i < n; i++) {
		const struct include *in = &r->includes->list[i];

		put_json_string(out, i ? ",\n    {\"path\": " : "\n    {\"path\": ", in->path);
		fprintf(out,
			", \"events\": %" PRIu64 ", \"before\": %" PRIu64
			", \"truncated\": %s, \"error\": ",
			in->events, in->before, in->truncated ? "true" : "false");
		put_json_string(out, "", in->error ? strerror(-in->error) : "");
		fprintf(out, ", \"left_out\": \"%s\", \"after\": %" PRIu64 "}",
			reasons[in->left_out], in->after);
	}
	fputs("],\n", out);
}
