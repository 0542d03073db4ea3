/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts: what the timeline hands to the handlers.
 *
 * A fact is finished: its track is declared before it is used, slices nest, a counter knows its
 * track, an END knows when its slice began and how much of it was its own. A handler only formats.
 * Everything a fact points to is borrowed until the handler returns; names as long as their table.
 */
#ifndef PROFTRACE_TIMELINE_FACT_H
#define PROFTRACE_TIMELINE_FACT_H

#include "timeline/event.h"

enum __attribute__((packed)) fact_kind {
	FACT_PROCESS = 1, /* a process is declared, or has a new name */
	FACT_THREAD,	  /* a thread is declared, or has a new name */
	FACT_TRACK,	  /* a counter's track, or a lane of asynchronous slices, is declared */
	FACT_BEGIN,
	FACT_END,
	FACT_INSTANT,
	FACT_COUNTER, /* args[i] belongs on tracks[i] */
	FACT_READING, /* of the thread's counters; those that are known are among the args, too */
	FACT_ASYNC_BEGIN, /* tracks[0] is its lane */
	FACT_ASYNC_END,
	FACT_FLOW_OUT,
	FACT_FLOW_IN,
	FACT_LOST, /* count marks were lost here */
	FACT_CLOCK,
	FACT_LEFT, /* an allocation that the process of `memory` never freed; then it is over */
	FACT_GONE, /* the thread (or, thread NULL, the process) is over: its uuid is not used again */
	/* Of the scheduler: `sched`. They come in the order of time for each CPU. */
	FACT_SWITCH,
	FACT_WAKING,
	FACT_SCHED_GAP, /* some were lost before this time, of one CPU, or (sched NULL) of any */
	FACT_SAMPLE,	/* `sample`, `callstack`: where the thread was at that moment */
};

struct process {
	uint64_t uuid;
	uint32_t pid;
	const struct name *name; /* may be NULL */
	uint64_t start_ns;	 /* when it began, 0 = before the recording */
};

struct thread {
	uint64_t uuid;
	uint32_t tid;
	const struct process *process;
	const struct name *name; /* may be NULL */
};

enum track_kind {
	TRACK_COUNTER = 1,
	TRACK_ASYNC,
};

struct track {
	enum track_kind kind;
	uint64_t uuid;
	const struct process *process; /* NULL: of the whole machine */
	const struct name *name;       /* of the counter, or of the asynchronous slices */
	const struct name *key;	       /* of the series; NULL for a counter with a single one */
	const struct name *unit;       /* "bytes", "Hz", ...; NULL: none */
	unsigned lane;		       /* ASYNC: 0, 1, 2, ... among those of this name */
	bool is_double;		       /* COUNTER: the type of its first value, informative */
	const struct thread *thread;   /* COUNTER: whose it is; NULL: of the process */
	bool is_counted; /* COUNTER of a thread: what was counted of it, also in each of its slices */
};

/* What an allocation, or its end, has to do with a sample of its pool. */
struct memory {
	enum memory_change {
		MEMORY_ALLOC = 1,
		MEMORY_FREE,
		MEMORY_GONE, /* with its process, or with the program that the process was */
	} change;
	uint64_t address;	  /* 0: none, nothing was allocated or freed */
	uint64_t size;		  /* 0: not known */
	int64_t growth;		  /* of the pool since the sample before */
	uint32_t tid;		  /* of the thread that allocated, or frees; 0: not known */
	const struct name *slice; /* LEFT: that was open there, NULL: none */
};

/* One that has a CPU, leaves it, or is woken. */
struct sched_task {
	uint32_t tid;		 /* 0: no task, the CPU idles */
	uint32_t pid;		 /* 0: not known */
	const struct name *comm; /* may be NULL */
	const struct thread
		*thread; /* of those that are traced, or that the file knows; else NULL */
	uint8_t prio;
	enum sched_state
		state; /* it is in now, or, of one that gets a CPU or is woken, was in till now */
	uint64_t since_ns; /* when it came to the CPU, or into that state; 0: not known */
};

struct sched_waker {
	uint64_t ts_ns;
	uint32_t tid; /* 0: not known, or no task's */
	uint32_t pid;
	uint16_t cpu, target_cpu;
	bool interrupt; /* by an interrupt on its time */
};

struct sched {
	unsigned cpu;
	struct sched_task task;	 /* SWITCH: that leaves the CPU; WAKING: that is woken */
	struct sched_task other; /* SWITCH: that gets the CPU; WAKING: the waker */
	/* SWITCH: who woke `other`, NULL: nobody, or it is not known. WAKING: the same as `other`. */
	const struct sched_waker *waker;
};

/* What a thread did in a slice, ns: they add up to its duration. */
struct slice_states {
	uint64_t running;  /* on a CPU */
	uint64_t runnable; /* waiting for one */
	uint64_t blocked;
	uint64_t unknown; /* what it did was lost */
};

/* Where a thread was. What the frames of its stack are called may be known only when a handler is closed. */
struct sample {
	unsigned cpu;
	enum sample_mode mode;
	uint64_t period_ns;		  /* that it stands for; 0: not known */
	const struct name *const *slices; /* open on the thread, outermost first */
	unsigned n_slices;
};

/* It is made for each mark anew: so it is small, and what only few facts have shares its place. */
struct fact {
	uint64_t ts_ns;
	enum fact_kind kind;
	enum event_scope scope;	    /* INSTANT */
	enum end_reason end_reason; /* END, ASYNC_END */
	bool in_slice;		    /* FLOW: a slice is open on the thread */
	/*
	 * BEGIN, ASYNC_BEGIN, COUNTER: said again to a handler that came later (timeline_replay()): it
	 * was said before, at its time.
	 */
	bool continued;
	bool is_frame; /* ASYNC_END: it began with an argument `frame` */
	bool nested_in_itself; /* END: a slice of the same category and name is still open below it on this thread */
	unsigned n_args;
	unsigned n_counters;
	const struct process *process; /* NULL: not known (LOST), or the whole machine */
	const struct thread *thread;   /* NULL: none in particular */
	const struct name
		*name; /* END: of its BEGIN. Formats that must not repeat it leave it out */
	const struct name *category;
	const struct arg
		*args; /* own arguments first, then epoch and batch where PROF_STEP was seen */
	const struct track *const *tracks;
	uint64_t id;			   /* ASYNC, FLOW */
	const struct callstack *callstack; /* SAMPLE, BEGIN, INSTANT: where it happened, or NULL */
	union {
		struct {
			uint64_t begin_ns; /* END, ASYNC_END */
			uint64_t self_ns;  /* END: time not spent in child slices */
			/* END: which are among the args, too; NULL: not known */
			const struct slice_states *states;
		};
		struct clock_reading clock;  /* CLOCK */
		uint64_t count;		     /* LOST */
		const struct sched *sched;   /* SWITCH, WAKING, SCHED_GAP */
		const struct sample *sample; /* SAMPLE */
	};
	const struct memory *memory; /* COUNTER: of a memory pool, else NULL; LEFT */
	/*
	 * BEGIN, END, READING: what was counted on the thread since its first mark, and on END in this slice
	 * (which is among the args, too) and in it alone. It may be EVENT_NO_VALUE.
	 */
	const struct track *const *counter_tracks;
	const uint64_t *counters;
	const uint64_t *counter_deltas;
	const uint64_t *counter_selves;
};

#endif
