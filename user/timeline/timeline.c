/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events in, facts out. An event is either a mark or a notice. A mark ends in exactly one number of
 * the account: every function that processes a mark returns its outcome, and only apply_mark()
 * counts it. A notice comes from the kernel, a file or the recorder, and is not counted.
 */
#include "timeline/given/given.h"
#include "base/rare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct timeline *timeline_new(struct names *names, struct account *account, uint64_t uuid_base)
{
	struct timeline *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->account = account;
	t->last_uuid = uuid_base;
	t->limits = (struct timeline_limits){
		.processes = LIMIT_PROCESSES,
		.threads = LIMIT_THREADS,
		.depth = LIMIT_DEPTH,
		.tracks = LIMIT_TRACKS,
		.asyncs = LIMIT_ASYNCS,
		.asyncs_of_one_id = LIMIT_ASYNCS_OF_ONE_ID,
		.allocations = LIMIT_ALLOCATIONS,
	};
	t->epoch = names_intern_string(names, "epoch");
	t->batch = names_intern_string(names, "batch");
	t->step = names_intern_string(names, "step");
	t->bytes = names_intern_string(names, "bytes");
	t->unnamed = names_intern_string(names, "(unnamed)");
	t->ns = names_intern_string(names, "ns");
	t->thread_counters = names_intern_string(names, "counters");
	t->ipc = names_intern_string(names, "ipc");
	t->continued = names_intern_string(names, "continued");
	t->pause = names_intern_string(names, "pause");
	t->resume = names_intern_string(names, "resume");
	t->dump = names_intern_string(names, "dump");
	t->stop = names_intern_string(names, "stop");
	t->include_json = names_intern_string(names, "include_json");
	t->async_end = names_intern_string(names, "(async end)");
	t->names = names;
	t->hz = names_intern_string(names, "Hz");
	t->blocked = names_intern_string(names, "blocked");
	t->syscall = names_intern_string(names, "syscall");
	t->offcpu = names_intern_string(names, "offcpu");
	t->frame = names_intern_string(names, "frame");
	t->flow = names_intern_string(names, "flow");
	t->task = names_intern_string(names, "task");
	t->marker = names_intern_string(names, "marker");
	t->running_ns = names_intern_string(names, "running_ns");
	t->runnable_ns = names_intern_string(names, "runnable_ns");
	t->blocked_ns = names_intern_string(names, "blocked_ns");
	t->unknown_ns = names_intern_string(names, "unknown_ns");
	t->started_twice = names_intern_string(names, "marker started twice");
	waits_init(t);
	if (asyncs_init(t) || pools_init(t)) {
		timeline_free(t);
		return NULL;
	}
	return t;
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	processes_free(t);
	asyncs_free(t);
	pools_free(t);
	sched_free(t);
	free(t->consumers);
	free(t);
}

void timeline_scheduled(struct timeline *t)
{
	t->scheduled = t->has_gaps = true;
}

void timeline_starts_at(struct timeline *t, uint64_t start_ns)
{
	t->start_ns = start_ns;
}

void timeline_has_gaps(struct timeline *t)
{
	t->has_gaps = true;
}

