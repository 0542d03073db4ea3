/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proftrace/handler.h - outputs of your own.
 *
 *	proftrace --handler ./mine.so=threshold=5ms -- ./server
 *
 * A trace handler is a shared object that exports one function, proftrace_get_handler(), which returns a
 * table of functions. proftrace calls them with everything that is recorded, as it is recorded, beside
 * the files it writes itself. Compile it with: cc -shared -fPIC mine.c -o mine.so
 *
 * A handler runs in a process of its own, as the user who called proftrace, without privileges, in the
 * directory proftrace was called in; its standard output and error are proftrace's. All functions are
 * called from one thread. When it crashes, returns an error, or does not take an event for five
 * seconds, it is named and gets no more; the recording and other handlers go on. So it does when it is
 * slower than the program makes marks for so long that 128 MiB of events wait for it.
 *
 * Everything that a function is passed is borrowed until it returns. Names and strings are UTF-8
 * without control characters, with a NUL, cut to the limits that proftrace-record(1) gives.
 *
 * C99 and C++11. New fields are added at the ends of the structures, never in between.
 */
#ifndef PROFTRACE_HANDLER_H
#define PROFTRACE_HANDLER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum proftrace_type {
	PROFTRACE_INT = 1, /* i */
	PROFTRACE_UINT,	   /* u */
	PROFTRACE_DOUBLE,  /* d */
	PROFTRACE_STRING,  /* s */
	PROFTRACE_BOOL,	   /* u, 0 or 1 */
	PROFTRACE_POINTER, /* u */
	PROFTRACE_NULL,	   /* a NULL string */
};

/* An argument of an event, or the value of a counter. */
struct proftrace_arg {
	const char *key; /* "" for a counter with a single series */
	enum proftrace_type type;
	union {
		int64_t i;
		uint64_t u;
		double d;
		const char *s;
	} value;
};

/* Whose an event is. */
struct proftrace_thread {
	uint32_t pid;	     /* 0: of the whole machine */
	uint32_t tid;	     /* 0: of no thread in particular */
	const char *process; /* their names, "" when not known */
	const char *name;
};

/* Where the program is in its own work: what it said by PROF_STEP. */
struct proftrace_step {
	uint64_t epoch;
	uint64_t batch;
};

enum proftrace_scope {
	PROFTRACE_SCOPE_THREAD,
	PROFTRACE_SCOPE_PROCESS,
	PROFTRACE_SCOPE_GLOBAL,
};

struct proftrace_event {
	const char *name;
	const char *categories; /* separated by commas; "" without any */
	uint64_t timestamp_ns;	/* CLOCK_MONOTONIC */
	const struct proftrace_thread *thread;
	const struct proftrace_step *step; /* NULL: the process said none so far */
	unsigned n_args;
	const struct proftrace_arg *args;

	/* Durations. */
	int is_start; /* 1: it begins; 0: it ends */
	int is_async; /* 1: not nested on its thread; `id` tells which end belongs to which start */
	uint64_t id;
	uint64_t begin_ns; /* at the end: when it began */
	uint64_t self_ns;  /* at the end: how much of it was not spent in durations nested in it */
	int is_complete; /* at the end: 0 when it had no end of its own: lost, or its thread ended */

	/* Instants. */
	enum proftrace_scope scope;

	/* Counters: the unit, "" when not known. `args` are the series. */
	const char *unit;
};

/* About the recording. */
struct proftrace_recording {
	const char *version; /* of proftrace */
	uint64_t start_ns;   /* CLOCK_MONOTONIC, and the same moment by CLOCK_REALTIME */
	uint64_t start_realtime_ns;
};

/* What became of all marks. */
struct proftrace_account {
	uint64_t marked;  /* that reached the kernel */
	uint64_t written; /* that became events */
	uint64_t lost;	  /* that did not */
	int orderly;	  /* 1: the recording came to its end */
};

/*
 * A function that is NULL is not called. Those that return an int return 0, or anything else to be
 * given no more, best a negative errno, which proftrace then explains.
 */
struct proftrace_handler {
	size_t size; /* sizeof(struct proftrace_handler), so that later versions know what is there */

	/*
	 * Before anything else, and before the program is touched. `argument` is what followed the =, or
	 * "". Returns what the other functions get as `self`, or NULL when it does not want to work,
	 * having said why on standard error.
	 */
	void *(*open)(const char *argument, const struct proftrace_recording *recording);

	/* A slice, asynchronous slice, task, frame or event begins or ends. */
	int (*duration_event)(void *self, const struct proftrace_event *event);
	/* A moment; also "events lost", with their `count`, and the two ends of a flow, "flow out" and
	 * "flow in", with its `id`. */
	int (*instant_event)(void *self, const struct proftrace_event *event);
	/* Counters of the program, of its threads, of memory pools and of the machine. */
	int (*counter_event)(void *self, const struct proftrace_event *event);
	/* The trace of another profiler, Chrome JSON as a rule, joins the recording: its events follow. `path` is
	 * what --include-json or the program named; of a program's path nobody promises that it can be opened here. */
	int (*chrome_json_trace_file)(void *self, const char *path);

	/* Make what was handed over so far complete; every second or as --dump-period says. */
	int (*flush)(void *self);
	/* The last call. */
	int (*close)(void *self, const struct proftrace_account *account);
};

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const struct proftrace_handler *
proftrace_get_handler(void);

#ifdef __cplusplus
}
#endif

#endif
