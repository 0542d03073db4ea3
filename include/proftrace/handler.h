/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proftrace/handler.h - trace handlers: outputs of your own.
 *
 *	proftrace --handler ./mine.so=threshold=5ms -- ./server
 *
 * A trace handler is a shared object that exports one function, proftrace_get_handler(), which
 * returns a table of functions. proftrace calls these with everything that it records, while it
 * records, in addition to the files that it writes. Compile a handler with:
 *
 *	cc -shared -fPIC mine.c -o mine.so
 *
 * Each handler runs in its own process, as the user who called proftrace, without privileges, and in
 * the directory in which proftrace was called. It shares standard output and standard error with
 * proftrace. All functions are called from one thread. If the handler crashes, returns an error, or
 * accepts no event for five seconds, a message names it and it gets no more events; the recording and
 * other handlers go on. The same happens if it is so slow that 128 MiB of events wait for it.
 *
 * All pointers that a function receives are valid until it returns. Names and strings are UTF-8
 * without control characters, NUL-terminated, and cut to the limits in proftrace-record(1).
 *
 * C99 and C++11. New fields are only added at the ends of the structures.
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

/* The thread or process of an event. */
struct proftrace_thread {
	uint32_t pid;	     /* 0: the whole machine */
	uint32_t tid;	     /* 0: no particular thread */
	const char *process; /* names; "" if unknown */
	const char *name;
};

/* The latest PROF_STEP of the process. */
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
	const char *categories; /* separated by commas; "" if there are none */
	uint64_t timestamp_ns;	/* CLOCK_MONOTONIC */
	const struct proftrace_thread *thread;
	const struct proftrace_step *step; /* NULL: none so far */
	unsigned n_args;
	const struct proftrace_arg *args;

	/* Durations. */
	int is_start; /* 1: it begins; 0: it ends */
	int is_async; /* 1: does not nest on its thread; start and end have the same `id` */
	uint64_t id;
	uint64_t begin_ns; /* at the end: time of the start */
	uint64_t self_ns;  /* at the end: time outside nested durations */
	int is_complete; /* at the end: 0 if its own end is missing (lost, or its thread exited) */

	/* Instants. */
	enum proftrace_scope scope;

	/* Counters: the unit, "" if unknown. `args` are the series. */
	const char *unit;
};

/* About the recording. */
struct proftrace_recording {
	const char *version; /* of proftrace */
	/* CLOCK_MONOTONIC; the next field is the same moment in CLOCK_REALTIME. */
	uint64_t start_ns;
	uint64_t start_realtime_ns;
};

/* The accounting of all marks. */
struct proftrace_account {
	uint64_t marked;  /* marks that reached the kernel */
	uint64_t written; /* marks that became events */
	uint64_t lost;	  /* marks that were lost */
	int orderly;	  /* 1: the recording was finished */
};

/*
 * A function may be NULL; then it is not called. Functions that return an int return 0 for success.
 * After any other value the handler gets no more events; proftrace explains a negative errno.
 */
struct proftrace_handler {
	/* The value of sizeof(struct proftrace_handler) tells later versions which fields exist. */
	size_t size;

	/*
	 * Called first, before proftrace attaches to the program. `argument` is the text after the
	 * =, or "". Returns the pointer that the other functions get as `self`, or NULL if the
	 * handler cannot work; it should then print the reason on standard error.
	 */
	void *(*open)(const char *argument, const struct proftrace_recording *recording);

	/* A slice, asynchronous slice, task, frame or event begins or ends. */
	int (*duration_event)(void *self, const struct proftrace_event *event);
	/*
	 * An instant. Also "events lost", with their `count`, and the two ends of a flow, "flow
	 * out" and "flow in", with its `id`.
	 */
	int (*instant_event)(void *self, const struct proftrace_event *event);
	/* Counters of the program, of its threads, of memory pools and of the machine. */
	int (*counter_event)(void *self, const struct proftrace_event *event);
	/*
	 * A trace of another profiler, usually Chrome JSON, joins the recording. Its events follow.
	 * `path` is as --include-json or the program named it; a path of a program may not exist
	 * for this process.
	 */
	int (*chrome_json_trace_file)(void *self, const char *path);

	/*
	 * Completes the output of all events so far. Called once a second, or as --dump-period
	 * says.
	 */
	int (*flush)(void *self);
	/* The last call. The accounting is final. */
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
