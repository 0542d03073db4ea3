/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proftrace/runtime.h - the marks of proftrace.h as functions of a library, libproftrace.so, for languages that
 * cannot include C headers, and for programs that want one set of probes for all of their parts.
 *
 *	const proftrace_task *parse = proftrace_task_get(proftrace_domain_get("net"), "parse");
 *
 *	proftrace_task_start(parse);
 *	...
 *	proftrace_task_stop(parse);
 *
 * C and C++ programs need no library: proftrace.h has the same, and costs less. What the functions mean is said
 * there and in proftrace(3).
 *
 * This interface is stable: a function that is here stays, with what it takes and returns. All names and strings are
 * C strings in UTF-8, read before the function returns. Objects stay for good. A NULL domain is the built-in one. A
 * NULL object is nothing: a call with it does nothing. All functions may be called by any thread.
 *
 * While nobody records, a function is a call, a load and a branch. A binding may save the call, and what it would do
 * for the arguments: while the word that proftrace_domain_semaphore() points to is 0, nothing of the domain is
 * recorded.
 */
#ifndef PROFTRACE_RUNTIME_H
#define PROFTRACE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct proftrace_domain proftrace_domain;
typedef struct proftrace_task proftrace_task;
typedef struct proftrace_frame proftrace_frame;
typedef struct proftrace_event proftrace_event;
typedef struct proftrace_counter proftrace_counter;
typedef struct proftrace_marker proftrace_marker;
typedef struct proftrace_track proftrace_track;

/* What a value is. Its 64 bits: those of the number, extended by its sign or by zeros; 0 or 1; of the pointer. */
enum proftrace_type {
	PROFTRACE_INT = 1,
	PROFTRACE_UINT = 2,
	PROFTRACE_DOUBLE = 3,
	PROFTRACE_STRING = 4,
	PROFTRACE_BOOL = 5,
	PROFTRACE_POINTER = 6
};

/* 24 bytes on every machine that has this library. */
typedef struct proftrace_arg {
	const char *key;
	uint64_t type; /* enum proftrace_type; arguments of other types are left out */
	uint64_t bits;
} proftrace_arg;

enum proftrace_scope {
	PROFTRACE_SCOPE_THREAD = 0,
	PROFTRACE_SCOPE_PROCESS = 1,
	PROFTRACE_SCOPE_GLOBAL = 2,
	PROFTRACE_SCOPE_TASK = 3,
	PROFTRACE_SCOPE_MARKER = 4
};

/* Bits of `instants` and `actions`. */
enum {
	PROFTRACE_INSTANT_ON_START = 1,
	PROFTRACE_INSTANT_ON_FINISH = 2,
	PROFTRACE_ON_WARMUP = 1,
	PROFTRACE_ON_ACTIVE = 2,
	PROFTRACE_ON_ACTIVE_AND_SAVE = 4
};

/* 3: the version of this interface. Functions that come later raise it. */
unsigned proftrace_version(void);

/* Objects, each made at the first call with these arguments; the same one afterwards. Never NULL. */
const proftrace_domain *proftrace_domain_get(const char *name);
const proftrace_task *proftrace_task_get(const proftrace_domain *domain, const char *name);
const proftrace_frame *proftrace_frame_get(const proftrace_domain *domain, const char *name);
const proftrace_event *proftrace_event_get(const char *name);
const proftrace_counter *proftrace_counter_get(const proftrace_domain *domain, const char *name,
					       int64_t initial);
const proftrace_marker *proftrace_marker_get(const proftrace_domain *domain, const char *name,
					     const char *categories, unsigned instants,
					     unsigned actions);

/* Whether somebody records the domain, and the semaphore that says so, to which only tracers write. */
int proftrace_domain_is_enabled(const proftrace_domain *domain);
const volatile uint32_t *proftrace_domain_semaphore(const proftrace_domain *domain);
/* The same: its name in version 1 of the interface. */
const volatile uint32_t *proftrace_domain_switch(const proftrace_domain *domain);

