/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A foreign trace is read when the recording is over, and its events join the timeline then: its
 * processes are those of the recording where the numbers are the same, its threads are threads of their
 * own, since two profilers' slices on one thread need not nest in each other.
 *
 * A path from a recorded program is opened in what that program sees as its files, and only if it is a
 * file that the program itself could reach and read: the recorder may have more rights than it.
 *
 * Whoever waits for the end of a recording shall not wait for what a program chose to name: all that
 * programs name is read within one limit of bytes and one of time. What the command line names is read
 * to its end. Signals that give the end of a recording up end either.
 */
#include "cmd/include.h"

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
#include "clock.h"
#include "cmd/include_reach.h"
#include "cmd/merge.h"
#include "cmd/record.h"

enum {
	MAX_FROM_PROGRAMS = 64,
	FILE_SHIFT = 50, /* of ids, as in a merge */
	PROGRAMS_GIB = 1,
	PROGRAMS_SECONDS = 30,
};

/* Why not all of a file was read. */
enum left_out {
	LEFT_NOTHING,
	LEFT_BY_SIZE,
	LEFT_BY_TIME,
	LEFT_BY_SIGNAL,
};

struct include {
	char *path;
	bool from_program;
	int base; /* of a program: where its path begins */
	bool absolute;
	bool beneath; /* its directory: a link out of it would lead to where the program is not */
	struct asker asker;
	uint32_t pid;
	bool unreachable; /* the error is because of a directory on its way */
	int error;
	uint64_t events;
	uint64_t before; /* the recording began */
	bool truncated;
	uint64_t skipped; /* of kinds that have no place here */
	enum left_out left_out;
};

struct includes {
	struct include list[MAX_INCLUDES + MAX_FROM_PROGRAMS];
	unsigned n;
	unsigned refused; /* of programs: too many */
};

/* All of them, being read. */
struct including {
	struct recording *r;
	struct owners *owners;
	struct reader_limits limits;
	uint64_t until_ns; /* 0: however long it takes */
	unsigned signals;  /* that have not given it up */
	enum left_out why; /* of what is left to be read */
};

/* One of them on its way into the timeline. */
struct joining {
	struct including *all;
	struct recording *r;
	struct include *include;
	struct part part;
	unsigned index;
	uint64_t switches; /* and wakings, which are left out */
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

static struct include *add(struct includes *in, const char *path)
{
	struct include *include = &in->list[in->n];

