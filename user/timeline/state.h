/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of the timeline share and nobody else includes but its tests: the state behind the
 * facts. Each file is one subject: processes.c, slices.c, asyncs.c, frames.c, tracks.c (counters),
 * pools.c, scopes.c, samples.c (call stacks); timeline.c takes the events in and hands the facts out.
 *
 * Events come by the million per second. So a thread keeps its open slices in an array that stays,
 * asynchronous slices and allocations go back to a list of spare ones, threads are looked up through
 * a small cache, and nothing is allocated for an ordinary event.
 */
#ifndef PROFTRACE_TIMELINE_STATE_H
#define PROFTRACE_TIMELINE_STATE_H

#include "handlers/handler.h"
#include "timeline/hash.h"
#include "timeline/timeline.h"
#include "rare.h"

/*
 * What is followed at once, so that memory stays bounded whatever a program does or a file says. Far
 * above what people look at in one trace.
 */
#define LIMIT_PROCESSES	       131072
#define LIMIT_THREADS	       131072
#define LIMIT_DEPTH	       1024 /* open slices of a thread; the kernel follows 64 */
#define LIMIT_TRACKS	       65536
#define LIMIT_ASYNCS	       65536
#define LIMIT_ASYNCS_OF_ONE_ID 4096 /* they are searched one by one */
#define LIMIT_ALLOCATIONS      262144
#define LIMIT_TASKS	       65536 /* that are no threads of ours, with names */
#define SCHED_CPUS	       1024
#define LIMIT_SCOPES	       32 /* of memory, open on a thread */

struct timeline_limits {
	uint32_t processes;
	uint32_t threads;
	uint32_t depth;
	uint32_t tracks;
	uint32_t asyncs;
	uint32_t asyncs_of_one_id;
	uint32_t allocations;
};

struct slice {
	const struct name *name;
	const struct name *category;
	uint64_t begin_ns;
	uint64_t children_ns; /* time in slices nested directly in this one */
	int level;	      /* as the kernel counts, -1 when read from a file */
	enum event_object object;
	bool is_off;	/* its domain is switched off: it ends with what is open inside */
	uint64_t token; /* of a marker */
};

/* What was counted, and for counters that take turns, in how much of the time: 0 for all others. */
struct counted {
	uint64_t value; /* EVENT_NO_VALUE: not known */
	uint64_t enabled;
	uint64_t running;
};

/* What is counted on a thread. */
struct thread_counters {
	struct track tracks[EVENT_MAX_COUNTERS];
	const struct track *list[EVENT_MAX_COUNTERS];
	unsigned n; /* of them are declared: from a file there may come more */
	/* counters_read.c: what a file said at read_ns, before the slice it belongs to. */
	bool has_read;
	uint64_t read_ns;
	uint64_t read[EVENT_MAX_COUNTERS];
	/* Where the sum below begins, or for counters that take turns, up to where it reaches. */
	struct counted since[EVENT_MAX_COUNTERS];
	uint64_t sum[EVENT_MAX_COUNTERS];
	uint64_t seen_ns[EVENT_MAX_COUNTERS]; /* `enabled` of the latest reading */
	/* Of the fact that is being made. */
	uint64_t values[EVENT_MAX_COUNTERS];
	uint64_t deltas[EVENT_MAX_COUNTERS];
	uint64_t selves[EVENT_MAX_COUNTERS];
	/* Of each open slice: the values when it began, and what its children have counted. */
	struct slice_counters {
		unsigned n; /* were known when it began */
		struct counted begin[EVENT_MAX_COUNTERS];
		struct counted children[EVENT_MAX_COUNTERS];
		uint64_t shown[EVENT_MAX_COUNTERS]; /* on the tracks, for files that begin later */
	} * slices;
	uint32_t room;
};

/* sched.c: in which state a thread was from when on, and for how long it had been in each until then. */
enum thread_does {
	DOES_RUN,
	DOES_WAIT, /* for a CPU */
	DOES_BLOCK,
	DOES_UNKNOWN,
	DOES_ALL,
};