void proftrace_task_start(const proftrace_task *task);
void proftrace_task_stop(const proftrace_task *task);
void proftrace_frame_start(const proftrace_frame *frame);
void proftrace_frame_stop(const proftrace_frame *frame);
void proftrace_event_start(const proftrace_event *event);
void proftrace_event_stop(const proftrace_event *event);
void proftrace_marker_start(const proftrace_marker *marker);
void proftrace_marker_finish(const proftrace_marker *marker);
void proftrace_marker_mark(const proftrace_marker *marker, int scope);
void proftrace_counter_set(const proftrace_counter *counter, int64_t value);
void proftrace_counter_increment(const proftrace_counter *counter, int64_t by);
void proftrace_counter_decrement(const proftrace_counter *counter, int64_t by);
int64_t proftrace_counter_value(const proftrace_counter *counter);

/* Marks without an object; `n` arguments of any number. */
void proftrace_begin(const proftrace_domain *domain, const char *name, const proftrace_arg *args,
		     size_t n);
void proftrace_end(const proftrace_domain *domain, const proftrace_arg *args, size_t n);
void proftrace_instant(const proftrace_domain *domain, const char *name, int scope,
		       const proftrace_arg *args, size_t n);
void proftrace_async_begin(const proftrace_domain *domain, const char *name, uint64_t id,
			   const proftrace_arg *args, size_t n);
void proftrace_async_end(const proftrace_domain *domain, const char *name, uint64_t id,
			 const proftrace_arg *args, size_t n);
void proftrace_counters(const proftrace_domain *domain, const char *name, const proftrace_arg *args,
			size_t n);

/*
 * A slice of this thread whose end cannot be taken for another's, for languages whose scopes are objects. 0: it is not
 * recorded, and neither is its end.
 */
uint64_t proftrace_scope_begin(const proftrace_domain *domain, const char *name,
			       const proftrace_arg *args, size_t n);
void proftrace_scope_end(const proftrace_domain *domain, uint64_t token, const proftrace_arg *args,
			 size_t n);

/* A new id for an asynchronous slice or an arrow, unique among the running processes of a PID namespace. Never 0. */
uint64_t proftrace_id(void);

/* Of the built-in domain: the two ends of an arrow, and the memory of a pool. */
void proftrace_flow_out(uint64_t id);
void proftrace_flow_in(uint64_t id);
void proftrace_alloc(const char *pool, const void *address, uint64_t size);
void proftrace_free(const char *pool, const void *address);

/*
 * Slices and instants at times that the program gives, in ns of CLOCK_MONOTONIC or, on a track for which
 * proftrace_track_sync() has been called, in ticks of its clock. A NULL track is one of the name of the slice. `outer`
 * may be NULL. Since version 3.
 */
const proftrace_track *proftrace_track_get(const char *name, const proftrace_track *outer);
void proftrace_track_sync(const proftrace_track *track, uint64_t ticks, uint64_t time);
void proftrace_slice_at(const proftrace_domain *domain, const proftrace_track *track,
			const char *name, uint64_t begin, uint64_t end, const proftrace_arg *args,
			size_t n);
void proftrace_instant_at(const proftrace_domain *domain, const proftrace_track *track,
			  const char *name, uint64_t time, const proftrace_arg *args, size_t n);

/* What belongs to no domain, and control. */
void proftrace_thread_name(const char *name);
void proftrace_step(int64_t epoch, int64_t batch);
void proftrace_scope_push(const char *name);
void proftrace_scope_pop(void);
void proftrace_pause(void);
void proftrace_resume(void);
void proftrace_dump(void);
void proftrace_stop(void);
void proftrace_include_chrome_json(const char *path);

#ifdef __cplusplus
}
#endif

#endif /* PROFTRACE_RUNTIME_H */
