/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts: what the timeline gives to its consumers.
 *
 * A fact is complete: its track is declared before it is used, slices nest, a counter knows its
 * track, an END knows when its slice began and how much of it was its own. So a consumer only has
 * to format it. Everything a fact points to is borrowed until the consumer returns; names live as
 * long as their table.
 */
#ifndef PROFTRACE_TIMELINE_FACT_H
#define PROFTRACE_TIMELINE_FACT_H

#include "timeline/event.h"
#include "bpf/sched/wait_reasons.h"

enum __attribute__((packed)) fact_kind {
	FACT_PROCESS = 1, /* a process is declared or renamed */
	FACT_THREAD,	  /* a thread is declared or renamed */
	FACT_TRACK,	  /* a counter's track, or a lane of asynchronous slices, is declared */
	FACT_BEGIN,
	FACT_END,
	FACT_INSTANT, /* tracks, if it has any: the one that it is on */
	FACT_COUNTER, /* args[i] belongs on tracks[i] */
	/* values of the thread's counters; those that are known are among the args, too */
	FACT_READING,
	FACT_ASYNC_BEGIN, /* tracks[0] is its lane */
	FACT_ASYNC_END,
	FACT_FLOW_OUT,
	FACT_FLOW_IN,
	FACT_LOST, /* count marks were lost here */
	FACT_CLOCK,
	FACT_LEAK, /* an allocation (`memory`) that its process never freed before it ended */
	FACT_EXIT, /* the thread (thread NULL: the process) has exited: its uuid is not used again */
	/* Of the scheduler: `sched`. For each CPU they come in the order of time. */
	FACT_SWITCH,
	FACT_WAKING,
	FACT_SCHED_GAP, /* some were lost before this time, on one CPU or (sched NULL) on any */
	FACT_SAMPLE,	/* `sample`, `callstack`: where the thread was at that moment */
	/*
	 * The thread was blocked from begin_ns to ts_ns; name = the reason; args = what it waited for
	 * and who woke it. tracks[0] is its track. They are within the slices that are open.
	 */
	FACT_WAIT,
	FACT_LABELS, /* the labels of a process, which was declared */
};

/*
 * How much text one fact may bring into a trace. What the capture passes on is far shorter (MAX_NAME,
 * MAX_STRING), but a file that is converted may hold anything. The limits keep one event below what
 * sink_reserve() gives at once, whatever the event consists of.
 */
enum {
	LIMIT_NAME = 1024,
	LIMIT_KEY = 256,
	LIMIT_STRING = EVENT_MAX_STRING,
};

/* How many are followed at once; state.h has the limits that no trace reader needs to know. */
enum {
	LIMIT_PROCESSES = 131072,
	LIMIT_THREADS = 131072,
	LIMIT_TRACKS = 65536, /* of all others: counters, lanes */
};

struct process {
	uint64_t uuid;
	uint32_t pid;
	const struct name *name;   /* may be NULL */
	const struct name *labels; /* "container web, unit a.service"; may be NULL */
	uint64_t start_ns;	   /* when it began, 0 = before the recording */
};

/*
 * The rank of a process in a parallel job, as its labels ("rank 3") or its name in a merged trace ("rank 3: solver")
 * say. Returns its digits, whose number is `*ret_length`, or NULL.
 */
const char *process_rank(const struct process *process, int *ret_length);

struct thread {
	uint64_t uuid;
	uint32_t tid;
	const struct process *process;
	const struct name *name; /* may be NULL */
};

enum track_kind {
	TRACK_COUNTER = 1,
	TRACK_ASYNC,
	TRACK_WAITS, /* of a thread: when it was blocked, and why */
};

struct track {
	enum track_kind kind;
	uint64_t uuid;
	const struct process *process; /* NULL: of the whole machine */
	const struct name *name;       /* of the counter or of the asynchronous slices */
	const struct name *key;	       /* of the series; NULL for a counter with a single one */
	const struct name *unit;       /* "bytes", "Hz", ...; NULL: none */
	unsigned lane;		       /* ASYNC: 0, 1, 2, ... among those of this name */
	/*
	 * ASYNC: for slices whose times the program gives. Each is emitted whole, its END after its
	 * BEGIN, in any order of time. `parent` is the track around it, NULL: none.
	 */
	bool is_given;
	const struct track *parent;
	const struct name *path;     /* "outer/inner"; NULL: it has the name of its slices */
	const struct thread *thread; /* COUNTER, WAITS: its owner; NULL: the process */
	/* COUNTER of a thread: a hardware or kernel counter, which its slices have as well */
	bool is_counted;
};

/* The allocation or the free behind a sample of a memory pool. */
struct memory {
	enum memory_change {
		MEMORY_ALLOC = 1,
		MEMORY_FREE,
		/* freed with its process, or with the program that the process ran before an exec */
		MEMORY_RESET,
	} change;
	uint64_t address; /* 0: nothing was allocated or freed */
	uint64_t size;	  /* 0: not known */
	int64_t growth;	  /* of the pool since the sample before */
	uint32_t tid;	  /* of the thread that allocated or freed; 0: not known */
	/* LEAK: the slice that was open when it was allocated, NULL: none */
	const struct name *slice;
};

