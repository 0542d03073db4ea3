/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events in, facts out. An event is either a mark, which ends in exactly one slot of the account:
 * every function that takes a mark says what became of it, and only take_mark() counts. Or it is a
 * notice of the kernel, which is not counted.
 */
#include "timeline/state.h"
#include "rare.h"

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
	t->offcpu = names_intern_string(names, "offcpu");
	t->frame = names_intern_string(names, "frame");
	t->task = names_intern_string(names, "task");
	t->marker = names_intern_string(names, "marker");
	t->running_ns = names_intern_string(names, "running_ns");
	t->runnable_ns = names_intern_string(names, "runnable_ns");
	t->blocked_ns = names_intern_string(names, "blocked_ns");
	t->unknown_ns = names_intern_string(names, "unknown_ns");
	t->started_twice = names_intern_string(names, "marker started twice");
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
	free(t->handlers);
	free(t);
}

void timeline_scheduled(struct timeline *t)
{
	t->scheduled = t->has_gaps = true;
}

void timeline_has_gaps(struct timeline *t)
{
	t->has_gaps = true;
}

int timeline_add_handler(struct timeline *t, struct handler *handler)
{
	struct handler **grown = realloc(t->handlers, (t->n_handlers + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	t->handlers = grown;
	t->handlers[t->n_handlers++] = handler;
	if (!handler->error)
		t->n_working++;
	return 0;
}

void timeline_remove_handler(struct timeline *t, struct handler *handler)
{
	unsigned i;

	for (i = 0; i < t->n_handlers && t->handlers[i] != handler; i++)
		;
	if (i == t->n_handlers)
		return;
	for (t->n_handlers--; i < t->n_handlers; i++)
		t->handlers[i] = t->handlers[i + 1];
	/* It may have got an error elsewhere meanwhile: when it was flushed. */
	for (i = t->n_working = 0; i < t->n_handlers; i++)
		t->n_working += !t->handlers[i]->error;
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

static inline int hand(struct handler *handler, const struct fact *fact)
{
	int error = handler->ops->fact(handler, fact);

	if (rare(error))
		handler->error = error < 0 ? error : -EIO;
	return error;
}

/* Returns 0, or the error that the handler has just stopped with. */
int hand_to(struct handler *handler, const struct fact *fact)
{
	return !handler->error && hand(handler, fact) ? handler->error : 0;
}

void emit(struct timeline *t, const struct fact *fact)
{
	unsigned i;

	for (i = 0; i < t->n_handlers; i++) {
		struct handler *handler = t->handlers[i];

		if (rare(handler->error) || !rare(hand(handler, fact)))
			continue;
		t->n_working--;
		if (!t->error)
			t->error = handler->error;
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
 * A mark of the innermost open task or marker: the thread's, which is where that is open, with an
 * argument that names it. Without one, it is the thread's alone.
 */
static void name_scope(struct timeline *t, const struct mark *m, struct fact *fact)
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

static int instant(struct timeline *t, const struct mark *m)
{
	struct fact fact = fact_of(m, FACT_INSTANT);

	if (fact.scope > SCOPE_GLOBAL)
		name_scope(t, m, &fact);
	/* Told by us when it was recorded. */
	if (m->name == t->started_twice && m->event->level < 0)
		t->account->started_twice++;
	if (!fact.process)
		fact.scope = SCOPE_GLOBAL;
	else if (!fact.thread && fact.scope == SCOPE_THREAD)
		fact.scope = SCOPE_PROCESS;
	stamp_step(t, m, &fact);
	emit(t, &fact);
	return MARK_WRITTEN;
}

/* What a program does to its own recording is seen in it: an instant of the process. */
static int control(struct timeline *t, const struct mark *m, const struct name *name)
{
	struct fact fact = fact_of(m, FACT_INSTANT);

	m->process->paused_once |= m->event->kind == EVENT_PAUSE;
	if (m->event->kind == EVENT_PAUSE)
		frames_missed(t, m->process);
	fact.name = name;
	fact.scope = fact.process ? SCOPE_PROCESS : SCOPE_GLOBAL;
	stamp_step(t, m, &fact);
	emit(t, &fact);
	return MARK_WRITTEN;
}

static int flow(struct timeline *t, const struct mark *m)
{
	struct fact fact =
		fact_of(m, m->event->kind == EVENT_FLOW_OUT ? FACT_FLOW_OUT : FACT_FLOW_IN);

	fact.in_slice = m->thread->n_slices > 0;
	emit(t, &fact);
	return MARK_WRITTEN;
}

static bool needs_thread(enum event_kind kind)
{
	return kind == EVENT_BEGIN || kind == EVENT_END || kind == EVENT_FLOW_OUT ||
	       kind == EVENT_FLOW_IN || kind == EVENT_THREAD_NAME || kind == EVENT_SCOPE_PUSH ||
	       kind == EVENT_SCOPE_POP;
}

/* Of a thread. */
static bool find_thread(struct timeline *t, struct mark *m)
{
	const struct event *e = m->event;
	struct thread_state *thread = *thread_slot(t, e->pid, e->tid);

	if (rare(!is_thread(thread, e->pid, e->tid)))
		thread = thread_get(t, e->pid, e->tid, e->ts_ns, NULL);
	if (rare(!thread))
		return false;
	m->thread = thread;
	m->process = thread->process;
	if (rare(m->ts_ns < thread->last_ns))
		m->ts_ns = thread->last_ns;
	thread->last_ns = m->ts_ns;
	/* What a file tells, beside what the kernel does, is no mark of the thread's. */
	if (rare(t->states) && e->level >= 0)
		sched_mark(t, thread, m->ts_ns);
	if (thread->n_slices && e->level >= 0 && rare(!slices_are_current(thread, e)))
		slices_close_stale(t, m);
	return true;
}

/* Finds whose mark it is. Without a pid and a tid it belongs to the machine, where that makes sense. */
static bool find_owner(struct timeline *t, struct mark *m)
{
	const struct event *e = m->event;

	if (e->tid || needs_thread(e->kind))
		return find_thread(t, m);
	if (e->pid)
		m->process = process_get(t, e->pid, e->ts_ns, NULL);
	else
		m->process = &t->machine;
	return m->process != NULL;
}

static int take(struct timeline *t, const struct mark *m)
{
	switch (m->event->kind) {
	case EVENT_BEGIN:
		return slice_begin(t, m);
	case EVENT_END:
		return slice_end(t, m);
	case EVENT_INSTANT:
		return instant(t, m);
	case EVENT_COUNTER:
		return counter_mark(t, m);
	case EVENT_ASYNC_BEGIN:
		return async_begin(t, m);
	case EVENT_ASYNC_END:
		return async_end(t, m);
	case EVENT_FLOW_OUT:
	case EVENT_FLOW_IN:
		return flow(t, m);
	case EVENT_ALLOC:
		return pool_alloc(t, m);
	case EVENT_FREE:
		return pool_free(t, m);
	case EVENT_STEP:
		return step_mark(t, m);
	case EVENT_THREAD_NAME:
		return thread_name(t, m);
	case EVENT_PAUSE:
		return control(t, m, t->pause);
	case EVENT_RESUME:
		return control(t, m, t->resume);
	case EVENT_DUMP:
		return control(t, m, t->dump);
	case EVENT_STOP:
		return control(t, m, t->stop);
	case EVENT_INCLUDE_JSON:
		return control(t, m, t->include_json);
	case EVENT_SCOPE_PUSH:
		return scope_push(t, m);
	case EVENT_SCOPE_POP:
		return scope_pop(m);
	default:
		return LOST_MALFORMED;
	}
}

/* What became of a mark, where it is not simply written. */
static void count(struct timeline *t, const struct event *event, int outcome)
{
	t->account->stacks += event->callstack && outcome == MARK_WRITTEN;
	if (event->sampled && outcome != MARK_WRITTEN)
		t->account->samples_lost++;
	else if (event->sampled)
		t->account->samples += event->kind == EVENT_COUNTER && !t->unrecorded;
	else if (outcome == MARK_LEFT_OUT)
		*(t->scheduled ? &t->account->unscheduled : &t->account->paused) += 1;
	else if (outcome != MARK_WRITTEN)
		t->account->lost[outcome]++;
	else if (t->n_handlers && !t->n_working)
		t->account->lost[LOST_OUTPUT]++;
	else if (t->unrecorded)
		t->account->unrecorded++;
	else
		t->account->written++;
}

static void take_mark(struct timeline *t, const struct event *event)
{
	struct mark m = { .event = event,
			  .name = event->name ? event->name : t->unnamed,
			  .ts_ns = event->ts_ns };
	int outcome = find_owner(t, &m) ? take(t, &m) : LOST_LIMIT;

	if (rare(outcome != MARK_WRITTEN || !t->n_working || event->sampled || event->callstack ||
		 t->unrecorded))
		count(t, event, outcome);
	else
		t->account->written++;
}

static void marks_lost(struct timeline *t, const struct event *e)
{
	struct fact fact = { .kind = FACT_LOST, .ts_ns = e->ts_ns, .count = e->size };
	const struct thread_state *thread = NULL;

	frames_missed(t, process_find(t, e->pid));
	if (e->tid)
		thread = thread_get(t, e->pid, e->tid, e->ts_ns, NULL);
	if (thread) {
		fact.process = thread->pub.process;
		fact.thread = &thread->pub;
		if (fact.ts_ns < thread->last_ns)
			fact.ts_ns = thread->last_ns;
	} else if (e->pid) {
		fact.process = process_of(process_get(t, e->pid, e->ts_ns, NULL));
	}
	emit(t, &fact);
}

/* No mark: what the kernel, a file or the recorder tells. False: it is nothing that there is. */
static bool take_notice(struct timeline *t, const struct event *event)
{
	switch (event->kind) {
	case EVENT_PROCESS_NAME:
	case EVENT_COMM:
	case EVENT_FORK:
	case EVENT_EXEC:
	case EVENT_THREAD_EXIT:
	case EVENT_PROCESS_EXIT:
	case EVENT_MEMORY_GONE:
		process_notice(t, event);
		break;
	case EVENT_READING:
		counters_reading(t, event);
		break;
	case EVENT_LOST:
		marks_lost(t, event);
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
		sample_take(t, event);
		break;
	case EVENT_BLOCKED:
		blocked_take(t, event);
		break;
	case EVENT_PHASE:
		if (!event->phase && process_find(t, event->pid)) /* it waits */
			frames_missed(t, process_find(t, event->pid));
		break; /* whoever records knows what else to do about it */
	case EVENT_DOMAIN_OFF:
		domain_off(t, event);
		break;
	case EVENT_CLOCK:
		emit(t, &(struct fact){
				.kind = FACT_CLOCK, .ts_ns = event->ts_ns, .clock = event->clock });
		break;
	default:
		return false;
	}
	return true;
}

static bool is_mark(enum event_kind kind)
{
	return kind < EVENT_MEMORY_GONE || kind == EVENT_THREAD_NAME;
}

int timeline_event(struct timeline *t, const struct event *event)
{
	t->error = 0;
	if (!rare(!is_mark(event->kind)) || !take_notice(t, event))
		take_mark(t, event);
	return t->error;
}

unsigned timeline_open_asyncs(const struct timeline *t)
{
	return t->n_asyncs;
}

void timeline_note(struct timeline *t, const struct name *name, uint64_t ts_ns,
		   const struct arg *args, unsigned n_args)
{
	emit(t, &(struct fact){ .kind = FACT_INSTANT,
				.scope = SCOPE_GLOBAL,
				.ts_ns = ts_ns,
				.name = name,
				.n_args = n_args,
				.args = args });
}

bool timeline_has_process(const struct timeline *t, uint32_t pid)
{
	return process_find(t, pid) != NULL;
}

struct count {
	uint64_t n;
};

static void count_one(void *context, const struct thread *thread, const struct name *name,
		      uint64_t begin_ns)
{
	struct count *count = context;

	(void)thread, (void)name, (void)begin_ns;
	count->n++;
}

int timeline_finish(struct timeline *t, uint64_t ts_ns)
{
	struct count count = { 0 };

	/* What is open stays open: when it would have ended is not known. */
	(void)ts_ns;
	counters_read_rest(t);
	timeline_open_slices(t, count_one, &count);
	t->account->open_at_end = count.n;
	return 0;
}

static void open_asyncs(const struct process_state *p, const struct process *process,
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
	uint32_t i;

	for (p = t->processes; p; p = p->hh.next) {
		for (thread = p->threads; thread; thread = thread->next)
			for (i = 0; i < thread->n_slices; i++)
				each(context, &thread->pub, thread->slices[i].name,
				     thread->slices[i].begin_ns);
		open_asyncs(p, &p->pub, each, context);
	}
	open_asyncs(&t->machine, &t->machine.pub, each, context);
}
