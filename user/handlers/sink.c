// SPDX-License-Identifier: BSD-2-Clause
/*
 * A trace must survive whatever happens to the one who writes it, and must not destroy an older one
 * before it is worth more. So the bytes go to a temporary file with a name nobody can guess, in the
 * directory of the real one, and a rename puts it in place at the first flush: that is the moment
 * the owner of the sink says that what is there can be loaded. Devices, pipes and standard output
 * cannot be renamed over and are written to directly.
 *
 * gzip: a compressed stream that is cut anywhere, even in its last eight bytes, is refused as a whole
 * by Perfetto's loader, while several whole streams one after the other are fine (RFC 1952 allows
 * them, gunzip and zlib read them). So every full buffer becomes a stream of its own, written by one
 * write(): a recorder killed without warning leaves a file that loads. It costs about 2 % in size.
 *
 * Perfetto's own way: a packet may hold many others, compressed by zlib. Every full buffer becomes such
 * a bundle. What is cut off in the middle of one is read up to the one before it.
 *
 * The first error stays: everything after it is refused, so that a file never has a hole.
 */
#include "handlers/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>

enum {
	BUFFER_SIZE = 256 * 1024,
	PATIENCE_MS =
		100, /* between two questions whether a reader that takes nothing is given up */
	ZLIB_WINDOW = 15,		/* the largest */
	GZIP_WINDOW = ZLIB_WINDOW + 16, /* zlib's way of saying: gzip's header and trailer */
	LEVEL = 1, /* a recorder must keep up; level 6 takes four times as long */
	MOST_NOTED = BUFFER_SIZE / 8, /* places of marks; then several share the last one */
	/* TracePacket, and compressed_packets in it: a tag of one and of two bytes, lengths below 2^28. */
	BUNDLE_HEAD = 1 + 4 + 2 + 4,
};

struct sink {
	struct sink_room room;
	char *path;
	char *temporary;  /* name within the directory; NULL once renamed, or without a rename */
	const char *name; /* the last part of path */
	int directory;	  /* -1: no rename is due */
	int fd;
	bool regular;
	bool blocks; /* writes to it cannot be told not to wait */
	bool (*give_up)(void *context);
	void *context;
	int error;
	enum sink_format format;
	z_stream z;
	bool z_ready;
	unsigned char *packed;
	size_t packed_size;
	uint64_t bytes; /* but those in the buffer */
	uint64_t size;
	uint64_t marks;		    /* that are on disk, and those in the buffer: */
	uint32_t noted[MOST_NOTED]; /* where each of them ends */
	uint64_t more_marks;	    /* end where the last of these does */
	char buffer[BUFFER_SIZE];
};

static int fail(struct sink *sink, int error)
{
	if (!sink->error)
		sink->error = error;
	sink->room.end = sink->room.at;
	return sink->error;
}

static size_t used_of(const struct sink *sink)
{
	return (size_t)(sink->room.at - sink->buffer);
}

/* --- opening ----------------------------------------------------------------------------------- */

static int random_letters(char *out, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char bytes[16];

	if (getrandom(bytes, n, 0) != (ssize_t)n)
		return -EIO;
	for (size_t i = 0; i < n; i++)
		out[i] = letters[bytes[i] % 32];
	return 0;
}

