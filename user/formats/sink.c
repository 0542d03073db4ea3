// SPDX-License-Identifier: BSD-2-Clause
/*
 * A trace must survive whatever happens to the process that writes it. The bytes go to a temporary file (target.h), and
 * the first sink_flush() renames it: with that call the owner of the sink says that the bytes so far make a valid
 * trace.
 *
 * gzip: Perfetto's loader rejects a compressed stream that is cut anywhere, even in its last eight bytes, but it
 * reads several complete streams in a row, which RFC 1952 allows and gunzip and zlib read as well. So every full
 * buffer becomes a stream of its own, in one write(): a recorder that is killed leaves a file that loads. This
 * costs about 2 % in size. libdeflate, which compresses whole buffers only, takes two thirds of zlib's time.
 *
 * SINK_BUNDLES: a packet of Perfetto may contain many others, compressed by zlib. Every full buffer becomes such a
 * packet. A file that ends in the middle of one is read up to the packet before it.
 *
 * The first error is sticky: every later write is refused, so that a file never has a hole.
 */
#include "formats/sink.h"

#include <errno.h>
#include <libdeflate.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/library/library.h"
#include "formats/perfetto/write_wire.h"
#include "formats/target.h"

enum {
	BUFFER_SIZE = 256 * 1024,
	CANCEL_POLL_MS = 100,		 /* between two calls of `cancelled` */
	LEVEL = 1,			 /* level 6 takes twice as long for a tenth of the size */
	MAX_MARK_ENDS = BUFFER_SIZE / 8, /* all marks beyond share the last one */
	/* TracePacket and compressed_packets in it: tags of one and two bytes, lengths below 2^28. */
	BUNDLE_HEAD = 1 + 4 + 2 + 4,
};

struct sink {
	struct sink_window window;
	struct target target;
	bool blocks; /* it does not support RWF_NOWAIT */
	bool (*cancelled)(void *context);
	void *context;
	int error;
	enum sink_format format;
	struct libdeflate_compressor *compressor;
	unsigned char *packed;
	size_t packed_size;
	uint64_t size;
	uint64_t marks;			   /* in the file */
	uint32_t mark_ends[MAX_MARK_ENDS]; /* of the marks in the buffer */
	uint64_t more_marks;		   /* of the buffer, which end with the last of these */
	char buffer[BUFFER_SIZE];
};

static int sink_fail(struct sink *sink, int error)
{
	if (!sink->error)
		sink->error = error;
	sink->window.end = sink->window.at;
	return sink->error;
}

static size_t sink_buffered(const struct sink *sink)
{
	return (size_t)(sink->window.at - sink->buffer);
}

/* --- opening ----------------------------------------------------------------------------------- */

static int sink_open_packed(struct sink *sink)
{
	int error = library_load(&library_deflate, NULL);

	if (error)
		return error;
	sink->compressor = libdeflate_alloc_compressor(LEVEL);
	if (!sink->compressor)
		return -ENOMEM;
	/* The bound of gzip is above that of zlib. */
	sink->packed_size = libdeflate_gzip_compress_bound(sink->compressor, BUFFER_SIZE);
	sink->packed = malloc(BUNDLE_HEAD + sink->packed_size);
	return sink->packed ? 0 : -ENOMEM;
}

const char *sink_refusal(int error)
{
	if (error == -ELIBACC)
		return "libdeflate, which compresses, cannot be loaded (on Debian: apt install "
		       "libdeflate0)";
	return error == -EPERM ? "the existing file belongs to another user" : NULL;
}

static int sink_open_at(const char *path, enum sink_format format, bool later,
			struct sink **ret_sink)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	int r;

	if (!sink)
		return -ENOMEM;
	sink->window = (struct sink_window){
		.start = sink->buffer,
		.at = sink->buffer,
		.end = sink->buffer + BUFFER_SIZE,
		.mark_ends = sink->mark_ends,
		.mark_ends_limit = sink->mark_ends + MAX_MARK_ENDS,
	};
	sink->target.fd = sink->target.directory = -1;
	sink->format = format;
	r = format == SINK_PLAIN ? 0 : sink_open_packed(sink);
	if (r == 0)
		r = target_open(&sink->target, path, later);
	if (r < 0) {
		sink_free(sink);
		return r;
	}
	*ret_sink = sink;
	return 0;
}

int sink_open(const char *path, enum sink_format format, struct sink **ret_sink)
{
	return sink_open_at(path, format, false, ret_sink);
}

int sink_open_later(const char *path, enum sink_format format, struct sink **ret_sink)
{
	return sink_open_at(path, format, true, ret_sink);
}

/* --- writing ----------------------------------------------------------------------------------- */

void sink_set_cancel(struct sink *sink, bool (*cancelled)(void *context), void *context)
{
	sink->cancelled = cancelled;
	sink->context = context;
}

