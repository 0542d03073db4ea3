/* SPDX-License-Identifier: BSD-2-Clause */
/* The batches that there are, each a stream of events, and the threads and processes that these are of. */
#include "capture/batch.h"

#include <stdlib.h>
#include <unistd.h>

#define MOST_STREAMS (1 << 16) /* at once: a program can say that it has any number of batches */

struct batch_process *batch_process_of(struct batches *b, uint32_t pid)
{
	struct batch_process *p;

	HASH_FIND(hh, b->processes, &pid, sizeof(pid), p);
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->memory = -1;
	p->paused = b->paused;
	p->from_ns = b->since_ns;
	HASH_ADD(hh, b->processes, pid, sizeof(p->pid), p);
	return p;
}

struct batch_thread *batch_thread_of(struct batches *b, uint32_t pid, uint32_t tid)
{
	const uint32_t key[2] = { pid, tid };
	struct batch_thread *t;

	HASH_FIND(hh, b->threads, key, sizeof(key), t);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->pid = pid;
	t->tid = tid;
	t->process = batch_process_of(b, pid);
	if (!t->process) {
		free(t);
		return NULL;
	}
	t->place = &t->process->threads;
	t->next = *t->place;
	if (t->next)
		t->next->place = &t->next;
	*t->place = t;
	HASH_ADD(hh, b->threads, pid, sizeof(key), t);
	return t;
}

void batch_stream_give(struct batch_stream *s, struct batch_thread *t)
{
	struct batch_process *p = t->process;

	s->thread = t;
	t->n_streams++;
	s->place_of_thread = &t->streams;
	s->next_of_thread = t->streams;
	if (s->next_of_thread)
		s->next_of_thread->place_of_thread = &s->next_of_thread;
	t->streams = s;
	if (s->place_of_process)
		return;
	s->place_of_process = &p->streams;
	s->next_of_process = p->streams;
	if (s->next_of_process)
		s->next_of_process->place_of_process = &s->next_of_process;
	p->streams = s;
}

static void take_back(struct batch_stream *s)
{
	if (!s->thread)
		return;
	s->thread->n_streams--;
	*s->place_of_thread = s->next_of_thread;
	if (s->next_of_thread)
		s->next_of_thread->place_of_thread = s->place_of_thread;
	s->thread = NULL;
}

static void leave_process(struct batch_stream *s)
{
	if (!s->place_of_process)
		return;
	*s->place_of_process = s->next_of_process;
	if (s->next_of_process)
		s->next_of_process->place_of_process = s->place_of_process;
	s->place_of_process = NULL;
}

struct batch_stream *batch_stream_of(struct batches *b, uint32_t pid, uint64_t address)
{
	const uint64_t key[2] = { pid, address };
	struct batch_stream *s;

	HASH_FIND(hh, b->table, key, sizeof(key), s);
	return s;
}

void batch_stream_forget(struct batches *b, struct batch_stream *s)
{
	if (s->known)
		HASH_DEL(b->table, s);
	s->known = false;
	s->over = true;
}

/* Seen in memory, and the batch they were in did not come: they are among those counted as lost. */
static void not_handed(struct batches *b, const struct batch_stream *s, uint64_t before)
{
	/* Of what was given up after the last look at it nothing has been seen. */
	uint64_t seen = s->events > s->handed_events ? s->events - s->handed_events : 0;

	b->overlap += before < seen ? before : seen;
}

void batch_stream_free(struct batches *b, struct batch_stream *s)
{
	/* Its process may be over, and nothing of it waits, before the end of its thread is its turn. */
	if (s->thread)
		not_handed(b, s, UINT64_MAX);
	batch_stream_forget(b, s);
	*s->place = s->next;
	if (s->next)
		s->next->place = s->place;
	b->n_streams--;
	b->waiting -= s->end - s->begin;
	take_back(s);
	leave_process(s);
	free(s->seen);
	free(s->words);
	free(s);
}

struct batch_stream *batch_stream_new(struct batches *b, struct batch_thread *t, uint64_t address,
				      const struct file *file, const struct batch_head *head)
{
	struct batch_stream *s = batch_stream_of(b, t->pid, address);

	if (s || b->n_streams >= MOST_STREAMS)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->gap = SIZE_MAX;
	s->file = file;
	s->flush = head->flush;
	/* The halves of addresses that events have are enough to tell two places apart. */
	s->place_of_file = (uint64_t)file->first_site << 32 | (uint32_t)head->flush;
	s->owner = head->tid;
	s->taken = s->handed = head->base;
	s->events = s->handed_events = head->events;
	s->key[0] = t->pid;
	s->key[1] = address;
	batch_stream_give(s, t);
	s->place = &b->streams;
	s->next = b->streams;
	if (s->next)
		s->next->place = &s->next;
	b->streams = s;
	b->n_streams++;
	s->known = true;
	HASH_ADD(hh, b->table, key, sizeof(s->key), s);
	return s;
}

void batch_stream_lost(struct batches *b, struct batch_stream *s, const struct batch_head *head)
{
	not_handed(b, s, head->events - s->handed_events);
	s->handed = head->base;
	s->handed_events = head->events;
}

static void thread_free(struct batches *b, struct batch_thread *t)
{
	*t->place = t->next;
	if (t->next)
		t->next->place = t->place;
	HASH_DEL(b->threads, t);
	free(t);
}

/* A number that has been given to another already keeps what that one has sent. */
void batch_thread_over(struct batches *b, uint32_t pid, uint32_t tid)
{
	const uint32_t key[2] = { pid, tid };
	struct batch_stream *s, *next;
	struct batch_thread *t;

	HASH_FIND(hh, b->threads, key, sizeof(key), t);
	if (!t)
		return;
	t->depth = 0;
	t->too_deep = 0;
	t->lost = false;
	for (s = t->streams; s; s = next) {
		next = s->next_of_thread;
		if (s->begin < s->end)
			continue;
		not_handed(b, s, UINT64_MAX);
		s->handed_events = s->events;
		take_back(s);
	}
	if (!t->n_streams)
		thread_free(b, t);
}

void batch_process_renewed(struct batches *b, uint32_t pid)
{
	struct batch_stream *s;
	struct batch_process *p;

	HASH_FIND(hh, b->processes, &pid, sizeof(pid), p);
	if (!p)
		return;
	for (s = p->streams; s; s = s->next_of_process)
		batch_stream_forget(b, s);
	if (p->memory >= 0)
		close(p->memory);
	p->memory = -1;
}

void batch_process_over(struct batches *b, uint32_t pid)
{
	struct batch_thread *t, *next;
	struct batch_process *p;

	HASH_FIND(hh, b->processes, &pid, sizeof(pid), p);
	for (t = p ? p->threads : NULL; t; t = next) {
		next = t->next;
		batch_thread_over(b, pid, t->tid);
	}
	if (!p || p->threads)
		return;
	while (p->streams)
		leave_process(p->streams);
	HASH_DEL(b->processes, p);
	if (p->memory >= 0)
		close(p->memory);
	free(p);
}