	*include = (struct include){ .path = strdup(path), .base = -1 };
	if (!include->path)
		return NULL;
	in->n++;
	return include;
}

/* --- of programs ------------------------------------------------------------------------------- */

static bool is_known(const struct includes *in, const char *path)
{
	unsigned i;

	for (i = 0; i < in->n; i++) {
		if (in->list[i].from_program && !strcmp(in->list[i].path, path))
			return true;
	}
	return false;
}

static bool has_our_root(const char *process)
{
	char path[40];
	struct stat theirs, ours;

	snprintf(path, sizeof(path), "%s/root", process);
	return !stat(path, &theirs) && !stat("/", &ours) && theirs.st_dev == ours.st_dev &&
	       theirs.st_ino == ours.st_ino;
}

/*
 * Now: when the recording ends, the process may be gone. If it is already, the path is as we see the files.
 * Whose it was is known as long as it is not waited for, as our command is not before its marks are taken.
 */
static void look_at_process(const struct recording *r, struct include *include, uint32_t pid)
{
	char process[32], base[48];
	struct stat st;
	bool known;

	snprintf(process, sizeof(process), "/proc/%u", pid);
	snprintf(base, sizeof(base), "%s/%s", process, include->absolute ? "root" : "cwd");
	known = !stat(process, &st);
	include->beneath = !include->absolute && !has_our_root(process);
	include->base = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (include->base < 0) {
		known = known && errno == ENOENT && st.st_uid == geteuid();
		include->base =
			open(include->absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (include->base < 0)
		include->error = -errno;
	include->asker = (struct asker){ known, known ? st.st_uid : 0, geteuid() && !r->of_others };
}

void include_later(struct recording *r, const struct event *event)
{
	const struct arg *path = event->n_args ? &event->args[0] : NULL;
	struct includes *in = includes_get(r);
	struct include *include;

	if (!in || !path || path->type != ARG_STRING || path->cut || !path->length)
		return;
	if (path->s[0] == '/' && is_known(in, path->s))
		return;
	/* The user's own come in the end. */
	if (in->n >= MAX_FROM_PROGRAMS) {
		in->refused++;
		return;
	}
	include = add(in, path->s);
	if (!include)
		return;
	include->from_program = true;
	include->absolute = path->s[0] == '/';
	include->pid = event->pid;
	look_at_process(r, include, event->pid);
}

/* Everybody's, from now on: whose it was when it named that file is not known. */
static void doubt(struct include *include)
{
	if (include->from_program && (!include->asker.uid || include->asker.uid == geteuid()))
		include->asker.known = false;
}

/*
 * What it executes may make it root, and it had become that already when it was looked at. When exactly it
 * did the event does not tell: it comes after.
 */
void include_executed(struct recording *r, const struct event *event)
{
	unsigned i;

	for (i = 0; r->includes && i < r->includes->n; i++) {
		if (r->includes->list[i].pid == event->pid)
			doubt(&r->includes->list[i]);
	}
}

/* The same, where it is not known who executed something. */
static void doubt_all(struct recording *r)
{
	struct account account = { 0 };
	unsigned i;

	if (r->capture)
		capture_account(r->capture, &account);
	for (i = 0; account.kernel_events_lost && i < r->includes->n; i++)
		doubt(&r->includes->list[i]);
}

/*
 * A file that holds something. Most of what a kernel makes up is empty by its own account: a program
 * shall not have us drain a log that others read.
 */
static int refuses(const struct include *in, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -EIO;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (in->from_program && !asker_may_read(&in->asker, &st))
		return -EACCES;
	return in->from_program && !st.st_size ? -ENODATA : 0;
}

/*
 * Of a program: in its own root, no link out of /proc. It is looked at before it is opened, since that
 * alone can do something to a device; and opened without waiting, since others may hold it (a lease).
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
	error = refuses(in, place);
	if (!error && in->from_program) {
		error = asker_may_reach(&in->asker, in->base, place);
		in->unreachable = error != 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	fd = error ? error : open(path, flags);
	if (!error && fd < 0)
		fd = -errno;
	close(place);
	return fd;
}

/* --- joining ----------------------------------------------------------------------------------- */

static int take(void *context, const struct event *event)
{
	struct joining *j = context;
	struct recording *r = j->r;
	bool marked = event->kind <= EVENT_STEP || event->kind == EVENT_THREAD_NAME;
	struct event e = *event;
	int64_t at;

	/* The recording has its own clocks, and names for what it saw. */
	if (e.kind == EVENT_CLOCK)
		return 0;
	/* Who has which CPU is for the recording to tell. */
	if (e.kind >= EVENT_SWITCH && e.kind <= EVENT_SCHED_GAP) {
		j->switches += e.kind != EVENT_SCHED_GAP;
		return 0;
	}
	if (e.kind == EVENT_PROCESS_NAME && timeline_has_process(r->writer, e.pid))
		return 0;
	if (e.ts_ns) {
		/* Or at a time that no clock shows. */
		if (__builtin_add_overflow(e.ts_ns, j->part.offset_ns, &at) ||
		    at < (int64_t)r->info.start_ns) {
			j->include->before++;
			r->road.marked -= marked;
			return 0;
		}
		e.ts_ns = (uint64_t)at;
	}
	if (e.kind >= EVENT_ASYNC_BEGIN && e.kind <= EVENT_FLOW_IN)
		e.id ^= (uint64_t)(j->index + 1) << FILE_SHIFT;
	owners_map(j->all->owners, &e);
	if (e.ts_ns > r->last_ts_ns)
		r->last_ts_ns = e.ts_ns;
	j->include->events += marked;
	/* An output that fails, of several, ends nothing: it is looked at when they are closed. */
	outputs_event(r, &e);
	return 0;
}

static int take_name(void *context, const struct event *event)
{
	struct joining *j = context;

	j->r->road.marked += event->kind == EVENT_THREAD_NAME;
	outputs_event(j->r, event);
	return 0;
}

static void name_label(struct part *part, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(part->label, sizeof(part->label), "%s", slash ? slash + 1 : path);
}

/* The recording, as the trace whose clock counts. */
static struct part as_part(const struct recording *r)
{
	struct part part = { .is_reference = true, .same_boot = true };

	part.source.origin = r->origin;
	part.source.origin.clock = r->info.clock;
	snprintf(part.source.origin.version, sizeof(part.source.origin.version), "%s",
		 PROFTRACE_VERSION);
	return part;
}

static int join(struct joining *j, struct failure *f)
{
	const struct part reference = as_part(j->r);
	const struct reader_sink sink = { take, j, j->r->names, &j->r->road, NULL, NULL };
	struct reader_error end = { 0 };
	int error = source_look(&j->part.source, f);

	if (error || j->all->limits.end)
		return error;
	error = align_by_clocks(&reference, &j->part, ALIGN_AUTO, f);
	if (error)
		return error;
	if (__builtin_add_overflow(j->part.offset_ns, j->r->options->include_offset_ns,
				   &j->part.offset_ns))
		return failure_set(f, -ERANGE, "cannot move", j->include->path, NULL);
	name_label(&j->part, j->include->path);
	j->part.recording = j->index + 1;
	owners_begin(j->all->owners, &j->part);
	error = source_read(&j->part.source, &sink, &end, f);
	if (!error)
		error = owners_end(j->all->owners, take_name, j);
	j->include->truncated = end.truncated;
	j->include->skipped = end.skipped + j->switches;
	/* An output that fails has been told as such. */
	return error < 0 && !end.message[0] ? 0 : error;
}

/* Asked again and again while a file is read. */
static bool stop(void *context)
{
	struct including *all = context;

	recording_gives_up(all->r);
	if (all->r->signals > all->signals)
		all->why = LEFT_BY_SIGNAL;
	else if (all->until_ns && clock_ns(CLOCK_MONOTONIC) >= all->until_ns)
		all->why = LEFT_BY_TIME;
	return all->why != LEFT_NOTHING;
}

static void tell_left_out(const struct include *in)
{
	struct failure f = { 0 };
	char reason[96];

	if (in->left_out == LEFT_BY_SIGNAL)
		snprintf(reason, sizeof(reason), "a signal ended it");
	else if (in->left_out == LEFT_BY_TIME)
		snprintf(reason, sizeof(reason), "what programs name is read for %d seconds in all",
			 PROGRAMS_SECONDS);
	else
		snprintf(reason, sizeof(reason),
			 "of what programs name %d GiB are read in all, packed and unpacked",
			 PROGRAMS_GIB);
	failure_set(&f, 0, "cannot include the rest of", in->path, reason);
	if (in->left_out != LEFT_BY_SIGNAL)
		failure_hint(&f, "--include-json FILE reads all of a trace");
	failure_print(&f, stderr);
}

static void tell_refused(const struct include *in, struct failure *f)
{
	failure_set(f, in->error, "cannot include", in->path,
		    in->error == -EINVAL    ? "it is no file"
		    : in->error == -ENODATA ? "it is empty, or no file on a disk"
		    : in->unreachable ? "the program's user may not enter a directory on its way"
				      : NULL);
	if (in->from_program && in->error == -EACCES)
		failure_hint(f, "--include-json FILE reads what the caller of proftrace may");
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
		tell_refused(in, &f);
	} else {
		in->error = join(&j, &f);
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
		tell_left_out(in);
	else if (in->error)
		failure_print(&f, stderr);
	return in->error;
}

/* From what programs name to what the command line does, which only a signal ends. */
static void lift_limits(struct including *all)
{
	all->until_ns = 0;
	all->limits.bytes = 0;
	if (all->why == LEFT_BY_SIGNAL)
		return;
	all->why = LEFT_NOTHING;
	all->limits.end = READ_ON;
}

/* `from_programs`: so many of them, the first. */
static int read_all(struct including *all, struct includes *in, unsigned from_programs)
{
	unsigned i, unread = in->refused;
	int error = 0;

	for (i = 0; i < in->n; i++) {
		struct include *include = &in->list[i];

		if (i == from_programs)
			lift_limits(all);
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
		fprintf(stderr, "proftrace: %u more trace%s that programs named not included\n",
			unread, unread == 1 ? "" : "s");
	return error;
}

int include_all(struct recording *r)
{
	struct includes *in = r->includes || r->options->n_includes ? includes_get(r) : NULL;
	struct including all = {
		.r = r,
		.limits = { .bytes = (uint64_t)PROGRAMS_GIB << 30, .stop = stop, .context = &all },
		.until_ns = clock_ns(CLOCK_MONOTONIC) + PROGRAMS_SECONDS * 1000000000ull,
		/* Those that ended the recording are not about this. */
		.signals = r->signals ? r->signals : 1,
	};
	unsigned i, from_programs;
	int error;

	if (!in)
		return 0;
	if (r->flight) {
		fprintf(stderr, "proftrace: traces that programs named are not included: what a "
				"flight recorder writes is over before them\n");
		return 0;
	}
	/* Whatever becomes of this, what was recorded is there. */
	outputs_flush(r);
	plugins_flush(r);
	doubt_all(r);
	from_programs = in->n;
	for (i = 0; i < r->options->n_includes; i++)
		add(in, r->options->includes[i]);
	all.owners = owners_new(r->names, true);
	if (!all.owners)
		return -ENOMEM;
	error = read_all(&all, in, from_programs);
	owners_free(all.owners);
	return error;
}

bool includes_are_whole(const struct recording *r)
{
	unsigned i;

	for (i = 0; r->includes && i < r->includes->n; i++) {
		if (r->includes->list[i].left_out)
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
		fprintf(stderr, "%s  %" PRIu64 " event%s included", in->path, in->events,
			in->events == 1 ? "" : "s");
		if (in->before)
			fprintf(stderr, ", %" PRIu64 " from before the recording left out",
				in->before);
		if (in->skipped)
			fprintf(stderr, ", %" PRIu64 " of kinds that have no place here",
				in->skipped);
		fprintf(stderr, "%s\n",
			in->left_out	? ", the rest left out"
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

		fputs(i ? ",\n    {\"path\": " : "\n    {\"path\": ", out);
		print_json_string(out, in->path);
		fprintf(out,
			", \"events\": %" PRIu64 ", \"before\": %" PRIu64
			", \"truncated\": %s, \"error\": ",
			in->events, in->before, in->truncated ? "true" : "false");
		print_json_string(out, in->error ? strerror(-in->error) : "");
		fprintf(out, ", \"left_out\": \"%s\"}", reasons[in->left_out]);
	}
	fputs("],\n", out);
}
