/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sink is a file being written: buffered, optionally compressed, and put in its place by rename when
 * what it holds can be loaded, so that an older trace of that name is not destroyed by a recording
 * that captured nothing. Short writes, EINTR and a full disk are handled here and nowhere else.
 */
#ifndef PROFTRACE_HANDLERS_SINK_H
#define PROFTRACE_HANDLERS_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sink;

enum sink_format {
	SINK_PLAIN,
	SINK_GZIP,
	SINK_BUNDLES, /* of a Perfetto trace: each buffer of packets becomes a packet that holds them */
};

/*
 * Opens `path` ("-": standard output) by creating a temporary file beside it (O_EXCL, O_NOFOLLOW, mode 0600 & unpredictable name).
 * Returns 0 or negative errno. The file takes its name at the first sink_flush(). A link of that name is
 * replaced, not followed; one to a device or a pipe is followed if it is root's or our own, else -ELOOP.
 */
int sink_open(const char *path, enum sink_format format, struct sink **ret_sink);

/*
 * Somebody else reads what is written to a pipe or a terminal, and may never do so. While it takes
 * nothing, `give_up` is asked a few times a second: when it says so, the sink fails with -ECANCELED.
 */
void sink_set_patience(struct sink *sink, bool (*give_up)(void *context), void *context);

/* What a sink begins with: what each event needs of it without a call. */
struct sink_room {
	char *start;	 /* of the buffer */
	char *at;	 /* where the next byte goes */
	char *end;	 /* so far there is room; none after an error */
	uint32_t *noted; /* where the next mark's end is noted: as bytes from the start */
	uint32_t *noted_end;
};

#define SINK_MAX_RESERVE 65536

char *sink_make_room(struct sink *sink, size_t size);

/*
 * Room for at least `size` bytes (at most 64 KiB) in the buffer; NULL after an error. Then sink_commit()
 * says how many were used. Each event comes by these two, which is why they are here.
 */
static inline char *sink_reserve(struct sink *sink, size_t size)
{
	const struct sink_room *room = (const struct sink_room *)sink;

	if (size > SINK_MAX_RESERVE || (size_t)(room->end - room->at) < size)
		return sink_make_room(sink, size);
	return room->at;
}

/* Whether there is, without writing anything out; then it is at sink_at(). Never after an error. */
static inline bool sink_has_room(const struct sink *sink, size_t size)
{
	const struct sink_room *room = (const struct sink_room *)sink;

	return (size_t)(room->end - room->at) >= size;
}

static inline char *sink_at(const struct sink *sink)
{
	return ((const struct sink_room *)sink)->at;
}

static inline void sink_commit(struct sink *sink, size_t used)
{
	((struct sink_room *)sink)->at += used;
}

int sink_write(struct sink *sink, const void *bytes, size_t size);
/* The same, never cut in two by what makes up the file: a packet, for SINK_BUNDLES. */
int sink_write_whole(struct sink *sink, const void *bytes, size_t size);

void sink_note_many(struct sink *sink, uint64_t n);

/*
 * All of so many marks has been handed over. sink_marks() says how many of them are whole in the file: of
 * what was in the buffer when the disk was full, those that still got there. They come one by one, nearly
 * always.
 */
static inline void sink_note_marks(struct sink *sink, uint64_t n)
{
	struct sink_room *room = (struct sink_room *)sink;

	if (n == 1 && room->noted < room->noted_end)
		*room->noted++ = (uint32_t)(room->at - room->start);
	else
		sink_note_many(sink, n);
}

uint64_t sink_marks(const struct sink *sink);

/* Writes the buffer out; the first time, renames the file into place. Returns the sticky error. */
int sink_flush(struct sink *sink);
/* Flushes, ends a gzip stream, closes. Returns the sticky error. */
int sink_close(struct sink *sink);
/*
 * After an error: what could be written gets its name, as far as it has none yet; if that fails, or there
 * is nothing, it goes, and sink_size() is 0.
 */
void sink_settle(struct sink *sink);
/* Frees; a file that never got its name is removed, or after an error settled. */
void sink_free(struct sink *sink);
/* What the file is called in which directory before it has its name; false: it has, or needs none. */
bool sink_temporary(const struct sink *sink, int *ret_directory, const char **ret_name);
/* What is of no use in part: a file that never got its name is removed, and an older one stays. */
void sink_abandon(struct sink *sink);
void sink_discard(struct sink *sink); /* and frees */

int sink_error(const struct sink *sink);      /* the first error, negative errno, or 0 */
uint64_t sink_bytes(const struct sink *sink); /* handed over so far, before compression */
uint64_t sink_size(const struct sink *sink);  /* on disk so far */
/* What the file will be as large as: what is still in the buffer counts, too. */
uint64_t sink_expected_size(const struct sink *sink);
/* Which file it is, while it is open; false: none that has a name of its own. */
bool sink_identity(const struct sink *sink, dev_t *ret_device, ino_t *ret_inode);
const char *sink_path(const struct sink *sink); /* as given to sink_open() */

#endif
