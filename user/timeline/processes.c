/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes and threads: declared by the first event that mentions them, named by the program or by
 * the kernel, removed with their exit. The kernel reuses PIDs and TIDs, while uuids are never
 * reused: whatever comes after an exit belongs to another thread, even if it has the same TID.
 */
#include "timeline/given/given.h"

#include <stdlib.h>
#include <utlist.h>

struct process_state *process_state_find(const struct timeline *t, uint32_t pid)
{
	struct process_state *p;

	HASH_FIND(hh, t->processes, &pid, sizeof(pid), p);
	return p;
}

static void emit_process(struct timeline *t, const struct process_state *p, uint64_t ts_ns)
{
	emit_fact(t, &(struct fact){ .kind = FACT_PROCESS,
				     .ts_ns = ts_ns,
				     .process = &p->pub,
				     .name = p->pub.name });
}

static void emit_thread(struct timeline *t, const struct thread_state *thread, uint64_t ts_ns)
{
	emit_fact(t, &(struct fact){ .kind = FACT_THREAD,
				     .ts_ns = ts_ns,
				     .process = thread->pub.process,
				     .thread = &thread->pub,
				     .name = thread->pub.name });
}

/* A process has the name that it was given, else the kernel's name of its main thread. */
static void rename_process(struct timeline *t, struct process_state *p, uint64_t ts_ns)
{
	const struct name *name = p->given ? p->given : p->comm;

	if (!name || name == p->pub.name)
		return;
	p->pub.name = name;
	emit_process(t, p, ts_ns);
}

static void rename_thread(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	const struct name *name = thread->given ? thread->given : thread->comm;

	if (!name || name == thread->pub.name)
		return;
	thread->pub.name = name;
	emit_thread(t, thread, ts_ns);
}

static struct process_state *process_state_new(struct timeline *t, uint32_t pid, uint64_t ts_ns,
					       uint64_t start_ns, const struct name *comm)
{
	struct process_state *p;

	if (HASH_CNT(hh, t->processes) >= t->limits.processes)
		return NULL;
	p = hash_add_new(hh, t->processes, pub.pid, pid);
	if (!p)
		return NULL;
	p->pub.start_ns = start_ns;
	p->pub.name = p->comm = comm;
	p->pub.uuid = ++t->last_uuid;
	emit_process(t, p, ts_ns);
	return p;
}

struct process_state *process_state_get(struct timeline *t, uint32_t pid, uint64_t ts_ns,
					const struct name *comm)
{
	struct process_state *p = process_state_find(t, pid);

	return p ? p : process_state_new(t, pid, ts_ns, 0, comm);
}

static struct thread_state *thread_state_find(struct timeline *t, struct thread_key key)
{
	struct thread_state **slot = thread_slot(t, key.pid, key.tid);
	struct thread_state *thread = *slot;

	if (thread_has_ids(thread, key.pid, key.tid))
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

static struct thread_state *thread_state_new(struct timeline *t, struct process_state *p,
					     struct thread_key key, const struct name *comm)
{
	struct thread_state *thread;