#define SCHED_STEPS 8 /* a power of two: by so many changes a mark may be late */

struct sched_step {
	uint64_t ts_ns;
	uint64_t spent[DOES_ALL];
	enum thread_does does;
};

struct thread_sched {
	struct sched_step steps[SCHED_STEPS];
	unsigned n, at; /* how many there are, and the latest */
	uint32_t gap;	/* as the timeline's was at the latest */
	bool woken;	/* while it was about to sleep */
	bool waker_known;
	enum sched_state state; /* while it has no CPU */
	uint64_t since_ns;	/* that it is in that; 0: not known, or it has a CPU */
	struct sched_waker waker;
	uint64_t (*begins)[DOES_ALL]; /* of each open slice */
	uint32_t room;
};

/* Who has a CPU. */
struct sched_cpu {
	bool known;
	struct sched_task task;
};

/* What a task is called that is no thread of ours. */
struct task_name {
	uint32_t tid;
	const struct name *comm;
	UT_hash_handle hh;
};

struct thread_key {
	uint32_t pid;
	uint32_t tid;
};

struct thread_state {
	struct thread pub; /* what the handlers see */
	struct thread_key key;
	struct process_state *process;
	const struct name *given; /* by the program */
	const struct name *comm;  /* by the kernel */
	uint64_t last_ns;	  /* time of its last mark: there is no going back */
	struct slice *slices;	  /* open ones, outermost first */
	uint32_t n_slices;
	uint32_t room;
	struct thread_counters *counters; /* NULL: none so far */
	struct thread_sched *sched;	  /* the same */
	bool counters_from_file;	  /* of the process's counters, some are this thread's */
	uint32_t skipped; /* BEGINs of a file beyond the depth limit whose ENDs are still to come */
	const struct name *
		*scopes;   /* of memory, outermost first, each with those around it; or NULL */
	uint32_t n_scopes; /* may be more than are kept */
	struct thread_state *prev, *next; /* of its process */
	UT_hash_handle hh;		  /* timeline->threads */
	UT_hash_handle hh_tid;		  /* timeline->threads_by_tid */
};

/* A counter's series. */
struct counter {
	struct track pub;
	struct counter_key {
		const struct name *name;
		const struct name *series;
		const struct thread_state *thread; /* NULL: of the process */
	} key;
	/* Its latest sample; category and time are those of the mark. */
	struct arg last; /* type 0: none so far */
	const struct name *last_category;
	uint64_t last_ns;
	bool of_pool;
	UT_hash_handle hh;
};

/* The lanes of the asynchronous slices of one name. */
struct lanes {
	const struct name *name;
	struct track **tracks;
	uint32_t n;
	uint32_t room;
	uint32_t *free_lanes; /* a heap, the lowest of them first */
	uint32_t n_free;
	/* Of frames: how many began, when the last one did (0: not known), what counts their rate. */
	uint64_t n_frames;
	uint64_t last_ns;
	struct counter *rate;
	UT_hash_handle hh;
};

struct pool {
	struct pool_key {
		const struct name *scope; /* NULL: none */
		const struct name *name;
	} key;
	uint64_t live;		     /* bytes, at most INT64_MAX */
	int64_t told;		     /* in its latest sample */
	const struct name *category; /* of its first mark */
	struct counter *counter;
	bool is_listed;
	struct pool *prev, *next; /* of its process's, that may have told of memory */
	UT_hash_handle hh;
};

/* A process and a number the program chose: the id of an asynchronous slice, or an address. */
struct number_key {
	uint64_t process;
	uint64_t number;
};

struct async {
	struct number_key key;
	const struct name *name;
	const struct name *category;
	uint64_t begin_ns;
	struct lanes *lanes;
	uint32_t lane;
	uint32_t nth;	     /* of those open with this id, 1 = the oldest */
	uint64_t frame;	     /* its number, 0: it is not one */
	bool is_frame;	     /* also one of a file */
	struct async *older; /* the next older one with this id; only the latest is in the hash */
	struct async *prev, *next; /* of its process; spare ones: next */
	UT_hash_handle hh;
};

