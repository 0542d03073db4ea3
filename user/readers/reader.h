/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Readers put a trace file back on the road: they turn it into the same events that a capture hands
 * to the timeline. A file is foreign bytes: everything is bounded, and what makes no sense is either
 * an error with the byte where it stops making sense, or counted.
 */
#ifndef PROFTRACE_READERS_READER_H
#define PROFTRACE_READERS_READER_H

#include "timeline/account.h"
#include "timeline/event.h"
#include "timeline/origin.h"

struct reader_sink {
	/* Takes one event; anything but 0 stops the reading and is returned. */
	int (*event)(void *context, const struct event *event);
	void *context;
	struct names *names;
	struct account *account; /* marked is added to, and lost[] for what never became an event */
	struct trace_origin *origin;   /* NULL: not asked for. Filled as it is found in the file */
	struct callstacks *callstacks; /* NULL: samples and call stacks are passed over */
};

struct reader_error {
	uint64_t offset;   /* the byte where it stopped making sense (of the unpacked contents) */
	char message[200]; /* "unterminated string", without file name; empty: what errno says */
	/*
	 * Set with success: the file ends in the middle of something. All that is whole up to
	 * `offset` was read.
	 */
	bool truncated;
	/* What has no place here: how many events, or parts of them, and of which kinds ("P 12, v 3"). */
	uint64_t skipped;
	char skipped_kinds[160];
};

/*
 * How much of files is read: for who reads what others name, at a time when nobody may be made to wait.
 * Where a limit is reached, the file ends there as one does that was cut off. One of these may be for
 * several files, one after the other.
 */
struct reader_limits {
	uint64_t bytes;		     /* packed and unpacked ones together; 0: no limit */
	bool (*stop)(void *context); /* asked about every 256 KiB of these; NULL: never */
	void *context;
	uint64_t taken; /* so far */
	enum reader_end {
		READ_ON,
		READ_ENOUGH,
		READ_STOPPED,
	} end;
};

enum trace_format {
	TRACE_UNKNOWN,
	TRACE_PERFETTO,
	TRACE_CHROME_JSON, /* also gzipped */
};

/* What the file's first bytes (at least 64 where there are that many) look like; `ret_what` (may be NULL): for messages, e.g. "an ELF file", "a gzip file of something else", "text", "empty". */
enum trace_format trace_sniff(const void *bytes, size_t size, const char **ret_what);

/* Reads all of an open file, streaming, in bounded memory. Both unpack gzip. Returns 0, or negative errno with *ret_error filled. */
int perfetto_read(int fd, const struct reader_sink *sink, struct reader_error *ret_error);
int chrome_json_read(int fd, const struct reader_sink *sink, struct reader_error *ret_error);

/*
 * Finds out which of the two it is and reads it; the file may be a pipe. -ENOEXEC: it is no trace,
 * and the message says what it looks like.
 */
int trace_read(int fd, const struct reader_sink *sink, struct reader_error *ret_error);
/* The same, no further than `limits` allow (may be NULL). */
int trace_read_within(int fd, const struct reader_sink *sink, struct reader_limits *limits,
		      struct reader_error *ret_error);

#endif