int timeline_add_consumer(struct timeline *t, struct consumer *consumer)
{
	struct consumer **grown = realloc(t->consumers, (t->n_consumers + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	t->consumers = grown;
	t->consumers[t->n_consumers++] = consumer;
	if (!consumer->error)
		t->n_working++;
	return 0;
}

void timeline_remove_consumer(struct timeline *t, struct consumer *consumer)
{
	unsigned i;

	for (i = 0; i < t->n_consumers && t->consumers[i] != consumer; i++)
		;
	if (i == t->n_consumers)
		return;
	for (t->n_consumers--; i < t->n_consumers; i++)
		t->consumers[i] = t->consumers[i + 1];
	/* Its error may have been set elsewhere meanwhile: when it was flushed. */
	for (i = t->n_working = 0; i < t->n_consumers; i++)
		t->n_working += !t->consumers[i]->error;
}

void timeline_set_recorded(struct timeline *t, bool recorded)
{
	t->unrecorded = !recorded;
}

bool timeline_step(const struct timeline *t, uint64_t *ret_epoch, uint64_t *ret_batch)
{
	*ret_epoch = t->step_epoch;
	*ret_batch = t->step_batch;
	return t->stepped;
}

static inline int consumer_call(struct consumer *consumer, const struct fact *fact)
{
	int error = consumer->ops->fact(consumer, fact);

	if (rare(error))
		consumer->error = error < 0 ? error : -EIO;
	return error;
}

/* Returns 0, or the error that the consumer has just stopped with. */
int consumer_emit(struct consumer *consumer, const struct fact *fact)
{
	return !consumer->error && consumer_call(consumer, fact) ? consumer->error : 0;
}

void emit_fact(struct timeline *t, const struct fact *fact)
{
	for (unsigned i = 0; i < t->n_consumers; i++) {
		struct consumer *consumer = t->consumers[i];

		if (rare(consumer->error) || !rare(consumer_call(consumer, fact)))
			continue;
		t->n_working--;
		if (!t->error)
			t->error = consumer->error;
	}
}

void stamp_step_args(struct timeline *t, const struct mark *m, struct fact *fact)
{
	unsigned i, n = fact->n_args;

	for (i = 0; i < n; i++) {
		if (fact->args[i].key == t->epoch || fact->args[i].key == t->batch)
			return;
		t->args[i] = fact->args[i];
	}
	t->args[n++] = (struct arg){ .key = t->epoch, .type = ARG_UINT, .u = m->process->epoch };
	t->args[n++] = (struct arg){ .key = t->batch, .type = ARG_UINT, .u = m->process->batch };
	fact->args = t->args;
	fact->n_args = n;
}

/*
 * A mark in the scope of the innermost open task or marker: it belongs to the thread on which that
 * is open, and has an argument with its name. If none is open, it belongs to the thread alone.
 */
static void add_scope_arg(struct timeline *t, const struct mark *m, struct fact *fact)
{
	bool task = fact->scope == SCOPE_TASK;
	const struct name *name = NULL;

	fact->scope = SCOPE_THREAD;
	if (m->thread)
		name = slice_innermost(m->thread, task ? OBJECT_TASK : OBJECT_MARKER);
	if (!name || fact->n_args >= EVENT_MAX_ARGS)
		return;
	if (fact->n_args)
		memcpy(t->args, fact->args, fact->n_args * sizeof(*fact->args));
	t->args[fact->n_args++] = (struct arg){ .key = task ? t->task : t->marker,
						.type = ARG_STRING,
						.length = name->length,
						.s = name->text };
	fact->args = t->args;
}

static int instant_mark(struct timeline *t, const struct mark *m)
{
	struct fact fact = fact_from_mark(m, FACT_INSTANT);

	if (fact.scope > SCOPE_GLOBAL)
		add_scope_arg(t, m, &fact);
	/* Read from a file: the instant was written by slices.c when the trace was recorded. */
	if (m->name == t->started_twice && m->event->level < 0)
		t->account->started_twice++;
	if (!fact.process)
		fact.scope = SCOPE_GLOBAL;
	else if (!fact.thread && fact.scope == SCOPE_THREAD)
		fact.scope = SCOPE_PROCESS;
	stamp_step(t, m, &fact);
	emit_fact(t, &fact);
	return MARK_WRITTEN;
}

/*
 * When a program pauses, resumes, dumps or stops its own recording, an instant of the process shows
 * it.
 */
static int control_mark(struct timeline *t, const struct mark *m, const struct name *name)
{
	struct fact fact = fact_from_mark(m, FACT_INSTANT);

	m->process->paused_once |= m->event->kind == EVENT_PAUSE;
	if (m->event->kind == EVENT_PAUSE)
		frames_missed(t, m->process);
	fact.name = name;
	fact.scope = fact.process ? SCOPE_PROCESS : SCOPE_GLOBAL;
	stamp_step(t, m, &fact);
	emit_fact(t, &fact);
	return MARK_WRITTEN;
}

static int flow_mark(struct timeline *t, const struct mark *m)
{
	struct fact fact =
		fact_from_mark(m, m->event->kind == EVENT_FLOW_OUT ? FACT_FLOW_OUT : FACT_FLOW_IN);

	fact.in_slice = m->thread->n_slices > 0;
	emit_fact(t, &fact);
	return MARK_WRITTEN;
}

static bool kind_needs_thread(enum event_kind kind)
{
	return kind == EVENT_BEGIN || kind == EVENT_END || kind == EVENT_FLOW_OUT ||
	       kind == EVENT_FLOW_IN || kind == EVENT_THREAD_NAME || kind == EVENT_SCOPE_PUSH ||
	       kind == EVENT_SCOPE_POP;
}

/* Finds the thread of the mark. */
static bool mark_find_thread(struct timeline *t, struct mark *m)
{
	const struct event *e = m->event;
	struct thread_state *thread = *thread_slot(t, e->pid, e->tid);

	if (rare(!thread_has_ids(thread, e->pid, e->tid)))
		thread = thread_state_get(t, e->pid, e->tid, e->ts_ns, NULL);
	if (rare(!thread))
		return false;
	m->thread = thread;
	m->process = thread->process;
	if (rare(m->ts_ns < thread->last_ns))
		m->ts_ns = thread->last_ns;
	thread->last_ns = m->ts_ns;
	/*
	 * An event from a file among those of the kernel (level -1) does not prove that the thread
	 * is on a CPU.
	 */
	if (rare(t->states) && e->level >= 0)
		sched_mark(t, thread, m->ts_ns);
	if (thread->n_slices && e->level >= 0 && rare(!slices_are_current(thread, e)))
		slices_close_stale(t, m);
	return true;
}

/*
 * Finds the process and the thread of the mark. Without a pid and a tid it belongs to the machine,
 * if its kind permits that.
 */
static bool mark_find_owner(struct timeline *t, struct mark *m)
{
	const struct event *e = m->event;

	if (e->tid || kind_needs_thread(e->kind))
		return mark_find_thread(t, m);
	if (e->pid)
		m->process = process_state_get(t, e->pid, e->ts_ns, NULL);
	else
		m->process = &t->machine;
	return m->process != NULL;
}

static int dispatch_mark(struct timeline *t, const struct mark *m)
{
	switch (m->event->kind) {
	case EVENT_BEGIN:
		return slice_begin(t, m);
	case EVENT_END:
		return slice_end(t, m);
	case EVENT_INSTANT:
		return instant_mark(t, m);
	case EVENT_COUNTER:
		return counter_mark(t, m);
	case EVENT_ASYNC_BEGIN:
		return async_begin(t, m);
	case EVENT_ASYNC_END:
		return async_end(t, m);
	case EVENT_FLOW_OUT:
	case EVENT_FLOW_IN:
		return flow_mark(t, m);
	case EVENT_SLICE_AT:
		return slice_at(t, m);
	case EVENT_INSTANT_AT:
		return instant_at(t, m);
	case EVENT_CLOCK_READING:
		return clock_reading_mark(t, m);
	case EVENT_ALLOC:
		return pool_alloc(t, m);
	case EVENT_FREE:
		return pool_free(t, m);
	case EVENT_STEP:
		return step_mark(t, m);
	case EVENT_THREAD_NAME:
		return thread_name_mark(t, m);
	case EVENT_PAUSE:
		return control_mark(t, m, t->pause);
	case EVENT_RESUME:
		return control_mark(t, m, t->resume);
	case EVENT_DUMP:
		return control_mark(t, m, t->dump);
	case EVENT_STOP:
		return control_mark(t, m, t->stop);
	case EVENT_INCLUDE_JSON:
		return control_mark(t, m, t->include_json);
	case EVENT_SCOPE_PUSH:
		return scope_push(t, m);
	case EVENT_SCOPE_POP:
		return scope_pop(m);
	default:
		return LOST_MALFORMED;
	}
}

void mark_account(struct timeline *t, const struct event *event, int outcome)
{
	if (outcome == MARK_HELD)
		return;
	if (outcome == MARK_WRITTEN)
		account_callstack(t->account, event);
	if (event->sampled && outcome != MARK_WRITTEN)
		t->account->samples_lost++;
	else if (event->sampled)
		t->account->samples += event->kind == EVENT_COUNTER && !t->unrecorded;
	else if (outcome == MARK_LEFT_OUT)
		*(t->scheduled ? &t->account->unscheduled : &t->account->paused) += 1;
	else if (outcome != MARK_WRITTEN)
		t->account->lost[outcome]++;
	else if (t->n_consumers && !t->n_working)
		t->account->lost[LOST_OUTPUT]++;
	else if (t->unrecorded)
		t->account->unrecorded++;
	else
		t->account->written++;
}

/* A mark whose arguments came in several records. */
static int dispatch_split_mark(struct timeline *t, const struct mark *split)
{
	struct arg args[EVENT_MAX_ARGS];
	struct event whole = *split->event;
	struct mark m = *split;

	if (!m.thread)
		return LOST_MALFORMED;
	if (whole.object == OBJECT_ARGUMENTS)
		return args_keep(t, m.thread, &whole);
	args_join(t, m.thread, &whole, args);
	m.event = &whole;
	return dispatch_mark(t, &m);
}

static void apply_mark(struct timeline *t, const struct event *event)
{
	struct mark m = { .event = event,
			  .name = event->name ? event->name : t->unnamed,
			  .ts_ns = event->ts_ns };
	int outcome = !mark_find_owner(t, &m)	    ? LOST_LIMIT
		      : rare(args_are_split(event)) ? dispatch_split_mark(t, &m)
						    : dispatch_mark(t, &m);

	if (rare(outcome != MARK_WRITTEN || !t->n_working || event->sampled || event->callstack ||
		 t->unrecorded))
		mark_account(t, event, outcome);
	else
		t->account->written++;
}

static void emit_lost_marks(struct timeline *t, const struct event *e)
{
	struct fact fact = { .kind = FACT_LOST, .ts_ns = e->ts_ns, .count = e->size };
	const struct thread_state *thread = NULL;

	frames_missed(t, process_state_find(t, e->pid));
	if (e->tid)
		thread = thread_state_get(t, e->pid, e->tid, e->ts_ns, NULL);
	if (thread) {
		fact.process = thread->pub.process;
		fact.thread = &thread->pub;
		if (fact.ts_ns < thread->last_ns)
			fact.ts_ns = thread->last_ns;
	} else if (e->pid) {
		fact.process = public_process(process_state_get(t, e->pid, e->ts_ns, NULL));
	}
	emit_fact(t, &fact);
}

/* A notice of the kernel, a file or the recorder. False: the kind is unknown. */
static bool apply_notice(struct timeline *t, const struct event *event)
{
	switch (event->kind) {
	case EVENT_PROCESS_NAME:
	case EVENT_PROCESS_LABELS:
	case EVENT_COMM:
	case EVENT_FORK:
	case EVENT_EXEC:
	case EVENT_THREAD_EXIT:
	case EVENT_PROCESS_EXIT:
	case EVENT_MEMORY_RESET:
		apply_process_event(t, event);
		break;
	case EVENT_READING:
		counters_reading(t, event);
		break;
	case EVENT_LOST:
		emit_lost_marks(t, event);
		break;
	case EVENT_SWITCH:
		sched_switch(t, event);
		break;
	case EVENT_WAKING:
		sched_waking(t, event);
		break;
	case EVENT_SCHED_GAP:
		sched_gap(t, event);
		break;
	case EVENT_SAMPLE:
		emit_sample(t, event);
		break;
	case EVENT_BLOCKED:
		emit_blocked(t, event);
		break;
	case EVENT_WAIT_BEGIN:
		wait_begin(t, event);
		break;
	case EVENT_WAIT:
		wait_whole(t, event);
		break;
	case EVENT_SYSCALL:
		emit_syscall(t, event);
		break;
	case EVENT_PHASE: /* the recorder does the rest */
		if (!event->phase && process_state_find(t, event->pid)) /* not recorded */
			frames_missed(t, process_state_find(t, event->pid));
		break;
	case EVENT_DOMAIN_OFF:
		domain_off(t, event);
		break;
	case EVENT_CLOCK:
		emit_fact(t, &(struct fact){ .kind = FACT_CLOCK,
					     .ts_ns = event->ts_ns,
					     .clock = event->clock });
		break;
	default:
		return false;
	}
	return true;
}

static bool is_mark_kind(enum event_kind kind)
{
	return kind < EVENT_MEMORY_RESET || kind == EVENT_THREAD_NAME;
}

int timeline_event(struct timeline *t, const struct event *event)
{
	t->error = 0;
	if (!rare(!is_mark_kind(event->kind)) || !apply_notice(t, event))
		apply_mark(t, event);
	return t->error;
}

unsigned timeline_open_asyncs(const struct timeline *t)
{
	return t->n_asyncs;
}

void timeline_note(struct timeline *t, const struct name *name, uint64_t ts_ns,
		   const struct arg *args, unsigned n_args)
{
	emit_fact(t, &(struct fact){ .kind = FACT_INSTANT,
				     .scope = SCOPE_GLOBAL,
				     .ts_ns = ts_ns,
				     .name = name,
				     .n_args = n_args,
				     .args = args });
}

bool timeline_has_process(const struct timeline *t, uint32_t pid)
{
	return process_state_find(t, pid) != NULL;
}

static void count_open_slice(void *context, const struct thread *thread, const struct name *name,
			     uint64_t begin_ns)
{
	(void)thread, (void)name, (void)begin_ns;
	++*(uint64_t *)context;
}

/* What is open stays open: when it would have ended is not known. */
void timeline_finish(struct timeline *t)
{
	struct process_state *p;
	uint64_t count = 0;

	counters_read_rest(t);
	for (p = t->processes; p; p = p->hh.next)
		held_lose(t, p);
	held_lose(t, &t->machine);
	timeline_open_slices(t, count_open_slice, &count);
	t->account->open_at_end = count;
}

static void each_open_async(const struct process_state *p, const struct process *process,
			    void (*each)(void *context, const struct thread *thread,
					 const struct name *name, uint64_t begin_ns),
			    void *context)
{
	const struct thread none = { .process = process };
	const struct async *async;

	for (async = p->asyncs; async; async = async->next)
		each(context, &none, async->name, async->begin_ns);
}

void timeline_open_slices(const struct timeline *t,
			  void (*each)(void *context, const struct thread *thread,
				       const struct name *name, uint64_t begin_ns),
			  void *context)
{
	const struct process_state *p;
	const struct thread_state *thread;

	for (p = t->processes; p; p = p->hh.next) {
		for (thread = p->threads; thread; thread = thread->next)
			for (uint32_t i = 0; i < thread->n_slices; i++)
				each(context, &thread->pub, thread->slices[i].name,
				     thread->slices[i].begin_ns);
		each_open_async(p, &p->pub, each, context);
	}
	each_open_async(&t->machine, &t->machine.pub, each, context);
}
