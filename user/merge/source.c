/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trace files that are read in order to be written again: opening, first marks, and how a file
 * ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "merge/rewrite.h"

int source_read_failed(struct failure *f, const char *path, int error,
		       const struct reader_error *why)
{
	char reason[sizeof(why->message) + 32];

	snprintf(reason, sizeof(reason), "at byte %" PRIu64 ": %s", why->offset, why->message);
	failure_set(f, error, "cannot read", path,
		    !why->message[0]			     ? NULL
		    : error == -ENOEXEC || error == -ELIBACC ? why->message
							     : reason);
	if (error == -ELIBACC)
		failure_hint_library(f, "libyajl2");
	if (error == -EBADMSG || error == -E2BIG)
		failure_hint(f, "the file is damaged, or no profiler wrote it");
	if (error == -EFBIG && why->message[0])
		failure_hint(f, "if you trust the file, unpack it with gunzip, or with 'traceconv "
				"decompress_packets'");
	return error;
}

static int copy_bytes(int from, int to)
{
	char bytes[65536];
	ssize_t n, done, at;

	while ((n = read(from, bytes, sizeof(bytes))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		for (at = 0; at < n; at += done) {
			done = write(to, bytes + at, (size_t)(n - at));
			if (done < 0 && errno == EINTR)
				done = 0;
			if (done < 0)
				return -errno;
		}
	}
	return lseek(to, 0, SEEK_SET) < 0 ? -errno : 0;
}

/*
 * Replaces a pipe by a file with its contents. The file is on disk because it may be larger than
 * the memory.
 */
static int copy_pipe(struct source *source, struct failure *f)
{
	const char *directory = getenv("TMPDIR");
	int fd, error;

	if (!directory || !*directory)
		directory = "/var/tmp";
	fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd < 0)
		return failure_set(f, -errno, "cannot create a copy in", directory, NULL);
	error = copy_bytes(source->fd, fd);
	if (error) {
		close(fd);
		return failure_set(f, error, "cannot copy", source->path, NULL);
	}
	if (source->fd != STDIN_FILENO)
		close(source->fd);
	source->fd = fd;
	return 0;
}

int source_open(struct source *source, const char *path, struct failure *f)
{
	struct stat st;

	*source = (struct source){ .path = path, .fd = STDIN_FILENO };
	if (strcmp(path, "-"))
		source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (source->fd < 0)
		return failure_set(f, -errno, "cannot open", path, NULL);
	if (fstat(source->fd, &st))
		return failure_set(f, -errno, "cannot open", path, NULL);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return copy_pipe(source, f);
	if (source->fd != STDIN_FILENO)
		source->reopen = st;
	return 0;
}

void source_close(struct source *source)
{
	if (source->fd > STDIN_FILENO)
		close(source->fd);
	source->fd = -1;
}

void source_rest(struct source *source)
{
	if (source->reopen.st_nlink)
		source_close(source);
}

int source_rewind(struct source *source, struct failure *f)
{
	const struct stat *was = &source->reopen;
	struct stat st;

	if (source->fd < 0 && was->st_nlink) {
		source->fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (source->fd < 0)
			return failure_set(f, -errno, "cannot open", source->path, NULL);
		if (!fstat(source->fd, &st) &&
		    (st.st_ino != was->st_ino || st.st_dev != was->st_dev))
			return failure_set(f, -ESTALE, "cannot read", source->path,
					   "another file replaced it meanwhile");
	}
	if (lseek(source->fd, 0, SEEK_SET) < 0)
		return failure_set(f, -errno, "cannot read", source->path, NULL);
	return 0;
}

int source_read(struct source *source, const struct reader_sink *sink,
		struct reader_error *ret_error, struct failure *f)
{
	int error = source_rewind(source, f);

