/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events: what the capture, the trace readers and the counters of the machine give to the timeline.
 *
 * An event is one mark, or one thing that the kernel reported, with its names resolved and nothing
 * interpreted yet. Everything it points to is borrowed: names live as long as their table, the rest
 * until timeline_event() returns.
 */
#ifndef PROFTRACE_TIMELINE_EVENT_H
#define PROFTRACE_TIMELINE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline/callstack.h"
#include "timeline/names.h"

enum __attribute__((packed)) event_kind {
	EVENT_BEGIN = 1,
	EVENT_END, /* name NULL: closes the innermost open slice, or the one at `level` */
	EVENT_INSTANT,
	EVENT_COUNTER,	   /* args are the series; one series without a key is PROF_COUNTER */
	EVENT_ASYNC_BEGIN, /* id */
	EVENT_ASYNC_END,   /* id; name may be NULL when read from a file that has none */
	EVENT_FLOW_OUT,	   /* id */
	EVENT_FLOW_IN,	   /* id */
	/* At times that the program gives; ts_ns is when it said so or, from a file, the time itself. */
	EVENT_SLICE_AT,	     /* given: begin and end; size GIVEN_TICKS: of the clock of the track */
	EVENT_INSTANT_AT,    /* given: begin; size as above */
	EVENT_CLOCK_READING, /* given: one moment by the clock of the track, and by CLOCK_MONOTONIC */
	EVENT_ALLOC,	     /* name = pool, id = address, size in bytes */
	EVENT_FREE,	     /* name = pool, id = address; size FREE_MOVES: PROF_REALLOC begins */
	EVENT_STEP,	     /* id = epoch, size = batch */
	EVENT_SCOPE_PUSH, /* name: the scope of what the thread allocates until EVENT_SCOPE_POP */
	EVENT_SCOPE_POP,
	EVENT_PAUSE, /* the process pauses its own recording; name NULL */
	EVENT_RESUME,
	EVENT_DUMP,
	EVENT_STOP,
	EVENT_INCLUDE_JSON, /* args[0] is a path; id is the user who named it */

	EVENT_MEMORY_RESET, /* pid; from a file: everything that the process had allocated is freed */
	EVENT_PROCESS_NAME,   /* pid, name */
	EVENT_PROCESS_LABELS, /* pid, name: what else is said of it, separated by ", " */
	EVENT_THREAD_NAME,    /* pid, tid, name: set by the program itself */
	/* pid, tid, name: the kernel's name of a thread; never replaces one that the program set */
	EVENT_COMM,
	EVENT_FORK, /* pid, tid: the new process or thread; id = pid of its parent; name = its comm */
	EVENT_EXEC, /* pid, tid; name = its new comm: everything open in the process ends here */
	EVENT_THREAD_EXIT, /* everything open on the thread ends here */
	/* Comes after the exit of the last thread of the process. */
	EVENT_PROCESS_EXIT,
	EVENT_LOST, /* size = marks lost on this thread from ts_ns on; tid 0: of an unknown thread */
	EVENT_READING, /* counters: values of the thread's counters, read between its marks */
	EVENT_PHASE, /* pid; id = epoch, size = batch, cycle, phase: of a schedule (bpf/marks/schedule.h) */
	EVENT_DOMAIN_OFF, /* category: the domain is switched off from here on */
	EVENT_CLOCK,	  /* clock: one moment by three clocks */

	/*
	 * pid, tid: the thread that leaves the CPU; sched: the next one; name: the next one's comm,
	 * or NULL
	 */
	EVENT_SWITCH,
	EVENT_WAKING, /* pid, tid: the thread that is woken; sched: the waker */
	/*
	 * Context switches or wakings were lost. id 1: at some time after the latest one that came;
	 * 0: between the latest one and this event. sched.cpu: of which CPU, or SCHED_EVERY_CPU.
	 */
	EVENT_SCHED_GAP,

	EVENT_SAMPLE, /* sample, callstack: where the thread was at that moment. Not a mark */
	/* The thread is on a CPU again after `size` ns; callstack: where it blocked. Not a mark */
	EVENT_BLOCKED,
	/*
	 * The thread blocks at its next context switch, which has the same time; name: the reason,
	 * args: what it waits for.
	 */
	EVENT_WAIT_BEGIN,
	/* From a file: the thread was blocked for the last `size` ns; args also say who woke it. */
	EVENT_WAIT,
	EVENT_SYSCALL, /* the thread was in this system call for the last `size` ns. Not a mark */
};

