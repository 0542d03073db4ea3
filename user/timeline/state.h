/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state behind the facts, which the files of the timeline share and nobody else includes but its tests. Each file
 * is one subject: processes.c, slices.c, asyncs.c, frames.c, given/ (slices with times of their own), tracks.c
 * (counters of programs), counters.c (counters of threads), pools.c, scopes.c, samples.c (call stacks), sched.c.
 * timeline.c gets the events and gives the facts to the consumers.
 *
 * Events come by the million per second. So a thread keeps the array of its open slices when they
 * end, asynchronous slices and allocations go back to a free list, threads are looked up through a
 * small cache, and nothing is allocated for an ordinary event.
 */
#ifndef PROFTRACE_TIMELINE_STATE_H
#define PROFTRACE_TIMELINE_STATE_H

#include "timeline/consumer.h"
#include "base/hash.h"
#include "timeline/timeline.h"
#include "base/rare.h"

/*
 * How much is followed at once, so that memory stays bounded whatever a program does or a file
 * says. The limits are far above what people look at in one trace.
 */
#define LIMIT_DEPTH	       1024 /* open slices of a thread; the kernel follows 64 */
#define LIMIT_ASYNCS	       65536
#define LIMIT_ASYNCS_OF_ONE_ID 4096    /* they are searched linearly */
#define LIMIT_LANES_OF_TRACK   512     /* of slices with times of their own; searched linearly */
#define LIMIT_GAPS	       1048576 /* between these slices */
#define LIMIT_GAPS_OF_LANE     1024
#define LIMIT_HELD	       64 /* processes with marks of a clock without a reading so far */
#define LIMIT_ALLOCATIONS      262144
#define LIMIT_TASKS	       65536 /* names of tasks outside the recorded processes */
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
	uint64_t children_ns; /* time in the slices directly inside this one */
	int level;	      /* as the kernel counts; -1 when read from a file */
	enum event_object object;
	bool is_off; /* its domain is switched off: it ends with the slices that are open inside */
	uint64_t token; /* of a marker */
};

/*
 * What was counted and, for multiplexed counters, for how long they were enabled and running; 0 for
 * all others.
 */
struct counted {
	uint64_t value; /* EVENT_NO_VALUE: not known */
	uint64_t enabled;
	uint64_t running;
};

/* The counters of a thread. */
struct thread_counters {
	struct track tracks[EVENT_MAX_COUNTERS];
	const struct track *list[EVENT_MAX_COUNTERS];
	unsigned n; /* so many of them are declared; a file may add more */
	/* counters_read.c: what a file said at read_ns, before the slice that it belongs to. */
	bool has_read;
	uint64_t read_ns;
	uint64_t read[EVENT_MAX_COUNTERS];
	/*
	 * The value at which `sum` begins; for multiplexed counters, the value up to which `sum`
	 * reaches.
	 */
	struct counted since[EVENT_MAX_COUNTERS];
	uint64_t sum[EVENT_MAX_COUNTERS];
	uint64_t seen_ns[EVENT_MAX_COUNTERS]; /* `enabled` of the latest reading */
	/* Of the fact that is being made. */
	uint64_t values[EVENT_MAX_COUNTERS];
	uint64_t deltas[EVENT_MAX_COUNTERS];
	uint64_t selves[EVENT_MAX_COUNTERS];
	/* For each open slice: the values when it began, and what was counted in its children. */
	struct slice_counters {
		unsigned n; /* so many were known when it began */
		struct counted begin[EVENT_MAX_COUNTERS];
		struct counted children[EVENT_MAX_COUNTERS];
		/* The values on the tracks when it began, for files that begin later. */
		uint64_t shown[EVENT_MAX_COUNTERS];
	} * slices;
	uint32_t capacity;
};

/*
 * sched.c: since when a thread is in which state, and how long it had been in each state until
 * then.
 */
enum thread_activity {
	THREAD_RUNNING,
	THREAD_RUNNABLE, /* waits for a CPU */
	THREAD_BLOCKED,
	THREAD_UNKNOWN,
	THREAD_ACTIVITIES,
	/* Behind them, the time in which it was blocked by its reasons. */
	THREAD_SUMS = THREAD_ACTIVITIES + WAIT_REASONS,
};