struct allocation {
	struct number_key key;
	struct pool *pool;
	uint64_t size;
	uint32_t tid;
	const struct name *slice;
	struct allocation *prev, *next; /* of its process; spare ones: next */
	UT_hash_handle hh;
};

#define RECENT_COUNTERS 16 /* a power of two */

struct process_state {
	struct process pub;
	const struct name *given; /* by whoever looked at the process */
	const struct name *comm;  /* of its main thread */
	bool stepped;		  /* PROF_STEP was seen: epoch and batch are known */
	uint64_t epoch;
	uint64_t batch;
	bool paused_once; /* since then, what it began need not have been recorded */
	struct thread_state *threads;
	struct counter *counters;
	struct counter *recent_counters[RECENT_COUNTERS]; /* by name */
	struct lanes *lanes;
	struct pool *pools;
	struct pool *listed_pools;
	struct async *asyncs;
	struct allocation *allocations;
	UT_hash_handle hh;
};

#define RECENT_THREADS 64 /* a power of two */

struct timeline {
	struct account *account;
	struct timeline_limits limits;

	struct handler **handlers;
	unsigned n_handlers;
	unsigned n_working;
	int error;	 /* of the handler that stopped during this event */
	bool unrecorded; /* marks become facts that no file takes */

	bool stepped; /* the latest PROF_STEP of all processes */
	uint64_t step_epoch, step_batch;

	uint64_t last_uuid;
	uint32_t n_tracks;
	struct process_state *processes;
	struct thread_state *threads;
	struct thread_state *threads_by_tid;
	struct thread_state *recent[RECENT_THREADS];
	struct process_state machine; /* owns what belongs to no process */

	/* A table that becomes empty gives its memory back; the anchors keep these two from it. */
	struct async *asyncs, async_anchor, *spare_asyncs;
	struct allocation *allocations, allocation_anchor, *spare_allocations;
	uint32_t n_asyncs;
	uint32_t n_allocations;

	const struct name *counters[EVENT_MAX_COUNTERS];
	unsigned n_counters;
	int cycles, instructions; /* which of the counters they are, -1: none */
	const struct name *shares[EVENT_MAX_COUNTERS]; /* what their running share is called */
	struct counted total[EVENT_MAX_COUNTERS];      /* of all threads: only the times */

	bool states;		/* slices are told what their threads did */
	bool sched_uncertain;	/* some was lost, and where is still to be told */
	uint32_t sched_gap;	/* how often it was told */
	struct sched_cpu *cpus; /* SCHED_CPUS of them, NULL: nothing was told of any */
	struct task_name *task_names;
	struct slice_states slice_states; /* of the fact that is being made */
	const struct name *running_ns, *runnable_ns, *blocked_ns, *unknown_ns;

	struct names *names;
	const struct name *epoch, *batch, *step, *bytes, *unnamed, *async_end, *ns, *ipc,
		*continued, *thread_counters;
	const struct name *blocked, *offcpu;
	const struct name *hz, *frame, *task, *marker, *started_twice;
	const struct name *pause, *resume, *dump, *stop, *include_json;
	bool scheduled;
	bool has_gaps; /* no process is recorded all the time */

	struct arg args[EVENT_MAX_ARGS + 2]; /* of the fact that is being made */
	const struct track *tracks[EVENT_MAX_ARGS];
	const struct name *open_names[LIMIT_DEPTH];
};

/* A mark on its way: whose it is and when. */
struct mark {
	const struct event *event;
	struct process_state *process;
	struct thread_state *thread; /* NULL: of no thread in particular */
	const struct name *name;
	uint64_t ts_ns; /* not before the thread's last one */
};

/* What became of a mark: one of these, or else an enum lost_reason. */
#define MARK_WRITTEN  LOST_REASONS
#define MARK_LEFT_OUT (LOST_REASONS + 1) /* nobody asked for it */

