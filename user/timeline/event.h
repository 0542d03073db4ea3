/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events: what user/capture and user/readers hand to the timeline.
 *
 * An event is one mark, or one thing the kernel told, with its names resolved and nothing
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
	EVENT_ALLOC,	   /* name = pool, id = address, size in bytes */
	EVENT_FREE,	   /* name = pool, id = address */
	EVENT_STEP,	   /* id = epoch, size = batch */
	EVENT_SCOPE_PUSH, /* name: of the pools of what the thread allocates until EVENT_SCOPE_POP */
	EVENT_SCOPE_POP,
	EVENT_PAUSE, /* the process is not recorded from here on, and says so; name NULL */
	EVENT_RESUME,
	EVENT_DUMP,
	EVENT_STOP,
	EVENT_INCLUDE_JSON, /* args[0] is a path */

	EVENT_MEMORY_GONE,  /* pid; as a file tells it: all that the process had allocated */
	EVENT_PROCESS_NAME, /* pid, name */
	EVENT_THREAD_NAME,  /* pid, tid, name: given by the program itself */
	EVENT_COMM, /* pid, tid, name: the kernel's name of a thread; never replaces one given by the program */
	EVENT_FORK, /* pid, tid: the new process or thread; id = pid of its parent; name = its comm */
	EVENT_EXEC, /* pid, tid; name = its new comm: all that is open on the process ends here */
	EVENT_THREAD_EXIT, /* what is open on the thread ends here */
	/* After the exit of its last thread, which has the same name: the number of the signal that killed it. */
	EVENT_PROCESS_EXIT,
	EVENT_LOST,    /* size = marks lost on this thread from ts_ns on; tid 0: not known where */
	EVENT_READING, /* what the thread has counted, between its marks */
	EVENT_PHASE, /* pid; id = epoch, size = batch, cycle, phase: of a schedule (bpf/schedule.h) */
	EVENT_DOMAIN_OFF, /* category: nothing of this domain is recorded any more */
	EVENT_CLOCK,	  /* clock: the same moment by three clocks */

	/* pid, tid: the thread that leaves the CPU; sched: the one that gets it; name: its comm, or NULL */
	EVENT_SWITCH,
	EVENT_WAKING, /* pid, tid: the thread that need not sleep any longer; sched: who woke it */
	/*
	 * Of these two some were lost. id 1: somewhere from the last ones on, and it is not known yet
	 * where; 0: between the last ones and here. sched: of which CPU, or SCHED_EVERY_CPU.
	 */
	EVENT_SCHED_GAP,

	EVENT_SAMPLE, /* sample, callstack: where the thread was at that moment; no mark */
	/* callstack: the thread has a CPU again, after `size` ns without; there it left it. No mark */
	EVENT_BLOCKED,
};

enum __attribute__((packed)) event_scope {
	SCOPE_THREAD,
	SCOPE_PROCESS,
	SCOPE_GLOBAL,
	/* Only of events, as the program's own: facts have those above. */
	SCOPE_TASK,   /* of the innermost open task */
	SCOPE_MARKER, /* of the innermost open slice of a marker */
};

