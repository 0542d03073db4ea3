/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proftrace.h - markers that a tracer can record while the program runs.
 *
 *	#include <proftrace.h>
 *
 *	void handle(struct request *r)
 *	{
 *		PROF_FUNCTION("bytes", r->size, "peer", r->peer);
 *
 *		PROF_BEGIN("parse");
 *		parse(r);
 *		PROF_END("fields", r->nfields);
 *
 *		PROF_COUNTER("queue", queue_length());
 *	}
 *
 *	# proftrace -o trace -- ./server
 *
 * This file is complete: there is no library to link and nothing to initialise. Copy it into your
 * project if you like. It needs C99 or C++11, gcc or clang, and Linux on x86-64 or arm64. On other
 * systems, and with -DPROFTRACE_DISABLE, every marker compiles to nothing; its arguments are still
 * checked by the compiler, but never evaluated.
 *
 * Contents (search for the heading to get there):
 *
 *	For every user
 *		1. Domains			PROF_DOMAIN, PROF_DEFAULT_DOMAIN, prof_is_enabled
 *		2. Markers			PROF_BEGIN, PROF_SCOPE, PROF_INSTANT, PROF_COUNTER, ...
 *		3. Objects			PROF_TASK, PROF_FRAME, PROF_COUNTER_OBJECT, prof_task_get, ...
 *	For authors of tracers
 *		4. The binary interface		stubs, kinds, semaphores, notes, buffers
 *	For those who change this file
 *		5. Implementation
 *		5.1  Compilers and languages
 *		5.2  Stubs as C sees them
 *		5.3  Stubs as the assembler sees them
 *		5.4  Buffers of batch mode
 *		5.5  Entry points of batch mode
 *		5.6  Values
 *		5.7  The call of a stub
 *		5.8  Scopes
 *		5.9  PROF_CALL
 *		5.10 Objects at file scope
 *		5.11 Objects made at run time
 *		5.12 Arguments made at run time
 *		5.13 Guards for C++
 *
 * Cost. While nobody records, a marker is one 32-bit load and one branch that is not taken (about
 * 0.3 ns), and none of its arguments is evaluated. While somebody records, each argument is
 * evaluated once, and the marker calls a small function that contains a USDT probe; the kernel takes
 * the time there. Every tool that supports USDT can record the markers (proftrace, bpftrace, perf,
 * systemtap); section 4 describes what it finds. With `proftrace --mode batch`, marks are collected
 * in memory of their thread, and the kernel is entered once for hundreds of them: a mark costs about
 * 20 ns instead of 700 ns.
 *
 * Names and values. Names and keys are string literals. A value is an integer of up to 64 bits, an
 * enumerator, a bool, a float, a double, a string (a pointer to or an array of char, signed char or
 * unsigned char; in C++ also std::string and std::string_view) or a void pointer. The compiler
 * determines the type. Other pointers, 128-bit integers, long doubles, structures and bit-fields do
 * not compile: cast them to one of these types. A marker takes up to six key-value pairs.
 *
 * Domains. Every marker belongs to a domain, a group with a name and an on/off switch of its own.
 * By default it is the built-in domain `prof_default`, which is named "default". A file that contains
 * PROF_DEFAULT_DOMAIN puts its markers into another domain. Each marker also has a form that ends in
 * _IN and names the domain in its first argument: PROF_BEGIN_IN(net, "send"). Use that form in inline
 * functions of your own headers; otherwise their domain depends on the file that includes them.
 *
 * Where markers may stand. Markers are statements (PROF_SCOPE and similar ones are declarations too).
 * They may stand in any function, including signal handlers. They do not allocate, do not lock, do
 * not change errno and make no system call, whoever records them. There are two exceptions:
 * PROF_THREAD_NAME makes a system call, and the functions that make objects at run time allocate.
 *
 * A file that includes this header and contains no marker gets no code and no data from it. What files
 * with markers share is in the program once.
 */
#ifndef PROFTRACE_H
#define PROFTRACE_H

#if defined(__cplusplus) ? __cplusplus < 201103L : !defined(__STDC_VERSION__)
#error "proftrace.h needs C99 or C++11 (-std=gnu99 or later)"
#elif !defined(__cplusplus) && __STDC_VERSION__ < 199901L
#error "proftrace.h needs C99 or C++11 (-std=gnu99 or later)"
#endif

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#if defined(PROFTRACE_DISABLE) || !defined(__linux__) || !defined(__ELF__) || !defined(__LP64__) || \
	!(defined(__x86_64__) || defined(__aarch64__))
#define PROF_IMPL_OFF 1
#else
#define PROF_IMPL_OFF 0
#endif

/*
 * 1. Domains ======================================================================================
 */

/* The semaphore of a domain. Only tracers write to it; section 4 describes its two halves. */
typedef struct prof_domain {
	volatile uint32_t on;
} prof_domain_t;

/*
 * PROF_DOMAIN(id, "name")
 *
 * Defines a domain, at file scope. The program refers to the domain by the identifier `id`; users refer
 * to it by "name", which is a string literal, several literals, or a macro that expands to these. The
 * name is a category of all events of the domain. A program and its shared libraries may each define a
 * domain with the same name; the tracer shows them as one. Definitions with the same id are merged
 * within one executable or library, so this macro may stand in a header. They should then have the same
 * name.
 *
 * The macro defines one object of type prof_domain_t named `id`, and one probe for each kind of marker.
 * All of them are hidden from other executables and libraries.
 */
#define PROF_DOMAIN(id, name)							\
	PROF_IMPL_CHECK_NAME(id, name)						\
	PROF_IMPL_DEFINE_DOMAIN(id, PROF_IMPL_QUOTE(name))			\
	PROF_IMPL_NEED_SHARED(__COUNTER__)					\
	PROF_DOMAIN_DECLARE(id)

/* PROF_DOMAIN_EXTERN(id, "name"): the same, for a domain that several files share. */
#define PROF_DOMAIN_EXTERN(id, name) PROF_DOMAIN(id, name)