#define SCHED_STEPS 8 /* a power of two: a mark may come after so many later changes */

struct sched_step {
	uint64_t ts_ns;
	uint64_t spent[THREAD_SUMS];
	enum thread_activity activity;
	enum wait_reason reason; /* BLOCKED */
};

struct thread_sched {
	struct sched_step steps[SCHED_STEPS];
	unsigned n, at; /* how many there are, and the index of the latest */
	uint32_t gap;	/* the timeline's sched_gap at the latest change */
	bool woken;	/* it was woken while it was about to sleep */
	bool waker_known;
	enum sched_state state; /* while it has no CPU */
	uint64_t since_ns; /* since when it is in that state; 0: not known, or it is on a CPU */
	struct sched_waker waker;
	uint64_t (*begins)[THREAD_SUMS]; /* of each open slice */
	uint32_t capacity;
};

#define WAIT_ARGS 4

/* waits.c: why a thread is blocked, or was when it was blocked last. */
struct thread_wait {
	uint64_t since_ns; /* the context switch at which it blocked */
	enum wait_reason reason;
	unsigned n_args;
	struct arg args[WAIT_ARGS]; /* their strings are in `text` */
	char text[256];
	struct track track; /* uuid 0: not declared yet */
};

/* The task on a CPU. */
struct sched_cpu {
	bool known;
	struct sched_task task;
};

/* The name of a task outside the recorded processes. */
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
	struct thread pub; /* the part that consumers see */
	struct thread_key key;
	struct process_state *process;
	const struct name *given; /* by the program */
	const struct name *comm;  /* by the kernel */
	uint64_t last_ns;     /* time of its last mark: no later fact of the thread is earlier */
	struct slice *slices; /* open ones, outermost first */
	uint32_t n_slices;
	uint32_t capacity;
	struct thread_counters *counters; /* NULL: none so far */
	struct thread_sched *sched;	  /* NULL: none so far */
	struct thread_wait *wait;	  /* NULL: none so far */
	bool counters_from_file;	  /* some counters of the process belong to this thread */
	uint32_t skipped; /* BEGINs of a file beyond the depth limit whose ENDs are still to come */
	/* of memory, outermost first, each with the names around it; or NULL */
	const struct name **scopes;
	uint32_t n_scopes;	     /* may be more than LIMIT_SCOPES, which are kept */
	struct kept_args *kept_args; /* of the mark to come, or NULL */
	uint64_t moving; /* address that PROF_REALLOC replaces with the thread's next allocation */
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
	uint32_t capacity;
	uint32_t *free_lanes; /* a heap, the lowest of them first */
	uint32_t n_free;
	/*
	 * For frames: how many began, when the last one began (0: not known), and the counter of
	 * their rate.
	 */
	uint64_t n_frames;
	uint64_t last_ns;
	struct counter *rate;
	UT_hash_handle hh;
};

struct given_track; /* given/given.c */

struct pool {
	struct pool_key {
		const struct name *scope; /* NULL: none */
		const struct name *name;
	} key;
	uint64_t live;		     /* bytes, at most INT64_MAX */
	int64_t reported;	     /* the value of its latest sample */
	const struct name *category; /* of its first mark */
	struct counter *counter;
	bool is_listed;
	struct pool *prev, *next; /* of the process's pools whose latest sample was not zero */
	UT_hash_handle hh;
};

/* A process and a number that the program chose: the id of an asynchronous slice, or an address. */
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
	bool is_frame;	     /* also when read from a file */
	struct async *older; /* the next older one with this id; only the latest is in the hash */
	struct async *prev, *next; /* of its process; free ones use only `next` */
	UT_hash_handle hh;
};

struct allocation {
	struct number_key key;
	struct pool *pool;
	uint64_t size;
	uint32_t tid;
	uint32_t mover; /* tid of the thread that is moving it: PROF_REALLOC */
	const struct name *slice;
	struct allocation *prev, *next; /* of its process; free ones use only `next` */
	UT_hash_handle hh;
};

#define RECENT_COUNTERS 16 /* a power of two */

