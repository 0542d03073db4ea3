/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the traces of other profilers when the recording has ended. Equal process numbers mean the same process; the
 * threads become separate threads, because slices of two profilers on one thread need not nest.
 *
 * A path that a recorded program names is resolved in that program's view of the file system, and read only if the
 * program itself could reach and read the file: the recorder may have more privileges than the program.
 *
 * A program must not be able to delay the end of a recording. All files that programs name share one limit of
 * bytes and one of time; files of the command line are read completely. A signal that gives up the end of the
 * recording ends both.
 */
#include "record/include.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/capture.h"
#include "base/clock.h"
#include "record/include_access.h"
#include "merge/merge.h"
#include "record/record.h"
#include "reports/table/stats_print.h"

enum {
	MAX_FROM_PROGRAMS = 64,
	FILE_SHIFT = 50, /* of ids, as in a merge */
	PROGRAMS_GIB = 1,
	PROGRAMS_SECONDS = 30,
	AFTER_SECONDS = 3600, /* --include-offset may move events beyond the end on purpose */
};

/* Why a file was not read completely. */
enum left_out {
	LEFT_NOTHING,
	LEFT_BY_SIZE,
	LEFT_BY_TIME,
	LEFT_BY_SIGNAL,
};

struct include {
	char *path;
	bool from_program;
	int base; /* of a program: the directory at which its path begins */
	bool absolute;
	bool beneath; /* do not leave that directory: a link would lead out of the program's root */
	struct requester requester;
	uint32_t pid;
	bool unreachable; /* the error concerns a directory on the path */
	int error;
	uint64_t events;
	uint64_t before; /* events from before the recording */
	uint64_t after;	 /* and from after its end: their clock is another */
	int64_t clock_shift_ns; /* of a program in a time namespace: its monotonic clock minus the kernel's */
	bool truncated;
	uint64_t skipped; /* events of kinds that are not represented */
	enum left_out left_out;
};

struct includes {
	struct include list[MAX_INCLUDES + MAX_FROM_PROGRAMS];
	unsigned n;
	unsigned refused; /* of programs, beyond MAX_FROM_PROGRAMS */
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
	uint64_t switches; /* context switches and wakeups, which are left out */
};

static struct includes *includes_get(struct recording *r)
{
	if (!r->includes)
		r->includes = calloc(1, sizeof(*r->includes));
	return r->includes;
}

void includes_free(struct includes *in)
{
	unsigned i;

	if (!in)
		return;
	for (i = 0; i < in->n; i++) {
		free(in->list[i].path);
		if (in->list[i].base >= 0)
			close(in->list[i].base);
	}
	free(in);
}

static struct include *include_add(struct includes *in, const char *path)
{
	struct include *include = &in->list[in->n];

	*include = (struct include){ .path = strdup(path), .base = -1 };
	if (!include->path)
		return NULL;
	in->n++;
	return include;
}

/* --- named by programs ------------------------------------------------------------------------------- */

static bool include_is_listed(const struct includes *in, const char *path)
{
	unsigned i;

	for (i = 0; i < in->n; i++) {
		if (in->list[i].from_program && !strcmp(in->list[i].path, path))
			return true;
	}
	return false;
}

/* A process in a time namespace writes times of that. 0 if it has exited, or the kernel has no such namespaces. */
static int64_t process_clock_shift(const char *process)
{
	char path[48], text[256] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/timens_offsets", process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return clock_offset(text, CLOCK_MONOTONIC);
}

static bool process_shares_root(const char *process)
{
	char path[40];
	struct stat theirs, ours;

	snprintf(path, sizeof(path), "%s/root", process);
	return !stat(path, &theirs) && !stat("/", &ours) && theirs.st_dev == ours.st_dev &&
	       theirs.st_ino == ours.st_ino;
}

/*
 * Called when the program names the file, because the process may have exited when the recording ends. If it has
 * exited already, the path is resolved in the recorder's view. The owner of a process is known until it is waited
 * for; the recorder waits for its command only after draining its marks.
 */
