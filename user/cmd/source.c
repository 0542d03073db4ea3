/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace files that are read to be written again. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/rewrite.h"

static int failed(struct failure *f, const char *path, int error, const struct reader_error *why)
{
	char reason[sizeof(why->message) + 32];

	if (!why->message[0])
		return failure_set(f, error, "cannot read", path, NULL);
	if (error == -ENOEXEC)
		return failure_set(f, error, "cannot read", path, why->message);
	snprintf(reason, sizeof(reason), "at byte %" PRIu64 ": %s", why->offset, why->message);
	return failure_set(f, error, "cannot read", path, reason);
}

static int copy(int from, int to)
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

/* Replaces a pipe by a file of its contents, on the disk: it may be larger than the memory. */
static int keep_pipe(struct source *source, struct failure *f)
{
	const char *directory = getenv("TMPDIR");
	int fd, error;

	if (!directory || !*directory)
		directory = "/var/tmp";
	fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd < 0)
		return failure_set(f, -errno, "cannot keep a copy in", directory, NULL);
	error = copy(source->fd, fd);
	if (error) {
		close(fd);
		return failure_set(f, error, "cannot keep a copy of", source->path, NULL);
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
	return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) ? 0 : keep_pipe(source, f);
}

void source_close(struct source *source)
{
	if (source->fd > STDIN_FILENO)
		close(source->fd);
	source->fd = -1;
}

int source_read(struct source *source, const struct reader_sink *sink,
		struct reader_error *ret_error, struct failure *f)
{
	int error;

	if (lseek(source->fd, 0, SEEK_SET) < 0)
		return failure_set(f, -errno, "cannot read", source->path, NULL);
	error = trace_read_within(source->fd, sink, source->limits, ret_error);
	return error < 0 ? failed(f, source->path, error, ret_error) : error;
}

/* Stops at the first mark: what is said of the trace as a whole stands before it. */
static int look(void *context, const struct event *event)
{
	struct source *source = context;

	if (event->kind == EVENT_SWITCH && !source->switch_ns)
		source->switch_ns = event->ts_ns;
	if (event->kind > EVENT_STEP)
		return 0;
	source->first_ns = event->ts_ns;
	return 1;
}

int source_look(struct source *source, struct failure *f)
{
	struct reader_error why = { 0 };
	struct account account = { 0 };
	struct reader_sink sink = { look, source, names_new(0), &account, &source->origin, NULL };
	int error;

	if (!sink.names)
		return failure_set(f, -ENOMEM, "cannot read", source->path, NULL);
	error = source_read(source, &sink, &why, f);
	names_free(sink.names);
	return error < 0 ? error : 0;
}

static int look_for_first(void *context, const struct event *event)
{
	struct source *source = context;

	if (event->kind <= EVENT_STEP && event->ts_ns && event->ts_ns < source->first_ns)
		source->first_ns = event->ts_ns;
	return 0;
}

int source_find_first(struct source *source, struct failure *f)
{
	struct reader_error why = { 0 };
	struct account account = { 0 };
	struct reader_sink sink = { look_for_first, source, names_new(0), &account, NULL, NULL };
	int error;

	if (!sink.names)
		return failure_set(f, -ENOMEM, "cannot read", source->path, NULL);
	error = source_read(source, &sink, &why, f);
	names_free(sink.names);
	return error;
}

/* Of others' traces nothing but that is known; a file that whole packets are missing of reads like any. */
bool source_is_whole(const struct trace_origin *origin, const struct reader_error *end)
{
	return !end->truncated && (!origin->version[0] || origin->ending == ENDING_ORDERLY);
}

void source_tell_ending(const char *path, const struct trace_origin *origin,
			const struct reader_error *end)
{
	if (end->truncated)
		fprintf(stderr,
			"proftrace: '%s': truncated at byte %" PRIu64 ", read up to there\n", path,
			end->offset);
	else if (source_is_whole(origin, end))
		return;
	else if (origin->ending == ENDING_BROKEN)
		fprintf(stderr, "proftrace: '%s': its recording was broken off before its end\n",
			path);
	else
		fprintf(stderr,
			"proftrace: '%s': the end is missing: its recording was killed, or goes "
			"on\n",
			path);
}

static int ignore(void *context, const struct event *event)
{
	(void)context, (void)event;
	return 0;
}

/* By a description of its own: the other reading goes on where it is. */
void source_names(const struct source *source, struct names *names, struct callstacks *callstacks)
{
	struct account account = { 0 };
	const struct reader_sink sink = { ignore, NULL, names, &account, NULL, callstacks };
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