struct process_state {
	struct process pub;
	const struct name *given; /* by the recorder or a file */
	const struct name *comm;  /* of its main thread */
	bool stepped;		  /* PROF_STEP was seen: epoch and batch are known */
	uint64_t epoch;
	uint64_t batch;
	bool paused_once; /* since then its BEGINs need not have been recorded */
	struct thread_state *threads;
	struct counter *counters;
	struct counter *recent_counters[RECENT_COUNTERS]; /* by name */
	struct lanes *lanes;
	struct given_track *given_tracks;
	struct delay *held; /* marks of a clock without a reading so far; NULL: none */
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

	/* Consumers. */
	struct consumer **consumers;
	unsigned n_consumers;
	unsigned n_working; /* consumers without an error */
	int error;	    /* of the consumer that stopped during this event */
	bool unrecorded;    /* marks become facts while no file is open */

	/* What the recording leaves out. */
	bool scheduled; /* by a schedule */
	bool has_gaps;	/* any process may have been recorded for a part of the time only */

	/* The latest PROF_STEP of all processes. */
	bool stepped;
	uint64_t step_epoch, step_batch;

	/* processes.c, tracks.c */
	uint64_t last_uuid;
	uint32_t n_tracks;
	struct process_state *processes;
	struct thread_state *threads;
	struct thread_state *threads_by_tid;
	struct thread_state *recent[RECENT_THREADS];
	struct process_state machine; /* owns what belongs to no process */

	/*
	 * asyncs.c, pools.c. uthash frees a table that becomes empty and allocates it anew for the next
	 * element. The anchors are elements that never leave, so that these two tables stay.
	 */
	struct async *asyncs, async_anchor, *spare_asyncs;
	struct allocation *allocations, allocation_anchor, *spare_allocations;
	uint32_t n_asyncs;
	uint32_t n_allocations;

	/* given/ */
	uint64_t start_ns; /* of the recording: slices do not begin before; 0: not known */
	uint32_t n_gaps;
	uint32_t n_held; /* processes with such marks */

	/* counters.c */
	const struct name *counters[EVENT_MAX_COUNTERS];
	unsigned n_counters;
	int cycles, instructions; /* indices into `counters`, -1: not counted */
	/* The names of the arguments with their running share. */
	const struct name *shares[EVENT_MAX_COUNTERS];
	struct counted total[EVENT_MAX_COUNTERS]; /* of all threads; only the times are used */

	/* sched.c */
	bool states;		/* ENDs have how long their threads were in each state */
	bool sched_uncertain;	/* context switches were lost, and it is not known yet where */
	uint32_t sched_gap;	/* how many gaps there were */
	struct sched_cpu *cpus; /* SCHED_CPUS of them; NULL: there was no context switch yet */
	struct task_name *task_names;

	/* waits.c */
	bool wait_reasons; /* the reason why a thread blocks is recorded */
	const struct name *reasons[WAIT_REASONS], *blocked_in_ns[WAIT_REASONS];
	const struct name *wait, *waits;
	const struct name *woken_by, *woken_by_tid, *woken_by_pid, *woken_by_slice;

	/* Names that the timeline gives itself. */
	struct names *names;
	const struct name *epoch, *batch, *step, *bytes, *unnamed, *async_end, *ns, *ipc,
		*continued, *thread_counters;
	const struct name *running_ns, *runnable_ns, *blocked_ns, *unknown_ns;
	const struct name *blocked, *offcpu, *syscall;
	const struct name *hz, *frame, *task, *marker, *started_twice, *flow;
	const struct name *pause, *resume, *dump, *stop, *include_json;

	/* Scratch: parts of the fact that is being made. */
	struct slice_states slice_states;
	struct arg args[EVENT_MAX_ARGS + 2];
	const struct track *tracks[EVENT_MAX_ARGS];
	const struct name *open_names[LIMIT_DEPTH];
};

/* A mark that is being processed, with its process, thread and time. */
struct mark {
	const struct event *event;
	struct process_state *process;
	struct thread_state *thread; /* NULL: no particular thread */
	const struct name *name;
	uint64_t ts_ns; /* not before the thread's last mark */
};

/* The outcome of a mark: one of these or an enum lost_reason. */
#define MARK_WRITTEN  LOST_REASONS
#define MARK_LEFT_OUT (LOST_REASONS + 1) /* it was not requested */
#define MARK_HELD     (LOST_REASONS + 2) /* it is counted later */

