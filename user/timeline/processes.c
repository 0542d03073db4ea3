/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes and threads: declared by the first event that mentions them, named by the program or by
 * the kernel, gone with their exit. Numbers are reused by the kernel, uuids never are: what comes
 * after an exit is another thread, even with the same number.
 */
#include "timeline/state.h"

#include <stdlib.h>
#include <utlist.h>

struct process_state *process_find(const struct timeline *t, uint32_t pid)
{
	struct process_state *p;

	HASH_FIND(hh, t->processes, &pid, sizeof(pid), p);
	return p;
}

static void tell_process(struct timeline *t, const struct process_state *p, uint64_t ts_ns)
{
	emit(t, &(struct fact){ .kind = FACT_PROCESS,
				.ts_ns = ts_ns,
				.process = &p->pub,
				.name = p->pub.name });
}

static void tell_thread(struct timeline *t, const struct thread_state *thread, uint64_t ts_ns)
{
	emit(t, &(struct fact){ .kind = FACT_THREAD,
				.ts_ns = ts_ns,
				.process = thread->pub.process,
				.thread = &thread->pub,
				.name = thread->pub.name });
}

/* A process is called what it was given, else what its main thread is called by the kernel. */
static void rename_process(struct timeline *t, struct process_state *p, uint64_t ts_ns)
{
	const struct name *name = p->given ? p->given : p->comm;

	if (!name || name == p->pub.name)
		return;
	p->pub.name = name;
	tell_process(t, p, ts_ns);
}

static void rename_thread(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	const struct name *name = thread->given ? thread->given : thread->comm;

	if (!name || name == thread->pub.name)
		return;
	thread->pub.name = name;
	tell_thread(t, thread, ts_ns);
}

static struct process_state *process_new(struct timeline *t, uint32_t pid, uint64_t ts_ns,
					 uint64_t start_ns, const struct name *comm)
{
	struct process_state *p;

	if (HASH_CNT(hh, t->processes) >= t->limits.processes)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pub.pid = pid;
	p->pub.start_ns = start_ns;
	p->pub.name = p->comm = comm;
	HASH_ADD(hh, t->processes, pub.pid, sizeof(p->pub.pid), p);
	if (!hash_added(hh, p)) {
		free(p);
		return NULL;
	}
	p->pub.uuid = ++t->last_uuid;
	tell_process(t, p, ts_ns);
	return p;
}

struct process_state *process_get(struct timeline *t, uint32_t pid, uint64_t ts_ns,
				  const struct name *comm)
{
	struct process_state *p = process_find(t, pid);

	return p ? p : process_new(t, pid, ts_ns, 0, comm);
}

static struct thread_state *thread_find(struct timeline *t, struct thread_key key)
{
	struct thread_state **slot = thread_slot(t, key.pid, key.tid);
	struct thread_state *thread = *slot;

	if (is_thread(thread, key.pid, key.tid))
		return thread;
	HASH_FIND(hh, t->threads, &key, sizeof(key), thread);
	if (thread)
		*slot = thread;
	return thread;
}

struct thread_state *thread_with_tid(const struct timeline *t, uint32_t tid)
{
	struct thread_state *thread;

	HASH_FIND(hh_tid, t->threads_by_tid, &tid, sizeof(tid), thread);
	return thread;
}

static struct thread_state *thread_new(struct timeline *t, struct process_state *p,
				       struct thread_key key, const struct name *comm)
{
	struct thread_state *thread;

	if (HASH_CNT(hh, t->threads) >= t->limits.threads)
		return NULL;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->key = key;
	thread->process = p;
	thread->comm = comm;
	thread->pub.tid = key.tid;
	thread->pub.process = &p->pub;
	thread->pub.name = comm;
	HASH_ADD(hh, t->threads, key, sizeof(key), thread);
	if (!hash_added(hh, thread)) {
		free(thread);
		return NULL;
	}
	HASH_ADD(hh_tid, t->threads_by_tid, pub.tid, sizeof(thread->pub.tid), thread);
	if (!hash_added(hh_tid, thread)) {
		HASH_DELETE(hh, t->threads, thread);
		free(thread);
		return NULL;
	}
	DL_APPEND(p->threads, thread);
	thread->pub.uuid = ++t->last_uuid;
	return thread;
}

struct thread_state *thread_get(struct timeline *t, uint32_t pid, uint32_t tid, uint64_t ts_ns,
				const struct name *comm)
{
	struct thread_key key = { .pid = pid, .tid = tid };
	struct thread_state *thread = thread_find(t, key);
	struct process_state *p;

	if (thread)
		return thread;
	p = process_get(t, pid, ts_ns, tid == pid ? comm : NULL);
	if (!p)
		return NULL;
	thread = thread_new(t, p, key, comm);
	if (thread)
		tell_thread(t, thread, ts_ns);
	return thread;
}

static void thread_release(struct timeline *t, struct thread_state *thread)
{
	struct thread_state **slot = thread_slot(t, thread->key.pid, thread->key.tid);

	if (*slot == thread)
		*slot = NULL;
	HASH_DELETE(hh, t->threads, thread);
	HASH_DELETE(hh_tid, t->threads_by_tid, thread);
	DL_DELETE(thread->process->threads, thread);
	counters_of_thread_release(t, thread);
	counters_from_file_release(t, thread);
	sched_release(thread);
	free(thread->slices);
	free(thread->scopes);
	free(thread);
}

static void thread_end(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	counters_read_alone(t, thread);
	slices_unfinished(t, thread, ts_ns);
	emit(t, &(struct fact){ .kind = FACT_GONE,
				.ts_ns = ts_ns < thread->last_ns ? thread->last_ns : ts_ns,
				.process = thread->pub.process,
				.thread = &thread->pub });
	thread_release(t, thread);
}