#define FREE_MOVES  UINT64_MAX
#define GIVEN_TICKS 1

enum __attribute__((packed)) event_scope {
	SCOPE_THREAD,
	SCOPE_PROCESS,
	SCOPE_GLOBAL,
	/* Events may have these, as the program gives them; facts have only those above. */
	SCOPE_TASK,   /* of the innermost open task */
	SCOPE_MARKER, /* of the innermost open slice of a marker */
};

/* The kind of object a mark belongs to, as in include/proftrace.h. Events from files have none. */
enum __attribute__((packed)) event_object {
	OBJECT_NONE,
	OBJECT_MARKER, /* BEGIN: id is its token */
	OBJECT_TASK,
	OBJECT_FRAME, /* ASYNC: an END closes the oldest open one; each name has a rate */
	OBJECT_EVENT,
	OBJECT_COUNTER,
	/* INSTANT, not a mark of its own: the first arguments of another mark (kept_args.c) */
	OBJECT_ARGUMENTS,
	/* These become events of the kinds of these names. */
	OBJECT_SLICE_AT,
	OBJECT_INSTANT_AT,
	OBJECT_CLOCK_READING,
};

enum arg_type {
	ARG_INT = 1,
	ARG_UINT,
	ARG_DOUBLE,
	ARG_STRING,
	ARG_BOOL,    /* u is 0 or 1 */
	ARG_POINTER, /* u */
	ARG_NULL,    /* a NULL string */
};

/* Why a slice ended without its own END. */
enum __attribute__((packed)) end_reason {
	END_NORMAL = 0,
	END_LOST,	/* its END was lost: it ended at some time before this one */
	END_UNFINISHED, /* it has no END: its thread, its program or the slice around it ended */
};

/* Where a call stack ended. */
enum __attribute__((packed)) callstack_end {
	CALLSTACK_UNKNOWN = 0, /* from a file, or followed by frame pointers alone */
	CALLSTACK_WHOLE,       /* at the beginning of the thread or process */
	CALLSTACK_TOO_DEEP,    /* the others as in struct account */
	CALLSTACK_UNMAPPED,
	CALLSTACK_NO_TABLE,
	CALLSTACK_PENDING,
	CALLSTACK_REFUSED,
	CALLSTACK_UNSUPPORTED,
	CALLSTACK_UNREADABLE,
	CALLSTACK_ENDS,
};

/* A mark has at most six arguments and the two of PROF_STEP; files may have more. */
#define EVENT_MAX_ARGS 32

/*
 * Bytes of a string that are kept: 256, each of which became an escape of four. A longer string is
 * cut to that, and every output puts TEXT_CUT_MARK behind it: U+2026, three bytes.
 */
#define EVENT_MAX_STRING 1024
#define TEXT_CUT_MARK	 "\xe2\x80\xa6"

/* Counters of a thread: Perfetto's loader accepts no more than eight with one event. */
#define EVENT_MAX_COUNTERS 8
#define EVENT_NO_VALUE	   UINT64_MAX /* the counter's value is not known */

struct arg {
	const struct name *key; /* NULL: the value of a counter with a single series */
	enum arg_type type;
	/* a string that was longer than the limit; a number: the mark is split (kept_args.c) */
	bool cut;
	uint32_t length; /* of s, in bytes */
	union {
		int64_t i;
		uint64_t u;
		double d;
		const char *s; /* cleaned (text_clean), NUL-terminated */
	};
};

/* One moment by three clocks, in ns; 0: not known. */
struct clock_reading {
	uint64_t monotonic;
	uint64_t boottime;
	uint64_t realtime;
};

/*
 * The state of a thread that leaves its CPU, with the values of the kernel's own sched_switch
 * event.
 */
enum sched_state {
	SCHED_STATE_RUNNABLE = 0, /* it yielded */
	SCHED_STATE_SLEEPING = 1, /* interruptible */
	SCHED_STATE_UNINTERRUPTIBLE = 2,
	SCHED_STATE_STOPPED = 4,
	SCHED_STATE_TRACED = 8,
	SCHED_STATE_DEAD = 0x10,
	SCHED_STATE_ZOMBIE = 0x20,
	SCHED_STATE_PARKED = 0x40,
	SCHED_STATE_IDLE = 0x80,
	SCHED_STATE_PREEMPTED = 0x100, /* it was preempted, and could have run on */
};

