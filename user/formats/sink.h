/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sink is a file being written: buffered, optionally compressed, and renamed into place only when its contents
 * can be loaded, so that a recording that captured nothing does not destroy an older trace of that name. Short
 * writes, EINTR and full disks are handled here and nowhere else.
 */
#ifndef PROFTRACE_FORMATS_SINK_H
#define PROFTRACE_FORMATS_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/failure.h"
#include "timeline/consumer.h"
#include "timeline/origin.h"

struct sink;

enum sink_format {
	SINK_PLAIN,
	SINK_GZIP,
	SINK_BUNDLES, /* of a Perfetto trace: each buffer of packets becomes a packet that contains them */
};

/*
 * Opens `path` ("-": standard output) by creating a temporary file beside it, with O_EXCL, O_NOFOLLOW, mode 0600
 * and an unpredictable name. Returns 0 or negative errno. The file gets its name at the first sink_flush(), or another name
 * if that is refused: sink_displaced(). A
 * symbolic link of that name is replaced, not followed; a link to a device or a pipe is followed if it belongs to
 * root or to us. A FIFO of another user, and a link to one, is refused with -EPERM.
 */
int sink_open(const char *path, enum sink_format format, struct sink **ret_sink);
/*
 * The same for a file of something that has begun and must not be lost: what has the name, and cannot be replaced, is no
 * error, but the file gets another name.
 */
int sink_open_later(const char *path, enum sink_format format, struct sink **ret_sink);
/* The reason of an error of sink_open() if strerror() does not describe it, else NULL. */
const char *sink_refusal(int error);

/*
 * The reader of a pipe or a terminal may never read. While a write waits for it, `cancelled` is called a few times
 * a second; when that returns true, the sink fails with -ECANCELED.
 */
void sink_set_cancel(struct sink *sink, bool (*cancelled)(void *context), void *context);

/* The first member of struct sink: what the inline functions below need of it. */
struct sink_window {
	char *start; /* of the buffer */
	char *at;    /* where the next byte goes */
	char *end;   /* of the free space; equal to `at` after an error */
	uint32_t *
		mark_ends; /* where the end of the next mark is stored, as an offset from `start` */
	uint32_t *mark_ends_limit;
};

#define SINK_MAX_RESERVE 65536

char *sink_reserve_slow(struct sink *sink, size_t size);

/*
 * Reserves at least `size` bytes (at most 64 KiB) of the buffer, or returns NULL after an error. sink_commit() then
 * says how many of them were used. Both are inline because every event calls them.
 */
static inline char *sink_reserve(struct sink *sink, size_t size)
{
	const struct sink_window *window = (const struct sink_window *)sink;

	if (size > SINK_MAX_RESERVE || (size_t)(window->end - window->at) < size)
		return sink_reserve_slow(sink, size);
	return window->at;
}

/* Whether the buffer has `size` free bytes at sink_at() without a write to the file. False after an error. */
static inline bool sink_has_space(const struct sink *sink, size_t size)
{
	const struct sink_window *window = (const struct sink_window *)sink;

	return (size_t)(window->end - window->at) >= size;
}

static inline char *sink_at(const struct sink *sink)
{
	return ((const struct sink_window *)sink)->at;
}

static inline void sink_commit(struct sink *sink, size_t used)
{
	((struct sink_window *)sink)->at += used;
}

int sink_write(struct sink *sink, const void *bytes, size_t size);
/* The same for a packet, which SINK_BUNDLES must not split between two bundles. */
int sink_write_whole(struct sink *sink, const void *bytes, size_t size);

void sink_count_marks_slow(struct sink *sink, uint64_t n);

/*
 * Says that all bytes of `n` more marks are in the sink. sink_marks() returns how many marks are completely in the
 * file: when the disk is full, some of those in the buffer still were written. Nearly always `n` is 1.
 */
static inline void sink_count_marks(struct sink *sink, uint64_t n)
{
	struct sink_window *window = (struct sink_window *)sink;

	if (n == 1 && window->mark_ends < window->mark_ends_limit)
		*window->mark_ends++ = (uint32_t)(window->at - window->start);
	else
		sink_count_marks_slow(sink, n);
}

uint64_t sink_marks(const struct sink *sink);

/* Writes the buffer out; the first time, also renames the file into place. Returns the sticky error. */
int sink_flush(struct sink *sink);
/* Flushes, ends a gzip stream, closes. Returns the sticky error. */
int sink_close(struct sink *sink);
/*
 * After an error: renames into place what could be written, as sink_flush(). If nothing was written, the file is removed, and
 * sink_size() is 0.
 */
void sink_settle(struct sink *sink);
/* Frees. A file that is not in place yet is removed, or settled after an error. */
void sink_free(struct sink *sink);
/* The directory and the temporary name of a file that is not in place yet. False: it is, or needs no rename. */
bool sink_temporary(const struct sink *sink, int *ret_directory, const char **ret_name);
/*
 * Why the file has another name than it should have, as negative errno: another user has taken the name since the start, for
 * example. 0: it has its name, or none yet. *ret_path is set to the path that it has, or will have, in any case.
 */
int sink_displaced(const struct sink *sink, const char **ret_path);
/* Returns the same and describes it in `f`. `wanted`: the path that sink_open() was given. */
int sink_displaced_failure(const struct sink *sink, const char *wanted, struct failure *f);
/* For output that is useless in part: removes a file that is not in place yet; an older one stays. */
void sink_abandon(struct sink *sink);
void sink_discard(struct sink *sink); /* and frees */

int sink_error(const struct sink *sink);     /* the first error, negative errno, or 0 */
uint64_t sink_size(const struct sink *sink); /* in the file so far */
/* The size of the file once the buffer is written, too. */
uint64_t sink_expected_size(const struct sink *sink);
/* The device and the inode of an open regular file. False: there is none. */
bool sink_identity(const struct sink *sink, dev_t *ret_device, ino_t *ret_inode);

/*
 * Temporary files of a verb that a signal may end before they are in place, such as Ctrl-C in a conversion that
 * takes a minute. From temporaries_begin() on, SIGINT, SIGTERM, SIGHUP and SIGQUIT remove them, unless these are
 * ignored, and still end the process. SIGPIPE and SIGXFSZ become errors of write().
 */
enum {
	TEMPORARIES_MAX = 32, /* files at once */
};

void temporaries_begin(void);
/* sink_open() with those signals blocked until the file is registered for removal. */
int temporaries_open(const char *path, enum sink_format format, struct sink **ret_sink);
/* Call it when all these sinks are settled, before they are freed. */
void temporaries_end(void);

/*
 * The trace writers: consumers of facts (timeline/consumer.h) that write one format each.
 * Each owns the sink from then on. NULL when out of memory: then the sink stays the caller's.
 */
struct consumer *perfetto_writer_new(struct sink *sink, const struct trace_info *info);
struct consumer *chrome_writer_new(struct sink *sink, const struct trace_info *info);

#endif