/* PROF_DOMAIN_DECLARE(id): declares a domain that another file of the program or library defines. */
#define PROF_DOMAIN_DECLARE(id)							\
	PROF_IMPL_QUIET_ABOUT_AGAIN						\
	PROF_IMPL_EACH_KIND(PROF_IMPL_DECLARE_STUB, id, )			\
	PROF_IMPL_C prof_domain_t prof_domain_in_##id __asm__("prof_domain_" #id)	\
		PROF_IMPL_HIDDEN PROF_IMPL_NOT_BUILT_IN;			\
	PROF_IMPL_C prof_domain_t id __asm__("prof_domain_" #id) PROF_IMPL_HIDDEN;	\
	PROF_IMPL_LOUD								\
	struct prof_domain

/*
 * PROF_DEFAULT_DOMAIN(id)
 *
 * Puts the markers of this file into the domain `id`. Use it once per file, at file scope, after the
 * domain is defined or declared and before the first marker.
 */
#define PROF_DEFAULT_DOMAIN(id)							\
	PROF_IMPL_QUIET_ABOUT_AGAIN						\
	PROF_IMPL_EACH_KIND(PROF_IMPL_REDIRECT_STUB, id, )			\
	PROF_IMPL_C prof_domain_t prof_domain_prof_default			\
		__asm__("prof_domain_" #id) PROF_IMPL_HIDDEN			\
		__attribute__((aligned(__alignof__(prof_domain_in_##id))));	\
	PROF_IMPL_LOUD								\
	struct prof_domain

/*
 * prof_is_enabled(&id)
 *
 * Nonzero while somebody records the domain `id`. Use it to guard work that only a marker needs. It
 * costs as much as a marker that is off.
 */
#define prof_is_enabled(domain) PROF_IMPL_IS_ENABLED(domain)

/*
 * 2. Markers ======================================================================================
 *
 * Below, [key, value]... stands for up to six pairs, which become the arguments of the event. Strings,
 * and names that are made at run time, are C strings that the program can read, or NULL. While somebody
 * records, the marker itself reads some of them, so an invalid pointer crashes the program.
 */

/*
 * PROF_BEGIN("name" [, key, value]...)
 * PROF_END([key, value]...)
 *
 * Open and close a slice on the track of the calling thread. Slices nest. PROF_END takes no name: it
 * closes the innermost slice that PROF_BEGIN opened in the same domain. A slice that PROF_BEGIN_IN
 * opened needs PROF_END_IN with the same domain. The pairs of both markers are arguments of the slice.
 */
#define PROF_BEGIN(...) PROF_IMPL_BEGIN(_prof_default, __VA_ARGS__, ~)
#define PROF_END(...) PROF_IMPL_END(_prof_default, __VA_ARGS__, ~)

/*
 * PROF_SCOPE("name" [, key, value]...)
 *
 * A slice from here to the end of the enclosing block, however the block is left, except by longjmp.
 * PROF_END cannot close it, and it cannot close a slice of another marker. It contains a declaration,
 * so it needs braces where the language requires them (after `if (x)`, after a label). A block may
 * contain any number of them.
 */
#define PROF_SCOPE(...) PROF_IMPL_SCOPE_NAMED(_prof_default, __COUNTER__, __VA_ARGS__, ~)

/*
 * PROF_BEGIN_DYN(name [, key, value]...)
 * PROF_SCOPE_DYN(name [, key, value]...)
 * PROF_INSTANT_DYN(name [, key, value]...)
 *
 * PROF_BEGIN, PROF_SCOPE and PROF_INSTANT with a name that the program makes at run time: any
 * `const char *`. The marker reads the name; it may be changed or freed afterwards. The first 128 bytes
 * are kept. If the name is known at compile time, the forms without _DYN cost less.
 */
#define PROF_BEGIN_DYN(...) PROF_IMPL_BEGIN_DYN(_prof_default, __VA_ARGS__, ~)
#define PROF_SCOPE_DYN(...) PROF_IMPL_SCOPE_DYN(_prof_default, __COUNTER__, __VA_ARGS__, ~)
#define PROF_INSTANT_DYN(...) PROF_IMPL_INSTANT_DYN(_prof_default, __VA_ARGS__, ~)

/* PROF_FUNCTION([key, value]...): a PROF_SCOPE with the name of the enclosing function. */
#define PROF_FUNCTION(...) PROF_IMPL_SCOPE(_prof_default, __COUNTER__, PROF_IMPL_FUNC, 0, __VA_ARGS__, ~)

/* PROF_INSTANT("name" [, key, value]...): a moment on the track of the calling thread. */
#define PROF_INSTANT(...) PROF_IMPL_INSTANT(_prof_default, __VA_ARGS__, ~)

/*
 * PROF_COUNTER("name", value)
 *
 * The value of a counter from now on: an integer, bool, float or double, recorded exactly. It becomes a
 * sample on the counter's track of the process. The unit is up to you.
 */
#define PROF_COUNTER(name, value) PROF_IMPL_COUNTER(_prof_default, name, value)

/* PROF_COUNTERS("name", key, value [, key, value]...): up to six series of one counter at one time. */
#define PROF_COUNTERS(...) PROF_IMPL_COUNTERS(_prof_default, __VA_ARGS__, ~)

/*
 * PROF_ASYNC_BEGIN("name", id [, key, value]...)
 * PROF_ASYNC_END("name", id [, key, value]...)
 *
 * A slice that may begin on one thread and end on another, and may overlap other slices. A begin and an
 * end with the same name and id belong together. `id` is any integer that is unique in the process among
 * the open slices of that name. The slices have a track of their own in the process.
 */
#define PROF_ASYNC_BEGIN(...) PROF_IMPL_ASYNC_BEGIN(_prof_default, __VA_ARGS__, ~)
#define PROF_ASYNC_END(...) PROF_IMPL_ASYNC_END(_prof_default, __VA_ARGS__, ~)

/*
 * PROF_FLOW_OUT(id)
 * PROF_FLOW_IN(id)
 *
 * An arrow from the slice that contains PROF_FLOW_OUT to the slice that contains PROF_FLOW_IN, on
 * another thread or in another process. `id` is any integer that both ends know.
 */
#define PROF_FLOW_OUT(id) PROF_IMPL_FLOW_OUT(_prof_default, id)
#define PROF_FLOW_IN(id) PROF_IMPL_FLOW_IN(_prof_default, id)

/*
 * PROF_SLICE_AT("name", begin, end [, key, value]...)
 * PROF_SLICE_ON(track, "name", begin, end [, key, value]...)
 * PROF_INSTANT_AT("name", time [, key, value]...)
 * PROF_INSTANT_ON(track, "name", time [, key, value]...)
 *
 * A slice that is over, and a moment, at times that the program gives: what a device, another clock or a finished
 * request reports afterwards. Times are integers, in nanoseconds of CLOCK_MONOTONIC. Slices may come in any order and
 * may overlap. They are shown on their track (prof_track_get, section 3); without a track, on a track of their own name
 * under the process. These markers take up to four pairs. A pair "flow", id of a slice ends the arrow that
 * PROF_FLOW_OUT(id) began. A slice that began before the recording is not recorded, nor is one that ends before it
 * begins, or more than an hour after the mark; these are counted.
 */
#define PROF_SLICE_AT(...) PROF_IMPL_SLICE_ON(_prof_default, PROF_IMPL_NO_TRACK, __VA_ARGS__, ~)
#define PROF_SLICE_ON(...) PROF_IMPL_SLICE_ON(_prof_default, __VA_ARGS__, ~)
#define PROF_INSTANT_AT(...) PROF_IMPL_INSTANT_ON(_prof_default, PROF_IMPL_NO_TRACK, __VA_ARGS__, ~)
#define PROF_INSTANT_ON(...) PROF_IMPL_INSTANT_ON(_prof_default, __VA_ARGS__, ~)

/*
 * PROF_ALLOC("pool", ptr, size)
 * PROF_FREE("pool", ptr)
 *
 * `size` bytes at `ptr` (any pointer to an object) were taken from, or returned to, the pool of that
 * name. They become a counter in bytes: the live size of the pool. Memory that is never returned is
 * listed as leaked. Put PROF_ALLOC after the allocation and PROF_FREE before the release.
 *
 * PROF_REALLOC("pool", old, size, expression)
 *
 * Evaluates the expression, which replaces the memory at `old` by `size` bytes, and has its value, their
 * address: p = PROF_REALLOC("pool", p, n, realloc(p, n)). If the value is NULL and `size` is not 0, the
 * reallocation failed, and the memory at `old` remains allocated. `old` may be NULL.
 */
#define PROF_ALLOC(pool, ptr, size) PROF_IMPL_ALLOC(_prof_default, pool, ptr, size)
#define PROF_FREE(pool, ptr) PROF_IMPL_FREE(_prof_default, pool, ptr, 0)
#define PROF_REALLOC(pool, old, size, ...) \
	PROF_IMPL_REALLOC(_prof_default, pool, old, size, __VA_ARGS__)

/*
 * PROF_THREAD_NAME(name)
 *
 * Names the calling thread and its track. `name` is any `const char *`, not only a literal. The kernel
 * gets the name too (prctl, PR_SET_NAME), whether or not somebody records, so that a tracer that starts
 * later finds it; the kernel keeps the first 15 bytes. Belongs to no domain.
 */
#define PROF_THREAD_NAME(name) PROF_IMPL_THREAD_NAME(name)

/*
 * PROF_STEP(epoch, batch)
 *
 * The program begins this batch of this epoch of its training; both are any integers. Schedules count
 * steps. A repetition of the same numbers, for example by another thread, is not a new step. Events that
 * follow on any thread of the process have both numbers as arguments. Belongs to no domain.
 */
#define PROF_STEP(epoch, batch) PROF_IMPL_STEP(epoch, batch)

/*
 * PROF_CALL(name, expression)
 *
 * Evaluates the expression inside a slice of that name, and has its value. `name` is any `const char *`;
 * a literal costs less. In C++ the expression is the body of a lambda function that is called at once:
 * it may have a reference as its value from C++14 on, and cannot contain co_await.
 */
#define PROF_CALL(name, ...) PROF_IMPL_EXPRESSION(_prof_default, __COUNTER__, name, __VA_ARGS__)

/*
 * prof_scope_push(name)
 * prof_scope_pop()
 *
 * Between the two, PROF_ALLOC on this thread uses the pool "name:pool" instead of "pool", and within
 * another such scope "outer/name:pool". PROF_FREE finds the pool by the address, so it may stand
 * anywhere. `name` is any `const char *`. Scopes nest, up to 32 deep. They belong to no domain.
 */

/*
 * Markers in a named domain -----------------------------------------------------------------------
 *
 * The same markers. `domain` is the id of a domain that this file defines or declares.
 */

#define PROF_BEGIN_IN(domain, ...) PROF_IMPL_BEGIN(_in_##domain, __VA_ARGS__, ~)
#define PROF_INSTANT_IN(domain, ...) PROF_IMPL_INSTANT(_in_##domain, __VA_ARGS__, ~)
#define PROF_SCOPE_IN(domain, ...) \
	PROF_IMPL_SCOPE_NAMED(_in_##domain, __COUNTER__, __VA_ARGS__, ~)
#define PROF_BEGIN_DYN_IN(domain, ...) PROF_IMPL_BEGIN_DYN(_in_##domain, __VA_ARGS__, ~)
#define PROF_SCOPE_DYN_IN(domain, ...) \
	PROF_IMPL_SCOPE_DYN(_in_##domain, __COUNTER__, __VA_ARGS__, ~)
#define PROF_INSTANT_DYN_IN(domain, ...) PROF_IMPL_INSTANT_DYN(_in_##domain, __VA_ARGS__, ~)
#define PROF_COUNTER_IN(domain, name, value) PROF_IMPL_COUNTER(_in_##domain, name, value)
#define PROF_COUNTERS_IN(domain, ...) PROF_IMPL_COUNTERS(_in_##domain, __VA_ARGS__, ~)
#define PROF_ASYNC_BEGIN_IN(domain, ...) PROF_IMPL_ASYNC_BEGIN(_in_##domain, __VA_ARGS__, ~)
#define PROF_ASYNC_END_IN(domain, ...) PROF_IMPL_ASYNC_END(_in_##domain, __VA_ARGS__, ~)
#define PROF_FLOW_OUT_IN(domain, id) PROF_IMPL_FLOW_OUT(_in_##domain, id)
#define PROF_FLOW_IN_IN(domain, id) PROF_IMPL_FLOW_IN(_in_##domain, id)
#define PROF_SLICE_AT_IN(domain, ...) \
	PROF_IMPL_SLICE_ON(_in_##domain, PROF_IMPL_NO_TRACK, __VA_ARGS__, ~)
#define PROF_SLICE_ON_IN(domain, ...) PROF_IMPL_SLICE_ON(_in_##domain, __VA_ARGS__, ~)
#define PROF_INSTANT_AT_IN(domain, ...) \
	PROF_IMPL_INSTANT_ON(_in_##domain, PROF_IMPL_NO_TRACK, __VA_ARGS__, ~)
#define PROF_INSTANT_ON_IN(domain, ...) PROF_IMPL_INSTANT_ON(_in_##domain, __VA_ARGS__, ~)
#define PROF_ALLOC_IN(domain, pool, ptr, size) PROF_IMPL_ALLOC(_in_##domain, pool, ptr, size)
#define PROF_FREE_IN(domain, pool, ptr) PROF_IMPL_FREE(_in_##domain, pool, ptr, 0)
#define PROF_REALLOC_IN(domain, pool, old, size, ...) \
	PROF_IMPL_REALLOC(_in_##domain, pool, old, size, __VA_ARGS__)
#define PROF_CALL_IN(domain, name, ...) \
	PROF_IMPL_EXPRESSION(_in_##domain, __COUNTER__, name, __VA_ARGS__)

/* These two need a domain even without pairs, and `PROF_END_IN(net)` must not need a trailing comma. */
#define PROF_END_IN(...) PROF_IMPL_END_IN(__VA_ARGS__, ~)
#define PROF_FUNCTION_IN(...) PROF_IMPL_FUNCTION_IN(__COUNTER__, __VA_ARGS__, ~)

/*
 * Control -----------------------------------------------------------------------------------------
 *
 * The program controls its own recording. These functions do nothing while nobody records, and then cost
 * as much as a marker that is off. Each affects the calling process only, whichever of its threads calls
 * it; a forked child starts in the state of its parent. They belong to no domain and may stand wherever
 * a marker may.
 *
 * prof_pause()
 * prof_resume()
 *	Between the return of prof_pause() and prof_resume(), no marker of any thread of the process is
 *	recorded. Slices that are already open are recorded to their end; slices that begin during the
 *	pause are not recorded. Pauses are not counted: one resume ends any number of them. If both the
 *	program and `proftrace ctl` pause and resume, the last request counts.
 *
 * prof_dump()
 *	Requests that everything recorded so far is written to disk soon, complete and readable; the
 *	recording continues. With `record --flight-recorder`, this triggers the writing, unless a trigger
 *	or another call of prof_dump() did so less than one window ago. Ignored in a process that is
 *	recorded because it matches (`record -n`, `--user` and the like, `serve`).
 *
 * prof_stop()
 *	Markers of this process are no longer recorded. In a command that proftrace has started, a process
 *	of -p, and their children, this ends the recording for all recorded processes, and the files are
 *	finished; the function does not wait for that. A process that is recorded because it matches ends
 *	its own recording alone.
 *
 * prof_include_chrome_json(path)
 *	Includes a Chrome JSON trace that another profiler wrote: a complete file whose path has at most
 *	255 bytes. A relative path begins at the current directory of the process. The file is read when
 *	the recording ends.
 */

/*
 * 3. Objects ======================================================================================
 *
 * An object is a marker with an identity: it is defined once at file scope, with its name and its
 * options, and functions get its address. Use one if the same thing is marked in several places, or
 * starts in one function and ends in another. Only the end of an object ends its slice; PROF_END and
 * other objects do not, and the object ends no other slice.
 *
 * Each definition has three forms:
 *
 *	PROF_TASK(id, domain, "name")		for this file
 *	PROF_TASK_EXTERN(id, domain, "name")	for all files of the program or library; in one file or in
 *						a header: equal ids are merged
 *	PROF_TASK_DECLARE(id)			declares an object that another file defines by the second
 *						form
 *
 * `domain` is the id of a domain that the file defines or declares, for example prof_default. An object
 * that is off costs as much as a marker, a load and a branch; and one more load if its definition is
 * not visible or has the second form.
 */

typedef struct prof_marker prof_marker_t;
typedef struct prof_task prof_task_t;
typedef struct prof_frame prof_frame_t;
typedef struct prof_event prof_event_t;
typedef struct prof_counter prof_counter_t;

/*
 * PROF_MARKER(id, domain, "name" [, .categories = "a,b"] [, .instant_on_start = 1]
 *	       [, .instant_on_finish = 1] [, .actions = ...])
 *
 *	prof_marker_start(&id)			opens a slice on the calling thread
 *	prof_marker_finish(&id)			closes the innermost slice that this marker opened there
 *	PROF_MARKER_SCOPE(&id)			a slice to the end of the block, like PROF_SCOPE
 *	prof_marker_instant(&id)		a moment of the process
 *	prof_marker_mark(&id, scope)		a moment of what `scope` says, see below
 *	prof_marker_counter(&id, key, value [, key, value]...)
 *						up to six series of a counter with the marker's name
 *
 * The options must be in this order. `.categories`: further categories besides the domain, separated by
 * commas. `.instant_on_start`, `.instant_on_finish`: also emit an instant at the start or finish.
 * `.actions`: the phases of a schedule in which the marker is recorded; all, if the option is missing.
 *
 * Starting a marker twice on one thread without finishing it is a mistake: both slices are kept, and an
 * instant reports it. PROF_MARKER_SCOPE may be entered again.
 */
#define PROF_MARKER(id, domain, ...) \
	PROF_IMPL_NEED_LISTED(__COUNTER__, prof_domain_in_##domain, prof_begin_in_##domain, __VA_ARGS__, )	\
	PROF_IMPL_MARKER(PROF_IMPL_PRIVATE, id, _in_##domain, __VA_ARGS__, )	\
	struct prof_marker
#define PROF_MARKER_EXTERN(id, domain, ...) \
	PROF_IMPL_NEED_LISTED(__COUNTER__, prof_domain_in_##domain, prof_begin_in_##domain, __VA_ARGS__, )	\
	PROF_IMPL_MARKER(PROF_IMPL_SHARED, id, _in_##domain, __VA_ARGS__, )	\
	struct prof_marker
#define PROF_MARKER_DECLARE(id) PROF_IMPL_DECLARE_OBJECT(prof_marker_t, id)

#define PROF_MARKER_SCOPE(marker) PROF_IMPL_MARKER_SCOPE(__COUNTER__, marker)
#define prof_marker_counter(...) PROF_IMPL_MARKER_COUNTER(__VA_ARGS__, ~)

#define PROF_ON_WARMUP 1
#define PROF_ON_ACTIVE 2
#define PROF_ON_ACTIVE_AND_SAVE 4

/*
 * Where an instant belongs. The last two are drawn on the thread, with an argument that names the
 * innermost open task, or the innermost open slice of another marker.
 */
#define PROF_SCOPE_THREAD 0
#define PROF_SCOPE_PROCESS 1
#define PROF_SCOPE_GLOBAL 2
#define PROF_SCOPE_TASK 3
#define PROF_SCOPE_MARKER 4

/*
 * PROF_TASK(id, domain, "name")
 *
 *	prof_task_start(&id)
 *	prof_task_stop(&id)
 *
 * A piece of work on one thread. Tasks nest, also within themselves.
 */
#define PROF_TASK(id, domain, name) \
	PROF_IMPL_SLICE(PROF_IMPL_PRIVATE, task, PROF_OBJECT_TASK, id, _in_##domain, name)
#define PROF_TASK_EXTERN(id, domain, name) \
	PROF_IMPL_SLICE(PROF_IMPL_SHARED, task, PROF_OBJECT_TASK, id, _in_##domain, name)
#define PROF_TASK_DECLARE(id) PROF_IMPL_DECLARE_OBJECT(prof_task_t, id)

/*
 * PROF_EVENT(id, "name")
 *
 *	prof_event_start(&id)
 *	prof_event_stop(&id)
 *
 * A task in the built-in domain.
 */
#define PROF_EVENT(id, name) \
	PROF_IMPL_SLICE(PROF_IMPL_PRIVATE, event, PROF_OBJECT_EVENT, id, _in_prof_default, name)
#define PROF_EVENT_EXTERN(id, name) \
	PROF_IMPL_SLICE(PROF_IMPL_SHARED, event, PROF_OBJECT_EVENT, id, _in_prof_default, name)
#define PROF_EVENT_DECLARE(id) PROF_IMPL_DECLARE_OBJECT(prof_event_t, id)

/*
 * PROF_FRAME(id, domain, "name")
 *
 *	prof_frame_start(&id)
 *	prof_frame_stop(&id)
 *
 * Work that the program repeats, for example a frame of a video. A frame belongs to the process: it may
 * stop on another thread than it started on, and may start before the previous one has stopped (they
 * then stop in the order in which they started). Frames become slices on a track of their own, numbered
 * 1, 2, 3, ... from the first recorded one, and a counter "name rate" in Hz: the reciprocal of the time
 * between two starts.
 */
#define PROF_FRAME(id, domain, name) PROF_IMPL_FRAME(PROF_IMPL_PRIVATE, id, _in_##domain, name)
#define PROF_FRAME_EXTERN(id, domain, name) PROF_IMPL_FRAME(PROF_IMPL_SHARED, id, _in_##domain, name)
#define PROF_FRAME_DECLARE(id) PROF_IMPL_DECLARE_OBJECT(prof_frame_t, id)

/*
 * PROF_COUNTER_OBJECT(id, domain, "name", initial)
 *
 *	prof_counter_set(&id, value)
 *	prof_counter_increment(&id, by)
 *	prof_counter_decrement(&id, by)
 *	int64_t prof_counter_value(&id)
 *
 * An atomic number that the program counts with. It has its value whether or not somebody records, and
 * with PROFTRACE_DISABLE too. Each change becomes a sample of the counter of that name.
 */
#define PROF_COUNTER_OBJECT(id, domain, name, initial) \
	PROF_IMPL_COUNTER_OBJECT(PROF_IMPL_PRIVATE, id, _in_##domain, name, initial)
#define PROF_COUNTER_OBJECT_EXTERN(id, domain, name, initial) \
	PROF_IMPL_COUNTER_OBJECT(PROF_IMPL_SHARED, id, _in_##domain, name, initial)
#define PROF_COUNTER_OBJECT_DECLARE(id) PROF_IMPL_DECLARE_OBJECT(prof_counter_t, id)

/*
 * Objects made at run time ------------------------------------------------------------------------
 *
 * For names that only the running program knows:
 *
 *	prof_domain_get(name)
 *	prof_task_get(domain, name)
 *	prof_frame_get(domain, name)
 *	prof_event_get(name)
 *	prof_counter_get(domain, name, initial)
 *	prof_marker_get(name, categories)
 *	prof_marker_get_in(domain, name, categories, instants, actions)
 *
 * Each function returns the object with that name in that domain, for use with the functions above. Calls with
 * the same arguments return the same object, on every thread. The first call makes the object; it is never freed.
 * `domain` is the result of prof_domain_get(), or NULL for the built-in domain, to which objects without a domain
 * argument belong. `categories` may be NULL; `instants` is any of PROF_INSTANT_ON_START and PROF_INSTANT_ON_FINISH;
 * `actions` is as above, 0 for all.
 *
 * Finding an object takes the same time among ten as among a million, but longer than a marker that is off: keep
 * the result. The functions allocate, so signal handlers must not call them. Without memory they return an object
 * named "(no memory)". Each executable and library has objects of its own; a tracer shows those with the same name
 * as one.
 *
 * All domains made at run time share one semaphore: prof_domain_is_enabled() says whether somebody records any of
 * them. `record -D` selects among them as among all domains.
 */
typedef struct prof_runtime_domain prof_runtime_domain_t;

#define PROF_INSTANT_ON_START 1
#define PROF_INSTANT_ON_FINISH 2

/*
 * prof_track_get(name, outer)
 *
 *	Returns the track of that name within the track `outer`; NULL: within the process. It is for PROF_SLICE_ON
 *	and its like, and is made and kept as the objects above. A name with slashes names several tracks, each
 *	within the one before: prof_track_get("GPU 0/stream 7", NULL). The first 256 bytes of all of these names
 *	together are kept.
 *
 * prof_track_sync(track, ticks, time)
 *
 *	Says that times on this track and on the tracks within it are of another clock, such as that of a device,
 *	and that this clock read `ticks` when CLOCK_MONOTONIC read `time`. Two readings at least are needed before
 *	the first slice. More of them should follow from time to time, since the clock may have any rate and may
 *	drift. A time between two readings is converted with these two. A time after the last one is converted with
 *	the rate of the readings of the last second, so a reading should come before the slices that are older
 *	than it. The call costs a few stores, whether or not anyone traces.
 */
typedef struct prof_track prof_track_t;

/*
 * Arguments made at run time ----------------------------------------------------------------------
 *
 * Marks whose name, keys and number of arguments only the running program knows:
 *
 *	prof_begin_args(domain, name, args, n)
 *	prof_end_args(domain, args, n)
 *	prof_instant_args(domain, name, scope, args, n)
 *	prof_async_begin_args(domain, name, id, args, n)
 *	prof_async_end_args(domain, name, id, args, n)
 *	prof_counter_args(domain, name, args, n)
 *	prof_counter_arg(domain, name, arg)
 *	prof_slice_at_args(domain, track, name, begin, end, args, n)
 *	prof_instant_at_args(domain, track, name, time, args, n)
 *	prof_marker_counter_args(marker, args, n)
 *	prof_scope_begin_args(domain, token, name, args, n)
 *	prof_scope_end_args(domain, token, args, n)
 *
 * `args` are `n` pairs of a key and a value, made by prof_arg_int(key, value) and similar functions. All data is
 * read before the function returns. An event keeps 32 arguments; the number of others is recorded. A mark carries
 * three arguments; each two more cost another mark. A counter has one series for each argument, three for each
 * mark; `record --stats-only` counts them as one series. An end closes the innermost of these slices of its domain
 * on the thread; for the built-in domain PROF_END does so too.
 */
typedef struct prof_arg {
	const char *key;
	uint64_t type; /* PROF_VALUE_..., section 4 */
	uint64_t bits;
} prof_arg_t;

/*
 * Guards for C++ ----------------------------------------------------------------------------------
 *
 * A guard starts an object, and ends it in its destructor or earlier by finish():
 *
 *	proftrace::marker_scope work(id);	task_scope, event_scope, frame_scope
 *	proftrace::memory_scope scope("name");	prof_scope_push and prof_scope_pop
 *
 * All but the last may be moved and default-constructed: the slice moves along, and ends with the guard that owns
 * it. Frames may move to another thread. Slices of threads must end on the thread where they began, after the
 * slices that began inside them.
 */

/*
 * 4. The binary interface =========================================================================
 *
 * This section is for authors of tracers. Marked programs are older and newer than their tracers, so
 * nothing below changes its meaning: a new feature gets a new number, or a new version of the note.
 * Everything is in the ELF file; a tracer attaches without reading the memory of the program.
 *
 * Stubs. For each domain and each kind of marker there is one function, the stub, in each executable
 * or library that uses the domain: symbol prof_<kind>_<id>, hidden, weak. Every marker of that kind
 * calls it, as a C function with six arguments in the registers of the platform's calling convention:
 *
 *	1  name    const char *, or NULL if the kind has no name
 *	2  meta    uint64_t: describes the other arguments
 *		   bits 0-3	number of key-value pairs, 0 to 6
 *		   bits 4-7	type of `a` (counters), else 0
 *		   bits 8+4i	4 bits: type of the value of pair i, 0 <= i < 6
 *		   bit 32	PROF_META_NAME_DYNAMIC: the name is not a constant of the ELF file; copy
 *				it now
 *		   bit 33	PROF_META_HAS_STRINGS: some value is a string
 *		   bit 34	PROF_META_IN_REGISTERS: one or two pairs, whose values are `b` and
 *				`values` themselves
 *		   bit 35	PROF_META_HAS_CATEGORIES: `b` is a const char *, the categories of the
 *				mark besides its domain, separated by commas; it is a constant if
 *				the name is one. Never with bit 34
 *		   bit 36	PROF_META_OWNED: all strings among the values are in live objects of the program
 *		   bits 40-43	instants: their scope, PROF_SCOPE_THREAD and so on; treat an unknown
 *				one as the thread
 *		   bits 44-47	the kind of object: 0 none, 1 marker, 2 task, 3 frame, 4 event,
 *				5 counter; treat an unknown one as none. An instant of 6 is not an
 *				event: it has the first arguments of the next mark of the thread;
 *				the first argument of both has an empty key and the same number.
 *				Instants of 7 to 9 have times of their own: see Times
 *		   bits 48-50	phases of a schedule in which it is not recorded: warmup, active,
 *				active and save
 *		   others	0; ignore them
 *	3  a       uint64_t, depends on the kind
 *	4  b       uint64_t, depends on the kind
 *	5  keys    const char *: the keys of the pairs in order, each with a NUL: "key1\0key2\0". NULL:
 *		   every other pair is a string, which is the key of the pair that follows it
 *	6  values  const uint64_t *: the values of the pairs in order; or 0; see bit 34
 *
 * Name and keys are constants of the ELF file that contains the stub, at a fixed distance from it,
 * unless meta says otherwise. The marker has just read their first and last bytes, so they are in
 * memory. Strings among the values are what the program passes, and may be NULL. `values` is invalid
 * after the stub returns.
 *
 * Types of values, and the meaning of their 64 bits:
 *
 *	0  none
 *	1  a signed integer, sign-extended
 *	2  an unsigned integer, zero-extended
 *	3  an IEEE double (a float is widened)
 *	4  a string: const char *
 *	5  a bool: 0 or 1
 *	6  a pointer
 *
 * Kinds, with number, word, and arguments besides pairs:
 *
 *	 1  begin	name, a = token		 6  async_end	name, a = id
 *	 2  end		a = token		 7  flow_out	a = id
 *	 3  instant	name			 8  flow_in	a = id
 *	 4  counter	name, a = value		 9  alloc	name = pool, a = pointer, b = size
 *	 5  async_begin	name, a = id		10  free	name = pool, a = pointer, b
 *
 *	32  thread_name	name (dynamic)		37  stop
 *	33  step	a = epoch, b = batch	38  include_json	one pair: the path, a string
 *	34  pause				39  scope_push	name
 *	35  resume				40  scope_pop
 *	36  dump
 *
 * A free whose b is UINT64_MAX begins a PROF_REALLOC. The next alloc of the thread confirms that the memory
 * at `a` is free, unless the pointer of that alloc is 0 and its size is not. Until then another thread may
 * have got the address.
 *
 * A counter without a type for `a` in meta has its series in the pairs.
 *
 * The token says to which begin an end belongs: the innermost open begin of the thread with that token.
 * PROF_BEGIN and PROF_END have token 0, which is a different token in each domain with another name. A scope
 * has a token that no other open slice of the process has. An object that is started twice has the same
 * token both times. Frames are async_begin and async_end: `id` is their token, and an end belongs to the
 * oldest open begin. The ends of objects have no arguments but the token; frames also have the name.
 *
 * Times. An instant of 7 is a slice with times of its own: `a` is its begin. Its first two pairs have empty keys.
 * The first is a string or NULL: the names of its track and of the tracks around it, the outermost first, with
 * slashes between them. The second is its end. If it has more arguments than fit, these two follow the number. An
 * instant of 8 is a moment at `a`; its second pair has no meaning. If the scope of either is 1, times are ticks of the
 * clock of its track, or of the innermost track around it that has a clock. An instant of 9 is not an event but a
 * reading of the clock of a track: `a` ticks, and its second pair is CLOCK_MONOTONIC at the same moment. The last two
 * readings are repeated with every sixteenth slice.
 *
 * Kinds from 32 on belong to the control site, which is not a domain: its name is empty, its id is
 * prof_control, and it has its own semaphore. Kinds 48, 49 and 52 are described at "Buffers".
 *
 * Probe sites. A stub has two places for a probe. The breakpoint nop is a one-byte nop on x86-64, and any
 * nop on arm64. On x86-64 the optimised nop follows it, a ten-byte nop: kernels that optimise a uprobe on
 * a ten-byte nop accept a probe there, others reject it. Attach to one of them only, or every hit counts
 * twice. The notes say where they are. Rely on the file, never on the bytes in memory: a kernel may have
 * left them changed.
 *
 * Steady nops. Domains may go from one mode to the other while they are recorded. A mark that has read `batch`
 * as 0 may be stopped before it comes to its probe site, for any time. So a probe that comes and goes with
 * `exact` would miss it. If bit 1 of the flags of a note is set, another nop precedes the breakpoint nop, of one
 * byte on x86-64. All marks that read `batch` as 0 pass it, and no others: each mark goes either there or into a
 * buffer. A probe without a semaphore stays there while `exact` and `batch` change, one of which is always on.
 * In kind 49 a probe at the steady nop increments `exact`.
 *
 * Semaphores. The markers of a domain are on while the 4-byte object prof_domain_<id> in the writable
 * section .probes is not zero. It consists of two counters of type uint16_t: `exact` at the lower address
 * is the USDT semaphore of all stubs of the domain; `batch` above it is that of batch mode. Let the kernel
 * increment them (ref_ctr_offset): then several tracers work at the same time, and one that dies leaves no
 * semaphore on.
 *
 * Notes. Each stub has two ELF notes. The first, in .note.stapsdt, is for USDT tools: the breakpoint nop,
 * provider = domain id, name = the word of the kind, semaphore = exact, six arguments. It is not loaded,
 * and `strip` may remove it. The second, in the loaded section .note.proftrace, remains. Its owner is
 * "proftrace", its type 1 is the version of this interface, and its description, unaligned, is:
 *
 *	s64	address of the stub minus the address of this field
 *	s64	address of the semaphore minus the address of this field
 *	u16	kind
 *	u8	offset of the breakpoint nop in the stub
 *	u8	offset of the optimised nop in the stub, 255 if there is none
 *	u32	flags: bit 0 the markers support batch mode; bit 1 there is a steady nop; bit 2, of kind 48,
 *		there is a stub of kind 52; others 0, ignore them
 *	...	name of the domain, with a NUL; later versions may append fields
 *
 * Link-time optimisation may write a note twice: count a probe site once for each offset in the file.
 *
 * Names. The section .debug_proftrace is not loaded, and `strip` removes it. (Only in sections with names
 * like this do linkers accept references to functions that they have dropped.) It has three words for each
 * object and each marker whose name is a literal: an address in the code of its function, the address of
 * the stub that it calls first, and the address of its name. Several entries may be equal. If the first
 * address is not in the code of the file, the linker has dropped the function; ignore the entry.
 *
 * Domains that are made at run time share the stubs of one domain, whose id is prof_runtime and whose name
 * is "(run time)". The first category of their marks is the domain to which they belong.
 *
 * Buffers. While `batch` is on, a mark goes into a buffer of its thread, and the kernel is entered only to
 * hand the buffer over: by kind 48, with the address of the buffer as `a`, and as `b`
 *
 *	0  it is full
 *	1  it is new and empty
 *	2  one event only, in a buffer of that size on the stack, because the buffer of the thread cannot be
 *	   used at the moment. Its time is 0 if the thread has no buffer
 *	4  a buffer of any thread, of a library that is about to be unloaded; afterwards the buffer does not
 *	   exist: read the complete events. When a program ends there may be some of these as well, and
 *	   their threads continue to use them
 *
 *	5  as 2, but the values of the event that are strings are their addresses, and their bytes are missing.
 *	   meta says where they belong: in its low half which word of the event has the first value, in its high
 *	   half at which byte of the event the strings begin. `values` is the address of the stub
 *
 * The probe must have copied the buffer when it returns. Kind 49 is never called: a probe there increments
 * `batch` of its domain.
 *
 * Strings. In a buffer, the thread itself copies the strings among the values, so an invalid pointer would end the
 * program, which a probe only finds unreadable. Kind 52 is never called either: a probe there increments the upper half
 * of the semaphore of the control site. While that is on, a thread reads only strings that it can read for certain:
 * those with bit 36 of meta, and those in the segments of the file itself, such as literals. It sends a mark with any
 * other one alone, with 5, and the probe reads the strings.
 *
 * The buffers are in the file itself, at prof_batches, in zero pages that are not touched before. So no
 * marker needs a system call to get a buffer, which seccomp(2) might forbid. The first 128 words contain
 * the owners: the thread pointer of a thread, or 0. The buffers follow from offset 4096 on, 32768 bytes
 * each. A thread takes the buffer of an earlier thread with the same thread pointer, which must have
 * exited, or else the first one without an owner. It discards what the earlier thread left: read a buffer
 * when its thread exits. A thread that finds no buffer sends each mark by itself (b is 2).
 *
 * A forked child has a copy of its parent's buffer, with the parent's events, and continues in it. So
 * remember at the fork how far the buffer of the forking thread was filled. The buffer is not announced
 * again, neither after a fork nor to a tracer that comes later. The only clock that is read is the
 * processor's counter, which must not be forbidden (PR_SET_TSC, SECCOMP_MODE_STRICT). A buffer begins with
 *
 *	u32	0
 *	u32	version of the layout, 4. In version 3 no event has bit 55
 *	u32	bits 0-19: bytes used, including these 64; for a moment more than the size of the buffer.
 *		The bits above are not 0 while the buffer is handed over and emptied
 *	u32	size of the buffer in bytes; the thread has data of its own in the rest of the 32768
 *	u32	bits 0-15: words (8 bytes) of complete events; bits 16-31: number of complete events
 *	u32	not 0 while the thread looks for a name in it; then it is not handed over
 *	u64	bytes of all earlier events in it: with these, each event has a position in one stream
 *	u64	number of all earlier events in it
 *	u32	turn: a different number for each thread that owns it; odd while a thread prepares it
 *	u32	events sent without it since it was emptied; from 64 on its thread no longer uses it
 *	u64	thread pointer of its thread
 *	u64	address of the stub that hands it over
 *	...	events
 *
 * An event has 3 to 255 words. It is complete when its first word, which is written last, is not 0, or when
 * it comes without a buffer:
 *
 *	u64	time of the processor's counter, TSC or CNTVCT_EL0
 *	s32	in the high half, distance of the name from the stub; in the low half, u32, the low half of
 *		the stub's address
 *	u64	bits 0-50 of meta; bit 52: `a` follows; bit 53: the keys are near; bit 54: `b` follows;
 *		bit 55: the name is in an earlier event; bits 56-63: words of the event
 *	u64	a, if bit 52 is set; otherwise it is 0
 *	u64	b, if bit 54 is set; otherwise it is 0. For categories, their distance from the stub, or
 *		their length
 *	u64	if the name is dynamic: its length
 *	u64	if there are pairs and the keys are not near: distance of the keys from the stub, in the
 *		low half
 *	u64...	the values of the pairs; for strings, their lengths
 *	...	the bytes of a dynamic name, of its categories, of the strings
 *
 * If bit 55 is set, the name is dynamic, and it and the categories are those of an earlier event of the same buffer,
 * which has their bytes. It begins as many words before this one as the high half of the second word says. This
 * event has neither the lengths nor the bytes of them.
 *
 * So most events have 3 words, and one more for each value. If bit 53 is set, there are one or two pairs
 * without strings, and only bit 34 of bits 16-39 of meta is set. These bits then hold the distance from the
 * name to the keys behind it, plus 2^23; if the name is NULL, from the stub.
 *
 * Distances are 0 for NULL and -2^31 if they do not fit. In lengths, bit 63 says that the string was cut,
 * and bit 61 that it is NULL. If a signal handler marks while another mark is being written, its event
 * follows that one and has the earlier time. The note of kind 48 continues, after the name of the domain,
 * with
 *
 *	s64	address of prof_batches minus the address of this field
 *	u32	version of the layout; 1 if it is missing
 */

#define PROF_VALUE_INT 1
#define PROF_VALUE_UINT 2
#define PROF_VALUE_DOUBLE 3
#define PROF_VALUE_STRING 4
#define PROF_VALUE_BOOL 5
#define PROF_VALUE_POINTER 6

#define PROF_META_NAME_DYNAMIC (UINT64_C(1) << 32)
#define PROF_META_HAS_STRINGS (UINT64_C(1) << 33)
#define PROF_META_IN_REGISTERS (UINT64_C(1) << 34)
#define PROF_META_HAS_CATEGORIES (UINT64_C(1) << 35)
#define PROF_META_OWNED (UINT64_C(1) << 36)
#define PROF_META_SCOPE(scope) ((PROF_IMPL_U64(scope) & 15) << 40)
#define PROF_META_OBJECT(object) (UINT64_C(object) << 44)
#define PROF_META_NOT_ON(actions) (PROF_IMPL_U64(actions) << 48)

#define PROF_OBJECT_MARKER 1
#define PROF_OBJECT_TASK 2
#define PROF_OBJECT_FRAME 3
#define PROF_OBJECT_EVENT 4
#define PROF_OBJECT_COUNTER 5
#define PROF_OBJECT_ARGUMENTS 6
#define PROF_OBJECT_SLICE_AT 7
#define PROF_OBJECT_INSTANT_AT 8
#define PROF_OBJECT_CLOCK_READING 9
#define PROF_SCOPE_TICKS 1 /* of these */

/*
 * 5. Implementation ===============================================================================
 *
 * Nothing below is for use outside this file.
 *
 * 5.1 Compilers and languages ---------------------------------------------------------------------
 *
 * Functions that must not be inlined are nevertheless declared inline: otherwise gcc without optimisation
 * puts them into every file, used or not.
 */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"
#endif

#ifdef __cplusplus
#define PROF_IMPL_C extern "C"
#define PROF_IMPL_NULL nullptr
#define PROF_IMPL_U64(x) static_cast<uint64_t>(x)
#define PROF_IMPL_ADDRESS(p) reinterpret_cast<uintptr_t>(p)
#define PROF_IMPL_CHAR(c) static_cast<unsigned char>(c)
#define PROF_IMPL_CAST(type, p) (::prof_impl::cast<type>(p))
#define PROF_IMPL_U32(x) static_cast<uint32_t>(x)
#define PROF_IMPL_AT(type, address) reinterpret_cast<type *>(address)
#define PROF_IMPL_CODE_ADDRESS(function) reinterpret_cast<uintptr_t>(&function)
namespace prof_impl
{
template <class To> inline To cast(const void *p)
{
	return static_cast<To>(p);
}
template <class To> inline To cast(void *p)
{
	return static_cast<To>(p);
}
/* A template of types, because the type of a variable is not a reference; decltype of an expression is. */
template <class T> struct is_literal {
	static constexpr bool value = false;
};
template <decltype(sizeof(0)) N> struct is_literal<const char (&)[N]> {
	static constexpr bool value = true;
};
} /* namespace prof_impl */
#else
#define PROF_IMPL_C extern
#define PROF_IMPL_NULL NULL
#define PROF_IMPL_U64(x) ((uint64_t)(+(x))) /* the plus keeps pointers out */
#define PROF_IMPL_ADDRESS(p) ((uintptr_t)(1 ? (p) : (const volatile void *)0)) /* no integers */
#define PROF_IMPL_CHAR(c) ((unsigned char)(c))
#define PROF_IMPL_CAST(type, p) ((type)(p))
#define PROF_IMPL_U32(x) ((uint32_t)(x))
#define PROF_IMPL_AT(type, address) ((type *)(uintptr_t)(address))
#define PROF_IMPL_CODE_ADDRESS(function) ((uintptr_t)&function)
#endif

/* A domain may be declared any number of times, and -Wredundant-decls would warn. */
#define PROF_IMPL_QUIET_ABOUT_AGAIN						\
	_Pragma("GCC diagnostic push")						\
	_Pragma("GCC diagnostic ignored \"-Wredundant-decls\"")
#define PROF_IMPL_LOUD _Pragma("GCC diagnostic pop")

/* A mistake in the use of a marker becomes one readable line. */
#ifdef __cplusplus
#define PROF_IMPL_REQUIRE(condition, message) static_assert(condition, message)
#define PROF_IMPL_IS_LITERAL(s) ::prof_impl::is_literal<decltype(s)>::value
#else
/* Before C11 some C libraries define a macro of that name, which hides the message; not in front of `(`. */
#define PROF_IMPL_REQUIRE(condition, message) \
	__extension__ _Static_assert PROF_IMPL_NOTHING()(condition, message)
#define PROF_IMPL_NOTHING()
#define PROF_IMPL_IS_LITERAL(s)							\
	(__builtin_types_compatible_p(__typeof__(s), char[sizeof(s)]) && __builtin_constant_p(s))
#endif
#define PROF_IMPL_REQUIRE_NAME(s, form)						\
	PROF_IMPL_REQUIRE(PROF_IMPL_IS_LITERAL(s),				\
			  "proftrace: the name must be a string literal" form)
#define PROF_IMPL_NOT_A_VALUE							\
	"proftrace: a value is an integer of up to 64 bits, a bool, a float or double, a string or a "	\
	"void pointer; cast it to one of these"
#define PROF_IMPL_VIEW_KEPT 256 /* bytes of a string that are recorded */
#define PROF_IMPL_NOT_A_NUMBER							\
	"proftrace: the value of a counter is an integer of up to 64 bits, a bool, a float or double"

#define PROF_IMPL_HIDDEN __attribute__((visibility("hidden")))
#define PROF_IMPL_INLINE static inline __attribute__((always_inline))
#define PROF_IMPL_QUOTE(x) PROF_IMPL_QUOTE_(x)
#define PROF_IMPL_QUOTE_(x) #x
#define PROF_IMPL_JOIN(a, b) PROF_IMPL_JOIN_(a, b)
#define PROF_IMPL_JOIN_(a, b) a##b

/*
 * 5.2 Stubs as C sees them ------------------------------------------------------------------------
 *
 * A stub has a symbol, prof_begin_net, and up to two names in C:
 *
 *	prof_begin_in_net	for the explicit form, bound to the symbol by an asm label;
 *	prof_begin_prof_default	for the markers of this file. It has no label, so it means the symbol of
 *				that name, until PROF_DEFAULT_DOMAIN declares it again with the label of
 *				another symbol. Both compilers permit that before the first use, so
 *				nothing in this header may use it outside a macro.
 *
 * Therefore markers pass on `_in_net` or `_prof_default`: the end of the C names that begin with
 * `prof_begin` and `prof_domain`.
 *
 * The functions are cold, so that the compiler moves the call and its preparation out of the way.
 */
#ifdef __cplusplus
extern "C" {
#endif
typedef void prof_stub_t(const char *name, uint64_t meta, uint64_t a, uint64_t b, const char *keys,
			 uint64_t values);
#ifdef __cplusplus
}
#endif

#define PROF_IMPL_STUB_ATTRIBUTES __attribute__((visibility("hidden"), cold, nothrow))

/*
 * Only a marker of the built-in domain brings the stubs of that domain. Which domain `_prof_default` means is
 * known to the compiler alone, and of two names of variables it cannot tell whether they mean the same one. So
 * the semaphore of the built-in domain is declared as aligned to 4 bytes, and any other to 8, as they are.
 */
#define PROF_IMPL_NOT_BUILT_IN __attribute__((aligned(8)))
#define PROF_IMPL_IS_BUILT_IN(domain) (__alignof__(domain) < 8)

#define PROF_IMPL_DECLARE_STUB(number, kind, id, name)				\
	PROF_IMPL_C prof_stub_t prof_##kind##_in_##id __asm__("prof_" #kind "_" #id)	\
		PROF_IMPL_STUB_ATTRIBUTES;
#define PROF_IMPL_REDIRECT_STUB(number, kind, id, name)				\
	PROF_IMPL_C prof_stub_t prof_##kind##_prof_default			\
		__asm__("prof_" #kind "_" #id) PROF_IMPL_STUB_ATTRIBUTES;
#define PROF_IMPL_DECLARE_DEFAULT_STUB(number, kind, id, name)			\
	PROF_IMPL_C prof_stub_t prof_##kind##_prof_default PROF_IMPL_STUB_ATTRIBUTES;

/* The kinds for which each domain has a stub, and those of the control site, with their numbers. */
#define PROF_IMPL_EACH_KIND(DO, id, name)					\
	DO(1, begin, id, name)							\
	DO(2, end, id, name)							\
	DO(3, instant, id, name)						\
	DO(4, counter, id, name)						\
	DO(5, async_begin, id, name)						\
	DO(6, async_end, id, name)						\
	DO(7, flow_out, id, name)						\
	DO(8, flow_in, id, name)						\
	DO(9, alloc, id, name)							\
	DO(10, free, id, name)
#define PROF_IMPL_EACH_CONTROL_KIND(DO, id, name)				\
	DO(32, thread_name, id, name)						\
	DO(33, step, id, name)							\
	DO(34, pause, id, name)							\
	DO(35, resume, id, name)						\
	DO(36, dump, id, name)							\
	DO(37, stop, id, name)							\
	DO(38, include_json, id, name)					\
	DO(39, scope_push, id, name)						\
	DO(40, scope_pop, id, name)

/* Rejects a name that does not consist of string literals: only these can be concatenated. */
#define PROF_IMPL_CHECK_NAME(id, name) PROF_IMPL_C const char prof_name_of_##id[sizeof("" name)];

#if PROF_IMPL_OFF

#define PROF_IMPL_DEFINE_DOMAIN(id, name)
#define PROF_IMPL_NEED (void)0
#define PROF_IMPL_NEED_OF(domain) (void)0
#define PROF_IMPL_NEED_SHARED(n)
#define PROF_IMPL_NEED_LISTED(n, ...)
#define PROF_IMPL_ON(domain) 0
#define PROF_IMPL_EXACT(domain) 0
#define PROF_IMPL_IS_ENABLED(domain) ((void)sizeof((domain)->on), 0)

#else

#define PROF_IMPL_ON(domain) __builtin_expect((domain).on != 0, 0)
/* Whether a probe reads the marks. In batch mode, the marker itself reads its strings, when it copies them. */
#define PROF_IMPL_EXACT(domain) (((domain).on & 0xffff) != 0)
#define PROF_IMPL_IS_ENABLED(domain) prof_impl_is_enabled(domain)

/*
 * 5.3 Stubs as the assembler sees them ------------------------------------------------------------
 *
 * All files of a program share the stubs of the built-in domain and of the control site, and the code of
 * batch mode. These are assembly in section groups, of which the linker keeps one. A file without a
 * marker must get none of this. So the assembly is in a function that is never called, prof_impl_shared:
 * a marker names it as an operand of an empty assembly statement, and without a marker the compiler
 * omits the function. Only markers of the built-in domain name another one, prof_impl_shared_default, which
 * has the stubs of that domain besides.
 *
 * Assemblers that can handle only one function at a time (clang's before 15) must not find the unwinding
 * rules of another function inside it: this function interrupts its own before the assembly and resumes
 * them after it. It calls something that might throw, because otherwise it may have no such rules.
 */
#if defined(__x86_64__)
#define PROF_IMPL_SYMBOLIC "i"
#else
#define PROF_IMPL_SYMBOLIC "S"
#endif
#if defined(__clang__) && defined(__GCC_HAVE_DWARF2_CFI_ASM)
#define PROF_IMPL_ASM_INTERRUPT "	nop\n.cfi_endproc\n"
#define PROF_IMPL_ASM_RESUME ".cfi_startproc\n"
#else
#define PROF_IMPL_ASM_INTERRUPT ""
#define PROF_IMPL_ASM_RESUME ""
#endif
#define PROF_IMPL_UNCALLED static inline __attribute__((cold))
typedef void prof_impl_uncalled_t(void);
PROF_IMPL_UNCALLED void prof_impl_shared(prof_impl_uncalled_t *nobody);
PROF_IMPL_UNCALLED void prof_impl_shared_default(prof_impl_uncalled_t *nobody);
#define PROF_IMPL_NEED __asm__ volatile("" : : PROF_IMPL_SYMBOLIC(&prof_impl_shared))
#define PROF_IMPL_NEED_OF(domain)						\
	__asm__ volatile("" : : PROF_IMPL_SYMBOLIC(				\
		PROF_IMPL_IS_BUILT_IN(domain) ? &prof_impl_shared_default : &prof_impl_shared))
/* At file scope. The second form is for objects, and lists their names and stubs. */
#define PROF_IMPL_NEED_SHARED(n)						\
	static __attribute__((used, cold)) void PROF_IMPL_JOIN(prof_impl_needs_, n)(void)	\
	{									\
		PROF_IMPL_NEED;							\
	}
#define PROF_IMPL_NEED_LISTED(n, domain, stub, name, ...)			\
	static __attribute__((used, cold)) void PROF_IMPL_JOIN(prof_impl_needs_, n)(void)	\
	{									\
		PROF_IMPL_NEED_OF(domain);					\
		PROF_IMPL_LIST(stub, name);					\
	}
#define PROF_IMPL_LIST(stub, name)						\
	__asm__ volatile("979: .pushsection .debug_proftrace, \"\", %%progbits\n\t"	\
			 ".8byte 979b, %c0, %c1\n\t"				\
			 ".popsection"						\
			 :							\
			 : PROF_IMPL_SYMBOLIC(&stub), PROF_IMPL_SYMBOLIC(&("" name)[0]))

PROF_IMPL_INLINE int prof_impl_is_enabled(const prof_domain_t *domain)
{
	PROF_IMPL_NEED;
	return PROF_IMPL_ON(*domain) ? 1 : 0;
}

/*
 * Section 4 describes the result. Each stub is with its notes in a section group that has its name: the
 * linker keeps one of equal groups, and drops a group as a whole. The .ifndef does the same within one
 * file, because link-time optimisation may combine several files.
 *
 * Probe sites. A uprobe on the one-byte nop is a breakpoint on every kernel. Newer kernels turn a uprobe
 * on the ten-byte nop into a call, which is faster, provided that the nop is within one page; hence the
 * alignment. There must be no five-byte nop: kernel 6.18 replaces it by a call that overwrites the red
 * zone of the caller and kills forked children.
 *
 * Before its probe sites the stub of a domain tests the upper half of the semaphore. If that is on, the
 * mark goes into the buffer of the thread, by prof_batch_mark, and to the probe sites only if the lower
 * half is on too, past the steady nop. The stubs of the control site have probe sites only.
 *
 * arm64 code may be built to permit indirect calls only to landing pads (BTI), and linkers reach distant
 * functions by indirect calls. hint 34 is such a landing pad, and a nop on processors without BTI.
 *
 * The bytes after the last jump are never executed. They make the bytes of each stub unique, because
 * linkers that fold identical code (lld, gold) would otherwise give several probes one address.
 */
#if defined(__x86_64__)
#define PROF_IMPL_ASM_PAD ""
#define PROF_IMPL_ASM_WANTS(symbol) "	.reloc ., R_X86_64_NONE, " symbol "\n"
#define PROF_IMPL_ASM_NOPS							\
	"	nop\n"								\
	"	.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"		\
	"	ret\n"
/* As bytes, because these have one spelling (-masm) and one length. Each has its instruction in front. */
#define PROF_IMPL_ASM_CODE(stub, id)						\
	/* though nobody calls it */						\
	PROF_IMPL_ASM_WANTS("prof_batch_on_" id)				\
	/* cmpw $0, prof_domain_id+2(%rip) */					\
	"	.byte 0x66, 0x83, 0x3d\n	.4byte prof_domain_" id " + 2 - . - 5\n	.byte 0\n"	\
	/* jne 981f */								\
	"	.byte 0x75, 981f - 979f\n"					\
	"979:	nop\n"								\
	"980:\n" PROF_IMPL_ASM_NOPS						\
	/* lea stub(%rip), %rax */						\
	"981:	.byte 0x48, 0x8d, 0x05\n	.4byte " stub " - . - 4\n"	\
	/* cmpw $0, prof_domain_id(%rip) */					\
	"	.byte 0x66, 0x83, 0x3d\n	.4byte prof_domain_" id " - . - 5\n	.byte 0\n"	\
	/* je prof_batch_mark */						\
	"	.byte 0x0f, 0x84\n	.4byte prof_batch_mark - . - 4\n"	\
	/* call prof_batch_mark_too */						\
	"	.byte 0xe8\n	.4byte prof_batch_mark_too - . - 4\n"		\
	/* jmp 980b */								\
	"	.byte 0xeb, 980b - 982f\n"					\
	"982:\n"
#define PROF_IMPL_ASM_JUMP "	.byte 0xe9\n	.4byte %c0 - . - 4"
#define PROF_IMPL_ASM_NOP_OFFSETS "11, 12"
#define PROF_IMPL_ASM_BREAKPOINT_NOP " + 11"
#define PROF_IMPL_ASM_ON_NOP_OFFSETS "1, 2"
#define PROF_IMPL_ASM_CONTROL_NOP_OFFSETS "0, 1"
#define PROF_IMPL_ASM_CONTROL_BREAKPOINT_NOP ""
#define PROF_IMPL_ASM_ARGUMENTS "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9"
#else
#define PROF_IMPL_ASM_PAD "	hint 34\n"
#define PROF_IMPL_ASM_WANTS(symbol) "	.reloc ., R_AARCH64_NONE, " symbol "\n"
#define PROF_IMPL_ASM_NOPS							\
	"	nop\n"								\
	"	ret\n"
#define PROF_IMPL_ASM_CODE(stub, id)						\
	PROF_IMPL_ASM_WANTS("prof_batch_on_" id)				\
	"	adrp x16, prof_domain_" id "\n"				\
	"	ldrh w17, [x16, #:lo12:prof_domain_" id "+2]\n"		\
	"	cbnz w17, 981f\n"						\
	"	nop\n"								\
	"980:\n" PROF_IMPL_ASM_NOPS						\
	"981:	ldrh w17, [x16, #:lo12:prof_domain_" id "]\n"			\
	"	adr x6, " stub "\n"						\
	"	cbnz w17, 982f\n"						\
	"	b prof_batch_mark\n"						\
	"982:	stp x29, x30, [sp, #-16]!\n"					\
	"	bl prof_batch_mark_too\n"					\
	"	ldp x29, x30, [sp], #16\n"					\
	"	b 980b\n"
#define PROF_IMPL_ASM_JUMP "	hint 34\n	b %c0"
#define PROF_IMPL_ASM_NOP_OFFSETS "20, 255"
#define PROF_IMPL_ASM_BREAKPOINT_NOP " + 20"
#define PROF_IMPL_ASM_ON_NOP_OFFSETS "8, 255"
#define PROF_IMPL_ASM_CONTROL_NOP_OFFSETS "4, 255"
#define PROF_IMPL_ASM_CONTROL_BREAKPOINT_NOP " + 4"
#define PROF_IMPL_ASM_ARGUMENTS "8@x0 8@x1 8@x2 8@x3 8@x4 8@x5"
#endif

#define PROF_IMPL_ASM_SYMBOL(symbol, type)					\
	".weak " symbol "\n"							\
	".hidden " symbol "\n"							\
	".type " symbol ", %" type "\n"

#define PROF_IMPL_DEFINE_DOMAIN(id, name)					\
	PROF_IMPL_DEFINE_SEMAPHORE(id)						\
	PROF_IMPL_EACH_KIND(PROF_IMPL_DEFINE_STUB, id, name)			\
	PROF_IMPL_DEFINE_BATCH_ON(id, name)

/*
 * Semaphores begin on a page of their own. lld puts data that is read-only after relocation, which precedes them,
 * and all other data into two mappings that may share a page of the file. Both are writable while a program starts,
 * and the kernel would increment the semaphore in the first mapping, which no marker reads. Each semaphore refers to
 * the empty object, or linkers might drop it.
 */
#define PROF_IMPL_ASM_SEMAPHORE_PAGE						\
	".ifndef prof_semaphore_page\n"						\
	".pushsection .probes, \"awG\", %progbits, prof_semaphore_page, comdat\n"	\
	PROF_IMPL_ASM_SYMBOL("prof_semaphore_page", "object")			\
	".balign 4096\n"							\
	"prof_semaphore_page:\n"							\
	".size prof_semaphore_page, 0\n"						\
	".popsection\n"								\
	".endif\n"

#define PROF_IMPL_DEFINE_SEMAPHORE(id)						\
	__asm__(PROF_IMPL_ASM_SEMAPHORE_PAGE					\
		".ifndef prof_domain_" #id "\n"					\
		".pushsection .probes, \"awG\", %progbits, prof_domain_" #id ", comdat\n"	\
		PROF_IMPL_ASM_SYMBOL("prof_domain_" #id, "object")		\
		".balign 8\n"							\
		PROF_IMPL_ASM_WANTS("prof_semaphore_page")				\
		"prof_domain_" #id ": .4byte 0\n"				\
		".size prof_domain_" #id ", 4\n"				\
		".popsection\n"							\
		".endif\n");

#define PROF_IMPL_DEFINE_STUB(number, kind, id, name)				\
	__asm__(".ifndef prof_" #kind "_" #id "\n"				\
		PROF_IMPL_ASM_STUB("prof_" #kind "_" #id, #kind "_" #id,	\
				   PROF_IMPL_ASM_CODE("prof_" #kind "_" #id, #id))	\
		PROF_IMPL_ASM_STAPSDT_NOTE("prof_" #kind "_" #id, #kind, #id,	\
					   PROF_IMPL_ASM_BREAKPOINT_NOP)		\
		PROF_IMPL_ASM_PROFTRACE_NOTE("prof_" #kind "_" #id, #number, #id, "",	\
					     PROF_IMPL_ASM_NOP_OFFSETS, "3", name)	\
		PROF_IMPL_ASM_NOTE_END						\
		".endif\n");

#define PROF_IMPL_DEFINE_CONTROL_STUB(number, kind, id, name)			\
	__asm__(".ifndef prof_" #kind "_" #id "\n"				\
		PROF_IMPL_ASM_STUB("prof_" #kind "_" #id, #kind "_" #id, PROF_IMPL_ASM_NOPS)	\
		PROF_IMPL_ASM_STAPSDT_NOTE("prof_" #kind "_" #id, #kind, #id,	\
					   PROF_IMPL_ASM_CONTROL_BREAKPOINT_NOP)	\
		PROF_IMPL_ASM_PROFTRACE_NOTE("prof_" #kind "_" #id, #number, #id, "",	\
					     PROF_IMPL_ASM_CONTROL_NOP_OFFSETS, "0", name)	\
		PROF_IMPL_ASM_NOTE_END						\
		".endif\n");

/* Never called: probes there increment one half of the domain's semaphore each. */
#define PROF_IMPL_DEFINE_BATCH_ON(id, name)					\
	__asm__(".ifndef prof_batch_on_" #id "\n"				\
		PROF_IMPL_ASM_STUB("prof_batch_on_" #id, "batch_on_" #id, "	nop\n" PROF_IMPL_ASM_NOPS)	\
		PROF_IMPL_ASM_PROFTRACE_NOTE("prof_batch_on_" #id, "49", #id, " + 2",	\
					     PROF_IMPL_ASM_ON_NOP_OFFSETS, "2", name)	\
		PROF_IMPL_ASM_NOTE_END						\
		".endif\n");

/* Hands a buffer over. Its note also says where the buffers are and which layout they have. */
#define PROF_IMPL_BATCH_VERSION 4
#define PROF_IMPL_DEFINE_FLUSH							\
	__asm__(".ifndef prof_flush_prof_control\n"				\
		PROF_IMPL_ASM_STUB("prof_flush_prof_control", "flush",		\
				   PROF_IMPL_ASM_WANTS("prof_read_strings_prof_control") PROF_IMPL_ASM_NOPS)	\
		PROF_IMPL_ASM_PROFTRACE_NOTE("prof_flush_prof_control", "48", "prof_control", "",	\
					     PROF_IMPL_ASM_CONTROL_NOP_OFFSETS, "4", "\"\"")	\
		".8byte prof_batches - .\n"					\
		".4byte " PROF_IMPL_QUOTE(PROF_IMPL_BATCH_VERSION) "\n"	\
		PROF_IMPL_ASM_NOTE_END						\
		".endif\n");

/* Never called: a probe there increments the upper half of the control site's semaphore. */
#define PROF_IMPL_DEFINE_READ_STRINGS						\
	__asm__(".ifndef prof_read_strings_prof_control\n"			\
		PROF_IMPL_ASM_STUB("prof_read_strings_prof_control", "read_strings", PROF_IMPL_ASM_NOPS)	\
		PROF_IMPL_ASM_PROFTRACE_NOTE("prof_read_strings_prof_control", "52", "prof_control", " + 2",	\
					     PROF_IMPL_ASM_CONTROL_NOP_OFFSETS, "0", "\"\"")	\
		PROF_IMPL_ASM_NOTE_END						\
		".endif\n");

#define PROF_IMPL_ASM_STUB(stub, unique, code)					\
	".pushsection .text." stub ", \"axG\", %progbits, " stub ", comdat\n"	\
	PROF_IMPL_ASM_SYMBOL(stub, "function")					\
	".balign 32\n"								\
	stub ":\n"								\
	".cfi_startproc\n"							\
	PROF_IMPL_ASM_PAD							\
	code									\
	".cfi_endproc\n"							\
	".size " stub ", . - " stub "\n"					\
	".ascii \"" unique "\"\n"						\
	".popsection\n"

#define PROF_IMPL_ASM_STAPSDT_NOTE(stub, kind, id, breakpoint_nop)			\
	".pushsection .note.stapsdt, \"G\", %note, " stub ", comdat\n"		\
	".balign 4\n"								\
	".4byte 992f - 991f, 994f - 993f, 3\n"					\
	"991: .asciz \"stapsdt\"\n"						\
	"992: .balign 4\n"							\
	"993: .8byte " stub breakpoint_nop "\n"					\
	".8byte _.stapsdt.base\n"						\
	".8byte prof_domain_" id "\n"						\
	".asciz \"" id "\"\n"							\
	".asciz \"" kind "\"\n"							\
	".asciz \"" PROF_IMPL_ASM_ARGUMENTS "\"\n"				\
	"994: .balign 4\n"							\
	".popsection\n"

#define PROF_IMPL_ASM_PROFTRACE_NOTE(stub, number, id, half, nops, flags, name)	\
	".pushsection .note.proftrace, \"aG\", %note, " stub ", comdat\n"	\
	".balign 4\n"								\
	".4byte 992f - 991f, 994f - 993f, 1\n"					\
	"991: .asciz \"proftrace\"\n"						\
	"992: .balign 4\n"							\
	"993: .8byte " stub " - .\n"						\
	".8byte prof_domain_" id half " - .\n"					\
	".2byte " number "\n"							\
	".byte " nops "\n"							\
	".4byte " flags "\n"							\
	".ascii " name "\n"							\
	".byte 0\n"
#define PROF_IMPL_ASM_NOTE_END							\
	"994: .balign 4\n"							\
	".popsection\n"

#endif /* !PROF_IMPL_OFF */

/* The built-in domain and the control site. */
PROF_IMPL_EACH_KIND(PROF_IMPL_DECLARE_STUB, prof_default, )
PROF_IMPL_C prof_domain_t prof_domain_in_prof_default __asm__("prof_domain_prof_default") PROF_IMPL_HIDDEN;
PROF_IMPL_C prof_domain_t prof_default __asm__("prof_domain_prof_default") PROF_IMPL_HIDDEN;
PROF_IMPL_EACH_KIND(PROF_IMPL_DECLARE_DEFAULT_STUB, prof_default, )
PROF_IMPL_C prof_domain_t prof_domain_prof_default PROF_IMPL_HIDDEN;

PROF_DOMAIN_DECLARE(prof_runtime);

PROF_IMPL_EACH_CONTROL_KIND(PROF_IMPL_DECLARE_STUB, prof_control, )
PROF_IMPL_C prof_domain_t prof_domain_in_prof_control __asm__("prof_domain_prof_control")
	PROF_IMPL_HIDDEN PROF_IMPL_NOT_BUILT_IN;

#if !PROF_IMPL_OFF

/*
 * 5.4 Buffers of batch mode -----------------------------------------------------------------------
 *
 * Section 4 describes the format; in this file a buffer is called a batch. Only the thread that owns a
 * buffer changes it, in single instructions, because a signal handler may interrupt and mark as well.
 */
struct prof_batch {
	uint32_t reserved0, version;
	uint32_t used, size;
	uint32_t complete, naming;
	uint64_t base, events;
	uint32_t turn, stuck;
	uint64_t owner;
	uint64_t flush;
};

/* A dynamic name that is in the buffer: where it is in the program, and where its event is. */
struct prof_batch_name {
	const char *name, *categories;
	uint32_t at, text, length; /* in the buffer, of the event and of its name's bytes; 0: none */
};

enum {
	PROF_IMPL_BATCH_SIZE = 32768,
	PROF_IMPL_BATCH_NAME_BITS = 5,
	PROF_IMPL_BATCH_NAMES = 1 << PROF_IMPL_BATCH_NAME_BITS,
	PROF_IMPL_BATCHES = 128,
	PROF_IMPL_BATCH_CLOSED = 1 << 20, /* in `used`: more than the size of the buffer */
	PROF_IMPL_BATCH_FULL = 0, /* why it is handed over: b of kind 48 */
	PROF_IMPL_BATCH_NEW = 1,
	PROF_IMPL_BATCH_ALONE = 2,
	PROF_IMPL_BATCH_STRINGS = 5,
	PROF_IMPL_BATCH_UNLOADED = 4,
	PROF_IMPL_BATCH_STUCK = 64, /* marks past a batch that never gets complete */
	PROF_IMPL_NAME_KEPT = 128,  /* bytes */
	PROF_IMPL_STRING_KEPT = PROF_IMPL_VIEW_KEPT
};
#define PROF_IMPL_META_BITS ((UINT64_C(1) << 51) - 1)
#define PROF_IMPL_META_NEAR_BITS (((UINT64_C(1) << 51) - (UINT64_C(1) << 40)) | 0xffff)
#define PROF_IMPL_A_FOLLOWS (UINT64_C(1) << 52)
#define PROF_IMPL_KEYS_NEAR (UINT64_C(1) << 53)
#define PROF_IMPL_B_FOLLOWS (UINT64_C(1) << 54)
#define PROF_IMPL_NAME_BEFORE (UINT64_C(1) << 55)
#define PROF_IMPL_WORDS(n) (PROF_IMPL_U64(n) << 56)
#define PROF_IMPL_NEAR 0x800000
#define PROF_IMPL_STRING_CUT (UINT64_C(1) << 63)
#define PROF_IMPL_STRING_NULL (UINT64_C(1) << 61)

PROF_IMPL_DECLARE_STUB(48, flush, prof_control, )
/* Zero pages, which use no memory until a thread is recorded. */
struct prof_batches {
	uint64_t owners[PROF_IMPL_BATCHES]; /* thread pointers */
	uint64_t pad[4096 / 8 - PROF_IMPL_BATCHES];
	uint64_t batches[PROF_IMPL_BATCHES][PROF_IMPL_BATCH_SIZE / 8];
};
PROF_IMPL_C struct prof_batches prof_impl_batches __asm__("prof_batches") PROF_IMPL_HIDDEN;

/*
 * The pointer of a thread to its buffer. It is found by assembly, because link-time optimisers do not
 * see that a symbol that assembly defines is thread-local.
 */
PROF_IMPL_INLINE struct prof_batch **prof_impl_batch(void)
{
	struct prof_batch **place;

#if defined(__x86_64__)
	__asm__("mov{q %%fs:0, %0| %0, QWORD PTR fs:0}\n\t"
		"add{q prof_batch@gottpoff(%%rip), %0| %0, QWORD PTR prof_batch@gottpoff[rip]}"
		: "=r"(place)
		:
		: "cc");
#else
	uint64_t offset;

	__asm__("adrp %1, :gottprel:prof_batch\n\t"
		"ldr %1, [%1, #:gottprel_lo12:prof_batch]\n\t"
		"mrs %0, tpidr_el0\n\t"
		"add %0, %0, %1"
		: "=&r"(place), "=&r"(offset));
#endif
	return place;
}

#if defined(__x86_64__)
PROF_IMPL_INLINE uint64_t prof_impl_thread(void)
{
	uint64_t thread;

	__asm__("mov{q %%fs:0, %0| %0, QWORD PTR fs:0}" : "=r"(thread));
	return thread;
}
PROF_IMPL_INLINE uint64_t prof_impl_time(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return PROF_IMPL_U64(high) << 32 | low;
}
#else
PROF_IMPL_INLINE uint64_t prof_impl_thread(void)
{
	uint64_t thread;

	__asm__("mrs %0, tpidr_el0" : "=r"(thread));
	return thread;
}
PROF_IMPL_INLINE uint64_t prof_impl_time(void)
{
	uint64_t now;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now) : : "memory");
	return now;
}
#endif

/* One instruction each: a signal handler sees all of the change or nothing of it. */
#if defined(__x86_64__)
PROF_IMPL_INLINE uint32_t prof_impl_batch_add_used(struct prof_batch *batch, uint32_t size)
{
	__asm__ volatile("xadd{l %0, %1| %1, %0}" : "+r"(size), "+m"(batch->used) : : "memory", "cc");
	return size;
}
PROF_IMPL_INLINE void prof_impl_batch_complete(struct prof_batch *batch, uint32_t event)
{
	__asm__ volatile("add{l %1, %0| %0, %1}" : "+m"(batch->complete) : "r"(event) : "memory", "cc");
}
#else
PROF_IMPL_INLINE uint32_t prof_impl_batch_add_used(struct prof_batch *batch, uint32_t size)
{
	return __atomic_fetch_add(&batch->used, size, __ATOMIC_RELAXED);
}
PROF_IMPL_INLINE void prof_impl_batch_complete(struct prof_batch *batch, uint32_t event)
{
	__atomic_fetch_add(&batch->complete, event, __ATOMIC_RELEASE);
}
#endif
#define PROF_IMPL_SET(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)

PROF_IMPL_INLINE void prof_impl_batch_send(const struct prof_batch *batch, uint64_t why)
{
	prof_flush_in_prof_control(PROF_IMPL_NULL, 0, PROF_IMPL_ADDRESS(batch), why, PROF_IMPL_NULL,
				   0);
}

/*
 * The list of the dynamic names that were last used in the buffer. It is about the events behind this position in the
 * stream, so it need not be emptied when the buffer is, which older code may do.
 */
struct prof_batch_names {
	uint64_t own; /* the segment of the file that the last string was in: its first page, and its end in the low half */
	uint64_t base;
	struct prof_batch_name names[PROF_IMPL_BATCH_NAMES];
};
PROF_IMPL_INLINE struct prof_batch_names *prof_impl_batch_names(struct prof_batch *batch)
{
	return PROF_IMPL_AT(struct prof_batch_names, PROF_IMPL_ADDRESS(batch) + PROF_IMPL_BATCH_SIZE -
			    sizeof(struct prof_batch_names));
}
PROF_IMPL_INLINE struct prof_batch_name *prof_impl_batch_name(struct prof_batch *batch, const char *name)
{
	return &prof_impl_batch_names(batch)->names[PROF_IMPL_ADDRESS(name) *
						    UINT64_C(0x9e3779b97f4a7c15) >>
						    (64 - PROF_IMPL_BATCH_NAME_BITS)];
}
/* Not in a buffer that older code has prepared. */
PROF_IMPL_INLINE int prof_impl_batch_has_own_data(const struct prof_batch *batch)
{
	return batch->size <= PROF_IMPL_BATCH_SIZE - sizeof(struct prof_batch_names);
}
/* Nor where this has interrupted a mark that uses the list. */
PROF_IMPL_INLINE int prof_impl_batch_has_names(const struct prof_batch *batch)
{
	return prof_impl_batch_has_own_data(batch) && !__atomic_load_n(&batch->naming, __ATOMIC_RELAXED);
}

/*
 * While a thread looks into the list, a signal handler changes neither the list nor the events to which it points:
 * it must not hand the buffer over.
 */
PROF_IMPL_INLINE void prof_impl_batch_naming(struct prof_batch *batch, uint32_t naming)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&batch->naming, naming, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * Hands the buffer over and empties it. Returns 0 if that is not possible. If an event in it is incomplete,
 * the caller has interrupted the code that writes the event. If that code does not continue for a long
 * time, it was left by longjmp: the buffer is handed over as it is, and stays in place for the tracer to
 * read; the thread gets another one.
 */
PROF_IMPL_INLINE int prof_impl_batch_flush(struct prof_batch *batch)
{
	/* From here on there is no space in it. */
	const uint32_t used = prof_impl_batch_add_used(batch, PROF_IMPL_BATCH_CLOSED);
	const uint32_t complete = batch->complete;
	struct prof_batch *left = batch;

	if ((complete & 0xffff) * 8 + sizeof(*batch) != used ||
	    __atomic_load_n(&batch->naming, __ATOMIC_RELAXED)) {
		prof_impl_batch_add_used(batch, 0u - PROF_IMPL_BATCH_CLOSED);
		if (++batch->stuck < PROF_IMPL_BATCH_STUCK)
			return 0;
		/* Unless a signal handler did that. */
		if (__atomic_compare_exchange_n(prof_impl_batch(), &left, PROF_IMPL_NULL, 0,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			prof_impl_batch_send(batch, PROF_IMPL_BATCH_FULL);
		return 1;
	}
	prof_impl_batch_send(batch, PROF_IMPL_BATCH_FULL);
	__builtin_memset(batch + 1, 0, used - sizeof(*batch));
	batch->stuck = 0;
	PROF_IMPL_SET(batch->complete, 0u);
	PROF_IMPL_SET(batch->events, batch->events + (complete >> 16));
	PROF_IMPL_SET(batch->base, batch->base + (used - sizeof(*batch)));
	PROF_IMPL_SET(batch->used, PROF_IMPL_U32(sizeof(*batch)));
	return 1;
}

/*
 * Gives the buffer to this thread. It begins empty, after what another thread may have left there. The
 * tracer is informed at once, so that it knows the buffer before it is full.
 */
PROF_IMPL_INLINE void prof_impl_batch_own(struct prof_batch *batch, uint64_t me)
{
	uint32_t left = batch->used & (PROF_IMPL_BATCH_CLOSED - 1);

	if (left > PROF_IMPL_BATCH_SIZE)
		left = PROF_IMPL_BATCH_SIZE;
	if (left > sizeof(*batch)) {
		left -= PROF_IMPL_U32(sizeof(*batch));
		__builtin_memset(batch + 1, 0, left);
		batch->base += left;
		batch->events += batch->complete >> 16;
	}
	batch->flush = PROF_IMPL_CODE_ADDRESS(prof_flush_in_prof_control);
	batch->version = PROF_IMPL_BATCH_VERSION;
	batch->size = PROF_IMPL_U32(PROF_IMPL_ADDRESS(prof_impl_batch_names(batch)) -
				    PROF_IMPL_ADDRESS(batch));
	batch->complete = batch->naming = batch->stuck = 0;
	batch->owner = me;
	PROF_IMPL_SET(batch->used, PROF_IMPL_U32(sizeof(*batch)));
	PROF_IMPL_SET(batch->turn, batch->turn + 1);
	prof_impl_batch_send(batch, PROF_IMPL_BATCH_NEW);
}

/*
 * The buffer of an earlier thread with our thread pointer, or one without an owner. NULL: all have owners.
 * A signal handler that interrupts gets another one.
 */
PROF_IMPL_INLINE struct prof_batch *prof_impl_batch_new(void)
{
	const uint64_t me = prof_impl_thread();
	uint32_t i;

	for (i = 0; i < PROF_IMPL_BATCHES; i++) {
		uint64_t owner = __atomic_load_n(&prof_impl_batches.owners[i], __ATOMIC_RELAXED);
		void *place = prof_impl_batches.batches[i];
		struct prof_batch *batch = PROF_IMPL_CAST(struct prof_batch *, place);
		uint32_t turn;

		if (owner != me && (owner || !__atomic_compare_exchange_n(
						     &prof_impl_batches.owners[i], &owner, me, 0,
						     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)))
			continue;
		turn = __atomic_load_n(&batch->turn, __ATOMIC_ACQUIRE);
		/* A signal handler has got it since we looked, and has marked in there. */
		if (__atomic_load_n(prof_impl_batch(), __ATOMIC_ACQUIRE) == batch)
			return batch;
		if (turn % 2 || batch->stuck >= PROF_IMPL_BATCH_STUCK ||
		    !__atomic_compare_exchange_n(&batch->turn, &turn, turn + 1, 0,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		prof_impl_batch_own(batch, me);
		return batch;
	}
	return PROF_IMPL_NULL;
}

/* Reserves so many bytes in a buffer, or returns NULL. */
PROF_IMPL_INLINE uint64_t *prof_impl_batch_reserve(uint32_t size, struct prof_batch **ret_batch)
{
	int attempts;

	for (attempts = 0; attempts < 3; attempts++) {
		struct prof_batch *batch = *prof_impl_batch(), *none = PROF_IMPL_NULL;
		uint32_t at;

		if (!batch) {
			batch = prof_impl_batch_new();
			if (!batch)
				return PROF_IMPL_NULL;
			/* A signal handler may have got one meanwhile, and marked in it: that one is it. */
			if (!__atomic_compare_exchange_n(prof_impl_batch(), &none, batch, 0,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
				batch = none;
		}
		at = prof_impl_batch_add_used(batch, size);
		if (at + size <= batch->size) {
			*ret_batch = batch;
			return PROF_IMPL_AT(uint64_t, PROF_IMPL_ADDRESS(batch) + at);
		}
		prof_impl_batch_add_used(batch, 0u - size);
		if (!prof_impl_batch_flush(batch))
			return PROF_IMPL_NULL;
	}
	return PROF_IMPL_NULL;
}

/* A mark, and the space that it needs. */
struct prof_impl_event {
	const char *name;
	uint64_t meta, a, b, stub;
	const char *keys, *categories;
	uint64_t name_length, values[6];
	const char *strings[6];
	uint32_t n, bytes, words;
	uint32_t before; /* where the event is in the buffer that has the name; 0: this one has it */
	uint32_t reads;	 /* whether this thread reads the strings */
};

/* What is kept of a string: its length, and whether this is all of it. */
PROF_IMPL_INLINE uint64_t prof_impl_kept(const char *s, uint32_t limit, uint32_t *bytes)
{
	const void *end;
	uint32_t n;

	if (!s)
		return PROF_IMPL_STRING_NULL;
	end = __builtin_memchr(s, 0, limit + 1);
	n = end ? PROF_IMPL_U32(PROF_IMPL_CAST(const char *, end) - s) : limit;
	*bytes += n;
	return n | (end ? 0 : PROF_IMPL_STRING_CUT);
}

PROF_IMPL_INLINE uint64_t prof_impl_distance(const char *s, uint64_t stub)
{
	const uint64_t distance = PROF_IMPL_ADDRESS(s) - stub;

	if (!s)
		return 0;
	return distance + 0x7fffffff < 0xffffffff ? distance & 0xffffffff : 0x80000000; /* too far */
}

/* Whether the event itself has its name. */
PROF_IMPL_INLINE int prof_impl_has_name(const struct prof_impl_event *e)
{
	return (e->meta & PROF_META_NAME_DYNAMIC) && !e->before;
}

PROF_IMPL_INLINE void prof_impl_measure(struct prof_impl_event *e, uint64_t b, uint64_t values)
{
	const int dynamic = prof_impl_has_name(e);
	uint32_t i;

	e->b = b;

	e->n = PROF_IMPL_U32(e->meta & 15);
	if (e->n > 6)
		e->n = 6;
	e->bytes = 0;
	e->name_length = 0;
	e->categories = PROF_IMPL_NULL;
	if (dynamic)
		e->name_length = prof_impl_kept(e->name, PROF_IMPL_NAME_KEPT, &e->bytes);
	if (e->meta & PROF_META_IN_REGISTERS) {
		e->values[0] = e->b;
		e->values[1] = values;
		e->b = 0;
	} else {
		for (i = 0; i < e->n; i++)
			e->values[i] = PROF_IMPL_AT(const uint64_t, values)[i];
	}
	if (e->meta & PROF_META_HAS_CATEGORIES) {
		e->categories = PROF_IMPL_AT(const char, b);
		e->b = dynamic	 ? prof_impl_kept(e->categories, PROF_IMPL_NAME_KEPT, &e->bytes) :
		       e->before ? 0 :
				   prof_impl_distance(e->categories, e->stub);
	}
	for (i = 0; i < e->n; i++) {
		e->strings[i] = PROF_IMPL_NULL;
		if ((e->meta >> (8 + 4 * i) & 15) != PROF_VALUE_STRING || !e->reads)
			continue;
		e->strings[i] = PROF_IMPL_AT(const char, e->values[i]);
		e->values[i] = prof_impl_kept(e->strings[i], PROF_IMPL_STRING_KEPT, &e->bytes);
	}
	e->words = 3u + (e->a ? 1u : 0u) + (e->b ? 1u : 0u) + (dynamic ? 1u : 0u) +
		   (e->n ? 1u + e->n : 0u) + (e->bytes + 7u) / 8u;
}

PROF_IMPL_INLINE char *prof_impl_copy(char *to, const char *from, uint64_t length)
{
	const uint64_t n = from ? length & 0xffffffff : 0;

	if (n)
		__builtin_memcpy(to, from, n);
	return to + n;
}

/*
 * Writes everything but the time, which is the first word. `at`: where that is in the buffer. Returns where the bytes
 * begin.
 */
PROF_IMPL_INLINE char *prof_impl_write(const struct prof_impl_event *e, uint64_t *to, uint32_t at)
{
	const int dynamic = prof_impl_has_name(e);
	const uint64_t name = e->before				? (at - e->before) / 8 :
			      e->meta & PROF_META_NAME_DYNAMIC ? 0 :
								 prof_impl_distance(e->name, e->stub);
	void *place;
	char *bytes;
	uint32_t i;

	to[1] = (e->stub & 0xffffffff) | name << 32;
	to[2] = (e->meta & PROF_IMPL_META_BITS) | PROF_IMPL_WORDS(e->words) |
		(e->a ? PROF_IMPL_A_FOLLOWS : 0) | (e->b ? PROF_IMPL_B_FOLLOWS : 0) |
		(e->before ? PROF_IMPL_NAME_BEFORE : 0);
	to += 3;
	if (e->a)
		*to++ = e->a;
	if (e->b)
		*to++ = e->b;
	if (dynamic)
		*to++ = e->name_length;
	if (e->n)
		*to++ = prof_impl_distance(e->keys, e->stub);
	for (i = 0; i < e->n; i++)
		*to++ = e->values[i];
	place = to;
	bytes = PROF_IMPL_CAST(char *, place);
	if (dynamic) {
		bytes = prof_impl_copy(bytes, e->name, e->name_length);
		bytes = prof_impl_copy(bytes, e->categories, e->b);
	}
	for (i = 0; i < e->n; i++)
		bytes = prof_impl_copy(bytes, e->strings[i], e->values[i]);
	return PROF_IMPL_CAST(char *, place);
}

/*
 * The name in the buffer that was at the same place in the program, with the same categories, or NULL. Categories stay
 * what they are for as long as the buffer exists, but names may be changed. From here on no signal handler hands the
 * buffer over.
 */
PROF_IMPL_INLINE const struct prof_batch_name *prof_impl_find_name(struct prof_batch *batch, const char *name,
								   const char *categories)
{
	const struct prof_batch_name *known = prof_impl_batch_name(batch, name);

	prof_impl_batch_naming(batch, 1);
	return prof_impl_batch_names(batch)->base == batch->base && known->at && known->name == name &&
			       known->categories == categories ?
		       known :
		       PROF_IMPL_NULL;
}

/* Lists the name of an event at `to`, which is not complete yet, so that the buffer is not handed over. */
PROF_IMPL_INLINE void prof_impl_list_name(struct prof_batch *batch, const struct prof_impl_event *e,
					  const uint64_t *to, const char *bytes)
{
	struct prof_batch_name *known = prof_impl_batch_name(batch, e->name);
	struct prof_batch_names *names = prof_impl_batch_names(batch);

	prof_impl_batch_naming(batch, 1);
	if (names->base != batch->base) {
		__builtin_memset(names, 0, sizeof(*names));
		names->base = batch->base;
	}
	known->name = e->name;
	known->categories = e->categories;
	known->at = PROF_IMPL_U32(PROF_IMPL_ADDRESS(to) - PROF_IMPL_ADDRESS(batch));
	known->text = PROF_IMPL_U32(PROF_IMPL_ADDRESS(bytes) - PROF_IMPL_ADDRESS(batch));
	known->length = PROF_IMPL_U32(e->name_length);
	prof_impl_batch_naming(batch, 0);
}

/* Reserves space for an event whose name may be in the buffer. NULL: it is not, or there is no space. */
PROF_IMPL_INLINE uint64_t *prof_impl_reserve_named(struct prof_impl_event *e, uint64_t b, uint64_t values,
						   struct prof_batch *batch)
{
	const int categories = (e->meta & PROF_META_HAS_CATEGORIES) != 0;
	const struct prof_batch_name *known = prof_impl_find_name(
		batch, e->name, categories ? PROF_IMPL_AT(const char, b) : PROF_IMPL_NULL);
	uint64_t *to = PROF_IMPL_NULL;
	uint32_t at;

	if (known &&
	    !__builtin_strncmp(e->name, PROF_IMPL_AT(const char, PROF_IMPL_ADDRESS(batch) + known->text),
			       known->length) && !e->name[known->length]) {
		e->before = known->at;
		if (e->meta & 15) {
			prof_impl_measure(e, b, values);
		} else {
			/* What that comes to without pairs, which is most often. */
			e->n = 0;
			e->b = categories ? 0 : b;
			e->words = 3u + (e->a ? 1u : 0u) + (e->b ? 1u : 0u);
		}
		at = prof_impl_batch_add_used(batch, e->words * 8);
		if (at + e->words * 8 <= batch->size)
			to = PROF_IMPL_AT(uint64_t, PROF_IMPL_ADDRESS(batch) + at);
		else
			prof_impl_batch_add_used(batch, 0u - e->words * 8);
		/* Older code, in a signal handler, has handed the buffer over: the event says that its name is lost. */
		if (prof_impl_batch_names(batch)->base != batch->base)
			e->before = at;
	}
	prof_impl_batch_naming(batch, 0);
	return to;
}

#if defined(__x86_64__)
/* Eight bytes, of which the last ones may be behind the end of a text: sanitizers need not know. */
PROF_IMPL_INLINE uint64_t prof_impl_load(const char *s)
{
	uint64_t word;

	__asm__("mov{q (%1), %0| %0, QWORD PTR [%1]}" : "=r"(word) : "r"(s) : "memory");
	return word;
}

/* Whether `s` is these bytes; 0 also if the eight bytes at its end may be on another page. */
PROF_IMPL_INLINE int prof_impl_is_text(const char *s, const char *bytes, uint32_t length)
{
	if ((PROF_IMPL_ADDRESS(s) & 4095) + length > 4096 - 8)
		return 0;
	for (;; s += 8, bytes += 8, length -= 8) {
		const uint64_t word = prof_impl_load(s), differ = word ^ prof_impl_load(bytes);

		if (length < 8)
			return !(differ & ((UINT64_C(1) << 8 * length) - 1)) && !(word >> 8 * length & 0xff);
		if (differ)
			return 0;
	}
}

/*
 * Writes a mark without pairs whose name is in the buffer, which most marks with dynamic names are, and calls nothing: a
 * call of strncmp() alone would take half as long. 0: it is not such a mark.
 */
PROF_IMPL_INLINE int prof_impl_put_known(struct prof_batch *batch, const char *name, uint64_t meta, uint64_t a,
					 uint64_t b, uint64_t stub)
{
	const struct prof_batch_name *known = prof_impl_find_name(batch, name, PROF_IMPL_AT(const char, b));
	const uint32_t words = a ? 4 : 3;
	uint32_t at, before;
	uint64_t *to;

	if (!known || !(meta & PROF_META_HAS_CATEGORIES) != !b ||
	    !prof_impl_is_text(name, PROF_IMPL_AT(const char, PROF_IMPL_ADDRESS(batch) + known->text), known->length))
		goto unknown;
	before = known->at;
	at = prof_impl_batch_add_used(batch, words * 8);
	if (at + words * 8 > batch->size) {
		prof_impl_batch_add_used(batch, 0u - words * 8);
		goto unknown;
	}
	/* As in prof_impl_reserve_named(). */
	if (prof_impl_batch_names(batch)->base != batch->base)
		before = at;
	prof_impl_batch_naming(batch, 0);
	to = PROF_IMPL_AT(uint64_t, PROF_IMPL_ADDRESS(batch) + at);
	to[1] = (stub & 0xffffffff) | PROF_IMPL_U64((at - before) / 8) << 32;
	to[2] = (meta & PROF_IMPL_META_BITS) | PROF_IMPL_NAME_BEFORE |
		(a ? PROF_IMPL_WORDS(4) | PROF_IMPL_A_FOLLOWS : PROF_IMPL_WORDS(3));
	if (a)
		to[3] = a;
	__atomic_store_n(to, prof_impl_time(), __ATOMIC_RELEASE);
	prof_impl_batch_complete(batch, 1u << 16 | words);
	return 1;
unknown:
	prof_impl_batch_naming(batch, 0);
	return 0;
}
#endif

/* The strings among the values of an event alone are in the program. */
PROF_IMPL_INLINE void prof_impl_batch_send_strings(const struct prof_batch *batch, const struct prof_impl_event *e)
{
	const uint64_t first = 4u + (e->a ? 1u : 0u) + (e->b ? 1u : 0u) + (prof_impl_has_name(e) ? 1u : 0u);

	prof_flush_in_prof_control(PROF_IMPL_NULL, first | ((first + e->n) * 8 + e->bytes) << 32,
				   PROF_IMPL_ADDRESS(batch), PROF_IMPL_BATCH_STRINGS, PROF_IMPL_NULL, e->stub);
}

/* Sends one event without the buffer, in a buffer of its own on the stack; this enters the kernel. */
PROF_IMPL_INLINE void prof_impl_send_alone(const struct prof_impl_event *e)
{
	const uint32_t size = PROF_IMPL_U32(sizeof(struct prof_batch)) + e->words * 8;
	void *place = __builtin_alloca(size);
	struct prof_batch *batch = PROF_IMPL_CAST(struct prof_batch *, place);
	uint64_t *words;

	__builtin_memset(place, 0, size);
	batch->version = PROF_IMPL_BATCH_VERSION;
	batch->used = batch->size = size;
	batch->complete = 1u << 16 | e->words;
	batch->flush = PROF_IMPL_CODE_ADDRESS(prof_flush_in_prof_control);
	place = batch + 1;
	words = PROF_IMPL_CAST(uint64_t *, place);
	prof_impl_write(e, words, 0);
	/* Or else the kernel's: who has no batch may not even be allowed to read the counter. */
	words[0] = *prof_impl_batch() ? prof_impl_time() : 0;
	if (e->reads)
		prof_impl_batch_send(batch, PROF_IMPL_BATCH_ALONE);
	else
		prof_impl_batch_send_strings(batch, e);
}

/*
 * Whether a string is in a segment of the file that this code is in, all of what is recorded of it. Such memory stays
 * mapped for as long as the code does.
 */
struct prof_impl_segment {
	uint32_t type, flags;
	uint64_t offset, address, physical, file_size, size, align;
};
struct prof_impl_image {
	uint8_t ident[16];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, segments, sections;
	uint32_t flags;
	uint16_t size, segment_size, n_segments;
};
/* Linkers that keep the head of the file out of its segments do not define it. */
PROF_IMPL_C const struct prof_impl_image prof_impl_own_image __asm__("__ehdr_start")
	__attribute__((weak, visibility("hidden")));

PROF_IMPL_INLINE int prof_impl_in_segment(const struct prof_impl_segment *segment, uint64_t s)
{
	const uint64_t end = (segment->address + segment->size + 4095) & ~UINT64_C(4095);

	return segment->type == 1 && (segment->flags & 4) && s >= segment->address &&
	       s + PROF_IMPL_STRING_KEPT + 1 <= end;
}

/* In the segment that the last string was in: most are in the one with the constants. */
PROF_IMPL_INLINE int prof_impl_is_own_again(struct prof_batch *batch, uint64_t offset)
{
	const uint64_t own = prof_impl_batch_names(batch)->own, begin = own >> 32 << 12;
	const uint64_t size = (own << 32 >> 20) - begin;

	return size && offset - begin <= size - (PROF_IMPL_STRING_KEPT + 1);
}

PROF_IMPL_INLINE int prof_impl_is_own(struct prof_batch *batch, uint64_t s)
{
	const uint64_t image = PROF_IMPL_ADDRESS(&prof_impl_own_image);
	const struct prof_impl_segment *segments;
	uint64_t base;
	uint32_t i, n;

	if (batch && !prof_impl_batch_has_own_data(batch))
		batch = PROF_IMPL_NULL;
	if (batch && prof_impl_is_own_again(batch, s - image))
		return 1;
	if (!image || prof_impl_own_image.segment_size != sizeof(*segments))
		return 0;
	segments = PROF_IMPL_AT(const struct prof_impl_segment, image + prof_impl_own_image.segments);
	n = prof_impl_own_image.n_segments;
	/* Addresses are counted from where the head was to be, in the first segment. */
	for (i = 0; i < n && segments[i].type != 1; i++)
		;
	if (i == n || segments[i].offset)
		return 0;
	base = segments[i].address;
	for (; i < n; i++) {
		if (!prof_impl_in_segment(&segments[i], s - image + base))
			continue;
		if (batch)
			prof_impl_batch_names(batch)->own = (segments[i].address - base) >> 12 << 32 |
							    (segments[i].address + segments[i].size - base + 4095) >> 12;
		return 1;
	}
	return 0;
}

/* Whether this thread may read all strings among the values: section 4, "Strings". */
PROF_IMPL_INLINE int prof_impl_reads_strings(struct prof_batch *batch, uint64_t meta, uint64_t b, uint64_t values)
{
	const uint32_t n = PROF_IMPL_U32(meta & 15);
	uint32_t i;

	if (!(meta & PROF_META_HAS_STRINGS) || (meta & PROF_META_OWNED) ||
	    !(prof_domain_in_prof_control.on >> 16))
		return 1;
	for (i = 0; i < n && i < 6; i++) {
		const uint64_t value = !(meta & PROF_META_IN_REGISTERS) ?
					       PROF_IMPL_AT(const uint64_t, values)[i] :
				       i ? values :
					   b;

		if ((meta >> (8 + 4 * i) & 15) == PROF_VALUE_STRING && value && !prof_impl_is_own(batch, value))
			return 0;
	}
	return 1;
}

/*
 * One function for all files of a program or library, in C and C++: linkers keep one of the sections of
 * that name (lld and mold keep all, and use one). The number in its name is that of the layout, because
 * the function belongs to the section groups that come with it.
 */
#define PROF_IMPL_ONCE(name)							\
	static inline __attribute__((noinline, section(".gnu.linkonce.t.prof_impl_4_" name)))

/* Whether the name of a mark is one that is listed. */
PROF_IMPL_INLINE int prof_impl_is_listed(const char *name, uint64_t meta, uint64_t b)
{
	return (meta & PROF_META_NAME_DYNAMIC) && name && (!(meta & PROF_META_HAS_CATEGORIES) || b);
}

PROF_IMPL_ONCE("put_any") void prof_impl_put_any(const char *name, uint64_t meta, uint64_t a, uint64_t b,
						 const char *keys, uint64_t values, uint64_t stub)
{
	struct prof_impl_event e;
	struct prof_batch *batch = *prof_impl_batch();
	const int listed = prof_impl_is_listed(name, meta, b);
	uint64_t *to = PROF_IMPL_NULL;
	char *bytes;

	/* prof_impl_measure() sets what else is read: clearing all of it would take as long as the rest. */
	e.name = name;
	e.categories = PROF_IMPL_NULL;
	e.meta = meta;
	e.a = a;
	e.keys = keys;
	e.stub = stub;
	e.reads = PROF_IMPL_U32(prof_impl_reads_strings(batch, meta, b, values));
	if (e.reads && listed && batch && prof_impl_batch_has_names(batch))
		to = prof_impl_reserve_named(&e, b, values, batch);
	if (!to) {
		e.before = 0;
		prof_impl_measure(&e, b, values);
		if (e.reads)
			to = prof_impl_batch_reserve(e.words * 8, &batch);
		if (!to) {
			prof_impl_send_alone(&e);
			return;
		}
	}
	bytes = prof_impl_write(&e, to, PROF_IMPL_U32(PROF_IMPL_ADDRESS(to) - PROF_IMPL_ADDRESS(batch)));
	if (listed && !e.before && prof_impl_batch_has_names(batch) && !(e.name_length & PROF_IMPL_STRING_CUT))
		prof_impl_list_name(batch, &e, to, bytes);
	__atomic_store_n(to, prof_impl_time(), __ATOMIC_RELEASE);
	prof_impl_batch_complete(batch, 1u << 16 | e.words);
}

#if defined(__x86_64__)
/* The length of a text of less than 64 bytes. 64: it is longer, or eight bytes of it may be on two pages. */
PROF_IMPL_INLINE uint32_t prof_impl_short_length(const char *s)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint32_t n;

	for (n = 0; n < 64 && (PROF_IMPL_ADDRESS(s + n) & 4095) <= 4096 - 8; n += 8) {
		const uint64_t word = prof_impl_load(s + n), ends = (word - ones) & ~word & ones << 7;

		if (ends)
			return n + PROF_IMPL_U32(__builtin_ctzll(ends)) / 8;
	}
	return 64;
}

/*
 * A mark with a constant name and one or two values, one of which is a short string, as most marks with strings are. It
 * calls nothing: the calls of memchr() and memcpy() and the structure that prof_impl_put_any() fills took half as long.
 */
PROF_IMPL_ONCE("put_string") void prof_impl_put_string(const char *name, uint64_t meta, uint64_t a, uint64_t b,
						       const char *keys, uint64_t values, uint64_t stub)
{
	const uint32_t n = PROF_IMPL_U32(meta & 15), first = (meta >> 8 & 15) == PROF_VALUE_STRING;
	const uint32_t second = n == 2 && (meta >> 12 & 15) == PROF_VALUE_STRING;
	const char *text = PROF_IMPL_AT(const char, first ? b : values);
	struct prof_batch *batch = *prof_impl_batch();
	uint32_t length, words, at, i;
	uint64_t *to, *next;

	if (!batch || first == second || n > 2 || !text || !prof_impl_reads_strings(batch, meta, b, values))
		goto any;
	length = prof_impl_short_length(text);
	if (length == 64)
		goto any;
	words = 4u + (a ? 1u : 0u) + n + (length + 7u) / 8u;
	at = prof_impl_batch_add_used(batch, words * 8);
	if (at + words * 8 > batch->size) {
		prof_impl_batch_add_used(batch, 0u - words * 8);
		goto any;
	}
	to = PROF_IMPL_AT(uint64_t, PROF_IMPL_ADDRESS(batch) + at);
	to[1] = (stub & 0xffffffff) | prof_impl_distance(name, stub) << 32;
	to[2] = (meta & PROF_IMPL_META_BITS) | PROF_IMPL_WORDS(words) | (a ? PROF_IMPL_A_FOLLOWS : 0);
	next = to + 3;
	if (a)
		*next++ = a;
	*next++ = prof_impl_distance(keys, stub);
	*next++ = first ? length : b;
	if (n == 2)
		*next++ = first ? values : length;
	for (i = 0; i + 8 <= length; i += 8)
		*next++ = prof_impl_load(text + i);
	if (i < length)
		*next = prof_impl_load(text + i) & ((UINT64_C(1) << 8 * (length - i)) - 1);
	__atomic_store_n(to, prof_impl_time(), __ATOMIC_RELEASE);
	prof_impl_batch_complete(batch, 1u << 16 | words);
	return;
any:
	prof_impl_put_any(name, meta, a, b, keys, values, stub);
}
#endif

PROF_IMPL_ONCE("put_slowly") void prof_impl_put_slowly(const char *name, uint64_t meta, uint64_t a,
						       uint64_t b, const char *keys, uint64_t values,
						       uint64_t stub)
{
#if defined(__x86_64__)
	struct prof_batch *batch = *prof_impl_batch();

	if (batch && (meta & (PROF_META_NAME_DYNAMIC | 15)) == PROF_META_NAME_DYNAMIC && prof_impl_batch_has_names(batch)) {
		if (prof_impl_put_known(batch, name, meta, a, b, stub))
			return;
		keys = PROF_IMPL_NULL;
		values = 0;
	}
	if ((meta >> 32 & 15) == ((PROF_META_HAS_STRINGS | PROF_META_IN_REGISTERS) >> 32)) {
		prof_impl_put_string(name, meta, a, b, keys, values, stub);
		return;
	}
#endif
	prof_impl_put_any(name, meta, a, b, keys, values, stub);
}

#if !defined(__x86_64__)

/*
 * Called by assembly; on x86-64 the assembly does the same itself. Keys are nearly always near, because
 * the strings of one executable or library are adjacent.
 */
PROF_IMPL_ONCE("put") void prof_impl_put(const char *name, uint64_t meta, uint64_t a, uint64_t b,
					 const char *keys, uint64_t values, uint64_t stub)
{
	const uint64_t seldom = PROF_META_NAME_DYNAMIC | PROF_META_HAS_STRINGS |
				PROF_META_HAS_CATEGORIES;
	const uint64_t base = name ? PROF_IMPL_ADDRESS(name) : stub;
	const uint64_t near = PROF_IMPL_ADDRESS(keys) - base + PROF_IMPL_NEAR;
	const uint32_t n = PROF_IMPL_U32(meta & 15);
	struct prof_batch *batch = *prof_impl_batch();
	uint32_t words = 3u + (a ? 1u : 0u), at;
	uint64_t head = a ? PROF_IMPL_A_FOLLOWS : 0, *to, *next;

	/* The name too far away, or the keys. */
	if (!batch || meta & seldom || base - stub + 0x40000000 >= 0x80000000 ||
	    (n && (!(meta & PROF_META_IN_REGISTERS) || near >= 2 * PROF_IMPL_NEAR)))
		goto slowly;
	if (n) {
		words += n;
		head |= (meta & PROF_IMPL_META_NEAR_BITS) | near << 16 | PROF_IMPL_KEYS_NEAR;
	} else {
		words += b ? 1u : 0u;
		head |= (meta & PROF_IMPL_META_BITS) | (b ? PROF_IMPL_B_FOLLOWS : 0);
	}
	at = prof_impl_batch_add_used(batch, words * 8);
	if (__builtin_expect(at + words * 8 > batch->size, 0)) {
		prof_impl_batch_add_used(batch, 0u - words * 8);
		goto slowly;
	}
	to = PROF_IMPL_AT(uint64_t, PROF_IMPL_ADDRESS(batch) + at);
	to[1] = (stub & 0xffffffff) | (base - stub) << 32;
	to[2] = head | PROF_IMPL_WORDS(words);
	next = to + 3;
	if (a)
		*next++ = a;
	if (n || b)
		*next++ = b;
	if (n > 1)
		*next = values;
	/* Last: an event without a time is not complete. */
	__atomic_store_n(to, prof_impl_time(), __ATOMIC_RELEASE);
	prof_impl_batch_complete(batch, 1u << 16 | words);
	return;
slowly:
	prof_impl_put_slowly(name, meta, a, b, keys, values, stub);
}

#endif

/*
 * 5.5 Entry points of batch mode ------------------------------------------------------------------
 */
/* PROF_IMPL_ASM_SYMBOL for assembly with operands. */
#define PROF_IMPL_ASM_SYMBOL_OF(symbol, type)					\
	".weak " symbol "\n"							\
	".hidden " symbol "\n"							\
	".type " symbol ", %%" type "\n"

/*
 * When a library is unloaded, its buffers are unmapped. So their contents, of whichever thread, are handed
 * over before. This is the last destructor of the library, because the others may contain marks. Objects
 * that are linked into a program run it too, when the program ends; programs themselves do not, because
 * their threads hand over their buffers when they exit.
 */
#if defined(__PIC__) && !defined(__PIE__)
#define PROF_IMPL_UNLOADS 1
PROF_IMPL_ONCE("unload") __attribute__((cold)) void prof_impl_unload(void)
{
	uint32_t i;

	if (!PROF_IMPL_ON(prof_domain_in_prof_control))
		return;
	for (i = 0; i < PROF_IMPL_BATCHES; i++) {
		void *place = prof_impl_batches.batches[i];
		struct prof_batch *batch = PROF_IMPL_CAST(struct prof_batch *, place);

		/* They are taken in this order. */
		if (!__atomic_load_n(&prof_impl_batches.owners[i], __ATOMIC_ACQUIRE))
			return;
		if ((batch->used & (PROF_IMPL_BATCH_CLOSED - 1)) > sizeof(*batch))
			prof_impl_batch_send(batch, PROF_IMPL_BATCH_UNLOADED);
	}
}
#else
#define PROF_IMPL_UNLOADS 0
#endif

/*
 * A stub calls this when its mark belongs into a buffer: with the six arguments and, in another register,
 * its own address, which becomes a seventh argument. prof_batch_mark_too also keeps the arguments for the
 * probe sites.
 *
 * Most marks have numbers only, whose keys are not far away, and there is space for them. On x86-64 the assembly
 * handles only these: a C function saves and restores six registers, which takes longer than everything
 * else, except reading the clock while another thread runs on the same core. C code does the rest, and all
 * of it on arm64: prof_impl_put and prof_impl_put_slowly above also document what this code does.
 */
PROF_IMPL_INLINE void prof_impl_shared_assembly(void)
{
	/* prof_is_enabled() reads it, whether or not there is a marker. */
	PROF_IMPL_DEFINE_SEMAPHORE(prof_default)
	PROF_IMPL_DEFINE_SEMAPHORE(prof_control)
	PROF_IMPL_EACH_CONTROL_KIND(PROF_IMPL_DEFINE_CONTROL_STUB, prof_control, "\"\"")
	PROF_IMPL_DEFINE_FLUSH
	PROF_IMPL_DEFINE_READ_STRINGS
	/* By this systemtap's tools learn how far the file was moved after its notes were written. */
	__asm__(".ifndef _.stapsdt.base\n"
		".pushsection .stapsdt.base, \"aG\", %progbits, .stapsdt.base, comdat\n"
		".weak _.stapsdt.base\n"
		".hidden _.stapsdt.base\n"
		"_.stapsdt.base: .space 1\n"
		".size _.stapsdt.base, 1\n"
		".popsection\n"
		".endif\n");
	/* The thread's batch, and all batches of this executable or library (struct prof_batches). */
	__asm__(".ifndef prof_batch\n"
		".pushsection .tbss.prof_batch, \"awTG\", %nobits, prof_batch, comdat\n"
		PROF_IMPL_ASM_SYMBOL("prof_batch", "tls_object")
		".balign 8\n"
		"prof_batch: .zero 8\n"
		".size prof_batch, 8\n"
		".popsection\n"
		".endif\n");
	__asm__(".ifndef prof_batches\n"
		".pushsection .bss.prof_batches, \"awG\", %nobits, prof_batches, comdat\n"
		PROF_IMPL_ASM_SYMBOL("prof_batches", "object")
		".balign 4096\n"
		"prof_batches: .zero 4096 + 128 * 32768\n"
		".size prof_batches, . - prof_batches\n"
		".popsection\n"
		".endif\n");
	__asm__(".ifndef prof_batch_put_slowly\n"
		".pushsection .text.prof_batch_put_slowly, \"axG\", %%progbits, prof_batch_put_slowly, comdat\n"
		PROF_IMPL_ASM_SYMBOL_OF("prof_batch_put_slowly", "function")
		"prof_batch_put_slowly:\n"
		".cfi_startproc\n"
		PROF_IMPL_ASM_JUMP "\n"
		".cfi_endproc\n"
		".size prof_batch_put_slowly, . - prof_batch_put_slowly\n"
		".popsection\n"
		".endif\n"
		:
		: PROF_IMPL_SYMBOLIC(&prof_impl_put_slowly));
#if PROF_IMPL_UNLOADS
	__asm__(".ifndef prof_batch_unload\n"
		".pushsection .fini_array.00000, \"awG\", %%fini_array, prof_batch_unload, comdat\n"
		PROF_IMPL_ASM_SYMBOL_OF("prof_batch_unload", "object")
		".balign 8\n"
		/* It looks at the control site's semaphore, which only a probe of that site raises. */
		PROF_IMPL_ASM_WANTS("prof_step_prof_control")
		"prof_batch_unload: .8byte %c0\n"
		".size prof_batch_unload, 8\n"
		".popsection\n"
		".endif\n"
		:
		: PROF_IMPL_SYMBOLIC(&prof_impl_unload));
#endif
#if defined(__x86_64__)
	__asm__(".ifndef prof_batch_mark\n"
		".pushsection .text.prof_batch_mark, \"axG\", %progbits, prof_batch_mark, comdat\n"
		PROF_IMPL_ASM_SYMBOL("prof_batch_mark", "function")
		".balign 32\n"
		"prof_batch_mark:\n"
		".cfi_startproc\n"
		/* The stub: the seventh argument of prof_batch_put_slowly, should it come to that. */
		"	.byte 0x50\n"					/* push %rax */
		".cfi_adjust_cfa_offset 8\n"
		/* Where signals do not come by. Free from here on: %r9, %r10, %r11, soon %rax. */
		"	.byte 0x4c, 0x89, 0x4c, 0x24, 0xf8\n"		/* mov %r9, -8(%rsp) */
		"	.byte 0x4c, 0x8b, 0x1d\n"			/* mov prof_batch@gottpoff(%rip), %r11 */
		"	.reloc ., R_X86_64_GOTTPOFF, prof_batch - 4\n	.4byte 0\n"
		"	.byte 0x64, 0x4d, 0x8b, 0x1b\n"			/* mov %fs:(%r11), %r11 */
		"	.byte 0x4d, 0x85, 0xdb\n"			/* test %r11, %r11 */
		"	.byte 0x0f, 0x84\n	.4byte 970f - . - 4\n"	/* jz 970f */
		/* What the keys are counted from: the name, or else the stub. */
		"	.byte 0x49, 0x89, 0xfa\n"			/* mov %rdi, %r10 */
		"	.byte 0x48, 0x85, 0xff\n"			/* test %rdi, %rdi */
		"	.byte 0x4c, 0x0f, 0x44, 0xd0\n"			/* cmovz %rax, %r10 */
		/* Whether anything is dynamic, a string, in registers, or categories; how many pairs. */
		"	.byte 0x49, 0x89, 0xf1\n"			/* mov %rsi, %r9 */
		"	.byte 0x49, 0xc1, 0xe9, 0x20\n"			/* shr $32, %r9 */
		"	.byte 0x41, 0x83, 0xe1, 0x0f\n"			/* and $15, %r9d */
		"	.byte 0x89, 0xf0\n"				/* mov %esi, %eax */
		"	.byte 0x83, 0xe0, 0x0f\n"			/* and $15, %eax */
		"	.byte 0x0f, 0x84\n	.4byte 971f - . - 4\n"	/* jz 971f */
		/* In registers, and nothing else; or in memory. */
		"	.byte 0x41, 0x83, 0xf9, 4\n"			/* cmp $4, %r9d */
		"	.byte 0x0f, 0x85\n	.4byte 978f - . - 4\n"	/* jne 978f */
		"	.byte 0x4d, 0x89, 0xc1\n"			/* mov %r8, %r9 */
		"	.byte 0x4d, 0x29, 0xd1\n"			/* sub %r10, %r9 */
		"	.byte 0x49, 0x81, 0xc1, 0, 0, 0x80, 0\n"	/* add $0x800000, %r9 */
		"	.byte 0x49, 0x81, 0xf9, 0, 0, 0, 1\n"		/* cmp $0x1000000, %r9 */
		"	.byte 0x0f, 0x83\n	.4byte 970f - . - 4\n"	/* jae 970f */
		/* The third word without its highest bits. Those: the keys are near, so many words. */
		"	.byte 0x49, 0xc1, 0xe1, 0x10\n"			/* shl $16, %r9 */
		"	.byte 0x49, 0x31, 0xf1\n"			/* xor %rsi, %r9 */
		"	.byte 0x49, 0x0f, 0xba, 0xf9, 0x22\n"		/* btc $34, %r9 */
		"	.byte 0xc1, 0xe0, 4\n"				/* shl $4, %eax */
		"	.byte 0x83, 0xc0, 0x32\n"			/* add $0x32, %eax */
		"972:\n"
		/* Is the name too far away? */
		"	.byte 0x4c, 0x2b, 0x14, 0x24\n"			/* sub (%rsp), %r10 */
		"	.byte 0x49, 0x81, 0xc2, 0, 0, 0, 0x40\n"	/* add $0x40000000, %r10 */
		"	.byte 0x49, 0xc1, 0xea, 0x1f\n"			/* shr $31, %r10 */
		"	.byte 0x0f, 0x85\n	.4byte 970f - . - 4\n"	/* jnz 970f */
		/* `a` follows, one word more. */
		"	.byte 0x48, 0x85, 0xd2\n"			/* test %rdx, %rdx */
		"	.byte 0x74\n	.byte 973f - . - 1\n"		/* jz 973f */
		"	.byte 0x83, 0xc0, 0x11\n"			/* add $0x11, %eax */
		"973:\n"
		/* The third word; bytes. */
		"	.byte 0x41, 0x89, 0xc2\n"			/* mov %eax, %r10d */
		"	.byte 0x48, 0xc1, 0xe0, 0x34\n"			/* shl $52, %rax */
		"	.byte 0x49, 9, 0xc1\n"				/* or %rax, %r9 */
		"	.byte 0x41, 0xd1, 0xea\n"			/* shr $1, %r10d */
		"	.byte 0x41, 0x83, 0xe2, 0xf8\n"			/* and $-8, %r10d */
		/* Of `used`, up to `size`. */
		"	.byte 0x44, 0x89, 0xd0\n"			/* mov %r10d, %eax */
		"	.byte 0x41, 0x0f, 0xc1, 0x43, 8\n"		/* xadd %eax, 8(%r11) */
		"	.byte 0x41, 1, 0xc2\n"				/* add %eax, %r10d */
		"	.byte 0x45, 0x3b, 0x53, 0x0c\n"			/* cmp 12(%r11), %r10d */
		"	.byte 0x0f, 0x87\n	.4byte 974f - . - 4\n"	/* ja 974f */
		"	.byte 0x4c, 1, 0xd8\n"				/* add %r11, %rax */
		/* The second word, in halves; the third one. */
		"	.byte 0x4c, 0x8b, 4, 0x24\n"			/* mov (%rsp), %r8 */
		"	.byte 0x48, 0x85, 0xff\n"			/* test %rdi, %rdi */
		"	.byte 0x49, 0x0f, 0x44, 0xf8\n"			/* cmovz %r8, %rdi */
		"	.byte 0x44, 0x29, 0xc7\n"			/* sub %r8d, %edi */
		"	.byte 0x44, 0x89, 0x40, 8\n"			/* mov %r8d, 8(%rax) */
		"	.byte 0x89, 0x78, 0x0c\n"			/* mov %edi, 12(%rax) */
		"	.byte 0x4c, 0x89, 0x48, 0x10\n"			/* mov %r9, 16(%rax) */
		/* What follows. */
		"	.byte 0x48, 0x8d, 0x78, 0x18\n"			/* lea 24(%rax), %rdi */
		"	.byte 0x48, 0x85, 0xd2\n"			/* test %rdx, %rdx */
		"	.byte 0x74\n	.byte 975f - . - 1\n"		/* jz 975f */
		"	.byte 0x48, 0x89, 0x17\n"			/* mov %rdx, (%rdi) */
		"	.byte 0x48, 0x83, 0xc7, 8\n"			/* add $8, %rdi */
		"975:\n"
		"	.byte 0x83, 0xe6, 0x0f\n"			/* and $15, %esi */
		"	.byte 0x49, 0x0f, 0xba, 0xe1, 0x35\n"		/* bt $53, %r9 */
		"	.byte 0x73\n	.byte 976f - . - 1\n"		/* jnc 976f */
		"	.byte 0x48, 0x89, 0x0f\n"			/* mov %rcx, (%rdi) */
		"	.byte 0x83, 0xfe, 1\n"				/* cmp $1, %esi */
		"	.byte 0x74\n	.byte 977f - . - 1\n"		/* je 977f */
		"	.byte 0x48, 0x8b, 0x54, 0x24, 0xf8\n"		/* mov -8(%rsp), %rdx */
		"	.byte 0x48, 0x89, 0x57, 8\n"			/* mov %rdx, 8(%rdi) */
		"977:\n"
		/* Last the time: an event without one is not complete. Then `complete`. */
		"	.byte 0x48, 0x89, 0xc7\n"			/* mov %rax, %rdi */
		"	.byte 0x49, 0xc1, 0xe9, 0x38\n"			/* shr $56, %r9 */
		"	.byte 0x41, 0x81, 0xc1, 0, 0, 1, 0\n"		/* add $0x10000, %r9d */
		"	.byte 0x0f, 0x31\n"				/* rdtsc */
		"	.byte 0x48, 0xc1, 0xe2, 0x20\n"			/* shl $32, %rdx */
		"	.byte 0x48, 9, 0xd0\n"				/* or %rdx, %rax */
		"	.byte 0x48, 0x89, 7\n"				/* mov %rax, (%rdi) */
		"	.byte 0x45, 1, 0x4b, 0x10\n"			/* add %r9d, 16(%r11) */
		"	.byte 0x58\n"					/* pop %rax */
		".cfi_adjust_cfa_offset -8\n"
		"	.byte 0xc3\n"					/* ret */
		".cfi_adjust_cfa_offset 8\n"
		"976:\n"
		"	.byte 0x85, 0xf6\n"				/* test %esi, %esi */
		"	.byte 0x75\n	.byte 979f - . - 1\n"		/* jnz 979f */
		"	.byte 0x48, 0x85, 0xc9\n"			/* test %rcx, %rcx */
		"	.byte 0x74\n	.byte 977b - . - 1\n"		/* jz 977b */
		"	.byte 0x48, 0x89, 0x0f\n"			/* mov %rcx, (%rdi) */
		"	.byte 0xeb\n	.byte 977b - . - 1\n"		/* jmp 977b */
		/* The keys, and the values in memory, the last one first. */
		"979:\n"
		"	.byte 0x4c, 0x8b, 0x54, 0x24, 0xf0\n"		/* mov -16(%rsp), %r10 */
		"	.byte 0x45, 0x29, 0xc2\n"			/* sub %r8d, %r10d */
		"	.byte 0x4c, 0x89, 0x17\n"			/* mov %r10, (%rdi) */
		"	.byte 0x4c, 0x8b, 0x44, 0x24, 0xf8\n"		/* mov -8(%rsp), %r8 */
		"980:\n"
		"	.byte 0x49, 0x8b, 0x54, 0xf0, 0xf8\n"		/* mov -8(%r8, %rsi, 8), %rdx */
		"	.byte 0x48, 0x89, 0x14, 0xf7\n"		/* mov %rdx, (%rdi, %rsi, 8) */
		"	.byte 0xff, 0xce\n"				/* dec %esi */
		"	.byte 0x75\n	.byte 980b - . - 1\n"		/* jnz 980b */
		"	.byte 0xeb\n	.byte 977b - . - 1\n"		/* jmp 977b */
		/* No pairs: perhaps `b` follows. */
		"971:\n"
		"	.byte 0x45, 0x85, 0xc9\n"			/* test %r9d, %r9d */
		"	.byte 0x75\n	.byte 970f - . - 1\n"		/* jnz 970f */
		"	.byte 0x49, 0x89, 0xf1\n"			/* mov %rsi, %r9 */
		"	.byte 0xb8, 0x30, 0, 0, 0\n"			/* mov $0x30, %eax */
		"	.byte 0x48, 0x85, 0xc9\n"			/* test %rcx, %rcx */
		"	.byte 0x0f, 0x84\n	.4byte 972b - . - 4\n"	/* jz 972b */
		"	.byte 0x83, 0xc0, 0x14\n"			/* add $0x14, %eax */
		"	.byte 0xe9\n	.4byte 972b - . - 4\n"		/* jmp 972b */
		/* Values in memory, up to six, no strings and no `b`. Their keys have a word of their own: not too far away? */
		"978:\n"
		"	.byte 0x45, 0x85, 0xc9\n"			/* test %r9d, %r9d */
		"	.byte 0x75\n	.byte 970f - . - 1\n"		/* jnz 970f */
		"	.byte 0x83, 0xf8, 6\n"				/* cmp $6, %eax */
		"	.byte 0x77\n	.byte 970f - . - 1\n"		/* ja 970f */
		"	.byte 0x48, 0x85, 0xc9\n"			/* test %rcx, %rcx */
		"	.byte 0x75\n	.byte 970f - . - 1\n"		/* jnz 970f */
		"	.byte 0x4d, 0x85, 0xc0\n"			/* test %r8, %r8 */
		"	.byte 0x74\n	.byte 970f - . - 1\n"		/* jz 970f */
		"	.byte 0x4d, 0x89, 0xc1\n"			/* mov %r8, %r9 */
		"	.byte 0x4c, 0x2b, 0x0c, 0x24\n"		/* sub (%rsp), %r9 */
		"	.byte 0x49, 0x81, 0xc1, 0, 0, 0, 0x40\n"	/* add $0x40000000, %r9 */
		"	.byte 0x49, 0xc1, 0xe9, 0x1f\n"		/* shr $31, %r9 */
		"	.byte 0x75\n	.byte 970f - . - 1\n"		/* jnz 970f */
		"	.byte 0x4c, 0x89, 0x44, 0x24, 0xf0\n"		/* mov %r8, -16(%rsp) */
		"	.byte 0x49, 0x89, 0xf1\n"			/* mov %rsi, %r9 */
		"	.byte 0x83, 0xc0, 4\n"				/* add $4, %eax */
		"	.byte 0xc1, 0xe0, 4\n"				/* shl $4, %eax */
		"	.byte 0xe9\n	.4byte 972b - . - 4\n"		/* jmp 972b */
		/* Given back: what a signal handler took meanwhile was too much as well. */
		"974:\n"
		"	.byte 0x41, 0x29, 0xc2\n"			/* sub %eax, %r10d */
		"	.byte 0x41, 0xf7, 0xda\n"			/* neg %r10d */
		"	.byte 0x45, 0x0f, 0xc1, 0x53, 8\n"		/* xadd %r10d, 8(%r11) */
		"970:\n"
		"	.byte 0x4c, 0x8b, 0x4c, 0x24, 0xf8\n"		/* mov -8(%rsp), %r9 */
		"	.byte 0xe8\n	.4byte prof_batch_put_slowly - . - 4\n"	/* call */
		"	.byte 0x58\n"					/* pop %rax */
		".cfi_adjust_cfa_offset -8\n"
		"	.byte 0xc3\n"					/* ret */
		".cfi_endproc\n"
		".size prof_batch_mark, . - prof_batch_mark\n"
		".popsection\n"
		".endif\n");
	__asm__(".ifndef prof_batch_mark_too\n"
		".pushsection .text.prof_batch_mark_too, \"axG\", %progbits, prof_batch_mark_too, comdat\n"
		PROF_IMPL_ASM_SYMBOL("prof_batch_mark_too", "function")
		"prof_batch_mark_too:\n"
		".cfi_startproc\n"
		"	.byte 0x57, 0x56, 0x52, 0x51, 0x41, 0x50, 0x41, 0x51\n" /* push %rdi, ... %r9 */
		".cfi_adjust_cfa_offset 48\n"
		"	.byte 0xe8\n	.4byte prof_batch_mark - . - 4\n"
		"	.byte 0x41, 0x59, 0x41, 0x58, 0x59, 0x5a, 0x5e, 0x5f\n" /* pop %r9, ... %rdi */
		".cfi_adjust_cfa_offset -48\n"
		"	ret\n"
		".cfi_endproc\n"
		".size prof_batch_mark_too, . - prof_batch_mark_too\n"
		".popsection\n"
		".endif\n");
#else
	__asm__(".ifndef prof_batch_mark\n"
		".pushsection .text.prof_batch_mark, \"axG\", %%progbits, prof_batch_mark, comdat\n"
		PROF_IMPL_ASM_SYMBOL_OF("prof_batch_mark", "function")
		PROF_IMPL_ASM_SYMBOL_OF("prof_batch_mark_too", "function")
		".balign 64\n"
		"prof_batch_mark:\n"
		".cfi_startproc\n"
		"	hint 34\n"
		"	b %c0\n"
		".cfi_endproc\n"
		".size prof_batch_mark, . - prof_batch_mark\n"
		"prof_batch_mark_too:\n"
		".cfi_startproc\n"
		"	hint 34\n"
		"	stp x29, x30, [sp, #-64]!\n"
		".cfi_def_cfa_offset 64\n"
		".cfi_offset 29, -64\n"
		".cfi_offset 30, -56\n"
		"	stp x0, x1, [sp, #16]\n"
		"	stp x2, x3, [sp, #32]\n"
		"	stp x4, x5, [sp, #48]\n"
		"	bl %c0\n"
		"	ldp x0, x1, [sp, #16]\n"
		"	ldp x2, x3, [sp, #32]\n"
		"	ldp x4, x5, [sp, #48]\n"
		"	ldp x29, x30, [sp], #64\n"
		".cfi_def_cfa_offset 0\n"
		"	ret\n"
		".cfi_endproc\n"
		".size prof_batch_mark_too, . - prof_batch_mark_too\n"
		".popsection\n"
		".endif\n"
		:
		: PROF_IMPL_SYMBOLIC(&prof_impl_put));
#endif
}

PROF_IMPL_UNCALLED void prof_impl_shared(prof_impl_uncalled_t *nobody)
{
	__asm__(PROF_IMPL_ASM_INTERRUPT);
	prof_impl_shared_assembly();
	__asm__(PROF_IMPL_ASM_RESUME);
	nobody();
}

PROF_IMPL_UNCALLED void prof_impl_shared_default(prof_impl_uncalled_t *nobody)
{
	__asm__(PROF_IMPL_ASM_INTERRUPT);
	PROF_IMPL_DEFINE_DOMAIN(prof_default, "\"default\"")
	prof_impl_shared_assembly();
	__asm__(PROF_IMPL_ASM_RESUME);
	nobody();
}

/* The stubs of the domains that are made at run time. */
PROF_IMPL_UNCALLED void prof_impl_shared_made(prof_impl_uncalled_t *nobody)
{
	__asm__(PROF_IMPL_ASM_INTERRUPT);
	PROF_IMPL_DEFINE_DOMAIN(prof_runtime, "\"(run time)\"")
	__asm__(PROF_IMPL_ASM_RESUME);
	nobody();
}
#define PROF_IMPL_NEED_MADE							\
	PROF_IMPL_NEED_OF(prof_domain_in_prof_default);				\
	__asm__ volatile("" : : PROF_IMPL_SYMBOLIC(&prof_impl_shared_made))

#endif

/*
 * 5.6 Values --------------------------------------------------------------------------------------
 *
 * PROF_IMPL_VALUE(v) evaluates v once and yields its type and its 64 bits; PROF_IMPL_NUMBER does so for
 * numbers only. Types that a marker cannot carry are not listed, and therefore do not compile.
 */
/* In a type: the string is in a live object, such as a std::string. */
#define PROF_IMPL_OWNED 16

struct prof_impl_value {
	uint64_t type;
	uint64_t bits;
};

#ifdef __cplusplus

namespace prof_impl
{
template <int N> struct tag {
	static constexpr int value = N;
};
/* Only these types are values: */
template <class T, bool = __is_enum(T)> struct type_of : tag<0> {
};
template <class T> struct type_of<T, true> : type_of<__underlying_type(T)> {
};
#define PROF_IMPL_TYPE(T, number)						\
	template <> struct type_of<T, false> : tag<number> {			\
	};
PROF_IMPL_TYPE(signed char, PROF_VALUE_INT)
PROF_IMPL_TYPE(short, PROF_VALUE_INT)
PROF_IMPL_TYPE(int, PROF_VALUE_INT)
PROF_IMPL_TYPE(long, PROF_VALUE_INT)
PROF_IMPL_TYPE(long long, PROF_VALUE_INT)
PROF_IMPL_TYPE(unsigned char, PROF_VALUE_UINT)
PROF_IMPL_TYPE(unsigned short, PROF_VALUE_UINT)
PROF_IMPL_TYPE(unsigned int, PROF_VALUE_UINT)
PROF_IMPL_TYPE(unsigned long, PROF_VALUE_UINT)
PROF_IMPL_TYPE(unsigned long long, PROF_VALUE_UINT)
PROF_IMPL_TYPE(char, (static_cast<char>(-1) < 0 ? PROF_VALUE_INT : PROF_VALUE_UINT))
PROF_IMPL_TYPE(wchar_t, (static_cast<wchar_t>(-1) < 0 ? PROF_VALUE_INT : PROF_VALUE_UINT))
PROF_IMPL_TYPE(char16_t, PROF_VALUE_UINT)
PROF_IMPL_TYPE(char32_t, PROF_VALUE_UINT)
PROF_IMPL_TYPE(float, PROF_VALUE_DOUBLE)
PROF_IMPL_TYPE(double, PROF_VALUE_DOUBLE)
PROF_IMPL_TYPE(bool, PROF_VALUE_BOOL)
PROF_IMPL_TYPE(char *, PROF_VALUE_STRING)
PROF_IMPL_TYPE(const char *, PROF_VALUE_STRING)
PROF_IMPL_TYPE(signed char *, PROF_VALUE_STRING)
PROF_IMPL_TYPE(const signed char *, PROF_VALUE_STRING)
PROF_IMPL_TYPE(unsigned char *, PROF_VALUE_STRING)
PROF_IMPL_TYPE(const unsigned char *, PROF_VALUE_STRING)
#ifdef __cpp_char8_t
PROF_IMPL_TYPE(char8_t, PROF_VALUE_UINT)
PROF_IMPL_TYPE(char8_t *, PROF_VALUE_STRING)
PROF_IMPL_TYPE(const char8_t *, PROF_VALUE_STRING)
#endif
PROF_IMPL_TYPE(void *, PROF_VALUE_POINTER)
PROF_IMPL_TYPE(const void *, PROF_VALUE_POINTER)
PROF_IMPL_TYPE(decltype(nullptr), PROF_VALUE_POINTER)
#undef PROF_IMPL_TYPE

template <class T> PROF_IMPL_INLINE uint64_t bits(T v, tag<PROF_VALUE_INT>)
{
	return static_cast<uint64_t>(static_cast<int64_t>(v));
}
template <class T> PROF_IMPL_INLINE uint64_t bits(T v, tag<PROF_VALUE_UINT>)
{
	return static_cast<uint64_t>(v);
}
template <class T> PROF_IMPL_INLINE uint64_t bits(T v, tag<PROF_VALUE_DOUBLE>)
{
	double wide = static_cast<double>(v);
	uint64_t image;

	__builtin_memcpy(&image, &wide, sizeof(image));
	return image;
}
template <class T> PROF_IMPL_INLINE uint64_t bits(T v, tag<PROF_VALUE_BOOL>)
{
	return v ? 1 : 0;
}
template <class T> PROF_IMPL_INLINE uint64_t bits(T v, tag<PROF_VALUE_STRING>)
{
	return reinterpret_cast<uintptr_t>(v);
}
template <class T> PROF_IMPL_INLINE uint64_t bits(T v, tag<PROF_VALUE_POINTER>)
{
	return reinterpret_cast<uintptr_t>(v);
}

template <class T> PROF_IMPL_INLINE uint64_t bits(T, tag<0>)
{
	return 0;
}

/*
 * std::string and std::string_view, without their headers: classes with character traits whose data() is a
 * string. If a class has c_str(), its result is passed on. A view need not end in a NUL, so the part that
 * is recorded is copied, and one more byte, which tells the tracer that the string was longer.
 */
template <class T> T &&any();
template <bool, class> struct only_if {
};
template <class T> struct only_if<true, T> {
	using type = T;
};
template <class T> struct is_string {
	template <class U>
	static tag<type_of<decltype(any<const U &>().data())>::value> kind(typename U::traits_type *);
	template <class U> static tag<0> kind(...);
	static constexpr bool value = decltype(kind<T>(nullptr))::value == PROF_VALUE_STRING;
};
struct view_copy {
	char bytes[PROF_IMPL_VIEW_KEPT + 2];

	operator prof_impl_value() const
	{
		return prof_impl_value{ PROF_VALUE_STRING | PROF_IMPL_OWNED,
					reinterpret_cast<uintptr_t>(bytes) };
	}
};
template <class T> PROF_IMPL_INLINE auto text(const T &v, int) -> decltype(v.c_str(), prof_impl_value())
{
	return prof_impl_value{ PROF_VALUE_STRING | PROF_IMPL_OWNED, reinterpret_cast<uintptr_t>(v.c_str()) };
}
template <class T> PROF_IMPL_INLINE view_copy text(const T &v, long)
{
	const size_t limit = PROF_IMPL_VIEW_KEPT + 1, size = v.size();
	const size_t n = size < limit ? size : limit;
	view_copy copy;

	if (n)
		__builtin_memcpy(copy.bytes, v.data(), n);
	copy.bytes[n] = '\0';
	return copy;
}

template <class T>
PROF_IMPL_INLINE auto value(const T &v)
	-> decltype(text(any<typename only_if<is_string<T>::value, const T &>::type>(), 0))
{
	return text(v, 0);
}
template <class T>
PROF_IMPL_INLINE typename only_if<!is_string<T>::value, prof_impl_value>::type value(T v)
{
	static_assert(type_of<T>::value != 0, PROF_IMPL_NOT_A_VALUE);
	return prof_impl_value{ static_cast<uint64_t>(type_of<T>::value),
				bits(v, tag<type_of<T>::value>()) };
}
template <class T> PROF_IMPL_INLINE prof_impl_value number(T v)
{
	static_assert(type_of<T>::value != 0 && type_of<T>::value != PROF_VALUE_STRING &&
			      type_of<T>::value != PROF_VALUE_POINTER,
		      PROF_IMPL_NOT_A_NUMBER);
	return prof_impl_value{ static_cast<uint64_t>(type_of<T>::value),
				bits(v, tag<type_of<T>::value>()) };
}
} /* namespace prof_impl */

#define PROF_IMPL_VALUE(v) ::prof_impl::value(v)
#define PROF_IMPL_NUMBER(v) ::prof_impl::number(v)

#else /* C */

PROF_IMPL_INLINE struct prof_impl_value prof_impl_of_int(int64_t v)
{
	struct prof_impl_value value = { PROF_VALUE_INT, (uint64_t)v };

	return value;
}
PROF_IMPL_INLINE struct prof_impl_value prof_impl_of_uint(uint64_t v)
{
	struct prof_impl_value value = { PROF_VALUE_UINT, v };

	return value;
}
PROF_IMPL_INLINE struct prof_impl_value prof_impl_of_double(double v)
{
	struct prof_impl_value value = { PROF_VALUE_DOUBLE, 0 };

	__builtin_memcpy(&value.bits, &v, sizeof(v));
	return value;
}
PROF_IMPL_INLINE struct prof_impl_value prof_impl_of_float(float v)
{
	return prof_impl_of_double((double)v);
}
PROF_IMPL_INLINE struct prof_impl_value prof_impl_of_bool(_Bool v)
{
	struct prof_impl_value value = { PROF_VALUE_BOOL, v ? 1 : 0 };

	return value;
}
PROF_IMPL_INLINE struct prof_impl_value prof_impl_of_string(const void *v)
{
	struct prof_impl_value value = { PROF_VALUE_STRING, (uintptr_t)v };

	return value;
}
PROF_IMPL_INLINE struct prof_impl_value prof_impl_of_pointer(const void *v)
{
	struct prof_impl_value value = { PROF_VALUE_POINTER, (uintptr_t)v };

	return value;
}

#ifdef __CHAR_UNSIGNED__
#define PROF_IMPL_OF_CHAR prof_impl_of_uint
#else
#define PROF_IMPL_OF_CHAR prof_impl_of_int
#endif

#define PROF_IMPL_NUMBER_TYPES							\
	char: PROF_IMPL_OF_CHAR, signed char: prof_impl_of_int, short: prof_impl_of_int,	\
	int: prof_impl_of_int, long: prof_impl_of_int, long long: prof_impl_of_int,	\
	unsigned char: prof_impl_of_uint, unsigned short: prof_impl_of_uint,	\
	unsigned int: prof_impl_of_uint, unsigned long: prof_impl_of_uint,	\
	unsigned long long: prof_impl_of_uint, _Bool: prof_impl_of_bool,	\
	float: prof_impl_of_float, double: prof_impl_of_double
#define PROF_IMPL_POINTER_TYPES							\
	char *: prof_impl_of_string, const char *: prof_impl_of_string,		\
	signed char *: prof_impl_of_string, const signed char *: prof_impl_of_string,	\
	unsigned char *: prof_impl_of_string, const unsigned char *: prof_impl_of_string,	\
	void *: prof_impl_of_pointer, const void *: prof_impl_of_pointer
#define PROF_IMPL_NUMBER_ONES							\
	char: 1, signed char: 1, short: 1, int: 1, long: 1, long long: 1, unsigned char: 1,	\
	unsigned short: 1, unsigned int: 1, unsigned long: 1, unsigned long long: 1,	\
	_Bool: 1, float: 1, double: 1
#define PROF_IMPL_POINTER_ONES							\
	char *: 1, const char *: 1, signed char *: 1, const signed char *: 1,	\
	unsigned char *: 1, const unsigned char *: 1, void *: 1, const void *: 1

/* Used with variables only: some compilers warn of side effects that _Generic does not have. */
#define PROF_IMPL_VALUE(v)							\
	__extension__ _Generic(v, PROF_IMPL_NUMBER_TYPES, PROF_IMPL_POINTER_TYPES)(v)
#define PROF_IMPL_NUMBER(v) __extension__ _Generic(v, PROF_IMPL_NUMBER_TYPES)(v)
#define PROF_IMPL_VALUE_CHECK(v)						\
	PROF_IMPL_REQUIRE(_Generic(v, PROF_IMPL_NUMBER_ONES, PROF_IMPL_POINTER_ONES, default: 0),	\
			  PROF_IMPL_NOT_A_VALUE)
#define PROF_IMPL_NUMBER_CHECK(v)						\
	PROF_IMPL_REQUIRE(_Generic(v, PROF_IMPL_NUMBER_ONES, default: 0), PROF_IMPL_NOT_A_NUMBER)

#endif

/* The contribution of a value of this type at position `i` to meta. */
PROF_IMPL_INLINE uint64_t prof_impl_meta(int i, uint64_t type)
{
	return type << (8 + 4 * i) | (type == PROF_VALUE_STRING ? PROF_META_HAS_STRINGS : 0);
}

/*
 * A string that only a marker uses may be in a page that was never read. A BPF program cannot load the
 * page, so the marker reads the first and the last byte of the string, which may be in two pages.
 */
PROF_IMPL_INLINE const char *prof_impl_touch(const char *s, size_t last)
{
	const volatile char *bytes = s;

	(void)bytes[0];
	(void)bytes[last];
	return s;
}

#define PROF_IMPL_NAME_META(name) (__builtin_constant_p(name) ? 0 : PROF_META_NAME_DYNAMIC)

/* A name that is not a literal here may still be one, in a page that was never read. */
PROF_IMPL_INLINE const char *prof_impl_name(const char *name)
{
	return name ? prof_impl_touch(name, __builtin_strlen(name)) : name;
}

#define PROF_IMPL_LITERAL(s) prof_impl_touch("" s, sizeof("" s) - 1)

/* A name that is also listed: section 4, "Names". */
#if PROF_IMPL_OFF
#define PROF_IMPL_NAME(stub, s) PROF_IMPL_LITERAL(s)
#else
#define PROF_IMPL_NAME(stub, s)							\
	__extension__({								\
		PROF_IMPL_LIST(stub, s);					\
		PROF_IMPL_LITERAL(s);						\
	})
#endif
#define PROF_IMPL_FUNC prof_impl_touch(__func__, sizeof(__func__) - 1)

/*
 * 5.7 The call of a stub --------------------------------------------------------------------------
 *
 * Markers with pairs add a `~` to their arguments, so that the list of pairs is never empty: with it, the
 * number of elements is odd. PROF_END() and a trailing comma leave one element, which is empty.
 */
#define PROF_IMPL_MARK(domain, stub, name, a, b, ...)				\
	do {									\
		if (PROF_IMPL_ON(domain)) {					\
			PROF_IMPL_NEED_OF(domain);				\
			PROF_IMPL_CALL(PROF_IMPL_VALUE, stub, name, 0, a, b, __VA_ARGS__)	\
		}								\
	} while (0)

#define PROF_IMPL_MARK_NAMED(name, form, domain, stub, a, b, ...)		\
	do {									\
		PROF_IMPL_REQUIRE_NAME(name, form);				\
		if (PROF_IMPL_ON(domain)) {					\
			PROF_IMPL_NEED_OF(domain);				\
			PROF_IMPL_CALL(PROF_IMPL_VALUE, stub, PROF_IMPL_NAME(stub, name), 0, a, b,	\
				       __VA_ARGS__)				\
		}								\
	} while (0)

/* A name made at run time. */
#define PROF_IMPL_MARK_DYN(name, domain, stub, ...)				\
	do {									\
		if (PROF_IMPL_ON(domain)) {					\
			PROF_IMPL_NEED_OF(domain);				\
			PROF_IMPL_CALL(PROF_IMPL_VALUE, stub,			\
				       PROF_IMPL_EXACT(domain) ? prof_impl_name(name) : name,	\
				       PROF_IMPL_NAME_META(name), 0, 0, __VA_ARGS__)	\
		}								\
	} while (0)

#define PROF_IMPL_CALL(convert, stub, name, m, a, b, ...)				\
	PROF_IMPL_PICK(__VA_ARGS__, PROF_IMPL_TOO_MANY_PAIRS, PROF_IMPL_TOO_MANY_PAIRS,	\
		       PROF_IMPL_TOO_MANY_PAIRS, PROF_IMPL_TOO_MANY_PAIRS, PROF_IMPL_TOO_MANY_PAIRS,	\
		       PROF_IMPL_TOO_MANY_PAIRS, PROF_IMPL_TOO_MANY_PAIRS, PROF_IMPL_TOO_MANY_PAIRS,	\
		       PROF_IMPL_TOO_MANY_PAIRS, PROF_IMPL_TOO_MANY_PAIRS, PROF_IMPL_TOO_MANY_PAIRS,	\
		       PROF_IMPL_TOO_MANY_PAIRS, PROF_IMPL_TOO_MANY_PAIRS, PROF_IMPL_TOO_MANY_PAIRS,	\
		       PROF_IMPL_TOO_MANY_PAIRS, PROF_IMPL_TOO_MANY_PAIRS, PROF_IMPL_TOO_MANY_PAIRS,	\
		       PROF_IMPL_CALL_6, PROF_IMPL_A_KEY_WITHOUT_A_VALUE,	\
		       PROF_IMPL_CALL_5, PROF_IMPL_A_KEY_WITHOUT_A_VALUE,	\
		       PROF_IMPL_CALL_4, PROF_IMPL_A_KEY_WITHOUT_A_VALUE,	\
		       PROF_IMPL_CALL_3, PROF_IMPL_A_KEY_WITHOUT_A_VALUE,	\
		       PROF_IMPL_CALL_2, PROF_IMPL_A_KEY_WITHOUT_A_VALUE,	\
		       PROF_IMPL_CALL_1, PROF_IMPL_CALL_EMPTY, PROF_IMPL_CALL_0, ~)	\
	(convert, stub, name, m, a, b, __VA_ARGS__)
#define PROF_IMPL_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y,	\
		       a1, b1, c1, d1, e1, chosen, ...)				\
	chosen

#define PROF_IMPL_CALL_0(convert, stub, name, m, a, b, z)				\
	stub(name, m, a, b, PROF_IMPL_NULL, 0);
/* PROF_END() and a trailing comma leave one empty element; PROF_END("key") leaves one that is not empty. */
#define PROF_IMPL_CALL_EMPTY(convert, stub, name, m, a, b, empty, z)		\
	{									\
		PROF_IMPL_REQUIRE(sizeof(#empty) == 1, PROF_IMPL_NO_VALUE);	\
		PROF_IMPL_CALL_0(convert, stub, name, m, a, b, z)			\
	}
#define PROF_IMPL_A_KEY_WITHOUT_A_VALUE(...) PROF_IMPL_REQUIRE(0, PROF_IMPL_NO_VALUE);
#define PROF_IMPL_TOO_MANY_PAIRS(...)						\
	PROF_IMPL_REQUIRE(0, "proftrace: a marker takes at most six pairs of a key and a value, "	\
			     "and one at a time of its own four");
#define PROF_IMPL_NO_VALUE "proftrace: a key without a value; pairs are key, value, key, value"

#define PROF_IMPL_CALL_1(c, stub, name, m, a, b, k1, v1, z)	\
	PROF_IMPL_CALL_N(stub, name, m, a, 1, "" k1,	\
			 PROF_IMPL_PUT(c, 0, v1))
#define PROF_IMPL_CALL_2(c, stub, name, m, a, b, k1, v1, k2, v2, z)	\
	PROF_IMPL_CALL_N(stub, name, m, a, 2, "" k1 "\0" k2,	\
			 PROF_IMPL_PUT(c, 0, v1) PROF_IMPL_PUT(c, 1, v2))
#define PROF_IMPL_CALL_3(c, stub, name, m, a, b, k1, v1, k2, v2, k3, v3, z)	\
	PROF_IMPL_CALL_N(stub, name, m, a, 3, "" k1 "\0" k2 "\0" k3,	\
			 PROF_IMPL_PUT(c, 0, v1) PROF_IMPL_PUT(c, 1, v2)	\
			 PROF_IMPL_PUT(c, 2, v3))
#define PROF_IMPL_CALL_4(c, stub, name, m, a, b, k1, v1, k2, v2, k3, v3, k4, v4, z)	\
	PROF_IMPL_CALL_N(stub, name, m, a, 4, "" k1 "\0" k2 "\0" k3 "\0" k4,	\
			 PROF_IMPL_PUT(c, 0, v1) PROF_IMPL_PUT(c, 1, v2)	\
			 PROF_IMPL_PUT(c, 2, v3) PROF_IMPL_PUT(c, 3, v4))
#define PROF_IMPL_CALL_5(c, stub, name, m, a, b, k1, v1, k2, v2, k3, v3, k4, v4, k5, v5, z)	\
	PROF_IMPL_CALL_N(stub, name, m, a, 5, "" k1 "\0" k2 "\0" k3 "\0" k4 "\0" k5,	\
			 PROF_IMPL_PUT(c, 0, v1) PROF_IMPL_PUT(c, 1, v2)	\
			 PROF_IMPL_PUT(c, 2, v3) PROF_IMPL_PUT(c, 3, v4)	\
			 PROF_IMPL_PUT(c, 4, v5))
#define PROF_IMPL_CALL_6(c, stub, name, m, a, b, k1, v1, k2, v2, k3, v3, k4, v4, k5, v5, k6, v6, z)	\
	PROF_IMPL_CALL_N(stub, name, m, a, 6, "" k1 "\0" k2 "\0" k3 "\0" k4 "\0" k5 "\0" k6,	\
			 PROF_IMPL_PUT(c, 0, v1) PROF_IMPL_PUT(c, 1, v2)	\
			 PROF_IMPL_PUT(c, 2, v3) PROF_IMPL_PUT(c, 3, v4)	\
			 PROF_IMPL_PUT(c, 4, v5) PROF_IMPL_PUT(c, 5, v6))

/* Sanitizers cannot check a stub that is called by a pointer: they have no information about assembly. */
#ifdef __clang__
#define PROF_IMPL_TRUSTED __attribute__((no_sanitize("cfi-icall", "function")))
#else
#define PROF_IMPL_TRUSTED
#endif

/*
 * Strings among the values may be temporary objects, which must live until the stub has returned. In C++
 * they live to the end of the full expression, so a call is one expression (braces, because these are
 * evaluated in order). In C they live to the end of the block, so the values are read in the block of
 * the call.
 *
 * Kinds with pairs have no `b` of their own, so two values fit into registers.
 */
#ifdef __cplusplus

#define PROF_IMPL_PUT(convert, i, v) , convert(v)
#define PROF_IMPL_CALL_N(stub, name, m, a, n, keys, puts)				\
	(void)::prof_impl::call<n>{ stub, name, m, a, PROF_IMPL_LITERAL(keys) puts };

namespace prof_impl
{
template <int N> struct call {
	template <class... V>
	__attribute__((always_inline)) PROF_IMPL_TRUSTED call(prof_stub_t *stub, const char *name,
							      uint64_t more, uint64_t a,
							      const char *keys, const V &...v)
	{
		const prof_impl_value given[] = { v... };
		uint64_t values[static_cast<size_t>(N < 2 ? 2 : N)] = {};
		uint64_t meta = more | N | PROF_META_OWNED;

		for (int i = 0; i < N; i++) {
			values[i] = given[i].bits;
			meta |= prof_impl_meta(i, given[i].type & 15);
			if (given[i].type == PROF_VALUE_STRING)
				meta &= ~PROF_META_OWNED;
		}
		if (!(meta & PROF_META_HAS_STRINGS))
			meta &= ~PROF_META_OWNED;
		if (N <= 2)
			stub(name, meta | PROF_META_IN_REGISTERS, a, values[0], keys, values[1]);
		else
			stub(name, meta, a, 0, keys, PROF_IMPL_ADDRESS(values));
	}
};
} /* namespace prof_impl */

#else

/* Declarations come first: -Wdeclaration-after-statement warns of others. */
#define PROF_IMPL_PUT(convert, i, v)						\
	__extension__ __auto_type prof_v##i = (v);				\
	convert##_CHECK(prof_v##i);						\
	const struct prof_impl_value prof_given##i = convert(prof_v##i);
#define PROF_IMPL_CALL_N(stub, name, m, a, n, keys, puts)				\
	{									\
		const uint64_t prof_a = (a);					\
		puts								\
		const uint64_t prof_values[n < 2 ? 2 : n] = { PROF_IMPL_EACH_##n(PROF_IMPL_BITS) };	\
		const uint64_t prof_meta = (m) | n PROF_IMPL_EACH_##n(PROF_IMPL_META);	\
		if (n <= 2)							\
			stub(name, prof_meta | PROF_META_IN_REGISTERS, prof_a,	\
			     prof_values[0], PROF_IMPL_LITERAL(keys), prof_values[1]);	\
		else								\
			stub(name, prof_meta, prof_a, 0, PROF_IMPL_LITERAL(keys),	\
			     PROF_IMPL_ADDRESS(prof_values));			\
	}
#define PROF_IMPL_BITS(i) prof_given##i.bits,
#define PROF_IMPL_META(i) | prof_impl_meta(i, prof_given##i.type)
#define PROF_IMPL_EACH_1(DO) DO(0)
#define PROF_IMPL_EACH_2(DO) PROF_IMPL_EACH_1(DO) DO(1)
#define PROF_IMPL_EACH_3(DO) PROF_IMPL_EACH_2(DO) DO(2)
#define PROF_IMPL_EACH_4(DO) PROF_IMPL_EACH_3(DO) DO(3)
#define PROF_IMPL_EACH_5(DO) PROF_IMPL_EACH_4(DO) DO(4)
#define PROF_IMPL_EACH_6(DO) PROF_IMPL_EACH_5(DO) DO(5)

#endif

/* In C these are declarations only, so that others may follow. */
#ifdef __cplusplus
#define PROF_IMPL_DO(n, ...)							\
	do {									\
		__VA_ARGS__							\
	} while (0)
#else
#define PROF_IMPL_DO(n, ...)							\
	const char PROF_IMPL_JOIN(prof_opened_, n) __attribute__((unused)) =	\
		__extension__({							\
			__VA_ARGS__						\
			(char)0;						\
		})
#endif

#define PROF_IMPL_BEGIN(in, name, ...)						\
	PROF_IMPL_MARK_NAMED(name, "; use PROF_BEGIN_DYN", prof_domain##in, prof_begin##in, 0, 0,	\
			     __VA_ARGS__)
#define PROF_IMPL_END(in, ...)							\
	PROF_IMPL_MARK(prof_domain##in, prof_end##in, PROF_IMPL_NULL, 0, 0, __VA_ARGS__)
#define PROF_IMPL_END_IN(domain, ...) PROF_IMPL_END(_in_##domain, __VA_ARGS__)
#define PROF_IMPL_INSTANT(in, name, ...)						\
	PROF_IMPL_MARK_NAMED(name, "; use PROF_INSTANT_DYN", prof_domain##in, prof_instant##in, 0, 0,	\
			     __VA_ARGS__)
#define PROF_IMPL_NO_TRACK PROF_IMPL_NULL
#define PROF_IMPL_SLICE_ON(in, track, name, begin, end, ...)			\
	PROF_IMPL_GIVEN(in, track, name, PROF_OBJECT_SLICE_AT, begin, end, __VA_ARGS__)
#define PROF_IMPL_INSTANT_ON(in, track, name, time, ...)			\
	PROF_IMPL_GIVEN(in, track, name, PROF_OBJECT_INSTANT_AT, time, 0, __VA_ARGS__)
#define PROF_IMPL_GIVEN(in, track, name, object, begin, end, ...)		\
	do {									\
		PROF_IMPL_REQUIRE_NAME(name, "; use prof_slice_at_args");	\
		if (PROF_IMPL_ON(prof_domain##in)) {				\
			const prof_track_t *const prof_track = (track);		\
			const uint64_t prof_begin = PROF_IMPL_U64(begin);	\
			const uint64_t prof_end = PROF_IMPL_U64(end);		\
			const uint64_t prof_more = prof_impl_track_meta(prof_track,	\
				prof_instant##in, PROF_IMPL_NULL);		\
			PROF_IMPL_NEED_OF(prof_domain##in);			\
			PROF_IMPL_CALL(PROF_IMPL_VALUE, prof_instant##in,	\
				       PROF_IMPL_NAME(prof_instant##in, name),	\
				       prof_more | PROF_META_OBJECT(object), prof_begin, 0, "",	\
				       prof_impl_track_path(prof_track), "", prof_end, __VA_ARGS__)	\
		}								\
	} while (0)
#define PROF_IMPL_ASYNC_BEGIN(in, name, id, ...)				\
	PROF_IMPL_MARK_NAMED(name, "", prof_domain##in, prof_async_begin##in,	\
			     PROF_IMPL_U64(id), 0, __VA_ARGS__)
#define PROF_IMPL_ASYNC_END(in, name, id, ...)					\
	PROF_IMPL_MARK_NAMED(name, "", prof_domain##in, prof_async_end##in, PROF_IMPL_U64(id),	\
			     0, __VA_ARGS__)
#define PROF_IMPL_FLOW_OUT(in, id)						\
	PROF_IMPL_MARK(prof_domain##in, prof_flow_out##in, PROF_IMPL_NULL, PROF_IMPL_U64(id), 0, ~)
#define PROF_IMPL_FLOW_IN(in, id)						\
	PROF_IMPL_MARK(prof_domain##in, prof_flow_in##in, PROF_IMPL_NULL, PROF_IMPL_U64(id), 0, ~)
#define PROF_IMPL_ALLOC(in, pool, ptr, size)					\
	PROF_IMPL_MARK_NAMED(pool, "", prof_domain##in, prof_alloc##in,		\
			     PROF_IMPL_ADDRESS(ptr), PROF_IMPL_U64(size), ~)
#define PROF_IMPL_FREE(in, pool, ptr, moves)					\
	PROF_IMPL_MARK_NAMED(pool, "", prof_domain##in, prof_free##in,		\
			     PROF_IMPL_ADDRESS(ptr), moves, ~)
/* The size is evaluated once, and before the expression, which may free the memory that it depends on. */
#ifdef __cplusplus
#define PROF_IMPL_REALLOC(in, pool, old, size, ...)				\
	[&]() {									\
		PROF_IMPL_FREE(in, pool, old, UINT64_MAX);				\
		const auto prof_size = (size);					\
		const auto prof_new = (__VA_ARGS__);				\
		PROF_IMPL_ALLOC(in, pool, prof_new, prof_size);			\
		return prof_new;						\
	}()
#else
#define PROF_IMPL_REALLOC(in, pool, old, size, ...)				\
	__extension__({								\
		const uint64_t prof_size = PROF_IMPL_U64(size);			\
		PROF_IMPL_DO(moves, PROF_IMPL_FREE(in, pool, old, UINT64_MAX););	\
		__auto_type prof_new = (__VA_ARGS__);				\
		PROF_IMPL_ALLOC(in, pool, prof_new, prof_size);			\
		prof_new;							\
	})
#endif
#define PROF_IMPL_STEP(epoch, batch)						\
	PROF_IMPL_MARK(prof_domain_in_prof_control, prof_step_in_prof_control, PROF_IMPL_NULL,	\
		       PROF_IMPL_U64(epoch), PROF_IMPL_U64(batch), ~)

#ifdef __cplusplus
#define PROF_IMPL_TAKE(variable, value) const auto variable = (value);
#else
#define PROF_IMPL_TAKE(variable, value)						\
	__extension__ __auto_type variable = (value);				\
	PROF_IMPL_NUMBER_CHECK(variable);
#endif
#define PROF_IMPL_COUNTER(in, name, value)					\
	do {									\
		PROF_IMPL_REQUIRE_NAME(name, "");				\
		if (PROF_IMPL_ON(prof_domain##in)) {				\
			PROF_IMPL_TAKE(prof_number, value)			\
			const struct prof_impl_value prof_value = PROF_IMPL_NUMBER(prof_number);	\
			PROF_IMPL_NEED_OF(prof_domain##in);			\
			prof_counter##in(PROF_IMPL_NAME(prof_counter##in, name), prof_value.type << 4,	\
					 prof_value.bits, 0, PROF_IMPL_NULL, 0);	\
		}								\
	} while (0)
#define PROF_IMPL_COUNTERS(in, name, ...)					\
	do {									\
		PROF_IMPL_REQUIRE_NAME(name, "");				\
		if (PROF_IMPL_ON(prof_domain##in)) {				\
			PROF_IMPL_NEED_OF(prof_domain##in);			\
			PROF_IMPL_CALL(PROF_IMPL_NUMBER, prof_counter##in,	\
				       PROF_IMPL_NAME(prof_counter##in, name), 0, 0, 0, __VA_ARGS__)	\
		}								\
	} while (0)

#define PROF_IMPL_SCOPE_NAMED(in, n, name, ...)					\
	PROF_IMPL_REQUIRE_NAME(name, "; use PROF_SCOPE_DYN");			\
	PROF_IMPL_SCOPE(in, n, PROF_IMPL_NAME(prof_begin##in, name), 0, __VA_ARGS__)
#define PROF_IMPL_SCOPE_DYN(in, n, name, ...)					\
	PROF_IMPL_SCOPE(in, n, prof_impl_name(name), PROF_IMPL_NAME_META(name), __VA_ARGS__)
#define PROF_IMPL_BEGIN_DYN(in, name, ...)					\
	PROF_IMPL_MARK_DYN(name, prof_domain##in, prof_begin##in, __VA_ARGS__)
#define PROF_IMPL_INSTANT_DYN(in, name, ...)					\
	PROF_IMPL_MARK_DYN(name, prof_domain##in, prof_instant##in, __VA_ARGS__)
#define PROF_IMPL_FUNCTION_IN(n, domain, ...)					\
	PROF_IMPL_SCOPE(_in_##domain, n, PROF_IMPL_FUNC, 0, __VA_ARGS__)

#if PROF_IMPL_OFF

#define PROF_IMPL_SCOPE(in, n, name, m, ...)					\
	PROF_IMPL_MARK(prof_domain##in, prof_begin##in, name, 0, 0, __VA_ARGS__)
#define PROF_IMPL_THREAD_NAME(name)						\
	do {									\
		if (0)								\
			prof_impl_touch(name, 0);				\
	} while (0)

#else

#define PROF_IMPL_THREAD_NAME(name) prof_impl_thread_name(name)

/* prctl(PR_SET_NAME, name) without its header, which defines many macros; it does not change errno. */
PROF_IMPL_INLINE void prof_impl_set_kernel_name(const char *name)
{
#if defined(__x86_64__)
	uint64_t call = 157;

	__asm__ volatile("syscall"
			 : "+a"(call)
			 : "D"(UINT64_C(15)), "S"(name), "d"(UINT64_C(0))
			 : "rcx", "r11", "memory");
#else
	register uint64_t option __asm__("x0") = 15;
	register const char *to __asm__("x1") = name;
	register uint64_t call __asm__("x8") = 167;

	__asm__ volatile("svc 0" : "+r"(option) : "r"(to), "r"(call) : "memory");
#endif
}
/* The mark alone. */
PROF_IMPL_INLINE void prof_impl_mark_thread_name(const char *name)
{
	if (PROF_IMPL_ON(prof_domain_in_prof_control)) {
		PROF_IMPL_NEED;
		prof_thread_name_in_prof_control(name, PROF_META_NAME_DYNAMIC, 0, 0, PROF_IMPL_NULL, 0);
	}
}
PROF_IMPL_INLINE void prof_impl_thread_name(const char *name)
{
	prof_impl_set_kernel_name(name);
	prof_impl_mark_thread_name(name);
}

/*
 * 5.8 Scopes --------------------------------------------------------------------------------------
 *
 * The guard holds the token of the slice (0: the slice was not begun) and the stub that ends it. The token
 * is the address of a byte beside the guard, not of the guard itself. So the address of the guard stays
 * private, and an optimising compiler keeps the guard in registers and knows the value of `end`. Only a
 * compiler that does not optimise calls the stub by its pointer; sanitizers cannot check that call,
 * because they have no information about functions in assembly.
 */

#ifdef __cplusplus
struct prof_impl_scope {
	uint64_t token;
	prof_stub_t *end;

	__attribute__((always_inline)) explicit prof_impl_scope(prof_stub_t *stub)
		: token(0), end(stub)
	{
	}
	__attribute__((always_inline)) PROF_IMPL_TRUSTED ~prof_impl_scope()
	{
		if (__builtin_expect(token != 0, 0))
			end(nullptr, 0, token, 0, nullptr, 0);
	}
	prof_impl_scope(const prof_impl_scope &) = delete;
	prof_impl_scope &operator=(const prof_impl_scope &) = delete;
};
#define PROF_IMPL_GUARD(guard, stub) struct prof_impl_scope guard(stub)
#else
#define PROF_IMPL_GUARD(guard, stub)						\
	struct prof_impl_scope guard __attribute__((cleanup(prof_impl_scope_close))) = { 0, stub }
struct prof_impl_scope {
	uint64_t token;
	prof_stub_t *end;
};
PROF_IMPL_INLINE PROF_IMPL_TRUSTED void prof_impl_scope_close(struct prof_impl_scope *scope)
{
	if (__builtin_expect(scope->token != 0, 0))
		scope->end(NULL, 0, scope->token, 0, NULL, 0);
}
#endif

#define PROF_IMPL_OPEN(in, n, ...)						\
	unsigned char PROF_IMPL_JOIN(prof_slice_, n);				\
	PROF_IMPL_GUARD(PROF_IMPL_JOIN(prof_scope_, n), prof_end##in);		\
	PROF_IMPL_DO(n, if (PROF_IMPL_ON(prof_domain##in)) {			\
		PROF_IMPL_NEED_OF(prof_domain##in);				\
		PROF_IMPL_JOIN(prof_scope_, n).token =				\
			PROF_IMPL_ADDRESS(&PROF_IMPL_JOIN(prof_slice_, n));	\
		__VA_ARGS__							\
	})
#define PROF_IMPL_SCOPE(in, n, name, m, ...)					\
	PROF_IMPL_OPEN(in, n,							\
		       PROF_IMPL_CALL(PROF_IMPL_VALUE, prof_begin##in, name, m,	\
				      PROF_IMPL_JOIN(prof_scope_, n).token, 0, __VA_ARGS__))

#endif

#if PROF_IMPL_OFF
#define PROF_IMPL_CONTROL(kind) ((void)0)
#else
#define PROF_IMPL_CONTROL(kind)							\
	do {									\
		if (PROF_IMPL_ON(prof_domain_in_prof_control)) {		\
			PROF_IMPL_NEED;						\
			prof_##kind##_in_prof_control(PROF_IMPL_NULL, 0, 0, 0, PROF_IMPL_NULL, 0);	\
		}								\
	} while (0)
#endif

PROF_IMPL_INLINE void prof_pause(void)
{
	PROF_IMPL_CONTROL(pause);
}
PROF_IMPL_INLINE void prof_resume(void)
{
	PROF_IMPL_CONTROL(resume);
}
PROF_IMPL_INLINE void prof_dump(void)
{
	PROF_IMPL_CONTROL(dump);
}
PROF_IMPL_INLINE void prof_stop(void)
{
	PROF_IMPL_CONTROL(stop);
}
PROF_IMPL_INLINE void prof_include_chrome_json(const char *path)
{
	PROF_IMPL_MARK(prof_domain_in_prof_control, prof_include_json_in_prof_control,
		       PROF_IMPL_NULL, 0, 0, "path", path, ~);
}

/*
 * 5.9 PROF_CALL -----------------------------------------------------------------------------------
 *
 * The compiler says that a name is constant for literals only; these are in the ELF file.
 */
#if PROF_IMPL_OFF
#define PROF_IMPL_SCOPE_OF_CALL(in, n, name) PROF_IMPL_THREAD_NAME(name)
#else
#define PROF_IMPL_SCOPE_OF_CALL(in, n, name)					\
	PROF_IMPL_OPEN(in, n,							\
		       prof_begin##in(prof_impl_name(name), PROF_IMPL_NAME_META(name),	\
				      PROF_IMPL_JOIN(prof_scope_, n).token, 0,	\
				      PROF_IMPL_NULL, 0);)
#endif
#ifndef __cplusplus
#define PROF_IMPL_EXPRESSION(in, n, name, ...)					\
	__extension__({								\
		PROF_IMPL_SCOPE_OF_CALL(in, n, name);				\
		__VA_ARGS__;							\
	})
#else
#if __cplusplus >= 201402L
#define PROF_IMPL_YIELDS -> decltype(auto)
#else
#define PROF_IMPL_YIELDS
#endif
#define PROF_IMPL_EXPRESSION(in, n, name, ...)					\
	[&]() PROF_IMPL_YIELDS {						\
		PROF_IMPL_SCOPE_OF_CALL(in, n, name);				\
		return __VA_ARGS__;						\
	}()
#endif

PROF_IMPL_INLINE void prof_scope_push(const char *name)
{
#if PROF_IMPL_OFF
	(void)name;
#else
	if (PROF_IMPL_ON(prof_domain_in_prof_control)) {
		PROF_IMPL_NEED;
		prof_scope_push_in_prof_control(prof_impl_name(name), PROF_IMPL_NAME_META(name), 0,
						0, PROF_IMPL_NULL, 0);
	}
#endif
}

PROF_IMPL_INLINE void prof_scope_pop(void)
{
#if !PROF_IMPL_OFF
	if (PROF_IMPL_ON(prof_domain_in_prof_control)) {
		PROF_IMPL_NEED;
		prof_scope_pop_in_prof_control(PROF_IMPL_NULL, 0, 0, 0, PROF_IMPL_NULL, 0);
	}
#endif
}

/*
 * 5.10 Objects at file scope ----------------------------------------------------------------------
 *
 * Each object is a constant. So a compiler that sees its definition knows the semaphore and the stubs, as
 * with a marker. Variable data is beside it: the value of a counter, and `state`, whose address is the
 * token of the object's slices. (The address of the object itself cannot be the token, because linkers
 * fold equal constants.) The contents of `state` number the tokens of guards.
 */
struct prof_object {
	const char *name;
#if !PROF_IMPL_OFF
	const char *categories; /* of all but markers, which have theirs; only if made at run time */
	const prof_domain_t *domain;
	uint64_t meta; /* of all its marks but the ends */
	uint32_t *state;
	prof_stub_t *begin, *end, *instant, *counter; /* NULL: it has none */
#endif
};

struct prof_marker_options {
	int prof_nothing; /* something to begin with, where no option is given */
	const char *categories;
	unsigned instant_on_start, instant_on_finish, actions;
};

struct prof_marker {
	struct prof_object object;
	struct prof_marker_options options;
};
struct prof_task {
	struct prof_object object;
};
struct prof_event {
	struct prof_object object;
};
struct prof_frame {
	struct prof_object object;
};
struct prof_counter {
	struct prof_object object;
	int64_t *value;
};

/* The beginning of a definition: of an object for one file, and for several. */
#define PROF_IMPL_PRIVATE(type, id) static __attribute__((unused)) type id
#define PROF_IMPL_SHARED(type, id)						\
	PROF_IMPL_C type id __attribute__((weak)) PROF_IMPL_HIDDEN;		\
	type id
#define PROF_IMPL_DECLARE_OBJECT(type, id)					\
	PROF_IMPL_QUIET_ABOUT_AGAIN						\
	PROF_IMPL_C const type id PROF_IMPL_HIDDEN;				\
	PROF_IMPL_LOUD								\
	struct prof_domain

/* Named options, of which some may be missing, are intended; C++ has them since C++20. */
#define PROF_IMPL_QUIET								\
	_Pragma("GCC diagnostic push")						\
	_Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")	\
	_Pragma("GCC diagnostic ignored \"-Wpedantic\"")			\
	PROF_IMPL_QUIET_GCC_12
#if defined(__cplusplus) && !defined(__clang__) && __GNUC__ >= 12
#define PROF_IMPL_QUIET_GCC_12 _Pragma("GCC diagnostic ignored \"-Wc++20-extensions\"")
#else
#define PROF_IMPL_QUIET_GCC_12
#endif

#if PROF_IMPL_OFF
#define PROF_IMPL_OBJECT(id, in, name, class, begin, end, instant, counter) { "" name }
#define PROF_IMPL_OBJECT_STATE(linkage, id)
#define PROF_IMPL_STUB(kind, in)
#else
#define PROF_IMPL_OBJECT(id, in, name, class, begin, end, instant, counter)	\
	{ "" name, PROF_IMPL_NULL, &prof_domain##in, PROF_META_OBJECT(class), &id##_prof_state, begin,	\
	  end, instant, counter }
#define PROF_IMPL_OBJECT_STATE(linkage, id) linkage(uint32_t, id##_prof_state) = 0;
#define PROF_IMPL_STUB(kind, in) prof_##kind##in
#endif

#define PROF_IMPL_MARKER(linkage, id, in, name, ...)				\
	PROF_IMPL_OBJECT_STATE(linkage, id)					\
	PROF_IMPL_QUIET								\
	linkage(const prof_marker_t, id) = {					\
		PROF_IMPL_OBJECT(id, in, name, PROF_OBJECT_MARKER, PROF_IMPL_STUB(begin, in),	\
				 PROF_IMPL_STUB(end, in), PROF_IMPL_STUB(instant, in),	\
				 PROF_IMPL_STUB(counter, in)),			\
		{ .prof_nothing = 0, __VA_ARGS__ }				\
	};									\
	PROF_IMPL_LOUD
#define PROF_IMPL_SLICE(linkage, type, class, id, in, name)			\
	PROF_IMPL_NEED_LISTED(__COUNTER__, prof_domain##in, prof_begin##in, name, )	\
	PROF_IMPL_OBJECT_STATE(linkage, id)					\
	linkage(const prof_##type##_t, id) = {					\
		PROF_IMPL_OBJECT(id, in, name, class, PROF_IMPL_STUB(begin, in),	\
				 PROF_IMPL_STUB(end, in), PROF_IMPL_NULL, PROF_IMPL_NULL)	\
	}
#define PROF_IMPL_FRAME(linkage, id, in, name)					\
	PROF_IMPL_NEED_LISTED(__COUNTER__, prof_domain##in, prof_async_begin##in, name, )	\
	PROF_IMPL_OBJECT_STATE(linkage, id)					\
	linkage(const prof_frame_t, id) = {					\
		PROF_IMPL_OBJECT(id, in, name, PROF_OBJECT_FRAME, PROF_IMPL_STUB(async_begin, in),	\
				 PROF_IMPL_STUB(async_end, in), PROF_IMPL_NULL, PROF_IMPL_NULL)	\
	}
#define PROF_IMPL_COUNTER_OBJECT(linkage, id, in, name, initial)		\
	PROF_IMPL_NEED_LISTED(__COUNTER__, prof_domain##in, prof_counter##in, name, )	\
	PROF_IMPL_OBJECT_STATE(linkage, id)					\
	linkage(int64_t, id##_prof_value) = initial;				\
	linkage(const prof_counter_t, id) = {					\
		PROF_IMPL_OBJECT(id, in, name, PROF_OBJECT_COUNTER, PROF_IMPL_NULL,	\
				 PROF_IMPL_NULL, PROF_IMPL_NULL, PROF_IMPL_STUB(counter, in)),	\
		&id##_prof_value						\
	}

/* The code for a mark that is on is in a function of its own, out of the way. */
#define PROF_IMPL_COLD static inline __attribute__((cold, noinline)) PROF_IMPL_TRUSTED

#if PROF_IMPL_OFF

#define PROF_IMPL_OBJECT_ON(o) ((void)(o), 0)

PROF_IMPL_INLINE void prof_impl_begin(const struct prof_object *o, uint64_t token)
{
	(void)o, (void)token;
}
PROF_IMPL_INLINE void prof_impl_end(const struct prof_object *o, uint64_t token)
{
	(void)o, (void)token;
}
PROF_IMPL_INLINE void prof_impl_marker_begin(const prof_marker_t *m, uint64_t token)
{
	(void)m, (void)token;
}
PROF_IMPL_INLINE void prof_impl_marker_end(const prof_marker_t *m, uint64_t token)
{
	(void)m, (void)token;
}
PROF_IMPL_INLINE void prof_impl_marker_mark(const prof_marker_t *m, int scope)
{
	(void)m, (void)scope;
}
PROF_IMPL_INLINE void prof_impl_count(const struct prof_object *o, int64_t value)
{
	(void)o, (void)value;
}
PROF_IMPL_INLINE void prof_impl_marker_counter(const char *marker, uint64_t meta, uint64_t a,
					       uint64_t b, const char *keys, uint64_t values)
{
	(void)marker, (void)meta, (void)a, (void)b, (void)keys, (void)values;
}
PROF_IMPL_INLINE uint64_t prof_impl_token(const struct prof_object *o)
{
	(void)o;
	return 0;
}
PROF_IMPL_INLINE uint64_t prof_impl_token_of_guard(const struct prof_object *o)
{
	(void)o;
	return 0;
}

#else

#define PROF_IMPL_OBJECT_ON(o) PROF_IMPL_ON(*(o)->domain)

PROF_IMPL_INLINE uint64_t prof_impl_token(const struct prof_object *o)
{
	return PROF_IMPL_ADDRESS(o->state);
}

/* Guards may move and end in any order: the last 65535 guards of an object have different tokens. */
PROF_IMPL_INLINE uint64_t prof_impl_token_of_guard(const struct prof_object *o)
{
	uint32_t nth = __atomic_fetch_add(o->state, 1u, __ATOMIC_RELAXED);

	return prof_impl_token(o) ^ (PROF_IMPL_U64(nth % 65535) + 1) << 48;
}

/* Texts of an object made at run time are not in the file. A static one can be read there. */
PROF_IMPL_INLINE const char *prof_impl_object_text(const struct prof_object *o, const char *text)
{
	return o->meta & PROF_META_NAME_DYNAMIC && PROF_IMPL_EXACT(*o->domain) ? prof_impl_name(text) : text;
}

PROF_IMPL_COLD void prof_impl_begin(const struct prof_object *o, uint64_t token)
{
	o->begin(prof_impl_object_text(o, prof_impl_touch(o->name, 0)), o->meta, token,
		 PROF_IMPL_ADDRESS(prof_impl_object_text(o, o->categories)), PROF_IMPL_NULL, 0);
}

/* The end of a frame on another thread gets its name only here. */
PROF_IMPL_COLD void prof_impl_end(const struct prof_object *o, uint64_t token)
{
	if ((o->meta & PROF_META_OBJECT(15)) == PROF_META_OBJECT(PROF_OBJECT_FRAME))
		o->end(o->name, o->meta, token, PROF_IMPL_ADDRESS(o->categories), PROF_IMPL_NULL, 0);
	else
		o->end(PROF_IMPL_NULL, 0, token, 0, PROF_IMPL_NULL, 0);
}

PROF_IMPL_INLINE uint64_t prof_impl_marker_meta(const prof_marker_t *m)
{
	const unsigned all = PROF_ON_WARMUP | PROF_ON_ACTIVE | PROF_ON_ACTIVE_AND_SAVE;
	const unsigned actions = m->options.actions & all;

	return m->object.meta | PROF_META_NOT_ON(actions ? actions ^ all : 0) |
	       (m->options.categories ? PROF_META_HAS_CATEGORIES : 0);
}

PROF_IMPL_INLINE PROF_IMPL_TRUSTED void prof_impl_marker_call(const prof_marker_t *m,
							      prof_stub_t *stub, uint64_t more,
							      uint64_t token)
{
	stub(prof_impl_object_text(&m->object, prof_impl_touch(m->object.name, 0)),
	     prof_impl_marker_meta(m) | more, token,
	     PROF_IMPL_ADDRESS(prof_impl_object_text(&m->object, m->options.categories)),
	     PROF_IMPL_NULL, 0);
}

PROF_IMPL_COLD void prof_impl_marker_mark(const prof_marker_t *m, int scope)
{
	prof_impl_marker_call(m, m->object.instant, PROF_META_SCOPE(scope), 0);
}

PROF_IMPL_COLD void prof_impl_marker_begin(const prof_marker_t *m, uint64_t token)
{
	prof_impl_marker_call(m, m->object.begin, 0, token);
	if (m->options.instant_on_start)
		prof_impl_marker_mark(m, PROF_SCOPE_PROCESS);
}

PROF_IMPL_COLD void prof_impl_marker_end(const prof_marker_t *m, uint64_t token)
{
	if (m->options.instant_on_finish)
		prof_impl_marker_mark(m, PROF_SCOPE_PROCESS);
	m->object.end(PROF_IMPL_NULL, 0, token, 0, PROF_IMPL_NULL, 0);
}

PROF_IMPL_COLD void prof_impl_count(const struct prof_object *o, int64_t value)
{
	o->counter(prof_impl_object_text(o, prof_impl_touch(o->name, 0)),
		   o->meta | PROF_IMPL_U64(PROF_VALUE_INT) << 4, PROF_IMPL_U64(value),
		   PROF_IMPL_ADDRESS(prof_impl_object_text(o, o->categories)), PROF_IMPL_NULL, 0);
}

/* Replaces the stub for the counter of a marker, whose name argument is the marker. */
PROF_IMPL_INLINE PROF_IMPL_TRUSTED void prof_impl_marker_counter(const char *marker, uint64_t meta,
								 uint64_t a, uint64_t b,
								 const char *keys, uint64_t values)
{
	const void *object = marker;
	const prof_marker_t *m = PROF_IMPL_CAST(const prof_marker_t *, object);
	uint64_t in_registers[2];

	(void)a;
	if (meta & PROF_META_IN_REGISTERS) {
		in_registers[0] = b;
		in_registers[1] = values;
		meta ^= PROF_META_IN_REGISTERS;
		values = PROF_IMPL_ADDRESS(in_registers);
	}
	m->object.counter(prof_impl_touch(m->object.name, 0), meta | prof_impl_marker_meta(m), 0,
			  PROF_IMPL_ADDRESS(m->options.categories), keys, values);
}

#endif

PROF_IMPL_INLINE void prof_marker_start(const prof_marker_t *m)
{
	if (PROF_IMPL_OBJECT_ON(&m->object))
		prof_impl_marker_begin(m, prof_impl_token(&m->object));
}
PROF_IMPL_INLINE void prof_marker_finish(const prof_marker_t *m)
{
	if (PROF_IMPL_OBJECT_ON(&m->object))
		prof_impl_marker_end(m, prof_impl_token(&m->object));
}
PROF_IMPL_INLINE void prof_marker_mark(const prof_marker_t *m, int scope)
{
	if (PROF_IMPL_OBJECT_ON(&m->object))
		prof_impl_marker_mark(m, scope);
	else
		(void)scope;
}
PROF_IMPL_INLINE void prof_marker_instant(const prof_marker_t *m)
{
	prof_marker_mark(m, PROF_SCOPE_PROCESS);
}

#define PROF_IMPL_DEFINE_START_STOP(type)					\
	PROF_IMPL_INLINE void prof_##type##_start(const prof_##type##_t *object)	\
	{									\
		if (PROF_IMPL_OBJECT_ON(&object->object))			\
			prof_impl_begin(&object->object, prof_impl_token(&object->object));	\
	}									\
	PROF_IMPL_INLINE void prof_##type##_stop(const prof_##type##_t *object)	\
	{									\
		if (PROF_IMPL_OBJECT_ON(&object->object))			\
			prof_impl_end(&object->object, prof_impl_token(&object->object));	\
	}
PROF_IMPL_DEFINE_START_STOP(task)
PROF_IMPL_DEFINE_START_STOP(event)
PROF_IMPL_DEFINE_START_STOP(frame)
#undef PROF_IMPL_DEFINE_START_STOP

/* The sample is the result of this change, whatever other threads do meanwhile. */
PROF_IMPL_INLINE void prof_counter_set(const prof_counter_t *counter, int64_t value)
{
	__atomic_store_n(counter->value, value, __ATOMIC_RELAXED);
	if (PROF_IMPL_OBJECT_ON(&counter->object))
		prof_impl_count(&counter->object, value);
}
PROF_IMPL_INLINE void prof_counter_increment(const prof_counter_t *counter, int64_t by)
{
	const int64_t value = __atomic_add_fetch(counter->value, by, __ATOMIC_RELAXED);

	if (PROF_IMPL_OBJECT_ON(&counter->object))
		prof_impl_count(&counter->object, value);
}
PROF_IMPL_INLINE void prof_counter_decrement(const prof_counter_t *counter, int64_t by)
{
	const int64_t value = __atomic_sub_fetch(counter->value, by, __ATOMIC_RELAXED);

	if (PROF_IMPL_OBJECT_ON(&counter->object))
		prof_impl_count(&counter->object, value);
}
PROF_IMPL_INLINE int64_t prof_counter_value(const prof_counter_t *counter)
{
	return __atomic_load_n(counter->value, __ATOMIC_RELAXED);
}

#define PROF_IMPL_MARKER_COUNTER(marker, ...)					\
	do {									\
		const prof_marker_t *const prof_marker = (marker);		\
		if (PROF_IMPL_OBJECT_ON(&prof_marker->object)) {		\
			PROF_IMPL_CALL(PROF_IMPL_NUMBER, prof_impl_marker_counter,	\
				       PROF_IMPL_CAST(const char *, prof_marker), 0, 0, 0, __VA_ARGS__)	\
		}								\
	} while (0)

/*
 * The scope of a marker. As with PROF_SCOPE, its token is the address of a byte beside the guard. So a
 * marker may be entered again while another of its slices is open on the thread.
 */
struct prof_impl_marker_scope {
	uint64_t token; /* 0: not begun */
	const prof_marker_t *marker;
#ifdef __cplusplus
	__attribute__((always_inline)) prof_impl_marker_scope(const prof_marker_t *m,
							      unsigned char *slice)
		: token(0), marker(m)
	{
		if (PROF_IMPL_OBJECT_ON(&m->object)) {
			token = PROF_IMPL_ADDRESS(slice);
			prof_impl_marker_begin(m, token);
		}
	}
	__attribute__((always_inline)) ~prof_impl_marker_scope()
	{
		if (__builtin_expect(token != 0, 0))
			prof_impl_marker_end(marker, token);
	}
	prof_impl_marker_scope(const prof_impl_marker_scope &) = delete;
	prof_impl_marker_scope &operator=(const prof_impl_marker_scope &) = delete;
#endif
};

#ifdef __cplusplus
#define PROF_IMPL_MARKER_SCOPE(n, marker)					\
	unsigned char PROF_IMPL_JOIN(prof_slice_, n);				\
	struct prof_impl_marker_scope PROF_IMPL_JOIN(prof_scope_, n)(marker,	\
		&PROF_IMPL_JOIN(prof_slice_, n))
#else
PROF_IMPL_INLINE struct prof_impl_marker_scope prof_impl_marker_scope_open(const prof_marker_t *m,
									   unsigned char *slice)
{
	struct prof_impl_marker_scope scope = { 0, m };

	if (PROF_IMPL_OBJECT_ON(&m->object)) {
		scope.token = PROF_IMPL_ADDRESS(slice);
		prof_impl_marker_begin(m, scope.token);
	}
	return scope;
}
PROF_IMPL_INLINE void prof_impl_marker_scope_close(struct prof_impl_marker_scope *scope)
{
	if (__builtin_expect(scope->token != 0, 0))
		prof_impl_marker_end(scope->marker, scope->token);
}
#define PROF_IMPL_MARKER_SCOPE(n, marker)					\
	unsigned char PROF_IMPL_JOIN(prof_slice_, n);				\
	struct prof_impl_marker_scope PROF_IMPL_JOIN(prof_scope_, n)		\
		__attribute__((cleanup(prof_impl_marker_scope_close), unused)) =	\
			prof_impl_marker_scope_open(marker, &PROF_IMPL_JOIN(prof_slice_, n))
#endif

/*
 * 5.11 Objects made at run time -------------------------------------------------------------------
 *
 * All objects are in one list, to which objects are only added. It is sorted by the bit-reversed hash, so that the
 * objects of a bucket are adjacent for any number of buckets: doubling that number moves nothing, and an object never
 * moves (Shalev and Shavit, "Split-Ordered Lists", 2006). Each bucket has a node of its own in the list, before its
 * objects, which is added when the bucket is first used. Neither finding nor adding takes a lock. Each executable and
 * library has its own table.
 */
struct prof_impl_node {
	uint64_t place; /* the hash backwards; odd for objects, even for buckets */
	struct prof_impl_node *next;
};
struct prof_impl_bucket {
	struct prof_impl_node node;
	uint64_t state; /* 0 not in the list, 1 somebody puts it there, 2 in the list */
};
enum {
	PROF_IMPL_ROWS = 32, /* of buckets: 64, then as many as all before together */
	PROF_IMPL_FIRST_ROW = 64,
	PROF_IMPL_BUCKET_LOAD = 1 /* objects for each bucket, at most on average */
};
struct prof_impl_table {
	struct prof_impl_bucket *rows[PROF_IMPL_ROWS];
	uint64_t n_objects, n_buckets;
	struct prof_impl_bucket first[PROF_IMPL_FIRST_ROW];
};

struct prof_runtime_domain {
	const char *name; /* NULL: the built-in one */
	const prof_domain_t *domain;
};

/*
 * The clock of a track: its latest readings. The number of a reading is written last, so that a thread that reads it
 * meanwhile knows that it is incomplete.
 */
struct prof_impl_clock {
	uint32_t n, sent, slices; /* readings; those that were sent; slices since then */
	struct {
		uint64_t ticks, ns;
		uint32_t nth;
	} readings[8];
};
enum {
	PROF_IMPL_READINGS = 8,
	PROF_IMPL_SEND_AGAIN = 16, /* slices */
	PROF_IMPL_PATH_KEPT = 256
};
struct prof_track {
	const char *path;
	const struct prof_track *outer;
	struct prof_impl_clock *clock; /* NULL: as that of `outer` */
};

/* The key of an object. */
struct prof_impl_wanted {
	uint64_t kind; /* PROF_OBJECT_..., PROF_IMPL_TRACK, or 0 for a domain */
	const prof_runtime_domain_t *domain;
	const char *name, *categories;
	unsigned instants, actions;
};

/* The data that a search reads is adjacent, and the name follows it: among many objects, each cache line costs time. */
struct prof_impl_made {
	union {
		prof_runtime_domain_t domain;
		struct prof_object object;
		prof_marker_t marker;
		prof_task_t task;
		prof_frame_t frame;
		prof_event_t event;
		prof_counter_t counter;
		prof_track_t track;
	} is;
	int64_t value;
	uint32_t state;
	struct prof_impl_node node;
	struct prof_impl_wanted wanted;
};
PROF_IMPL_INLINE struct prof_impl_made *prof_impl_made_of(struct prof_impl_node *node)
{
	const uintptr_t address = PROF_IMPL_ADDRESS(node);

	return PROF_IMPL_AT(struct prof_impl_made, address - offsetof(struct prof_impl_made, node));
}

PROF_IMPL_INLINE uint64_t prof_impl_backwards(uint64_t x)
{
	x = (x >> 1 & UINT64_C(0x5555555555555555)) | (x & UINT64_C(0x5555555555555555)) << 1;
	x = (x >> 2 & UINT64_C(0x3333333333333333)) | (x & UINT64_C(0x3333333333333333)) << 2;
	x = (x >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (x & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
	return __builtin_bswap64(x);
}

/* FNV-1a, then the finaliser of murmur3, by which every bit affects every other bit. */
PROF_IMPL_INLINE uint64_t prof_impl_hash_text(uint64_t hash, const char *text)
{
	do {
		hash = (hash ^ PROF_IMPL_CHAR(*text)) * UINT64_C(0x100000001b3);
	} while (*text++);
	return hash;
}
PROF_IMPL_INLINE uint64_t prof_impl_hash(const struct prof_impl_wanted *w)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ w->kind ^ PROF_IMPL_ADDRESS(w->domain) << 3 ^
			PROF_IMPL_U64(w->instants) << 60 ^ PROF_IMPL_U64(w->actions) << 57;

	hash = prof_impl_hash_text(hash, w->name);
	hash = prof_impl_hash_text(hash, w->categories);
	hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
	hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return hash ^ hash >> 33;
}

static inline int prof_impl_is_wanted(struct prof_impl_node *node, const struct prof_impl_wanted *w)
{
	const struct prof_impl_made *m = prof_impl_made_of(node);

	return m->wanted.kind == w->kind && m->wanted.domain == w->domain &&
	       m->wanted.instants == w->instants && m->wanted.actions == w->actions &&
	       !__builtin_strcmp(m->wanted.name, w->name) &&
	       !__builtin_strcmp(m->wanted.categories, w->categories);
}

/*
 * Continues from a node to the position of `place`. Returns the requested object, or NULL if it is not in the list,
 * and the nodes between which it belongs.
 */
static inline struct prof_impl_node *prof_impl_walk(struct prof_impl_node *from, uint64_t place,
						    const struct prof_impl_wanted *w,
						    struct prof_impl_node **before,
						    struct prof_impl_node **behind)
{
	struct prof_impl_node *next = __atomic_load_n(&from->next, __ATOMIC_ACQUIRE);

	while (next && next->place <= place) {
		if (w && next->place == place && prof_impl_is_wanted(next, w))
			return next;
		from = next;
		next = __atomic_load_n(&from->next, __ATOMIC_ACQUIRE);
	}
	*before = from;
	*behind = next;
	return PROF_IMPL_NULL;
}

/* Inserts a node after `from`, or finds an equal one that another thread has inserted first. */
static inline struct prof_impl_node *prof_impl_put_node(struct prof_impl_node *from,
							struct prof_impl_node *node,
							const struct prof_impl_wanted *w)
{
	struct prof_impl_node *behind = PROF_IMPL_NULL, *found;

	do {
		found = prof_impl_walk(from, node->place, w, &from, &behind);
		if (found)
			return found;
		node->next = behind;
	} while (!__atomic_compare_exchange_n(&from->next, &behind, node, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return node;
}

/* The pointer of a bucket; NULL: there is no memory for its row. */
static inline struct prof_impl_bucket *prof_impl_bucket_at(struct prof_impl_table *table,
							   uint64_t number)
{
	struct prof_impl_bucket **row, *made, *none = PROF_IMPL_NULL;
	uint64_t size;
	int i;

	if (number < PROF_IMPL_FIRST_ROW)
		return &table->first[number];
	i = 63 - __builtin_clzll(number) - 6;
	size = UINT64_C(64) << i;
	row = &table->rows[i];
	made = __atomic_load_n(row, __ATOMIC_ACQUIRE);
	if (!made) {
		made = PROF_IMPL_CAST(struct prof_impl_bucket *, __builtin_calloc(size, sizeof(*made)));
		if (!made)
			return PROF_IMPL_NULL;
		if (!__atomic_compare_exchange_n(row, &none, made, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE)) {
			__builtin_free(made);
			made = none;
		}
	}
	return &made[number - size];
}

/*
 * The node at which a search for objects of a bucket begins: the bucket's own node or, until that is in the list, the
 * node of an earlier bucket: its number is the same without the highest bit.
 */
static inline struct prof_impl_node *prof_impl_bucket_node(struct prof_impl_table *table,
							   uint64_t number)
{
	struct prof_impl_bucket *wanted = prof_impl_bucket_at(table, number), *b = wanted;
	uint64_t before = number, state = 0;

	while (!b || __atomic_load_n(&b->state, __ATOMIC_ACQUIRE) != 2) {
		before ^= UINT64_C(1) << (63 - __builtin_clzll(before));
		b = prof_impl_bucket_at(table, before);
	}
	if (b == wanted || !wanted ||
	    !__atomic_compare_exchange_n(&wanted->state, &state, UINT64_C(1), 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return &b->node;
	wanted->node.place = prof_impl_backwards(number);
	prof_impl_put_node(&b->node, &wanted->node, PROF_IMPL_NULL);
	__atomic_store_n(&wanted->state, UINT64_C(2), __ATOMIC_RELEASE);
	return &wanted->node;
}

/* When a table has grown, its new buckets are added to the list one by one. */
static inline void prof_impl_count_object(struct prof_impl_table *table)
{
	const uint64_t n = __atomic_add_fetch(&table->n_objects, UINT64_C(1), __ATOMIC_RELAXED);
	uint64_t buckets = __atomic_load_n(&table->n_buckets, __ATOMIC_RELAXED);

	if (n > buckets * PROF_IMPL_BUCKET_LOAD &&
	    buckets < UINT64_C(64) << (PROF_IMPL_ROWS - 1))
		__atomic_compare_exchange_n(&table->n_buckets, &buckets, buckets * 2, 0,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* The table of this executable or library, reached by one pointer. Without ELF, each file has its own table. */
#if defined(__ELF__)
PROF_IMPL_C struct prof_impl_table *prof_impl_objects_made __asm__("prof_objects_made")
	PROF_IMPL_HIDDEN;
#define PROF_IMPL_DEFINE_TABLE							\
	__asm__(".ifndef prof_objects_made\n"					\
		".pushsection .bss.prof_objects_made, \"awG\", %nobits, prof_objects_made, comdat\n"	\
		".weak prof_objects_made\n"					\
		".hidden prof_objects_made\n"					\
		".type prof_objects_made, %object\n"				\
		".balign 8\n"							\
		"prof_objects_made: .zero 8\n"					\
		".size prof_objects_made, 8\n"					\
		".popsection\n"							\
		".endif\n")
#endif
static inline struct prof_impl_table *prof_impl_table_get(void)
{
#if !defined(__ELF__)
	static struct prof_impl_table *prof_impl_objects_made;
#endif
	struct prof_impl_table *table = __atomic_load_n(&prof_impl_objects_made, __ATOMIC_ACQUIRE);
	struct prof_impl_table *made;

#if defined(__ELF__)
	PROF_IMPL_DEFINE_TABLE;
#endif
	if (table)
		return table;
	made = PROF_IMPL_CAST(struct prof_impl_table *, __builtin_calloc(1, sizeof(*made)));
	if (!made)
		return made;
	made->n_buckets = PROF_IMPL_FIRST_ROW;
	made->first[0].state = 2;
	if (__atomic_compare_exchange_n(&prof_impl_objects_made, &table, made, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return made;
	__builtin_free(made);
	return table;
}

PROF_IMPL_INLINE char *prof_impl_append(char *to, const char *text, size_t size)
{
	__builtin_memcpy(to, text, size);
	return to + size;
}

/*
 * The object with its key, and after it the texts: the name, the categories, and the categories of its marks, which
 * are the name of its domain and those categories.
 */
static inline struct prof_impl_made *prof_impl_make(const struct prof_impl_wanted *w,
						    const char **said_categories)
{
	const char *const domain = w->domain ? w->domain->name : "";
	const size_t n_name = __builtin_strlen(w->name) + 1;
	const size_t n_categories = __builtin_strlen(w->categories) + 1;
	const size_t n_domain = __builtin_strlen(domain);
	struct prof_impl_made *m =
		PROF_IMPL_CAST(struct prof_impl_made *,
			       __builtin_malloc(sizeof(*m) + n_name + 2 * n_categories + n_domain + 1));
	char *text = PROF_IMPL_CAST(char *, m + 1);

	if (!m)
		return PROF_IMPL_NULL;
	__builtin_memset(m, 0, sizeof(*m));
	m->wanted = *w;
	m->wanted.name = text;
	text = prof_impl_append(text, w->name, n_name);
	m->wanted.categories = text;
	text = prof_impl_append(text, w->categories, n_categories);
	*said_categories = text;
	text = prof_impl_append(text, domain, n_domain);
	if (n_domain && n_categories > 1)
		*text++ = ',';
	prof_impl_append(text, w->categories, n_categories);
	return m;
}

#if PROF_IMPL_OFF
#define PROF_IMPL_NEED_MADE (void)0
PROF_IMPL_INLINE void prof_impl_shape_domain(struct prof_impl_made *m)
{
	(void)m;
}
PROF_IMPL_INLINE void prof_impl_shape_marks(struct prof_impl_made *m, const char *categories)
{
	(void)m, (void)categories;
}
#else
#define PROF_IMPL_OF_DOMAIN(d, kind)						\
	((d) ? prof_##kind##_in_prof_runtime : prof_##kind##_in_prof_default)
PROF_IMPL_INLINE void prof_impl_shape_domain(struct prof_impl_made *m)
{
	m->is.domain.name = m->wanted.name;
	m->is.domain.domain = &prof_domain_in_prof_runtime;
}
static inline void prof_impl_shape_marks(struct prof_impl_made *m, const char *categories)
{
	const prof_runtime_domain_t *const d = m->wanted.domain;
	struct prof_object *const o = &m->is.object;
	const int frame = m->wanted.kind == PROF_OBJECT_FRAME;

	o->domain = d ? d->domain : &prof_domain_in_prof_default;
	o->meta = m->wanted.kind << 44 | PROF_META_NAME_DYNAMIC;
	o->state = &m->state;
	if (m->wanted.kind != PROF_OBJECT_MARKER && *categories) {
		o->meta |= PROF_META_HAS_CATEGORIES;
		o->categories = categories;
	}
	o->begin = frame ? PROF_IMPL_OF_DOMAIN(d, async_begin) : PROF_IMPL_OF_DOMAIN(d, begin);
	o->end = frame ? PROF_IMPL_OF_DOMAIN(d, async_end) : PROF_IMPL_OF_DOMAIN(d, end);
	o->instant = PROF_IMPL_OF_DOMAIN(d, instant);
	o->counter = PROF_IMPL_OF_DOMAIN(d, counter);
}
#endif

#define PROF_IMPL_TRACK 6 /* among the kinds of objects that are made */

/* The object as the functions above take it. */
static inline void prof_impl_shape(struct prof_impl_made *m, const char *categories, int64_t initial)
{
	struct prof_marker_options *const options = &m->is.marker.options;

	if (m->wanted.kind == PROF_IMPL_TRACK) {
		m->is.track.path = m->wanted.name;
		return;
	}
	m->is.object.name = m->wanted.name;
	prof_impl_shape_marks(m, categories);
	if (m->wanted.kind == PROF_OBJECT_MARKER) {
		options->categories = *categories ? categories : PROF_IMPL_NULL;
		options->instant_on_start = m->wanted.instants & PROF_INSTANT_ON_START;
		options->instant_on_finish = m->wanted.instants & PROF_INSTANT_ON_FINISH;
		options->actions = m->wanted.actions;
	} else if (m->wanted.kind == PROF_OBJECT_COUNTER) {
		m->is.counter.value = &m->value;
		m->value = initial;
	}
}

/* Finds the object, or makes it. NULL: no memory. */
static inline struct prof_impl_made *prof_impl_get(const struct prof_impl_wanted *w, int64_t initial)
{
	struct prof_impl_table *const table = prof_impl_table_get();
	const uint64_t hash = prof_impl_hash(w), place = prof_impl_backwards(hash) | 1;
	struct prof_impl_node *found, *before, *behind;
	struct prof_impl_made *made;
	const char *categories;
	uint64_t buckets;

	if (!table)
		return PROF_IMPL_NULL;
	buckets = __atomic_load_n(&table->n_buckets, __ATOMIC_RELAXED);
	before = prof_impl_bucket_node(table, hash & (buckets - 1));
	found = prof_impl_walk(before, place, w, &before, &behind);
	if (!found) {
		made = prof_impl_make(w, &categories);
		if (!made)
			return PROF_IMPL_NULL;
		if (w->kind)
			prof_impl_shape(made, categories, initial);
		else
			prof_impl_shape_domain(made);
		made->node.place = place;
		found = prof_impl_put_node(before, &made->node, w);
		if (found == &made->node)
			prof_impl_count_object(table);
		else
			__builtin_free(made);
	}
	return prof_impl_made_of(found);
}

/* The same, but without memory it returns the substitute. */
static inline struct prof_impl_made *prof_impl_get_any(uint64_t kind,
						       const prof_runtime_domain_t *domain,
						       const char *name, const char *categories,
						       unsigned instants, unsigned actions,
						       int64_t initial)
{
	static struct prof_impl_made none[PROF_IMPL_TRACK + 1];
	struct prof_impl_wanted wanted = { kind, domain && domain->name ? domain : PROF_IMPL_NULL,
					   name ? name : "", categories ? categories : "",
					   instants, actions };
	struct prof_impl_made *made;

	PROF_IMPL_NEED_MADE;
	made = prof_impl_get(&wanted, initial);
	if (made)
		return made;
	wanted.domain = PROF_IMPL_NULL;
	wanted.name = "(no memory)";
	wanted.categories = "";
	made = &none[kind];
	made->wanted = wanted;
	prof_impl_shape(made, "", initial);
	return made;
}

PROF_IMPL_INLINE const prof_runtime_domain_t *prof_impl_default_domain(void)
{
#if PROF_IMPL_OFF
	static const prof_runtime_domain_t domain = { PROF_IMPL_NULL, PROF_IMPL_NULL };
#else
	static const prof_runtime_domain_t domain = { PROF_IMPL_NULL, &prof_domain_in_prof_default };
#endif

	return &domain;
}

/* Where markers compile to nothing, there is no function either. */
#if PROF_IMPL_OFF
#define PROF_IMPL_FUNCTION PROF_IMPL_INLINE
#else
#define PROF_IMPL_FUNCTION static inline
#endif

#if PROF_IMPL_OFF
/* Nobody reads it. */
#define PROF_IMPL_GET(kind, member, domain, name, categories, instants, actions)	\
	const void *nothing = "";						\
										\
	(void)(domain), (void)(name), (void)(categories), (void)(instants), (void)(actions);	\
	return PROF_IMPL_CAST(const prof_##member##_t *, nothing)
#else
#define PROF_IMPL_GET(kind, member, domain, name, categories, instants, actions)	\
	return &prof_impl_get_any(kind, domain, name, categories, instants, actions, 0)->is.member
#endif

PROF_IMPL_FUNCTION const prof_runtime_domain_t *prof_domain_get(const char *name)
{
#if PROF_IMPL_OFF
	(void)name;
#else
	const struct prof_impl_wanted wanted = { 0, PROF_IMPL_NULL, name ? name : "", "", 0, 0 };
	const struct prof_impl_made *made = PROF_IMPL_NULL;

	PROF_IMPL_NEED_MADE;
	if (*wanted.name && __builtin_strcmp(wanted.name, "default"))
		made = prof_impl_get(&wanted, 0);
	if (made)
		return &made->is.domain;
#endif
	return prof_impl_default_domain();
}
PROF_IMPL_INLINE int prof_domain_is_enabled(const prof_runtime_domain_t *domain)
{
	return PROF_IMPL_IS_ENABLED(domain->domain);
}

PROF_IMPL_FUNCTION const prof_task_t *prof_task_get(const prof_runtime_domain_t *domain, const char *name)
{
	PROF_IMPL_GET(PROF_OBJECT_TASK, task, domain, name, "", 0, 0);
}
PROF_IMPL_FUNCTION const prof_frame_t *prof_frame_get(const prof_runtime_domain_t *domain,
						 const char *name)
{
	PROF_IMPL_GET(PROF_OBJECT_FRAME, frame, domain, name, "", 0, 0);
}
PROF_IMPL_FUNCTION const prof_event_t *prof_event_get(const char *name)
{
	PROF_IMPL_GET(PROF_OBJECT_EVENT, event, PROF_IMPL_NULL, name, "", 0, 0);
}
PROF_IMPL_FUNCTION const prof_marker_t *prof_marker_get_in(const prof_runtime_domain_t *domain,
						      const char *name, const char *categories,
						      unsigned instants, unsigned actions)
{
	PROF_IMPL_GET(PROF_OBJECT_MARKER, marker, domain, name, categories, instants & 3,
		      actions & 7);
}
PROF_IMPL_FUNCTION const prof_marker_t *prof_marker_get(const char *name, const char *categories)
{
	return prof_marker_get_in(PROF_IMPL_NULL, name, categories, 0, 0);
}
/* A counter counts with PROFTRACE_DISABLE too. */
static inline const prof_counter_t *prof_counter_get(const prof_runtime_domain_t *domain,
						     const char *name, int64_t initial)
{
	return &prof_impl_get_any(PROF_OBJECT_COUNTER, domain, name, "", 0, 0, initial)->is.counter;
}

/* Tracks. */
#if PROF_IMPL_OFF
PROF_IMPL_INLINE const prof_track_t *prof_track_get(const char *name, const prof_track_t *outer)
{
	const void *nothing = "";

	(void)name, (void)outer;
	return PROF_IMPL_CAST(const prof_track_t *, nothing);
}
PROF_IMPL_INLINE void prof_track_sync(const prof_track_t *track, uint64_t ticks, uint64_t time)
{
	(void)track, (void)ticks, (void)time;
}
#else
/* Appends what fits. */
PROF_IMPL_INLINE size_t prof_impl_append_path(char *path, size_t at, const char *text)
{
	for (; text && *text && at < PROF_IMPL_PATH_KEPT; text++)
		path[at++] = *text;
	path[at] = '\0';
	return at;
}
static inline const prof_track_t *prof_track_get(const char *name, const prof_track_t *outer)
{
	char path[PROF_IMPL_PATH_KEPT + 1];
	const prof_track_t *around = PROF_IMPL_NULL;
	size_t i, n = prof_impl_append_path(path, 0, outer ? outer->path : PROF_IMPL_NULL);

	if (outer)
		n = prof_impl_append_path(path, n, "/");
	prof_impl_append_path(path, n, name);
	for (i = 0;; i++) {
		const char here = path[i];
		struct prof_impl_made *made;

		if (here && here != '/')
			continue;
		path[i] = '\0';
		made = prof_impl_get_any(PROF_IMPL_TRACK, PROF_IMPL_NULL, path, "", 0, 0, 0);
		path[i] = here;
		/* Each thread that finds it stores the same. */
		__atomic_store_n(&made->is.track.outer, around, __ATOMIC_RELEASE);
		around = &made->is.track;
		if (!here)
			return around;
	}
}
static inline void prof_track_sync(const prof_track_t *track, uint64_t ticks, uint64_t time)
{
	struct prof_impl_clock **place, *made, *clock = PROF_IMPL_NULL;
	uint32_t i;

	if (!track)
		return;
	place = &PROF_IMPL_AT(prof_track_t, PROF_IMPL_ADDRESS(track))->clock;
	made = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (!made) {
		made = PROF_IMPL_CAST(struct prof_impl_clock *, __builtin_calloc(1, sizeof(*made)));
		if (!made)
			return;
		if (!__atomic_compare_exchange_n(place, &clock, made, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE)) {
			__builtin_free(made);
			made = clock;
		}
	}
	i = __atomic_fetch_add(&made->n, 1u, __ATOMIC_ACQ_REL);
	__atomic_store_n(&made->readings[i % PROF_IMPL_READINGS].nth, 0u, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&made->readings[i % PROF_IMPL_READINGS].ticks, ticks, __ATOMIC_RELAXED);
	__atomic_store_n(&made->readings[i % PROF_IMPL_READINGS].ns, time, __ATOMIC_RELAXED);
	__atomic_store_n(&made->readings[i % PROF_IMPL_READINGS].nth, i + 1, __ATOMIC_RELEASE);
}
#endif
PROF_IMPL_INLINE const char *prof_impl_track_path(const prof_track_t *track)
{
	return track ? track->path : PROF_IMPL_NULL;
}

/*
 * 5.12 Arguments made at run time -----------------------------------------------------------------
 *
 * Three pairs fit into a mark, because each key uses the place of a value too. If there are more, instants before the
 * mark carry the first ones, and all of these marks begin with the same number, under an empty key.
 */
#define PROF_IMPL_DEFINE_ARG(word, type, kind, bits)				\
	PROF_IMPL_INLINE prof_arg_t prof_arg_##word(const char *key, type value)	\
	{									\
		const prof_arg_t arg = { key, kind, bits };			\
										\
		return arg;							\
	}
PROF_IMPL_DEFINE_ARG(int, int64_t, PROF_VALUE_INT, PROF_IMPL_U64(value))
PROF_IMPL_DEFINE_ARG(uint, uint64_t, PROF_VALUE_UINT, value)
PROF_IMPL_DEFINE_ARG(string, const char *, PROF_VALUE_STRING, PROF_IMPL_ADDRESS(value))
PROF_IMPL_DEFINE_ARG(bool, int, PROF_VALUE_BOOL, value ? 1u : 0u)
PROF_IMPL_DEFINE_ARG(pointer, const void *, PROF_VALUE_POINTER, PROF_IMPL_ADDRESS(value))
#undef PROF_IMPL_DEFINE_ARG
PROF_IMPL_INLINE prof_arg_t prof_arg_double(const char *key, double value)
{
	prof_arg_t arg = { key, PROF_VALUE_DOUBLE, 0 };

	__builtin_memcpy(&arg.bits, &value, sizeof(value));
	return arg;
}

#if !PROF_IMPL_OFF

enum {
	PROF_IMPL_PAIRS = 3
};

/*
 * One mark. In a domain made at run time, the first category is the name of the domain. The first `unnamed` pairs have
 * empty keys.
 */
static inline PROF_IMPL_TRUSTED void prof_impl_mark_pairs(prof_stub_t *stub,
							  const prof_runtime_domain_t *domain,
							  const char *name, uint64_t meta, uint64_t a,
							  const prof_arg_t *args, size_t n, int unnamed)
{
	const char *const category = domain && name ? domain->name : PROF_IMPL_NULL;
	const int exact = PROF_IMPL_EXACT(*(domain ? domain : prof_impl_default_domain())->domain);
	uint64_t values[2 * PROF_IMPL_PAIRS];
	int i, count = 0;

	while (PROF_IMPL_U64(count) < n)
		count++;
	meta |= 2 * n | (n ? PROF_META_OWNED : 0);
	for (i = 0; i < count; i++) {
		const char *key = args[i].key && *args[i].key ? args[i].key : "(none)";

		if (i < unnamed)
			key = "";
		if ((args[i].type & (15 | PROF_IMPL_OWNED)) == PROF_VALUE_STRING)
			meta &= ~PROF_META_OWNED;

		values[2 * i] = PROF_IMPL_ADDRESS(exact ? prof_impl_name(key) : key);
		values[2 * i + 1] = args[i].bits;
		meta |= prof_impl_meta(2 * i, PROF_VALUE_STRING) |
			prof_impl_meta(2 * i + 1, args[i].type & 15);
	}
	if (name)
		meta |= PROF_META_NAME_DYNAMIC;
	if (category)
		meta |= PROF_META_HAS_CATEGORIES;
	if (exact) {
		prof_impl_name(name);
		prof_impl_name(category);
	}
	stub(name, meta, a, PROF_IMPL_ADDRESS(category),
	     PROF_IMPL_NULL, n ? PROF_IMPL_ADDRESS(values) : 0);
}

/* Sends the first of more arguments than fit. Returns how many those are, and their number in some[0]. */
static inline size_t prof_impl_mark_first_args(prof_stub_t *instant, const prof_runtime_domain_t *domain,
					       prof_arg_t some[PROF_IMPL_PAIRS], const prof_arg_t *args,
					       size_t n, size_t rest)
{
	static uint64_t marks;
	size_t sent, count;

	/* Of this file: threads, of which each has its own marks, differ in any case. */
	some[0] = prof_arg_uint("", __atomic_add_fetch(&marks, UINT64_C(1), __ATOMIC_RELAXED));
	for (sent = 0; n - sent > rest; sent += count) {
		count = n - sent < 2 ? 1 : 2;
		some[1] = args[sent];
		some[2] = args[sent + count - 1];
		prof_impl_mark_pairs(instant, domain, "", PROF_META_OBJECT(PROF_OBJECT_ARGUMENTS), 0,
				     some, 1 + count, 1);
	}
	return sent;
}

/* The same without pairs. */
PROF_IMPL_INLINE PROF_IMPL_TRUSTED void prof_impl_mark_plain(prof_stub_t *stub, const prof_runtime_domain_t *domain,
							      const char *name, uint64_t meta, uint64_t a)
{
	const char *const category = domain && name ? domain->name : PROF_IMPL_NULL;

	if (name)
		meta |= PROF_META_NAME_DYNAMIC;
	if (category)
		meta |= PROF_META_HAS_CATEGORIES;
	if (__builtin_expect(PROF_IMPL_EXACT(*(domain ? domain : prof_impl_default_domain())->domain), 0)) {
		prof_impl_name(name);
		prof_impl_name(category);
	}
	stub(name, meta, a, PROF_IMPL_ADDRESS(category), PROF_IMPL_NULL, 0);
}

static inline void prof_impl_mark_some(prof_stub_t *stub, prof_stub_t *instant,
				       const prof_runtime_domain_t *domain, const char *name,
				       uint64_t meta, uint64_t a, const prof_arg_t *args, size_t n)
{
	prof_arg_t some[PROF_IMPL_PAIRS];
	size_t sent;

	if (n <= PROF_IMPL_PAIRS) {
		prof_impl_mark_pairs(stub, domain, name, meta, a, args, n, 0);
		return;
	}
	sent = prof_impl_mark_first_args(instant, domain, some, args, n, 2);
	some[1] = args[sent];
	some[2] = args[n - 1];
	prof_impl_mark_pairs(stub, domain, name, meta, a, some, 1 + n - sent, 1);
}

PROF_IMPL_INLINE void prof_impl_mark_args(prof_stub_t *stub, prof_stub_t *instant,
				       const prof_runtime_domain_t *domain, const char *name,
				       uint64_t meta, uint64_t a, const prof_arg_t *args, size_t n)
{
	if (n)
		prof_impl_mark_some(stub, instant, domain, name, meta, a, args, n);
	else
		prof_impl_mark_plain(stub, domain, name, meta, a);
}

/*
 * What the clock of the track adds to meta. New readings are sent first. The latest ones are sent again now and then,
 * for a tracer that has attached since.
 */
PROF_IMPL_COLD uint64_t prof_impl_track_meta(const prof_track_t *track, prof_stub_t *instant,
					     const prof_runtime_domain_t *domain)
{
	struct prof_impl_clock *clock = PROF_IMPL_NULL;
	const char *path = PROF_IMPL_NULL;
	uint32_t i, n, sent;

	for (; track && !clock; track = __atomic_load_n(&track->outer, __ATOMIC_ACQUIRE)) {
		path = track->path;
		clock = __atomic_load_n(&track->clock, __ATOMIC_ACQUIRE);
	}
	if (!clock)
		return 0;
	n = __atomic_load_n(&clock->n, __ATOMIC_ACQUIRE);
	sent = __atomic_load_n(&clock->sent, __ATOMIC_RELAXED);
	if (sent == n &&
	    __atomic_fetch_add(&clock->slices, 1u, __ATOMIC_RELAXED) % PROF_IMPL_SEND_AGAIN)
		return PROF_META_SCOPE(PROF_SCOPE_TICKS);
	if (sent == n)
		sent = n < 2 ? 0 : n - 2;
	for (i = n - sent > PROF_IMPL_READINGS ? n - PROF_IMPL_READINGS : sent; i != n; i++) {
		const uint32_t slot = i % PROF_IMPL_READINGS;
		const uint32_t nth = __atomic_load_n(&clock->readings[slot].nth, __ATOMIC_ACQUIRE);
		const uint64_t ticks = __atomic_load_n(&clock->readings[slot].ticks, __ATOMIC_RELAXED);
		const uint64_t ns = __atomic_load_n(&clock->readings[slot].ns, __ATOMIC_RELAXED);
		const prof_arg_t args[2] = { { "", PROF_VALUE_STRING, PROF_IMPL_ADDRESS(path) },
					     { "", PROF_VALUE_UINT, ns } };

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (nth == i + 1 &&
		    __atomic_load_n(&clock->readings[slot].nth, __ATOMIC_RELAXED) == nth)
			prof_impl_mark_pairs(instant, domain, "clock reading",
					     PROF_META_OBJECT(PROF_OBJECT_CLOCK_READING), ticks,
					     args, 2, 2);
	}
	__atomic_store_n(&clock->sent, n, __ATOMIC_RELAXED);
	return PROF_META_SCOPE(PROF_SCOPE_TICKS);
}

/* A mark with times of its own. One pair more fits into it. */
static inline void prof_impl_given_args(prof_stub_t *instant, const prof_runtime_domain_t *domain,
					const prof_track_t *track, const char *name, uint64_t meta,
					uint64_t begin, uint64_t end, const prof_arg_t *args, size_t n)
{
	prof_arg_t some[PROF_IMPL_PAIRS];
	const prof_arg_t path = { "", PROF_VALUE_STRING,
				  PROF_IMPL_ADDRESS(prof_impl_track_path(track)) };

	meta |= prof_impl_track_meta(track, instant, domain);
	if (n > 1) {
		prof_impl_mark_first_args(instant, domain, some, args, n, 0);
		some[1] = path;
		some[2] = prof_arg_uint("", end);
		prof_impl_mark_pairs(instant, domain, name, meta, begin, some, 3, 3);
		return;
	}
	some[0] = path;
	some[1] = prof_arg_uint("", end);
	if (n)
		some[2] = args[0];
	prof_impl_mark_pairs(instant, domain, name, meta, begin, some, 2 + n, 2);
}

/* The series of a counter, three for each mark. */
static inline void prof_impl_count_args(prof_stub_t *stub, const prof_runtime_domain_t *domain,
					const char *name, uint64_t meta, const prof_arg_t *args, size_t n)
{
	size_t some;

	for (; n; n -= some, args += some) {
		some = n;
		if (some > PROF_IMPL_PAIRS)
			some = PROF_IMPL_PAIRS;
		prof_impl_mark_pairs(stub, domain, name, meta, 0, args, some, 0);
	}
}

/* An end has no name: the slice is found by its domain. */
PROF_IMPL_INLINE uint64_t prof_impl_domain_token(const prof_runtime_domain_t *domain)
{
	return domain && domain->name ? PROF_IMPL_ADDRESS(domain) : 0;
}
#define PROF_IMPL_STUB_OF(d, kind) PROF_IMPL_OF_DOMAIN((d) && (d)->name, kind)
#define PROF_IMPL_SEND_ARGS(kind, domain, name, meta, a, args, n)		\
	do {									\
		if (prof_domain_is_enabled(domain ? domain : prof_impl_default_domain())) {	\
			PROF_IMPL_NEED_MADE;					\
			prof_impl_mark_args(PROF_IMPL_STUB_OF(domain, kind),	\
					    PROF_IMPL_STUB_OF(domain, instant), domain, name,	\
					    meta, a, args, n);			\
		}								\
	} while (0)
#else
#define PROF_IMPL_SEND_ARGS(kind, domain, name, meta, a, args, n) \
	((void)(domain), (void)(name), (void)(meta), (void)(a), (void)(args), (void)(n))
PROF_IMPL_INLINE uint64_t prof_impl_domain_token(const prof_runtime_domain_t *domain)
{
	(void)domain;
	return 0;
}
#endif

PROF_IMPL_FUNCTION void prof_begin_args(const prof_runtime_domain_t *domain, const char *name,
				   const prof_arg_t *args, size_t n)
{
	PROF_IMPL_SEND_ARGS(begin, domain, name ? name : "", 0, prof_impl_domain_token(domain), args, n);
}
PROF_IMPL_FUNCTION void prof_end_args(const prof_runtime_domain_t *domain, const prof_arg_t *args, size_t n)
{
	PROF_IMPL_SEND_ARGS(end, domain, PROF_IMPL_NULL, 0, prof_impl_domain_token(domain), args, n);
}
PROF_IMPL_FUNCTION void prof_instant_args(const prof_runtime_domain_t *domain, const char *name, int scope,
				     const prof_arg_t *args, size_t n)
{
	PROF_IMPL_SEND_ARGS(instant, domain, name ? name : "", PROF_META_SCOPE(scope), 0, args, n);
}
PROF_IMPL_FUNCTION void prof_async_begin_args(const prof_runtime_domain_t *domain, const char *name,
					 uint64_t id, const prof_arg_t *args, size_t n)
{
	PROF_IMPL_SEND_ARGS(async_begin, domain, name ? name : "", 0, id, args, n);
}
PROF_IMPL_FUNCTION void prof_async_end_args(const prof_runtime_domain_t *domain, const char *name,
				       uint64_t id, const prof_arg_t *args, size_t n)
{
	PROF_IMPL_SEND_ARGS(async_end, domain, name ? name : "", 0, id, args, n);
}
PROF_IMPL_FUNCTION void prof_counter_args(const prof_runtime_domain_t *domain, const char *name,
				     const prof_arg_t *args, size_t n)
{
#if PROF_IMPL_OFF
	PROF_IMPL_SEND_ARGS(counter, domain, name, 0, 0, args, n);
#else
	if (prof_domain_is_enabled(domain ? domain : prof_impl_default_domain())) {
		PROF_IMPL_NEED_MADE;
		prof_impl_count_args(PROF_IMPL_STUB_OF(domain, counter), domain, name ? name : "", 0,
				     args, n);
	}
#endif
}
#if PROF_IMPL_OFF
PROF_IMPL_INLINE uint64_t prof_impl_track_meta(const prof_track_t *track, prof_stub_t *instant,
					       const prof_runtime_domain_t *domain)
{
	(void)track, (void)instant, (void)domain;
	return 0;
}
#define PROF_IMPL_SEND_GIVEN(domain, track, name, object, begin, end, args, n)	\
	((void)(domain), (void)(track), (void)(name), (void)(begin), (void)(end), (void)(args), (void)(n))
#else
#define PROF_IMPL_SEND_GIVEN(domain, track, name, object, begin, end, args, n)	\
	do {									\
		if (prof_domain_is_enabled(domain ? domain : prof_impl_default_domain())) {	\
			PROF_IMPL_NEED_MADE;					\
			prof_impl_given_args(PROF_IMPL_STUB_OF(domain, instant), domain, track,	\
					     name ? name : "", PROF_META_OBJECT(object), begin,	\
					     end, args, n);			\
		}								\
	} while (0)
#endif
PROF_IMPL_FUNCTION void prof_slice_at_args(const prof_runtime_domain_t *domain,
					   const prof_track_t *track, const char *name,
					   uint64_t begin, uint64_t end, const prof_arg_t *args,
					   size_t n)
{
	PROF_IMPL_SEND_GIVEN(domain, track, name, PROF_OBJECT_SLICE_AT, begin, end, args, n);
}
PROF_IMPL_FUNCTION void prof_instant_at_args(const prof_runtime_domain_t *domain,
					     const prof_track_t *track, const char *name,
					     uint64_t time, const prof_arg_t *args, size_t n)
{
	PROF_IMPL_SEND_GIVEN(domain, track, name, PROF_OBJECT_INSTANT_AT, time, 0, args, n);
}
static inline void prof_counter_arg(const prof_runtime_domain_t *domain, const char *name, prof_arg_t arg)
{
	PROF_IMPL_SEND_ARGS(counter, domain, name ? name : "", (arg.type & 15) << 4,
			    arg.bits, PROF_IMPL_NULL, 0);
}
static inline void prof_marker_counter_args(const prof_marker_t *m, const prof_arg_t *args, size_t n)
{
#if PROF_IMPL_OFF
	(void)m, (void)args, (void)n;
#else
	/* In place of the domain's name, which is the first of them. */
	const prof_runtime_domain_t categories = { m->options.categories, m->object.domain };

	if (PROF_IMPL_OBJECT_ON(&m->object))
		prof_impl_count_args(m->object.counter, &categories, m->object.name,
				     prof_impl_marker_meta(m), args, n);
#endif
}
static inline void prof_scope_begin_args(const prof_runtime_domain_t *domain, uint64_t token,
					 const char *name, const prof_arg_t *args, size_t n)
{
	PROF_IMPL_SEND_ARGS(begin, domain, name ? name : "", 0, token, args, n);
}
static inline void prof_scope_end_args(const prof_runtime_domain_t *domain, uint64_t token,
				       const prof_arg_t *args, size_t n)
{
#if PROF_IMPL_OFF
	PROF_IMPL_SEND_ARGS(end, domain, PROF_IMPL_NULL, 0, token, args, n);
#else
	PROF_IMPL_NEED_MADE;
	prof_impl_mark_args(PROF_IMPL_STUB_OF(domain, end), PROF_IMPL_STUB_OF(domain, instant), domain,
			    PROF_IMPL_NULL, 0, token, args, n);
#endif
}

#ifdef __cplusplus
namespace proftrace
{
/*
 * 5.13 Guards for C++ -----------------------------------------------------------------------------
 *
 * A slice ends with its guard, or with the guard to which it was moved.
 */
template <class Object> class scope
{
    public:
	scope() noexcept : object_(nullptr), token_(0)
	{
	}
	explicit scope(const Object &object) noexcept : object_(&object), token_(0)
	{
		if (PROF_IMPL_OBJECT_ON(&object.object)) {
			token_ = prof_impl_token_of_guard(&object.object);
			begin(object, token_);
		}
	}
	explicit scope(const Object &&) = delete;
	scope(scope &&other) noexcept : object_(other.object_), token_(other.token_)
	{
		other.token_ = 0;
	}
	scope &operator=(scope &&other) noexcept
	{
		if (this != &other) {
			finish();
			object_ = other.object_;
			token_ = other.token_;
			other.token_ = 0;
		}
		return *this;
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;
	~scope()
	{
		finish();
	}
	void finish() noexcept
	{
		if (__builtin_expect(token_ != 0, 0)) {
			end(*object_, token_);
			token_ = 0;
		}
	}

    private:
	static void begin(const prof_marker_t &marker, uint64_t token) noexcept
	{
		prof_impl_marker_begin(&marker, token);
	}
	static void end(const prof_marker_t &marker, uint64_t token) noexcept
	{
		prof_impl_marker_end(&marker, token);
	}
	template <class Other> static void begin(const Other &object, uint64_t token) noexcept
	{
		prof_impl_begin(&object.object, token);
	}
	template <class Other> static void end(const Other &object, uint64_t token) noexcept
	{
		prof_impl_end(&object.object, token);
	}

	const Object *object_;
	uint64_t token_; /* 0: nothing to end */
};
using marker_scope = scope<prof_marker_t>;
using task_scope = scope<prof_task_t>;
using event_scope = scope<prof_event_t>;
using frame_scope = scope<prof_frame_t>;

class memory_scope
{
    public:
	explicit memory_scope(const char *name) noexcept
	{
		prof_scope_push(name);
	}
	~memory_scope()
	{
		prof_scope_pop();
	}
	memory_scope(const memory_scope &) = delete;
	memory_scope &operator=(const memory_scope &) = delete;
};
} /* namespace proftrace */
#endif
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
/* clang-format on */

#endif /* PROFTRACE_H */