#define SCHED_EVERY_CPU 0xffff

struct event_sched {
	uint32_t pid, tid;   /* SWITCH: of the next task; WAKING: of the waker; 0: no task */
	uint16_t cpu;	     /* where it happened */
	uint16_t target_cpu; /* WAKING: the CPU it is to run on */
	uint16_t state;	     /* SWITCH: enum sched_state */
	uint8_t prio;
	uint8_t other_prio;	   /* SWITCH: of the next task */
	bool traced, other_traced; /* the task belongs to a recorded process */
	bool exiting, other_exiting;
	bool interrupt; /* WAKING: by an interrupt while the waker was running */
	bool on_queue;	/* WAKING: it was still on the run queue */
};

enum sample_mode {
	SAMPLE_USER,
	SAMPLE_KERNEL,
};

struct event_sample {
	uint64_t period_ns; /* the time it represents; 0: not known */
	uint16_t cpu;
	uint8_t mode; /* enum sample_mode */
};

/* Times that the program gives. */
struct event_given {
	/* "outer/inner"; NULL: the track has the name of the event */
	const struct name *track;
	uint64_t begin;
	uint64_t end; /* CLOCK_READING: CLOCK_MONOTONIC, ns */
};

struct event {
	enum event_kind kind;
	enum event_scope scope; /* INSTANT */
	enum event_object object;
	uint64_t ts_ns; /* CLOCK_MONOTONIC */
	uint32_t pid;
	uint32_t tid;
	enum end_reason end_reason; /* END, ASYNC_END: from a file */
	/*
	 * It came while its process was not recorded. It only serves to end what was recorded
	 * before (ASYNC_END, FREE) or for its content (STEP).
	 */
	bool left_out;
	/* COUNTER, from a file: an earlier file of the same recording has this sample, too */
	bool continued;
	/* END: slices open inside this one have no END of their own, and none was lost */
	bool closes_inner;
	/* BEGIN, END: the slice's own nesting level; others: the number of open slices; -1: not known */
	int level;
	const struct name *name;
	const struct name *category; /* several are separated by commas; NULL: none */
	uint64_t id;
	uint64_t size;
	/* ALLOC, FREE from a file: `args` is the number of bytes live in the pool then. */
	unsigned n_args;
	const struct arg *args;
	const struct name *unit; /* COUNTER: unit when known, else NULL */
	/* COUNTER, INSTANT: made by the recorder, not a mark: not part of marked = written + lost */
	bool sampled;
	/* END, from a file that has few samples: what was counted is in the args */
	bool deltas_in_args;
	bool of_thread; /* COUNTER, from a file: a hardware or kernel counter of the thread */
	/* COUNTER, from a file: an ordinary counter that belongs to the thread, not to its process */
	bool on_thread;
	/* BEGIN, END, READING: values of the counters given to timeline_count(), or none. */
	unsigned n_counters;
	const uint64_t *counters;
	/* How long each was enabled and how long it was running, ns; NULL: all of the time. */
	const uint64_t *counter_enabled;
	const uint64_t *counter_running;
	/* where it happened; NULL: not known, or not requested */
	const struct callstack *callstack;
	enum callstack_end callstack_end;
	bool callstack_by_frame_pointers; /* some of its frames, or all */
	bool has_deltas;		  /* END, from a file: the file says what was counted */
	union {
		struct { /* END that has_deltas; each may be EVENT_NO_VALUE */
			const struct name *const *delta_names;
			const uint64_t *deltas;
			unsigned n_deltas;
		};
		struct clock_reading clock; /* CLOCK */
		struct event_sched sched;   /* SWITCH, WAKING */
		struct event_sample sample; /* SAMPLE */
		struct event_given given;   /* SLICE_AT, INSTANT_AT, CLOCK_READING */
		struct {		    /* PHASE */
			uint32_t cycle;
			uint8_t phase;
			bool waits_on; /* neither this step nor the next one is recorded */
		};
	};
};

#endif
