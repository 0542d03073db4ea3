/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A foreign trace is read when the recording is over, and its events join the timeline then: its
 * processes are those of the recording where the numbers are the same, its threads are threads of their
 * own, since two profilers' slices on one thread need not nest in each other.
 *
 * A path from a recorded program is opened in what that program sees as its files, and only if it is a
 * file that the program itself could read: the recorder may have more rights than it.
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
#include <unistd.h>

#include "cmd/merge.h"
#include "cmd/record.h"

enum {
	MAX_FROM_PROGRAMS = 64,
	FILE_SHIFT = 50, /* of ids, as in a merge */
};

struct include {
	char *path;
	bool from_program;
	int base; /* of a program: where its path begins */
	bool absolute;
	bool has_uid;
	uid_t uid;
	int error;
	uint64_t events;
	uint64_t before; /* the recording began */
	bool truncated;
	uint64_t skipped; /* of kinds that have no place here */
};

struct includes {
	struct include list[MAX_INCLUDES + MAX_FROM_PROGRAMS];
	unsigned n;
	unsigned refused; /* of programs: too many */
};

/* One of them on its way into the timeline. */
struct joining {
	struct recording *r;
	struct include *include;
	struct owners *owners;
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

void include_later(struct recording *r, const struct event *event)
{
	const struct arg *path = event->n_args ? &event->args[0] : NULL;
	struct includes *in = includes_get(r);
	struct include *include;
	char process[32], base[48];
	struct stat st = { 0 };

	if (!in || !path || path->type != ARG_STRING || path->cut || !path->length)
		return;
	if (path->s[0] == '/' && is_known(in, path->s))
		return;
	if (in->n - r->options->n_includes >= MAX_FROM_PROGRAMS) {
		in->refused++;
		return;
	}
	include = add(in, path->s);
	if (!include)
		return;
	include->from_program = true;
	include->absolute = path->s[0] == '/';
	/* Now: when the recording ends, the process may be gone. */
	snprintf(process, sizeof(process), "/proc/%u", event->pid);
	snprintf(base, sizeof(base), "%s/%s", process, include->absolute ? "root" : "cwd");
	include->has_uid = !stat(process, &st);
	include->uid = st.st_uid;
	include->base = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* It is gone already: then as we see the files, and only what everybody may read. */
	if (include->base < 0) {
		include->has_uid = false;
		include->base =
			open(include->absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (include->base < 0)
		include->error = -errno;
}

static bool may_read(const struct include *in, const struct stat *st)
{
	if (!in->from_program || (st->st_mode & S_IROTH))
		return true;
	if (in->has_uid)
		return !in->uid || in->uid == st->st_uid;
	return geteuid() && st->st_uid == geteuid();
}

/* Of a program: in its own root, no FIFO that would hold us, no link out of /proc. */
static int open_include(const struct include *in)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };
	struct stat st;
	int fd;

	if (!in->from_program) {
		fd = open(in->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	} else {
		how.resolve = RESOLVE_NO_MAGICLINKS | (in->absolute ? RESOLVE_IN_ROOT : 0);
		fd = (int)syscall(SYS_openat2, in->base, in->path, &how, sizeof(how));
	}
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		close(fd);
		return -EIO;
	}
	if (!S_ISREG(st.st_mode)) {
		close(fd);
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	}
	if (!may_read(in, &st)) {
		close(fd);
		return -EACCES;
	}
	return fd;
}

/* --- joining ----------------------------------------------------------------------------------- */

static int take(void *context, const struct event *event)
{
	struct joining *j = context;
	struct recording *r = j->r;
	bool marked = event->kind <= EVENT_STEP || event->kind == EVENT_THREAD_NAME;
	struct event e = *event;
	int64_t offset = j->part.offset_ns;

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
		if ((int64_t)e.ts_ns + offset < (int64_t)r->info.start_ns) {
			j->include->before++;
			r->road.marked -= marked;
			return 0;
		}
		e.ts_ns += (uint64_t)offset;
	}
	if (e.kind >= EVENT_ASYNC_BEGIN && e.kind <= EVENT_FLOW_IN)
		e.id ^= (uint64_t)(j->index + 1) << FILE_SHIFT;
	owners_map(j->owners, &e);
	if (e.ts_ns > r->last_ts_ns)
		r->last_ts_ns = e.ts_ns;
	j->include->events += marked;
	return outputs_event(r, &e);
}

static int take_name(void *context, const struct event *event)
{
	struct joining *j = context;

	j->r->road.marked += event->kind == EVENT_THREAD_NAME;
	return outputs_event(j->r, event);
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

	if (error)
		return error;
	error = align_by_clocks(&reference, &j->part, ALIGN_AUTO, f);
	if (error)
		return error;
	j->part.offset_ns += j->r->options->include_offset_ns;
	name_label(&j->part, j->include->path);
	j->part.recording = j->index + 1;
	owners_begin(j->owners, &j->part);
	error = source_read(&j->part.source, &sink, &end, f);
	if (!error)
		error = owners_end(j->owners, take_name, j);
	j->include->truncated = end.truncated;
	j->include->skipped = end.skipped + j->switches;
	/* An output that fails has been told as such. */
	return error < 0 && !end.message[0] ? 0 : error;
}

static int include_one(struct recording *r, struct include *in, struct owners *owners,
		       unsigned index)
{
	struct joining j = { .r = r, .include = in, .owners = owners, .index = index };
	struct failure f = { 0 };

	if (!in->error) {
		j.part.source.path = in->path;
		j.part.source.fd = open_include(in);
		in->error = j.part.source.fd < 0 ? j.part.source.fd : 0;
	}
	if (in->error) {
		failure_set(&f, in->error, "cannot include", in->path,
			    in->error == -EINVAL ? "it is no file" : NULL);
	} else {
		in->error = join(&j, &f);
		source_close(&j.part.source);
	}
	if (in->error) {
		status_clear(r);
		failure_print(&f, stderr);
	}
	return in->error;
}

int include_all(struct recording *r)
{
	struct includes *in = r->includes || r->options->n_includes ? includes_get(r) : NULL;
	struct owners *owners;
	unsigned i, from_programs;
	int error = 0;

	if (!in)
		return 0;
	if (r->flight) {
		fprintf(stderr, "proftrace: traces that programs named are not included: what a "
				"flight recorder writes is over before them\n");
		return 0;
	}
	from_programs = in->n;
	for (i = 0; i < r->options->n_includes; i++)
		add(in, r->options->includes[i]);
	owners = owners_new(r->names, true);
	if (!owners)
		return -ENOMEM;
	for (i = 0; i < in->n; i++) {
		if (include_one(r, &in->list[i], owners, i) && i >= from_programs)
			error = in->list[i].error;
	}
	owners_free(owners);
	if (in->refused)
		fprintf(stderr, "proftrace: %u more trace%s that programs named not included\n",
			in->refused, in->refused == 1 ? "" : "s");
	return error;
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
		fprintf(stderr, "%s\n", in->truncated ? ", truncated" : "");
	}
}

void includes_json(const struct recording *r, FILE *out)
{
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
		fputc('}', out);
	}
	fputs("],\n", out);
}