	if (HASH_CNT(hh, t->threads) >= t->limits.threads)
		return NULL;
	thread = hash_add_new(hh, t->threads, key, key);
	if (!thread)
		return NULL;
	thread->process = p;
	thread->comm = comm;
	thread->pub.tid = key.tid;
	thread->pub.process = &p->pub;
	thread->pub.name = comm;
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

struct thread_state *thread_state_get(struct timeline *t, uint32_t pid, uint32_t tid,
				      uint64_t ts_ns, const struct name *comm)
{
	struct thread_key key = { .pid = pid, .tid = tid };
	struct thread_state *thread = thread_state_find(t, key);
	struct process_state *p;

	if (thread)
		return thread;
	p = process_state_get(t, pid, ts_ns, tid == pid ? comm : NULL);
	if (!p)
		return NULL;
	thread = thread_state_new(t, p, key, comm);
	if (thread)
		emit_thread(t, thread, ts_ns);
	return thread;
}

static void free_thread(struct timeline *t, struct thread_state *thread)
{
	struct thread_state **slot = thread_slot(t, thread->key.pid, thread->key.tid);

	if (*slot == thread)
		*slot = NULL;
	HASH_DELETE(hh, t->threads, thread);
	HASH_DELETE(hh_tid, t->threads_by_tid, thread);
	DL_DELETE(thread->process->threads, thread);
	counters_of_thread_release(t, thread);
	counters_release_thread(t, thread);
	sched_release(thread);
	wait_release(t, thread);
	free(thread->slices);
	free(thread->kept_args);
	free(thread->scopes);
	free(thread);
}

static void end_thread(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	counters_read_alone(t, thread);
	slices_unfinished(t, thread, ts_ns);
	emit_fact(t, &(struct fact){ .kind = FACT_EXIT,
				     .ts_ns = ts_ns < thread->last_ns ? thread->last_ns : ts_ns,
				     .process = thread->pub.process,
				     .thread = &thread->pub });
	free_thread(t, thread);
}

/* Frees everything a process owns, without facts. */
static void clear_process(struct timeline *t, struct process_state *p)
{
	asyncs_release(t, p);
	given_release(t, p);
	pools_release(t, p);
	/* Before the threads, because each thread would search all counters for its own. */
	counters_release(t, p);
	while (p->threads)
		free_thread(t, p->threads);
}

static void free_process(struct timeline *t, struct process_state *p)
{
	clear_process(t, p);
	HASH_DELETE(hh, t->processes, p);
	free(p);
}

static void end_process(struct timeline *t, struct process_state *p, uint64_t ts_ns)
{
	while (p->threads)
		end_thread(t, p->threads, ts_ns);
	asyncs_unfinished(t, p, ts_ns);
	pools_reset(t, p, ts_ns);
	emit_fact(t, &(struct fact){ .kind = FACT_EXIT, .ts_ns = ts_ns, .process = &p->pub });
	free_process(t, p);
}

void processes_free(struct timeline *t)
{
	while (t->processes)
		free_process(t, t->processes);
	clear_process(t, &t->machine);
}

/*
 * The kernel gives out a TID only when it is free. So if a thread or process still has it here, its
 * exit was lost. The PID of a process is the TID of its main thread, and stays in use as long as
 * the process lives.
 */
static void end_previous_owner(struct timeline *t, uint32_t tid, uint64_t ts_ns)
{
	struct process_state *p = process_state_find(t, tid);
	struct thread_state *thread;

	if (p)
		end_process(t, p, ts_ns);
	for (;;) {
		HASH_FIND(hh_tid, t->threads_by_tid, &tid, sizeof(tid), thread);
		if (!thread)
			return;
		end_thread(t, thread, ts_ns);
	}
}

static void apply_fork(struct timeline *t, const struct event *e)
{
	end_previous_owner(t, e->tid, e->ts_ns);
	if (e->tid == e->pid && !process_state_new(t, e->pid, e->ts_ns, e->ts_ns, e->name))
		return;
	thread_state_get(t, e->pid, e->tid, e->ts_ns, e->name);
}

static void apply_comm(struct timeline *t, const struct event *e)
{
	struct thread_state *thread = thread_state_get(t, e->pid, e->tid, e->ts_ns, e->name);

	if (!thread || !e->name)
		return;
	/* A program that renames its main thread does not mean the whole process. */
	if (e->tid == e->pid && !thread->process->comm) {
		thread->process->comm = e->name;
		rename_process(t, thread->process, e->ts_ns);
	}
	thread->comm = e->name;
	rename_thread(t, thread, e->ts_ns);
}

/* exec: the process goes on with one thread and nothing that the old program had. */
static void apply_exec(struct timeline *t, const struct event *e)
{
	struct process_state *p = process_state_get(t, e->pid, e->ts_ns, e->name);
	struct thread_state *thread, *next;

	if (!p)
		return;
	DL_FOREACH_SAFE(p->threads, thread, next)
	{
		if (thread->key.tid == e->tid) {
			slices_unfinished(t, thread, e->ts_ns);
			scopes_close(thread);
		} else {
			end_thread(t, thread, e->ts_ns);
		}
	}
	asyncs_unfinished(t, p, e->ts_ns);
	frames_restart(p);
	given_forget_clocks(t, p);
	pools_reset(t, p, e->ts_ns);
	p->stepped = false;
	p->given = NULL;
	thread = thread_state_get(t, e->pid, e->tid, e->ts_ns, e->name);
	if (thread)
		thread->given = NULL;
	if (e->name) {
		p->given = NULL;
		p->comm = e->name;
		rename_process(t, p, e->ts_ns);
	}
	apply_comm(t, e);
}

static void apply_thread_exit(struct timeline *t, const struct event *e)
{
	struct thread_state *thread =
		thread_state_find(t, (struct thread_key){ .pid = e->pid, .tid = e->tid });

	if (thread)
		end_thread(t, thread, e->ts_ns);
}

static void apply_process_exit(struct timeline *t, const struct event *e)
{
	struct process_state *p = process_state_find(t, e->pid);

	if (p)
		end_process(t, p, e->ts_ns);
}

static void apply_memory_reset(struct timeline *t, const struct event *e)
{
	struct process_state *p = process_state_find(t, e->pid);

	if (p)
		pools_reset(t, p, e->ts_ns);
}

static void apply_process_name(struct timeline *t, const struct event *e)
{
	struct process_state *p = process_state_find(t, e->pid);

	if (!p) {
		/* The process is declared with this name at once, although it is not a comm. */
		p = process_state_new(t, e->pid, e->ts_ns, 0, e->name);
		if (p)
			p->comm = NULL;
	}
	if (!p || !e->name)
		return;
	p->given = e->name;
	rename_process(t, p, e->ts_ns);
}

static const char *find_rank_in(const struct name *text, char ends_with, int *ret_length)
{
	const char *at = text ? strstr(text->text, "rank ") : NULL;

	*ret_length = at ? (int)strspn(at + 5, "0123456789") : 0;
	if (!*ret_length || (at[5 + *ret_length] && at[5 + *ret_length] != ends_with))
		return NULL;
	return at + 5;
}

const char *process_rank(const struct process *process, int *ret_length)
{
	return find_rank_in(process->labels, ',', ret_length)
		       ?: find_rank_in(process->name, ':', ret_length);
}

static void apply_process_labels(struct timeline *t, const struct event *e)
{
	struct process_state *p = process_state_get(t, e->pid, e->ts_ns, NULL);

	if (!p || p->pub.labels == e->name)
		return;
	p->pub.labels = e->name;
	emit_fact(t, &(struct fact){ .kind = FACT_LABELS, .ts_ns = e->ts_ns, .process = &p->pub });
}

int thread_name_mark(struct timeline *t, const struct mark *m)
{
	if (m->event->name) {
		m->thread->given = m->event->name;
		rename_thread(t, m->thread, m->ts_ns);
	}
	return MARK_WRITTEN;
}

void apply_process_event(struct timeline *t, const struct event *e)
{
	static void (*const apply[])(struct timeline * t, const struct event *e) = {
		[EVENT_FORK] = apply_fork,
		[EVENT_EXEC] = apply_exec,
		[EVENT_COMM] = apply_comm,
		[EVENT_PROCESS_NAME] = apply_process_name,
		[EVENT_PROCESS_LABELS] = apply_process_labels,
		[EVENT_THREAD_EXIT] = apply_thread_exit,
		[EVENT_PROCESS_EXIT] = apply_process_exit,
		[EVENT_MEMORY_RESET] = apply_memory_reset,
	};

	if (e->kind < sizeof(apply) / sizeof(apply[0]) && apply[e->kind])
		apply[e->kind](t, e);
}