	if (error)
		return error;
	if (source->limits || source->quiet)
		error = trace_read_within(source->fd, sink, source->limits, ret_error);
	else
		error = source_read_shown(source->fd, source->path, sink, ret_error);
	source_rest(source);
	return error < 0 ? source_read_failed(f, source->path, error, ret_error) : error;
}

int source_read_events(struct source *source,
		       int (*event)(void *context, const struct event *event), void *context,
		       struct failure *f)
{
	struct reader_error end = { 0 };
	struct account account = { 0 };
	const struct reader_sink sink = { event, context, names_new(0), &account, NULL, NULL };
	int error;

	if (!sink.names)
		return failure_set(f, -ENOMEM, "cannot read", source->path, NULL);
	error = source_read(source, &sink, &end, f);
	names_free(sink.names);
	return error;
}

/* Stops at the first mark: what a trace says about itself comes before it. */
static int source_note_first_times(void *context, const struct event *event)
{
	struct source *source = context;

	if (event->kind == EVENT_SWITCH && !source->switch_ns)
		source->switch_ns = event->ts_ns;
	if (event->kind > EVENT_STEP)
		return 0;
	source->first_ns = event->ts_ns;
	return 1;
}

/* Passes all events to `each`, which keeps none of their names. */
static int source_scan(struct source *source, int (*each)(void *context, const struct event *event),
		       struct trace_origin *origin, struct failure *f)
{
	struct reader_error why = { 0 };
	struct account account = { 0 };
	struct reader_sink sink = { each, source, names_new(0), &account, origin, NULL };
	int error;

	if (!sink.names)
		return failure_set(f, -ENOMEM, "cannot read", source->path, NULL);
	error = source_read(source, &sink, &why, f);
	names_free(sink.names);
	return error;
}

int source_read_start(struct source *source, struct failure *f)
{
	const int error = source_scan(source, source_note_first_times, &source->origin, f);

	return error < 0 ? error : 0;
}

static int update_first_ns(void *context, const struct event *event)
{
	struct source *source = context;

	if (event->kind <= EVENT_STEP && event->ts_ns && event->ts_ns < source->first_ns)
		source->first_ns = event->ts_ns;
	return 0;
}

int source_find_first(struct source *source, struct failure *f)
{
	return source_scan(source, update_first_ns, NULL, f);
}

/*
 * Traces of other programs do not say whether they are complete; one that ends between two packets
 * looks complete.
 */
bool source_is_whole(const struct trace_origin *origin, const struct reader_error *end)
{
	return !end->truncated && !origin->records_missing &&
	       (!origin->version[0] || origin->ending == ENDING_ORDERLY);
}

void source_print_ending(const char *path, const struct trace_origin *origin,
			 const struct reader_error *end)
{
	if (end->truncated)
		print_visible(stderr,
			      "proftrace: '%s': truncated at byte %" PRIu64 ", read up to there\n",
			      path, end->offset);
	else if (source_is_whole(origin, end))
		return;
	else if (origin->records_missing)
		print_visible(stderr,
			      "proftrace: '%s': %" PRIu64 " of %" PRIu64
			      " %s that were written are missing from this file: it is damaged\n",
			      path, origin->records_missing, origin->records, origin->record_name);
	else if (origin->ending == ENDING_BROKEN)
		print_visible(stderr, "proftrace: '%s': its recording was aborted\n", path);
	else
		print_visible(
			stderr,
			"proftrace: '%s': the end is missing: its recording was killed, or is "
			"still running\n",
			path);
}

static int ignore_event(void *context, const struct event *event)
{
	(void)context, (void)event;
	return 0;
}

/* Opens the file anew, so that the position of the other reading does not change. */
void source_names(const struct source *source, struct names *names, struct callstacks *callstacks)
{
	struct account account = { 0 };
	const struct reader_sink sink = { ignore_event, NULL, names, &account, NULL, callstacks };
	struct reader_error why = { 0 };
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", source->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return;
	trace_read(fd, &sink, &why);
	close(fd);
}