/* timeline.c */
void emit(struct timeline *t, const struct fact *fact);
int hand_to(struct handler *handler, const struct fact *fact);
void stamp_step_args(struct timeline *t, const struct mark *m, struct fact *fact);

static inline const struct process *process_of(const struct process_state *p)
{
	/* The machine is known by having no uuid. */
	return p && p->pub.uuid ? &p->pub : NULL;
}

static inline struct fact fact_of(const struct mark *m, enum fact_kind kind)
{
	const struct event *e = m->event;

	return (struct fact){
		.kind = kind,
		.scope = e->scope,
		.ts_ns = m->ts_ns,
		.continued = e->continued,
		.process = process_of(m->process),
		.thread = m->thread ? &m->thread->pub : NULL,
		.name = m->name,
		.category = e->category,
		.id = e->id,
		.n_args = e->n_args < EVENT_MAX_ARGS ? e->n_args : EVENT_MAX_ARGS,
		.args = e->args,
		.callstack = e->callstack,
	};
}

/* Appends where the program is in its own work, unless the fact says so itself. */
static inline void stamp_step(struct timeline *t, const struct mark *m, struct fact *fact)
{
	if (rare(m->process->stepped))
		stamp_step_args(t, m, fact);
}

/* processes.c: each returns NULL where a limit or the memory ends */
struct process_state *process_find(const struct timeline *t, uint32_t pid);
struct process_state *process_get(struct timeline *t, uint32_t pid, uint64_t ts_ns,
				  const struct name *comm);
struct thread_state *thread_with_tid(const struct timeline *t, uint32_t tid);
struct thread_state *thread_get(struct timeline *t, uint32_t pid, uint32_t tid, uint64_t ts_ns,
				const struct name *comm);

/* Where the thread is, if it was looked for lately. */
static inline struct thread_state **thread_slot(struct timeline *t, uint32_t pid, uint32_t tid)
{
	return &t->recent[(tid ^ pid * 31) & (RECENT_THREADS - 1)];
}

static inline bool is_thread(const struct thread_state *thread, uint32_t pid, uint32_t tid)
{
	return thread && thread->key.tid == tid && thread->key.pid == pid;
}

int thread_name(struct timeline *t, const struct mark *m);
void process_notice(struct timeline *t, const struct event *event);
void processes_free(struct timeline *t);

/* domains.c */
void domain_off(struct timeline *t, const struct event *event);
bool is_of_domain(const struct name *category, const struct name *domain);

/* slices.c */
const struct name *slice_innermost(const struct thread_state *thread, enum event_object object);
int slice_begin(struct timeline *t, const struct mark *m);
int slice_end(struct timeline *t, const struct mark *m);
void count_end(struct timeline *t, enum end_reason reason);
void slices_close_stale(struct timeline *t, const struct mark *m);

/* Whether the mark, whose level the kernel knows, finds open what it should, as most do. */
static inline bool slices_are_current(const struct thread_state *thread, const struct event *e)
{
	const struct slice *top = &thread->slices[thread->n_slices - 1];

	if (rare(top->is_off))
		return false;
	if (e->kind != EVENT_END)
		return top->level >= 0 && top->level < e->level;
	if (top->level != e->level)
		return false;
	return thread->n_slices == 1 || (top[-1].level >= 0 && top[-1].level < e->level);
}

void slices_unfinished(struct timeline *t, struct thread_state *thread, uint64_t ts_ns);
void slices_off(struct timeline *t, struct thread_state *thread, const struct name *domain,
		uint64_t ts_ns);

/* counters.c: what a thread counted, as part of the facts about its slices */
void counters_begin(struct timeline *t, const struct mark *m, struct fact *fact);
void counters_end(struct timeline *t, struct thread_state *thread, const struct event *event,
		  struct fact *fact);
void counters_reading(struct timeline *t, const struct event *event);
/* An argument that the program has not given itself: what it says stands. */
void append_arg(struct timeline *t, struct fact *fact, struct arg arg);
uint64_t counter_at_begin(const struct thread_state *thread, uint32_t slice, unsigned i);
const struct name *counter_unit(const struct timeline *t, const struct name *name);
/* NULL: none are counted, or there are too many tracks. */
struct thread_counters *counters_of_thread(struct timeline *t, struct thread_state *thread,
					   uint64_t ts_ns);