/* Frees what a process owns, without a word. */
static void process_clear(struct timeline *t, struct process_state *p)
{
	asyncs_release(t, p);
	pools_release(t, p);
	/* Before the threads: each would look for its own among them. */
	counters_release(t, p);
	while (p->threads)
		thread_release(t, p->threads);
}

static void process_release(struct timeline *t, struct process_state *p)
{
	process_clear(t, p);
	HASH_DELETE(hh, t->processes, p);
	free(p);
}

static void process_end(struct timeline *t, struct process_state *p, uint64_t ts_ns)
{
	while (p->threads)
		thread_end(t, p->threads, ts_ns);
	asyncs_unfinished(t, p, ts_ns);
	memory_gone(t, p, ts_ns);
	emit(t, &(struct fact){ .kind = FACT_GONE, .ts_ns = ts_ns, .process = &p->pub });
	process_release(t, p);
}

void processes_free(struct timeline *t)
{
	while (t->processes)
		process_release(t, t->processes);
	process_clear(t, &t->machine);
}

/*
 * A number that starts anew was free: whoever still has it has exited without our hearing of it. The
 * number of a process is that of its main thread, and stays taken as long as the process lives.
 */
static void end_those_with(struct timeline *t, uint32_t tid, uint64_t ts_ns)
{
	struct process_state *p = process_find(t, tid);
	struct thread_state *thread;

	if (p)
		process_end(t, p, ts_ns);
	for (;;) {
		HASH_FIND(hh_tid, t->threads_by_tid, &tid, sizeof(tid), thread);
		if (!thread)
			return;
		thread_end(t, thread, ts_ns);
	}
}

static void forked(struct timeline *t, const struct event *e)
{
	end_those_with(t, e->tid, e->ts_ns);
	if (e->tid == e->pid && !process_new(t, e->pid, e->ts_ns, e->ts_ns, e->name))
		return;
	thread_get(t, e->pid, e->tid, e->ts_ns, e->name);
}

static void comm_changed(struct timeline *t, const struct event *e)
{
	struct thread_state *thread = thread_get(t, e->pid, e->tid, e->ts_ns, e->name);

	if (!thread || !e->name)
		return;
	/* A program that names its main thread does not mean the whole process. */
	if (e->tid == e->pid && !thread->process->comm) {
		thread->process->comm = e->name;
		rename_process(t, thread->process, e->ts_ns);
	}
	thread->comm = e->name;
	rename_thread(t, thread, e->ts_ns);
}

/* The process goes on with one thread and nothing of what the old program had. */
static void executed(struct timeline *t, const struct event *e)
{
	struct process_state *p = process_get(t, e->pid, e->ts_ns, e->name);
	struct thread_state *thread, *next;

	if (!p)
		return;
	DL_FOREACH_SAFE(p->threads, thread, next)
	{
		if (thread->key.tid == e->tid) {
			slices_unfinished(t, thread, e->ts_ns);
			scopes_close(thread);
		} else {
			thread_end(t, thread, e->ts_ns);
		}
	}
	asyncs_unfinished(t, p, e->ts_ns);
	frames_restart(p);
	memory_gone(t, p, e->ts_ns);
	p->stepped = false;
	p->given = NULL;
	thread = thread_get(t, e->pid, e->tid, e->ts_ns, e->name);
	if (thread)
		thread->given = NULL;
	if (e->name) {
		p->given = NULL;
		p->comm = e->name;
		rename_process(t, p, e->ts_ns);
	}
	comm_changed(t, e);
}

static void thread_exited(struct timeline *t, const struct event *e)
{
	struct thread_state *thread =
		thread_find(t, (struct thread_key){ .pid = e->pid, .tid = e->tid });

	if (thread)
		thread_end(t, thread, e->ts_ns);
}

static void process_exited(struct timeline *t, const struct event *e)
{
	struct process_state *p = process_find(t, e->pid);

	if (p)
		process_end(t, p, e->ts_ns);
}

static void memory_lost(struct timeline *t, const struct event *e)
{
	struct process_state *p = process_find(t, e->pid);

	if (p)
		memory_gone(t, p, e->ts_ns);
}

static void process_named(struct timeline *t, const struct event *e)
{
	struct process_state *p = process_find(t, e->pid);

	if (!p) {
		/* Declared with the name at once; it is not a comm, though. */
		p = process_new(t, e->pid, e->ts_ns, 0, e->name);
		if (p)
			p->comm = NULL;
	}
	if (!p || !e->name)
		return;
	p->given = e->name;
	rename_process(t, p, e->ts_ns);
}

int thread_name(struct timeline *t, const struct mark *m)
{
	if (m->event->name) {
		m->thread->given = m->event->name;
		rename_thread(t, m->thread, m->ts_ns);
	}
	return MARK_WRITTEN;
}

void process_notice(struct timeline *t, const struct event *e)
{
	switch (e->kind) {
	case EVENT_FORK:
		forked(t, e);
		break;
	case EVENT_EXEC:
		executed(t, e);
		break;
	case EVENT_COMM:
		comm_changed(t, e);
		break;
	case EVENT_PROCESS_NAME:
		process_named(t, e);
		break;
	case EVENT_THREAD_EXIT:
		thread_exited(t, e);
		break;
	case EVENT_PROCESS_EXIT:
		process_exited(t, e);
		break;
	case EVENT_MEMORY_GONE:
		memory_lost(t, e);
		break;
	default:
		break;
	}
}