static int create_temporary(struct sink *sink)
{
	/* Room for ".", ".XXXXXXXX.tmp" and as much of the name as still fits a name of 255 bytes. */
	char name[256];
	char unique[9] = "";

	for (int tries = 0; tries < 16; tries++) {
		int r = random_letters(unique, 8);

		if (r < 0)
			return r;
		snprintf(name, sizeof(name), ".%.*s.%s.tmp", 240, sink->name, unique);
		sink->fd = openat(sink->directory, name,
				  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (sink->fd >= 0) {
			sink->temporary = strdup(name);
			if (sink->temporary)
				return 0;
			unlinkat(sink->directory, name, 0);
			return -ENOMEM;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Where anybody else's leads, to whose disk, is not for them to say. */
static bool is_own_link(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISLNK(st.st_mode) &&
	       (st.st_uid == 0 || st.st_uid == geteuid());
}

/* A device, a pipe, a terminal. What was looked at may have been replaced since: look again. */
static int open_special(struct sink *sink)
{
	const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
	struct stat st;

	sink->fd = open(sink->path, flags | O_NOFOLLOW);
	if (sink->fd < 0 && errno == ELOOP && is_own_link(sink->path))
		sink->fd = open(sink->path, flags);
	if (sink->fd < 0)
		return -errno;
	if (fstat(sink->fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? -EEXIST : 0;
}

/* What would make the rename fail is said now, before anything has been recorded. */
static int check_rename(const struct sink *sink)
{
	struct stat dir, old;
	uid_t me = geteuid();

	if (strlen(sink->name) > NAME_MAX)
		return -ENAMETOOLONG;
	if (fstat(sink->directory, &dir) < 0)
		return -errno;
	if (!(dir.st_mode & S_ISVTX) || me == 0 || me == dir.st_uid)
		return 0;
	if (fstatat(sink->directory, sink->name, &old, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return old.st_uid == me ? 0 : -EPERM;
}

static int open_beside(struct sink *sink)
{
	const char *slash = strrchr(sink->path, '/');
	char *directory;
	int r;

	sink->name = slash ? slash + 1 : sink->path;
	if (!sink->name[0])
		return -EISDIR;
	if (!slash)
		directory = strdup(".");
	else
		directory = strndup(sink->path, slash == sink->path ? 1 : slash - sink->path);
	if (!directory)
		return -ENOMEM;
	sink->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(directory);
	if (sink->directory < 0)
		return -errno;
	sink->regular = true;
	r = check_rename(sink);
	return r < 0 ? r : create_temporary(sink);
}

/* By name these are links, which a file would take the place of where they lead to one. */
static int standard_stream(const char *path)
{
	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	return strcmp(path, "/dev/stderr") ? -1 : STDERR_FILENO;
}

static int open_target(struct sink *sink)
{
	int stream = standard_stream(sink->path);
	struct stat st;

	if (stream >= 0) {
		sink->fd = fcntl(stream, F_DUPFD_CLOEXEC, 3);
		return sink->fd < 0 ? -errno : 0;
	}
	if (!sink->path[0])
		return -ENOENT;
	if (stat(sink->path, &st) == 0 && !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : open_special(sink);
	return open_beside(sink);
}

static int open_packed(struct sink *sink)
{
	int window = sink->format == SINK_GZIP ? GZIP_WINDOW : ZLIB_WINDOW;

	if (deflateInit2(&sink->z, LEVEL, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	sink->z_ready = true;
	sink->packed_size = BUNDLE_HEAD + deflateBound(&sink->z, BUFFER_SIZE);
	sink->packed = malloc(sink->packed_size);
	return sink->packed ? 0 : -ENOMEM;
}

int sink_open(const char *path, enum sink_format format, struct sink **ret_sink)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	int r = -ENOMEM;

	if (!sink)
		return -ENOMEM;
	sink->room = (struct sink_room){
		.start = sink->buffer,
		.at = sink->buffer,
		.end = sink->buffer + BUFFER_SIZE,
		.noted = sink->noted,
		.noted_end = sink->noted + MOST_NOTED,
	};
	sink->fd = -1;
	sink->directory = -1;
	sink->format = format;
	sink->path = strdup(path);
	if (sink->path)
		r = format == SINK_PLAIN ? 0 : open_packed(sink);
	if (r == 0)
		r = open_target(sink);
	if (r < 0) {
		sink_free(sink);
		return r;
	}
	*ret_sink = sink;
	return 0;
}

/* --- writing ----------------------------------------------------------------------------------- */

void sink_set_patience(struct sink *sink, bool (*give_up)(void *context), void *context)
{
	sink->give_up = give_up;
	sink->context = context;
}

/* Waits until there is room. Returns 0, or -ECANCELED when it was given up. */
static int wait_for_room(struct sink *sink)
{
	struct pollfd pollfd = { .fd = sink->fd, .events = POLLOUT };

	while (poll(&pollfd, 1, sink->give_up ? PATIENCE_MS : -1) <= 0) {
		if (sink->give_up && sink->give_up(sink->context))
			return -ECANCELED;
	}
	return 0;
}

/*
 * A write to a pipe ends when all is written, whoever wants us to stop meanwhile. Making the pipe
 * non-blocking would do so for others that have it, too. So this one write is asked not to wait; where
 * the kernel cannot do that (pipes before 6.4), what is written after a look is no more than fits.
 */
static ssize_t write_some(struct sink *sink, const void *bytes, size_t size)
{
	const struct iovec iov = { (void *)bytes, size };
	ssize_t n;
	int error;

	if (sink->regular)
		return write(sink->fd, bytes, size);
	if (!sink->blocks) {
		n = pwritev2(sink->fd, &iov, 1, -1, RWF_NOWAIT);
		if (n >= 0 || (errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS))
			return n;
		sink->blocks = true;
	}
	error = wait_for_room(sink);
	if (error) {
		errno = ECANCELED;
		return -1;
	}
	return write(sink->fd, bytes, size < PIPE_BUF ? size : PIPE_BUF);
}

static int write_all(struct sink *sink, const void *bytes, size_t size)
{
	const char *at = bytes;
	uint64_t start = sink->size;

	while (size > 0) {
		ssize_t n = write_some(sink, at, size);

		if (n > 0) {
			at += n;
			size -= n;
			sink->size += n;
		} else if (n < 0 && errno == EAGAIN) {
			if (wait_for_room(sink))
				return fail(sink, -ECANCELED);
		} else if (n < 0 && errno == ECANCELED) {
			return fail(sink, -ECANCELED);
		} else if (n == 0 || errno != EINTR) {
			int error = n == 0 ? -EIO : -errno;

			/* Part of a gzip stream would make all before it unreadable. */
			if (sink->format != SINK_PLAIN && sink->regular &&
			    ftruncate(sink->fd, start) == 0)
				sink->size = start;
			return fail(sink, error);
		}
	}
	return 0;
}

static unsigned char *put_varint(unsigned char *at, size_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (unsigned char)value | 0x80;
	*at++ = (unsigned char)value;
	return at;
}

/* Puts before the contents, which are `size` bytes, what makes them a packet. Returns its beginning. */
static unsigned char *put_bundle_head(unsigned char *contents, size_t size)
{
	unsigned char inner[BUNDLE_HEAD] = { 0x92, 0x03 }, outer[BUNDLE_HEAD] = { 0x0a };
	size_t n_inner = put_varint(inner + 2, size) - inner, n_outer;

	n_outer = put_varint(outer + 1, n_inner + size) - outer;
	memcpy(contents - n_inner, inner, n_inner);
	memcpy(contents - n_inner - n_outer, outer, n_outer);
	return contents - n_inner - n_outer;
}

void sink_note_many(struct sink *sink, uint64_t n)
{
	struct sink_room *room = &sink->room;

	for (; n && room->noted < room->noted_end; n--)
		*room->noted++ = (uint32_t)used_of(sink);
	if (n) {
		room->noted[-1] = (uint32_t)used_of(sink);
		sink->more_marks += n;
	}
}

/* How many end within so many bytes of the buffer: nearly always all, or none. */
static uint64_t noted_within(const struct sink *sink, size_t bytes)
{
	size_t i, n = (size_t)(sink->room.noted - sink->noted);

	if (n && sink->noted[n - 1] <= bytes)
		return n + sink->more_marks;
	for (i = 0; i < n && sink->noted[i] <= bytes; i++)
		;
	return i;
}

/* So many bytes of the buffer are on disk. */
static void take_noted(struct sink *sink, size_t written)
{
	sink->marks += noted_within(sink, written);
	sink->room.noted = sink->noted;
	sink->more_marks = 0;
}

static int drain_packed(struct sink *sink, size_t used)
{
	unsigned char *start = sink->packed + BUNDLE_HEAD, *end;

	deflateReset(&sink->z);
	sink->z.next_in = (unsigned char *)sink->buffer;
	sink->z.avail_in = used;
	sink->z.next_out = start;
	sink->z.avail_out = sink->packed_size - BUNDLE_HEAD;
	if (deflate(&sink->z, Z_FINISH) != Z_STREAM_END)
		return fail(sink, -EIO);
	end = sink->z.next_out;
	if (sink->format == SINK_BUNDLES)
		start = put_bundle_head(start, end - start);
	return write_all(sink, start, end - start);
}

static int drain(struct sink *sink)
{
	size_t used = used_of(sink);
	uint64_t before = sink->size;

	if (sink->error || used == 0)
		return sink->error;
	sink->bytes += used;
	sink->room.at = sink->buffer;
	if (sink->format == SINK_PLAIN)
		write_all(sink, sink->buffer, used);
	else
		drain_packed(sink, used);
	if (!sink->error)
		take_noted(sink, used);
	else
		take_noted(sink, sink->format == SINK_PLAIN ? sink->size - before : 0);
	return sink->error;
}

char *sink_make_room(struct sink *sink, size_t size)
{
	if (size > SINK_MAX_RESERVE)
		fail(sink, -EMSGSIZE);
	if (BUFFER_SIZE - used_of(sink) < size)
		drain(sink);
	return sink->error ? NULL : sink->room.at;
}

int sink_write(struct sink *sink, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size > 0) {
		size_t part = size < SINK_MAX_RESERVE ? size : SINK_MAX_RESERVE;
		char *room = sink_reserve(sink, part);

		if (!room)
			return sink->error;
		memcpy(room, at, part);
		sink_commit(sink, part);
		at += part;
		size -= part;
	}
	return sink->error;
}

int sink_write_whole(struct sink *sink, const void *bytes, size_t size)
{
	if (size <= SINK_MAX_RESERVE || sink->format != SINK_BUNDLES)
		return sink_write(sink, bytes, size);
	/* Too large for a bundle: it stands between two, as it is. */
	if (drain(sink) < 0 || write_all(sink, bytes, size) < 0)
		return sink->error;
	sink->bytes += size;
	return 0;
}

static int take_name(struct sink *sink)
{
	if (sink->error || !sink->temporary)
		return sink->error;
	if (renameat(sink->directory, sink->temporary, sink->directory, sink->name) < 0)
		return fail(sink, -errno);
	free(sink->temporary);
	sink->temporary = NULL;
	return 0;
}

int sink_flush(struct sink *sink)
{
	drain(sink);
	return take_name(sink);
}

int sink_close(struct sink *sink)
{
	drain(sink);
	if (sink->fd >= 0) {
		/* Some file systems say only now that the disk is full. EINTR: it is closed. */
		if (close(sink->fd) < 0 && errno != EINTR)
			fail(sink, -errno);
		sink->fd = -1;
	}
	return take_name(sink);
}

/* Where nothing has got its name, nothing is there. */
static void remove_temporary(struct sink *sink)
{
	unlinkat(sink->directory, sink->temporary, 0);
	free(sink->temporary);
	sink->temporary = NULL;
	sink->size = 0;
	take_noted(sink, 0);
	sink->marks = 0;
}

void sink_settle(struct sink *sink)
{
	if (!sink->temporary)
		return;
	/* Where there is no room, there may be none for a name either. */
	if (!sink->error || !sink->size ||
	    renameat(sink->directory, sink->temporary, sink->directory, sink->name) < 0) {
		remove_temporary(sink);
		return;
	}
	free(sink->temporary);
	sink->temporary = NULL;
}

bool sink_temporary(const struct sink *sink, int *ret_directory, const char **ret_name)
{
	*ret_directory = sink->directory;
	*ret_name = sink->temporary;
	return sink->temporary != NULL;
}

void sink_abandon(struct sink *sink)
{
	if (sink && sink->temporary)
		remove_temporary(sink);
}

void sink_discard(struct sink *sink)
{
	sink_abandon(sink);
	sink_free(sink);
}

void sink_free(struct sink *sink)
{
	if (!sink)
		return;
	sink_settle(sink);
	if (sink->fd >= 0)
		close(sink->fd);
	if (sink->directory >= 0)
		close(sink->directory);
	if (sink->z_ready)
		deflateEnd(&sink->z);
	free(sink->packed);
	free(sink->path);
	free(sink);
}

int sink_error(const struct sink *sink)
{
	return sink->error;
}

uint64_t sink_bytes(const struct sink *sink)
{
	return sink->bytes + used_of(sink);
}

uint64_t sink_marks(const struct sink *sink)
{
	return sink->marks + noted_within(sink, 0);
}

uint64_t sink_size(const struct sink *sink)
{
	return sink->size;
}

uint64_t sink_expected_size(const struct sink *sink)
{
	return sink->size + (sink->format == SINK_PLAIN ? used_of(sink) : 0);
}

bool sink_identity(const struct sink *sink, dev_t *ret_device, ino_t *ret_inode)
{
	struct stat st;

	if (!sink->regular || sink->fd < 0 || fstat(sink->fd, &st))
		return false;
	*ret_device = st.st_dev;
	*ret_inode = st.st_ino;
	return true;
}

const char *sink_path(const struct sink *sink)
{
	return sink->path;
}