/* timeline.c */
void emit_fact(struct timeline *t, const struct fact *fact);
/* Counts the outcome of a mark. */
void mark_account(struct timeline *t, const struct event *event, int outcome);
int consumer_emit(struct consumer *consumer, const struct fact *fact);
void stamp_step_args(struct timeline *t, const struct mark *m, struct fact *fact);

static inline const struct process *public_process(const struct process_state *p)
{
	/* The machine, which is not a process, has no uuid. */
	return p && p->pub.uuid ? &p->pub : NULL;
}

static inline struct fact fact_from_mark(const struct mark *m, enum fact_kind kind)
{
	const struct event *e = m->event;

	return (struct fact){
		.kind = kind,
		.scope = e->scope,
		.ts_ns = m->ts_ns,
		.continued = e->continued,
		.process = public_process(m->process),
		.thread = m->thread ? &m->thread->pub : NULL,
		.name = m->name,
		.category = e->category,
		.id = e->id,
		.n_args = e->n_args < EVENT_MAX_ARGS ? e->n_args : EVENT_MAX_ARGS,
		.args = e->args,
		.callstack = e->callstack,
	};
}

/* Appends the program's epoch and batch, unless the fact has them already. */
static inline void stamp_step(struct timeline *t, const struct mark *m, struct fact *fact)
{
	if (rare(m->process->stepped))
		stamp_step_args(t, m, fact);
}

/* processes.c: each returns NULL when a limit is reached or out of memory */
struct process_state *process_state_find(const struct timeline *t, uint32_t pid);
struct process_state *process_state_get(struct timeline *t, uint32_t pid, uint64_t ts_ns,
					const struct name *comm);
struct thread_state *thread_with_tid(const struct timeline *t, uint32_t tid);
struct thread_state *thread_state_get(struct timeline *t, uint32_t pid, uint32_t tid,
				      uint64_t ts_ns, const struct name *comm);

/* The cache slot in which the thread is, if it was looked up lately. */
static inline struct thread_state **thread_slot(struct timeline *t, uint32_t pid, uint32_t tid)
{
	return &t->recent[(tid ^ pid * 31) & (RECENT_THREADS - 1)];
}

static inline bool thread_has_ids(const struct thread_state *thread, uint32_t pid, uint32_t tid)
{
	return thread && thread->key.tid == tid && thread->key.pid == pid;
}

int thread_name_mark(struct timeline *t, const struct mark *m);
void apply_process_event(struct timeline *t, const struct event *event);
void processes_free(struct timeline *t);

/* domains.c */
void domain_off(struct timeline *t, const struct event *event);
bool is_of_domain(const struct name *category, const struct name *domain);

/* kept_args.c */
int args_keep(struct timeline *t, struct thread_state *thread, const struct event *e);
/* The event with the arguments that were kept for it, or without the number that says that there are some. */
void args_join(struct timeline *t, struct thread_state *thread, struct event *e,
	       struct arg args[EVENT_MAX_ARGS]);
/* Whether the event is one of those that belong together. */
static inline bool args_are_split(const struct event *e)
{
	return e->n_args && e->args[0].cut && e->args[0].type == ARG_UINT;
}

/* slices.c */
const struct name *slice_innermost(const struct thread_state *thread, enum event_object object);
int slice_begin(struct timeline *t, const struct mark *m);
int slice_end(struct timeline *t, const struct mark *m);
void account_end_reason(struct timeline *t, enum end_reason reason);
void slices_close_stale(struct timeline *t, const struct mark *m);

/* Whether the open slices are those that the level of the mark implies, as for most marks. */
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

/* counters.c: counters of threads, as part of the facts about slices */
void counters_begin(struct timeline *t, const struct mark *m, struct fact *fact);
void counters_end(struct timeline *t, struct thread_state *thread, const struct event *event,
		  struct fact *fact);
void counters_reading(struct timeline *t, const struct event *event);
/* Appends an argument, unless the program has given one with this key. */
void append_arg(struct timeline *t, struct fact *fact, struct arg arg);
uint64_t counter_at_begin(const struct thread_state *thread, uint32_t slice, unsigned i);
const struct name *counter_unit(const struct timeline *t, const struct name *name);
/* NULL: nothing is counted, or there are too many tracks. */
struct thread_counters *counters_of_thread(struct timeline *t, struct thread_state *thread,
					   uint64_t ts_ns);
