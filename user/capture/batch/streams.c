/* SPDX-License-Identifier: BSD-2-Clause */
/* All batches, each a stream of events, and the threads and processes that own them. */
#include "capture/batch/batch.h"

#include <stdlib.h>
#include <unistd.h>

#define MAX_STREAMS (1 << 16) /* at once: a program can claim any number of batches */

struct batch_process *batch_process_find(const struct batches *b, uint32_t pid)
{
	struct batch_process *p;

	HASH_FIND(hh, b->processes, &pid, sizeof(pid), p);
	return p;
}

struct batch_thread *batch_thread_find(const struct batches *b, uint32_t pid, uint32_t tid)
{
	const uint32_t key[2] = { pid, tid };
	struct batch_thread *t;

	HASH_FIND(hh, b->threads, key, sizeof(key), t);
	return t;
}

struct batch_process *batch_process_get(struct batches *b, uint32_t pid)
{
	struct batch_process *p = batch_process_find(b, pid);

	if (p)
		return p;
	p = hash_add_new(hh, b->processes, pid, pid);
	if (!p)
		return NULL;
	p->paused = b->paused;
	p->from_ns = b->since_ns;
	return p;
}

struct batch_thread *batch_thread_get(struct batches *b, uint32_t pid, uint32_t tid)
{
	struct batch_thread *t = batch_thread_find(b, pid, tid);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->pid = pid;
	t->tid = tid;
	t->process = batch_process_get(b, pid);
	if (!t->process) {
		free(t);
		return NULL;
	}
	LIST_INSERT_HEAD(&t->process->threads, t, of_process);
	HASH_ADD(hh, b->threads, pid, sizeof(t->pid) + sizeof(t->tid), t);
	return t;
}

void batch_stream_assign(struct batch_stream *s, struct batch_thread *t)
{
	s->thread = t;
	t->n_streams++;
	LIST_INSERT_HEAD(&t->streams, s, of_thread);
	if (s->in_process)
		return;
	s->in_process = true;
	LIST_INSERT_HEAD(&t->process->streams, s, of_process);
}

static void stream_leave_thread(struct batch_stream *s)
{
	if (!s->thread)
		return;
	s->thread->n_streams--;
	LIST_REMOVE(s, of_thread);
	s->thread = NULL;
}

static void stream_leave_process(struct batch_stream *s)
{
	if (!s->in_process)
		return;
	LIST_REMOVE(s, of_process);
	s->in_process = false;
}

struct batch_stream *batch_stream_find(struct batches *b, uint32_t pid, uint64_t address)
{
	const uint64_t key[2] = { pid, address };
	struct batch_stream *s;

	HASH_FIND(hh, b->table, key, sizeof(key), s);
	return s;
}

void batch_stream_retire(struct batches *b, struct batch_stream *s)
{
	if (s->known)
		HASH_DEL(b->table, s);
	s->known = false;
	s->over = true;
}

/*
 * Accounts for events that were seen in memory although the batch they were in was lost. The kernel
 * has counted them as lost.
 */
static void account_seen_in_lost(struct batches *b, const struct batch_stream *s, uint64_t before)
{
	/* Nothing of a batch has been seen that was given up after it was last read. */
	uint64_t seen = s->events - s->handed_events;

	/* The program numbers its events, and may let the numbers wrap around. */
	if ((int64_t)seen > 0 && (int64_t)before > 0)
		batch_losses_seen(b, s, before < seen ? before : seen);
}

void batch_stream_lost_rest(struct batches *b, struct batch_stream *s)
{
	account_seen_in_lost(b, s, INT64_MAX);
	s->handed_events = s->events;
}

void batch_stream_free(struct batches *b, struct batch_stream *s)
{
	/* A process may exit and be freed before the exit of its thread is handled. */
	if (s->thread)
		batch_stream_lost_rest(b, s);
	batch_stream_retire(b, s);
	LIST_REMOVE(s, of_all);
	b->n_streams--;
	b->waiting -= s->end - s->begin;
	stream_leave_thread(s);
	stream_leave_process(s);
	free(s->seen);
	free(s->words);
	free(s);
}

struct batch_stream *batch_stream_new(struct batches *b, struct batch_thread *t, uint64_t address,
				      const struct file *file, const struct batch_head *head)
{
	struct batch_stream *s = batch_stream_find(b, t->pid, address);

	if (s || b->n_streams >= MAX_STREAMS)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->gap = SIZE_MAX;
	s->file = file;
	s->flush = head->flush;
	/* Half an address is enough to tell two load addresses apart. */
	s->file_and_base = (uint64_t)file->first_site << 32 | (uint32_t)head->flush;
	s->turn = head->turn;
	s->begun_ns = monotonic_now();
	s->seen_to = s->handed = head->base;
	s->events = s->handed_events = head->events;
	s->key[0] = t->pid;
	s->key[1] = address;
	batch_stream_assign(s, t);
	LIST_INSERT_HEAD(&b->streams, s, of_all);
	b->n_streams++;
	s->known = true;
	HASH_ADD(hh, b->table, key, sizeof(s->key), s);
	return s;
}

void batch_stream_skip_lost(struct batches *b, struct batch_stream *s,
			    const struct batch_head *head)
{
	account_seen_in_lost(b, s, head->events - s->handed_events);
	s->handed = head->base;
	s->handed_events = head->events;
}

static void batch_thread_free(struct batches *b, struct batch_thread *t)
{
	LIST_REMOVE(t, of_process);
	HASH_DEL(b->threads, t);
	free(t);
}

/* If the number has been given to another thread already, the events of that thread stay. */
void batch_thread_exited(struct batches *b, uint32_t pid, uint32_t tid)
{
	struct batch_thread *t = batch_thread_find(b, pid, tid);
	struct batch_stream *s, *next;

	if (!t)
		return;
	t->depth = 0;
	t->too_deep = 0;
	t->lost = false;
	for (s = LIST_FIRST(&t->streams); s; s = next) {
		next = LIST_NEXT(s, of_thread);
		if (s->begin < s->end)
			continue;
		batch_stream_lost_rest(b, s);
		stream_leave_thread(s);
	}
	if (!t->n_streams)
		batch_thread_free(b, t);
}

void batch_process_executed(struct batches *b, uint32_t pid)
{
	struct batch_process *p = batch_process_find(b, pid);
	struct batch_stream *s;

	if (!p)
		return;
	LIST_FOREACH(s, &p->streams, of_process)
	batch_stream_retire(b, s);
	target_memory_free(p->memory);
	p->memory = NULL;
	p->is_unreadable = false;
	p->tables_missing = false;
}

void batch_process_exited(struct batches *b, uint32_t pid)
{
	struct batch_process *p = batch_process_find(b, pid);
	struct batch_thread *t, *next;

	for (t = p ? LIST_FIRST(&p->threads) : NULL; t; t = next) {
		next = LIST_NEXT(t, of_process);
		batch_thread_exited(b, pid, t->tid);
	}
	if (!p || !LIST_EMPTY(&p->threads))
		return;
	while (!LIST_EMPTY(&p->streams))
		stream_leave_process(LIST_FIRST(&p->streams));
	HASH_DEL(b->processes, p);
	target_memory_free(p->memory);
	free(p);
}