/* Waits for poll() to report POLLOUT. Returns 0, or -ECANCELED. */
static int sink_wait_writable(struct sink *sink)
{
	struct pollfd pollfd = { .fd = sink->target.fd, .events = POLLOUT };

	while (poll(&pollfd, 1, sink->cancelled ? CANCEL_POLL_MS : -1) <= 0) {
		if (sink->cancelled && sink->cancelled(sink->context))
			return -ECANCELED;
	}
	return 0;
}

/*
 * write() to a pipe blocks until all bytes are written, even when the user asks us to stop. O_NONBLOCK would also
 * change the pipe for all other processes that have it open. So RWF_NOWAIT makes only this write not block. Where
 * the kernel does not support that (pipes before 6.4), poll() precedes a write of at most PIPE_BUF bytes, which
 * then fits.
 */
static ssize_t sink_write_some(struct sink *sink, const void *bytes, size_t size)
{
	const struct iovec iov = { (void *)bytes, size };
	ssize_t n;
	int error;

	if (sink->target.regular)
		return write(sink->target.fd, bytes, size);
	if (!sink->blocks) {
		n = pwritev2(sink->target.fd, &iov, 1, -1, RWF_NOWAIT);
		if (n >= 0 || (errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS))
			return n;
		sink->blocks = true;
	}
	error = sink_wait_writable(sink);
	if (error) {
		errno = ECANCELED;
		return -1;
	}
	return write(sink->target.fd, bytes, size < PIPE_BUF ? size : PIPE_BUF);
}

static int sink_write_all(struct sink *sink, const void *bytes, size_t size)
{
	const char *at = bytes;
	uint64_t start = sink->size;

	while (size > 0) {
		ssize_t n = sink_write_some(sink, at, size);

		if (n > 0) {
			at += n;
			size -= n;
			sink->size += n;
		} else if (n < 0 && errno == EAGAIN) {
			if (sink_wait_writable(sink))
				return sink_fail(sink, -ECANCELED);
		} else if (n < 0 && errno == ECANCELED) {
			return sink_fail(sink, -ECANCELED);
		} else if (n == 0 || errno != EINTR) {
			int error = n == 0 ? -EIO : -errno;

			/* A partial gzip stream would make all streams before it unreadable. */
			if (sink->format != SINK_PLAIN && sink->target.regular &&
			    ftruncate(sink->target.fd, start) == 0)
				sink->size = start;
			return sink_fail(sink, error);
		}
	}
	return 0;
}

/* Writes the tags and lengths of a packet before its contents of `size` bytes. Returns where the packet begins. */
static uint8_t *bundle_put_head(uint8_t *contents, size_t size)
{
	uint8_t inner[BUNDLE_HEAD + 4], outer[BUNDLE_HEAD + 4];
	uint8_t *at = wire_varint(inner, PACKET_COMPRESSED << 3 | WIRE_LENGTH);
	size_t n_inner = wire_varint(at, size) - inner, n_outer;

	at = wire_varint(outer, TRACE_PACKET << 3 | WIRE_LENGTH);
	n_outer = wire_varint(at, n_inner + size) - outer;
	memcpy(contents - n_inner, inner, n_inner);
	memcpy(contents - n_inner - n_outer, outer, n_outer);
	return contents - n_inner - n_outer;
}

void sink_count_marks_slow(struct sink *sink, uint64_t n)
{
	struct sink_window *window = &sink->window;

	for (; n && window->mark_ends < window->mark_ends_limit; n--)
		*window->mark_ends++ = (uint32_t)sink_buffered(sink);
	if (n) {
		window->mark_ends[-1] = (uint32_t)sink_buffered(sink);
		sink->more_marks += n;
	}
}

/* How many marks end within the first `bytes` bytes of the buffer: nearly always all of them or none. */
static uint64_t sink_marks_within(const struct sink *sink, size_t bytes)
{
	size_t i, n = (size_t)(sink->window.mark_ends - sink->mark_ends);

	if (n && sink->mark_ends[n - 1] <= bytes)
		return n + sink->more_marks;
	for (i = 0; i < n && sink->mark_ends[i] <= bytes; i++)
		;
	return i;
}

/* Call it when `written` bytes of the buffer are in the file. */
static void sink_add_written_marks(struct sink *sink, size_t written)
{
	sink->marks += sink_marks_within(sink, written);
	sink->window.mark_ends = sink->mark_ends;
	sink->more_marks = 0;
}

static int sink_drain_packed(struct sink *sink, size_t used)
{
	unsigned char *start = sink->packed + BUNDLE_HEAD, *end = start;

	if (sink->format == SINK_GZIP)
		end += libdeflate_gzip_compress(sink->compressor, sink->buffer, used, start,
						sink->packed_size);
	else
		end += libdeflate_zlib_compress(sink->compressor, sink->buffer, used, start,
						sink->packed_size);
	if (end == start)
		return sink_fail(sink, -EIO);
	if (sink->format == SINK_BUNDLES)
		start = bundle_put_head(start, end - start);
	return sink_write_all(sink, start, end - start);
}