static void include_identify_requester(const struct recording *r, struct include *include,
				       uint32_t pid)
{
	char process[32], base[48];
	struct stat st;
	bool known;

	snprintf(process, sizeof(process), "/proc/%u", pid);
	snprintf(base, sizeof(base), "%s/%s", process, include->absolute ? "root" : "cwd");
	known = !stat(process, &st);
	include->clock_shift_ns = process_clock_shift(process);
	include->beneath = !include->absolute && !process_shares_root(process);
	include->base = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (include->base < 0) {
		known = known && errno == ENOENT && st.st_uid == geteuid();
		include->base =
			open(include->absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (include->base < 0)
		include->error = -errno;
	include->requester =
		(struct requester){ known, known ? st.st_uid : 0, geteuid() && !r->of_others };
}

void include_add_named(struct recording *r, const struct event *event)
{
	const struct arg *path = event->n_args ? &event->args[0] : NULL;
	struct includes *in = includes_get(r);
	struct include *include;

	if (!in || !path || path->type != ARG_STRING || path->cut || !path->length)
		return;
	if (path->s[0] == '/' && include_is_listed(in, path->s))
		return;
	/* Files of the command line are added at the end and have their own places. */
	if (in->n >= MAX_FROM_PROGRAMS) {
		in->refused++;
		return;
	}
	include = include_add(in, path->s);
	if (!include)
		return;
	include->from_program = true;
	include->absolute = path->s[0] == '/';
	include->pid = event->pid;
	include_identify_requester(r, include, event->pid);
}

/* From now on the file must be readable by everybody: who owned the process when it named the file is unknown. */
static void include_distrust(struct include *include)
{
	if (include->from_program &&
	    (!include->requester.uid || include->requester.uid == geteuid()))
		include->requester.known = false;
}

/*
 * An executed program may make the process root, and it may have been root already when it was identified. The
 * event does not tell, because it arrives later.
 */
void include_handle_exec(struct recording *r, const struct event *event)
{
	unsigned i;

	for (i = 0; r->includes && i < r->includes->n; i++) {
		if (r->includes->list[i].pid == event->pid)
			include_distrust(&r->includes->list[i]);
	}
}

/* The same for all, if events of executed programs were lost. */
static void include_distrust_all(struct recording *r)
{
	struct account account = { 0 };
	unsigned i;

	if (r->capture)
		capture_account(r->capture, &account);
	for (i = 0; account.kernel_events_lost && i < r->includes->n; i++)
		include_distrust(&r->includes->list[i]);
}

/*
 * Accepts regular files with contents. Files of /proc and /sys report a size of 0: a program must not make the
 * recorder drain a kernel log that others read.
 */
static int include_check_file(const struct include *in, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -EIO;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (in->from_program && !requester_may_read(&in->requester, &st))
		return -EACCES;
	return in->from_program && !st.st_size ? -ENODATA : 0;
}

/*
 * A program's path is resolved in its own root and without magic links of /proc. The file is examined with O_PATH
 * before it is opened, because opening a device can have effects; and it is opened with O_NONBLOCK, because of leases.
 */
static int open_include(struct include *in)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC };
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, place, fd, error;
	char path[48];

	if (in->from_program) {
		how.resolve = RESOLVE_NO_MAGICLINKS | (in->absolute  ? RESOLVE_IN_ROOT
						       : in->beneath ? RESOLVE_BENEATH
								     : 0);
		place = (int)syscall(SYS_openat2, in->base, in->path, &how, sizeof(how));
	} else {
		place = open(in->path, O_PATH | O_CLOEXEC);
	}
	if (place < 0)
		return -errno;
	error = include_check_file(in, place);
	if (!error && in->from_program) {
		error = requester_may_open(&in->requester, in->base, place);
		in->unreachable = error != 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	fd = error ? error : open(path, flags);
	if (!error && fd < 0)
		fd = -errno;
	close(place);
	return fd;
}

/* --- reading ----------------------------------------------------------------------------------- */

static int include_handle_event(void *context, const struct event *event)
{
	struct joining *j = context;
	struct recording *r = j->r;
	bool marked = event->kind <= EVENT_STEP || event->kind == EVENT_THREAD_NAME;
	struct arg args[EVENT_MAX_ARGS];
	struct event e = *event;
	int64_t at;

	/* The recording has its own clocks, and its own names of processes. */
	if (e.kind == EVENT_CLOCK)
		return 0;
	/* Context switches come from the recording itself. */
	if (e.kind >= EVENT_SWITCH && e.kind <= EVENT_SCHED_GAP) {
		j->switches += e.kind != EVENT_SCHED_GAP;
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
	if (e.ts_ns > r->last_ts_ns)
		r->last_ts_ns = e.ts_ns;
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
	error = source_read(&j->part.source, &sink, &end, f);
	error = error ?: owners_end(j->all->owners, include_emit_name, j);
	j->include->truncated = end.truncated;
	j->include->skipped = end.skipped + j->switches;
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
		    : in->unreachable ? "the program's user may not search a directory on the path"
				      : NULL);
	if (in->from_program && in->error == -EACCES)
		failure_hint(f, "--include-json FILE reads with the permissions of the caller");
}

static int include_one(struct including *all, struct include *in, unsigned index)
{
	struct joining j = { .all = all, .r = all->r, .include = in, .index = index };
	struct failure f = { 0 };

	j.part.source.path = in->path;
	j.part.source.limits = &all->limits;
	if (!in->error) {
		j.part.source.fd = open_include(in);
		in->error = j.part.source.fd < 0 ? j.part.source.fd : 0;
	}
	if (in->error) {
		include_report_refused(in, &f);
	} else {
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
	unsigned i, from_programs;
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
	include_distrust_all(r);
	from_programs = in->n;
	for (i = 0; i < r->options->n_includes; i++)
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
	unsigned i;

	for (i = 0; r->includes && i < r->includes->n; i++) {
		if (r->includes->list[i].left_out || r->includes->list[i].error)
			return false;
	}
	return true;
}

void includes_print(const struct recording *r)
{
	unsigned i;

	for (i = 0; r->includes && i < r->includes->n; i++) {
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