void counters_of_thread_release(struct timeline *t, struct thread_state *thread);

/* counters_read.c: the same, read from a file */
bool counters_read(struct timeline *t, const struct mark *m); /* false: it is an ordinary counter */
uint64_t counters_read_delta(const struct timeline *t, unsigned i, const struct fact *end,
			     uint64_t delta);
void counters_read_alone(struct timeline *t, struct thread_state *thread);
void counters_read_done(struct thread_counters *c);
void counters_read_rest(struct timeline *t);

/* sched.c */
void sched_switch(struct timeline *t, const struct event *event);
void sched_waking(struct timeline *t, const struct event *event);
void sched_gap(struct timeline *t, const struct event *event);
/* The thread makes a mark at this time, so it has a CPU. */
void sched_mark(struct timeline *t, struct thread_state *thread, uint64_t ts_ns);
/* The innermost slice begins, or ends: what its thread did in it becomes arguments of the fact. */
void sched_begin(struct timeline *t, struct thread_state *thread, uint64_t ts_ns);
void sched_end(struct timeline *t, struct thread_state *thread, struct fact *fact);
void sched_release(struct thread_state *thread);
void sched_free(struct timeline *t);

/* samples.c */
void sample_take(struct timeline *t, const struct event *event);
void blocked_take(struct timeline *t, const struct event *event);

/* asyncs.c */
int asyncs_init(struct timeline *t);
int async_begin(struct timeline *t, const struct mark *m);
int async_end(struct timeline *t, const struct mark *m);
void asyncs_unfinished(struct timeline *t, struct process_state *p, uint64_t ts_ns);
void asyncs_off(struct timeline *t, struct process_state *p, const struct name *domain,
		uint64_t ts_ns);
void asyncs_release(struct timeline *t, struct process_state *p);
void asyncs_free(struct timeline *t);
uint64_t async_id(const struct async *async);

/* frames.c: what sets frames apart from other asynchronous slices */
uint64_t frame_begin(struct timeline *t, struct lanes *lanes, struct fact *fact);
void frame_rate(struct timeline *t, const struct mark *m, struct lanes *lanes);
void frames_restart(struct process_state *p);
/* Some may have come and gone unrecorded, so the next start says nothing of the rate. NULL: anywhere. */
void frames_missed(struct timeline *t, struct process_state *process);

/* tracks.c */
struct counter *counter_get(struct timeline *t, const struct mark *m, const struct name *name,
			    const struct name *series, const struct name *unit, bool is_double);
struct track *lane_track_new(struct timeline *t, struct process_state *p, uint64_t ts_ns,
			     const struct name *name, uint32_t lane);
void track_declare(struct timeline *t, const struct process_state *p, struct track *track,
		   uint64_t ts_ns);
void counter_keep(struct counter *counter, const struct arg *value, const struct fact *fact);
int counter_mark(struct timeline *t, const struct mark *m);
int step_mark(struct timeline *t, const struct mark *m);
void counters_release(struct timeline *t, struct process_state *p);
void counters_from_file_release(struct timeline *t, const struct thread_state *thread);

/* scopes.c: of memory */
int scope_push(struct timeline *t, const struct mark *m);
int scope_pop(const struct mark *m);
const struct name *scope_of(const struct thread_state *thread);
void scopes_close(struct thread_state *thread);

/* pools.c */
int pools_init(struct timeline *t);
int pool_alloc(struct timeline *t, const struct mark *m);
int pool_free(struct timeline *t, const struct mark *m);
void memory_gone(struct timeline *t, struct process_state *p, uint64_t ts_ns);
/* What was allocated will be freed without a word: it is not left. */
void pools_off(struct timeline *t, struct process_state *p, const struct name *domain);
void pools_release(struct timeline *t, struct process_state *p);
void pools_free(struct timeline *t);

#endif