/* What kind of object a mark belongs to: as in include/proftrace.h. From files always none. */
enum __attribute__((packed)) event_object {
	OBJECT_NONE,
	OBJECT_MARKER, /* BEGIN: id is its token */
	OBJECT_TASK,
	OBJECT_FRAME, /* ASYNC: the END belongs to the oldest that is open; a name has a rate */
	OBJECT_EVENT,
	OBJECT_COUNTER,
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

/* Why a slice ended otherwise than by its own END. */
enum __attribute__((packed)) end_reason {
	END_NORMAL = 0,
	END_LOST,	/* its END was lost: it ended somewhere before this time */
	END_UNFINISHED, /* without an END: its thread, its program or the slice around it ended */
};

/* Limits of one event: six of its own and the two of PROF_STEP, room for what a file may hold. */
#define EVENT_MAX_ARGS 32

/*
 * Bytes of a string that are kept: 256, each of which became an escape of four. Of a longer one that
 * many, and TEXT_CUT_MARK behind them in every output: U+2026, three bytes.
 */
#define EVENT_MAX_STRING 1024
#define TEXT_CUT_MARK	 "\xe2\x80\xa6"

/* Counters of threads: as many as Perfetto's loader takes with one event. */
#define EVENT_MAX_COUNTERS 8
#define EVENT_NO_VALUE	   UINT64_MAX /* of a counter, where it is not known */

struct arg {
	const struct name *key; /* NULL: the value of a counter with a single series */
	enum arg_type type;
	bool cut;	 /* a string that was longer than the limit */
	uint32_t length; /* of s, in bytes */
	union {
		int64_t i;
		uint64_t u;
		double d;
		const char *s; /* cleaned (text_clean), NUL-terminated */
	};
};

/* One moment by three clocks, ns. Zero: not known. */
struct clock_reading {
	uint64_t monotonic;
	uint64_t boottime;
	uint64_t realtime;
};

/* What a thread does that leaves its CPU, as the kernel's own trace has it. */
enum sched_state {
	SCHED_STATE_RUNNABLE = 0, /* it gave way by itself */
	SCHED_STATE_SLEEPING = 1, /* interruptible */
	SCHED_STATE_UNINTERRUPTIBLE = 2,
	SCHED_STATE_STOPPED = 4,
	SCHED_STATE_TRACED = 8,
	SCHED_STATE_DEAD = 0x10,
	SCHED_STATE_ZOMBIE = 0x20,
	SCHED_STATE_PARKED = 0x40,
	SCHED_STATE_IDLE = 0x80,
	SCHED_STATE_PREEMPTED = 0x100, /* it could have gone on */
};

#define SCHED_EVERY_CPU 0xffff

struct event_sched {
	uint32_t pid, tid;   /* SWITCH: of the next one; WAKING: of the waker. Of no task: 0 */
	uint16_t cpu;	     /* where it happens */
	uint16_t target_cpu; /* WAKING: where it will run, or has run last */
	uint16_t state;	     /* SWITCH: enum sched_state */
	uint8_t prio;
	uint8_t other_prio;	   /* SWITCH: of the next one */
	bool traced, other_traced; /* they belong to processes that are recorded */
	bool exiting, other_exiting;
	bool interrupt; /* WAKING: by an interrupt on the waker's time */
	bool on_queue;	/* WAKING: it had not gone to sleep yet */
};

enum sample_mode {
	SAMPLE_USER,
	SAMPLE_KERNEL,
};

struct event_sample {
	uint64_t period_ns; /* that it stands for; 0: not known */
	uint16_t cpu;
	uint8_t mode; /* enum sample_mode */
};

struct event {
	enum event_kind kind;
	enum event_scope scope; /* INSTANT */
	enum event_object object;
	uint64_t ts_ns; /* CLOCK_MONOTONIC */
	uint32_t pid;
	uint32_t tid;
	enum end_reason end_reason; /* END, ASYNC_END: as a file tells it */
	/*
	 * It came while its process was not recorded: it counts only as the end of what was recorded
	 * (ASYNC_END, FREE), or for what it tells (STEP).
	 */
	bool left_out;
	bool continued; /* COUNTER, from a file: an earlier one of the recording has this sample, too */
	bool closes_inner; /* END: those that are open inside have no END, and none was lost */
	int level; /* BEGIN, END: the slice's own level; others: number of open slices; -1: not known */
	const struct name *name;
	const struct name *category; /* several are separated by commas; NULL: none */
	uint64_t id;
	uint64_t size;
	/* ALLOC, FREE from a file: `args` is what was live in the pool then. */
	unsigned n_args;
	const struct arg *args;
	const struct name *unit; /* COUNTER: unit when known, else NULL */
	bool sampled; /* COUNTER, INSTANT: by the recorder and no mark: not part of marked = written + lost */
	bool of_thread; /* COUNTER, from a file: what was counted of the thread, nothing it said */
	bool on_thread; /* COUNTER, from a file: an ordinary one, of the thread and not of its process */
	/* BEGIN, END, READING: of the counters that the timeline was told of (EVENT_NO_VALUE: not known), or none. */
	unsigned n_counters;
	const uint64_t *counters;
	/* For how long each was to be counted and for how long it was, ns; NULL: all of the time. */
	const uint64_t *counter_enabled;
	const uint64_t *counter_running;
	const struct callstack
		*callstack; /* where it happened; NULL: not known, or not asked for */
	union {
		struct clock_reading clock; /* CLOCK */
		struct event_sched sched;   /* SWITCH, WAKING */
		struct event_sample sample; /* SAMPLE */
		struct {		    /* PHASE */
			uint32_t cycle;
			uint8_t phase;
			bool waits_on; /* neither this step nor the one after it is recorded */
		};
	};
};

#endif
