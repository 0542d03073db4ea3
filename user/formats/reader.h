/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trace readers turn a file into the same events that a capture sends to the timeline. Files are untrusted: everything
 * is bounded, and malformed data is either an error with its byte offset, or counted.
 */
#ifndef PROFTRACE_FORMATS_READER_H
#define PROFTRACE_FORMATS_READER_H

#include "timeline/account.h"
#include "timeline/event.h"
#include "timeline/origin.h"

struct reader_sink {
	/* Receives one event. A return value other than 0 ends the reading and is returned. */
	int (*event)(void *context, const struct event *event);
	void *context;
	struct names *names;
	struct account
		*account; /* marked and, for what did not become an event, lost[] are increased */
	struct trace_origin *origin;   /* may be NULL; filled in as it is found in the file */
	struct callstacks *callstacks; /* NULL: samples and call stacks are ignored */
};

struct reader_error {
	uint64_t offset;   /* of the first malformed byte (of the unpacked contents) */
	char message[200]; /* "unterminated string", without the file name; empty: see errno */
	/*
	 * Set on success if the file ends in the middle of an event. All complete events up to `offset`
	 * were read.
	 */
	bool truncated;
	/* Events, or parts of them, that proftrace does not represent: their number and their kinds ("P 12, v 3"). */
	uint64_t skipped;
	char skipped_kinds[160];
};

/*
 * Limits for files that others name and that must not delay the caller for long. At a limit the file ends, like one
 * that was cut off. The limits may be shared by several files that are read one after the other.
 */
struct reader_limits {
	uint64_t bytes;		     /* packed and unpacked bytes together; 0: no limit */
	bool (*stop)(void *context); /* called about every 256 KiB of these; may be NULL */
	void *context;
	uint64_t taken; /* bytes so far */
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

/*
 * Recognises a file by its first bytes, at least 64 if it has as many. *ret_what (may be NULL) is a description for
 * messages, such as "looks like an ELF file" or "empty".
 */
enum trace_format trace_sniff(const void *bytes, size_t size, const char **ret_what);

/*
 * Recognises the format and reads the whole file, also gzipped and from a pipe, in bounded memory. Returns 0, or
 * negative errno and *ret_error. -ENOEXEC: the file is not a trace, and the message
 * describes it.
 */
int trace_read(int fd, const struct reader_sink *sink, struct reader_error *ret_error);
/* The same with limits (may be NULL). */
int trace_read_within(int fd, const struct reader_sink *sink, struct reader_limits *limits,
		      struct reader_error *ret_error);

#endif