static int sink_drain(struct sink *sink)
{
	size_t used = sink_buffered(sink);
	uint64_t before = sink->size;

	if (sink->error || used == 0)
		return sink->error;
	sink->window.at = sink->buffer;
	if (sink->format == SINK_PLAIN)
		sink_write_all(sink, sink->buffer, used);
	else
		sink_drain_packed(sink, used);
	if (!sink->error)
		sink_add_written_marks(sink, used);
	else
		sink_add_written_marks(sink, sink->format == SINK_PLAIN ? sink->size - before : 0);
	return sink->error;
}

char *sink_reserve_slow(struct sink *sink, size_t size)
{
	if (size > SINK_MAX_RESERVE)
		sink_fail(sink, -EMSGSIZE);
	if (BUFFER_SIZE - sink_buffered(sink) < size)
		sink_drain(sink);
	return sink->error ? NULL : sink->window.at;
}

int sink_write(struct sink *sink, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size > 0) {
		size_t part = size < SINK_MAX_RESERVE ? size : SINK_MAX_RESERVE;
		char *space = sink_reserve(sink, part);

		if (!space)
			return sink->error;
		memcpy(space, at, part);
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
	/* Too large for a bundle: written between two bundles, uncompressed. */
	return sink_drain(sink) < 0 ? sink->error : sink_write_all(sink, bytes, size);
}

static void sink_remove_temporary(struct sink *sink)
{
	target_remove(&sink->target);
	sink->size = 0;
	sink_add_written_marks(sink, 0);
	sink->marks = 0;
}

/* Returns what target_place() returns, but somebody may also have removed the file. */
static int sink_place(struct sink *sink)
{
	int refused = target_place(&sink->target);

	if (refused != -ENOENT)
		return refused;
	sink_fail(sink, refused);
	sink_remove_temporary(sink);
	return 0;
}

/* What cannot be renamed at all lies under its temporary name. */
static void sink_place_finally(struct sink *sink)
{
	int refused = sink_place(sink);

	if (refused)
		target_keep_temporary(&sink->target, refused);
}

int sink_flush(struct sink *sink)
{
	sink_drain(sink);
	/* If this fails, it is tried again: a full disk may have no space for a rename. */
	if (!sink->error)
		sink_place(sink);
	return sink->error;
}

int sink_close(struct sink *sink)
{
	sink_drain(sink);
	if (sink->target.fd >= 0) {
		/* Some file systems report a full disk only on close(). After EINTR it is closed. */
		if (close(sink->target.fd) < 0 && errno != EINTR)
			sink_fail(sink, -errno);
		sink->target.fd = -1;
	}
	if (!sink->error)
		sink_place_finally(sink);
	return sink->error;
}

void sink_settle(struct sink *sink)
{
	if (!sink->target.temporary)
		return;
	if (!sink->error || !sink->size)
		sink_remove_temporary(sink);
	else
		sink_place_finally(sink);
}

int sink_displaced(const struct sink *sink, const char **ret_path)
{
	*ret_path = sink->target.path;
	return sink->target.temporary ? 0 : sink->target.refused;
}

int sink_displaced_failure(const struct sink *sink, const char *wanted, struct failure *f)
{
	const char *path;
	int error = sink_displaced(sink, &path);

	if (!error)
		return 0;
	failure_set(f, error, "cannot write", wanted, sink_refusal(error));
	failure_hint(f, "the output is in the same directory, as '%s'", sink->target.name);
	return error;
}

bool sink_temporary(const struct sink *sink, int *ret_directory, const char **ret_name)
{
	*ret_directory = sink->target.directory;
	*ret_name = sink->target.temporary;
	return sink->target.temporary != NULL;
}

void sink_abandon(struct sink *sink)
{
	if (sink && sink->target.temporary)
		sink_remove_temporary(sink);
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
	target_close(&sink->target);
	if (sink->compressor)
		libdeflate_free_compressor(sink->compressor);
	free(sink->packed);
	free(sink);
}

int sink_error(const struct sink *sink)
{
	return sink->error;
}

uint64_t sink_marks(const struct sink *sink)
{
	return sink->marks + sink_marks_within(sink, 0);
}

uint64_t sink_size(const struct sink *sink)
{
	return sink->size;
}

uint64_t sink_expected_size(const struct sink *sink)
{
	return sink->size + (sink->format == SINK_PLAIN ? sink_buffered(sink) : 0);
}

bool sink_identity(const struct sink *sink, dev_t *ret_device, ino_t *ret_inode)
{
	struct stat st;

	if (!sink->target.regular || sink->target.fd < 0 || fstat(sink->target.fd, &st))
		return false;
	*ret_device = st.st_dev;
	*ret_inode = st.st_ino;
	return true;
}
