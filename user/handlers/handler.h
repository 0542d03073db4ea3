/* SPDX-License-Identifier: BSD-2-Clause */
/* A handler is one output: a small table of functions that know a format and nothing else. */
#ifndef PROFTRACE_HANDLERS_HANDLER_H
#define PROFTRACE_HANDLERS_HANDLER_H

#include "timeline/account.h"
#include "timeline/callstack.h"
#include "timeline/fact.h"

struct handler;

struct handler_ops {
	const char *name;
	/* One fact. Returns 0 or negative errno; after an error the handler is not called again, except free. */
	int (*fact)(struct handler *handler, const struct fact *fact);
	/* Make what was handed over so far complete in the file. */
	int (*flush)(struct handler *handler);
	/* The last call before free: the account is final. */
	int (*close)(struct handler *handler, const struct account *account);
	void (*free)(struct handler *handler);
};

struct handler {
	const struct handler_ops *ops;
	int error; /* kept by the timeline: the error this handler stopped with */
};

struct sink;
struct stats;

/* What both trace formats say about the recording itself, at their start. All strings borrowed for the call. */
struct trace_info {
	uint64_t start_ns; /* CLOCK_MONOTONIC: no fact is older */
	struct clock_reading clock;
	uint64_t trace_uuid[2];
	const char *version;	    /* of proftrace */
	const char *kernel_release; /* uname -r, -v, -m, -s */
	const char *kernel_version;
	const char *machine;
	const char *sysname;
	/* Traces of several ranks and hosts are put together by these; NULL or empty: not known. */
	const char *host;
	const char *boot_id;
	const char *rank;
	/*
	 * What frames are called is found out at the end of a file. A format that has to say it at once asks
	 * for one stack, which then has the names that are known. NULL: there is nobody to ask.
	 */
	void (*name_stack)(void *context, const struct callstack *callstack);
	void *name_context;
};

/* Each takes over the sink (sinks.h) and returns NULL when out of memory. */
struct handler *perfetto_handler_new(struct sink *sink, const struct trace_info *info);
struct handler *chrome_json_handler_new(struct sink *sink, const struct trace_info *info);

#endif