void counters_of_thread_release(struct timeline *t, struct thread_state *thread);

/* counters_read.c: counters of threads, read from a file */
bool counters_read(struct timeline *t, const struct mark *m); /* false: it is an ordinary counter */
uint64_t counters_read_delta(const struct timeline *t, unsigned i, const struct event *event,
			     const struct fact *end, uint64_t delta);
void counters_read_alone(struct timeline *t, struct thread_state *thread);
void counters_read_done(struct thread_counters *c);
void counters_read_rest(struct timeline *t);

/* sched.c */
void sched_switch(struct timeline *t, const struct event *event);
void sched_waking(struct timeline *t, const struct event *event);
void sched_gap(struct timeline *t, const struct event *event);
/* The thread makes a mark at this time, so it is on a CPU. */
void sched_mark(struct timeline *t, struct thread_state *thread, uint64_t ts_ns);
/*
 * The innermost slice begins or ends; how long its thread was in each state becomes arguments of
 * the END.
 */
void sched_begin(struct timeline *t, struct thread_state *thread, uint64_t ts_ns);
void sched_end(struct timeline *t, struct thread_state *thread, struct fact *fact);
void sched_release(struct thread_state *thread);
void sched_free(struct timeline *t);

/* waits.c */
void waits_init(struct timeline *t);
void wait_begin(struct timeline *t, const struct event *event);
void wait_whole(struct timeline *t, const struct event *event);
/* Of a thread that has blocked at this time. */
enum wait_reason wait_reason_at(const struct thread_state *thread, uint64_t ts_ns);
/*
 * The thread was blocked from `begin_ns` on and is woken; the waker is NULL if it is not known.
 * Called while thread->sched still describes the state that ends.
 */
void wait_end(struct timeline *t, struct thread_state *thread, uint64_t begin_ns, uint64_t ts_ns,
	      const struct sched_task *waker);
void wait_release(struct timeline *t, struct thread_state *thread);

/* samples.c */
void emit_sample(struct timeline *t, const struct event *event);
void emit_blocked(struct timeline *t, const struct event *event);
void emit_syscall(struct timeline *t, const struct event *event);

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

/* frames.c: what distinguishes frames from other asynchronous slices */
uint64_t frame_begin(struct timeline *t, struct lanes *lanes, struct fact *fact);
void frame_rate(struct timeline *t, const struct mark *m, struct lanes *lanes);
void frames_restart(struct process_state *p);
/* Some frames may have been missed, so the next start gives no rate. NULL: in any process. */
void frames_missed(struct timeline *t, struct process_state *process);

/* tracks.c */
struct counter *counter_get(struct timeline *t, const struct mark *m, const struct name *name,
			    const struct name *series, const struct name *unit);
/* Declares a lane with the name, the number and the parent of `lane`. */
struct track *lane_track_new(struct timeline *t, struct process_state *p, uint64_t ts_ns,
			     const struct track *lane);
void track_declare(struct timeline *t, const struct process_state *p, struct track *track,
		   uint64_t ts_ns);
void counter_keep(struct counter *counter, const struct arg *value, const struct fact *fact);
int counter_mark(struct timeline *t, const struct mark *m);
int step_mark(struct timeline *t, const struct mark *m);
void counters_release(struct timeline *t, struct process_state *p);
void counters_release_thread(struct timeline *t, const struct thread_state *thread);

/* scopes.c: of memory */
int scope_push(struct timeline *t, const struct mark *m);
int scope_pop(const struct mark *m);
const struct name *memory_scope(const struct thread_state *thread);
void scopes_close(struct thread_state *thread);

/* pools.c */
int pools_init(struct timeline *t);
int pool_alloc(struct timeline *t, const struct mark *m);
int pool_free(struct timeline *t, const struct mark *m);
void pools_reset(struct timeline *t, struct process_state *p, uint64_t ts_ns);
/*
 * Frees of a domain that is off are not recorded: its allocations are forgotten, and are no leaks.
 */
void pools_off(struct timeline *t, struct process_state *p, const struct name *domain);
void pools_release(struct timeline *t, struct process_state *p);
void pools_free(struct timeline *t);

#endif