/* A task that gets a CPU, leaves it, or is woken. */
struct sched_task {
	uint32_t tid;		     /* 0: no task, the CPU idles */
	uint32_t pid;		     /* 0: not known */
	const struct name *comm;     /* may be NULL */
	const struct thread *thread; /* if it is traced, or known from the file; else NULL */
	uint8_t prio;
	/* its state now or, when it gets a CPU or is woken, its state until now */
	enum sched_state state;
	uint64_t since_ns; /* since when it has the CPU or that state; 0: not known */
};

struct sched_waker {
	uint64_t ts_ns;
	uint32_t tid; /* 0: not known, or not a task */
	uint32_t pid;
	uint16_t cpu, target_cpu;
	bool interrupt; /* by an interrupt while it was running */
};

struct sched {
	unsigned cpu;
	struct sched_task task;	 /* SWITCH: leaves the CPU; WAKING: is woken */
	struct sched_task other; /* SWITCH: gets the CPU; WAKING: the waker */
	/*
	 * SWITCH: the waker of `other`, NULL: there is none, or it is not known. WAKING: the same
	 * as `other`.
	 */
	const struct sched_waker *waker;
};

/* How long a thread was in each state during a slice, ns. They add up to the slice's duration. */
struct slice_states {
	uint64_t running;  /* on a CPU */
	uint64_t runnable; /* waiting for a CPU */
	uint64_t blocked;
	uint64_t unknown; /* the context switches were lost */
	/* The time blocked by its reasons, which add up to it, if these were recorded. */
	bool has_reasons;
	uint64_t blocked_in[WAIT_REASONS];
};

/* Where a thread was. The functions of the frames may be known only when a consumer is closed. */
struct sample {
	unsigned cpu;
	enum sample_mode mode;
	uint64_t period_ns;		  /* the time it represents; 0: not known */
	const struct name *const *slices; /* open on the thread, outermost first */
	unsigned n_slices;
};

/*
 * Instants of the recorder about a domain that changes its mode (--mode auto): of the whole machine, and without a category, which
 * every mark has. They are no marks, so statistics leave them out.
 */
#define INSTANT_DOMAIN_BUFFERED "domain in buffered mode"
#define INSTANT_DOMAIN_EXACT	"domain in exact mode"

/*
 * A fact is made anew for each mark. So it is small, and members that only few kinds use share
 * their place.
 */
struct fact {
	uint64_t ts_ns;
	enum fact_kind kind;
	enum event_scope scope;	    /* INSTANT */
	enum end_reason end_reason; /* END, ASYNC_END */
	bool in_slice;		    /* FLOW: a slice is open on the thread */
	/*
	 * BEGIN, ASYNC_BEGIN, COUNTER: repeated for a consumer that came later (timeline_replay()),
	 * with its original time.
	 */
	bool continued;
	bool is_frame; /* ASYNC_END: it began with an argument `frame` */
	/* END: a slice of the same category and name is still open around it on this thread */
	bool nested_in_itself;
	uint8_t wait_reason; /* WAIT: enum wait_reason */
	unsigned n_args;
	unsigned n_counters;
	const struct process *process; /* NULL: not known (LOST), or the whole machine */
	const struct thread *thread;   /* NULL: no particular thread */
	/* END: that of its BEGIN; formats that must not repeat it leave it out */
	const struct name *name;
	const struct name *category;
	/* the mark's own arguments first, then epoch and batch if there was a PROF_STEP */
	const struct arg *args;
	const struct track *const *tracks;
	uint64_t id; /* ASYNC, FLOW */
	/* SAMPLE, BEGIN, INSTANT: where it happened; may be NULL */
	const struct callstack *callstack;
	union {
		struct {
			uint64_t begin_ns; /* END, ASYNC_END, WAIT */
			union {
				uint64_t self_ns; /* END: time not spent in child slices */
				/* WAIT: the innermost slice of the thread; NULL: none */
				const struct name *inside;
			};
			union {
				/* END: the same as in the args; NULL: not known */
				const struct slice_states *states;
				const struct name *inside_category; /* WAIT: of that slice */
			};
		};
		struct { /* ASYNC_BEGIN on a track that is_given */
			uint64_t end_ns;
			uint64_t flow; /* the id of the arrow that ends here, 0: none */
		};
		struct clock_reading clock;  /* CLOCK */
		uint64_t count;		     /* LOST */
		const struct sched *sched;   /* SWITCH, WAKING, SCHED_GAP */
		const struct sample *sample; /* SAMPLE */
	};
	const struct memory *memory; /* COUNTER of a memory pool, LEAK; else NULL */
	/*
	 * BEGIN, END, READING: what was counted on the thread since its first mark; END: also in
	 * this slice (deltas, which the args have as well) and in it without the slices inside
	 * (selves). Each may be EVENT_NO_VALUE.
	 */
	const struct track *const *counter_tracks;
	const uint64_t *counters;
	const uint64_t *counter_deltas;
	const uint64_t *counter_selves;
};

/* domains.c: whether it is one of the instants of --mode auto. */
bool fact_is_change_of_mode(const struct fact *fact);

/* waits.c: a word such as "futex", "page_fault"; "unknown" where the reason was not recorded. */
const char *wait_reason_text(enum wait_reason reason);
/* False: no reason has this name. */
bool wait_reason_parse(const char *text, enum wait_reason *ret_reason);

#endif
