/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes from the ring buffer: batches, and what the kernel tells besides, which waits for its time. */
#include "capture/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int batches_new(struct batches **ret_batches)
{
	struct batches *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->until_ns = UINT64_MAX;
	b->enough = 1;
	batch_clock_look(&b->clock);
	b->since_ns = b->clock.moments[0].ns;
	*ret_batches = b;
	return 0;
}

void batches_free(struct batches *b)
{
	struct batch_thread *t, *next_thread;
	struct batch_process *p, *next_process;

	if (!b)
		return;
	while (b->streams)
		batch_stream_free(b, b->streams);
	batch_rooms_forget(b);
	HASH_ITER (hh, b->threads, t, next_thread) {
		HASH_DEL(b->threads, t);
		free(t);
	}
	HASH_ITER (hh, b->processes, p, next_process) {
		HASH_DEL(b->processes, p);
		if (p->memory >= 0)
			close(p->memory);
		free(p);
	}
	batch_marks_free(b);
	free(b->heap);
	free(b->told);
	free(b);
}

/*
 * Events that went past all batches have a stream of their own for each thread and file, at a place where
 * no batch is: the number of the thread, below 2^22, and one of the file above it. Two files may share it.
 */
static uint64_t alone_place(const struct capture *c, const struct record_batch *r)
{
	uint64_t file = r->head.site < c->n_sites ? c->sites[r->head.site].file->first_site : 0;

	return (file & 1023) << 22 | (r->head.tid & ((1u << 22) - 1));
}

static bool is_of_file(const struct capture *c, const struct batch_stream *s,
		       const struct record_batch *r)
{
	return r->ops.b != BATCH_ALONE || r->head.site >= c->n_sites ||
	       s->file == c->sites[r->head.site].file;
}

/* Whose batch it is: a thread that has just got one says so, which may have been another's. */
static struct batch_stream *stream_for(struct capture *c, const struct record_batch *r)
{
	struct batches *b = c->batches;
	uint64_t address = r->ops.b == BATCH_ALONE ? 0 : r->ops.a;
	struct batch_thread *t = batch_thread_of(b, r->head.tgid, r->head.tid);
	struct batch_stream *s = batch_stream_of(b, r->head.tgid, address);

	/* What is past the batches is the thread's own. */
	if (r->ops.b == BATCH_ALONE) {
		address = alone_place(c, r);
		s = batch_stream_of(b, r->head.tgid, address);
	}
	if (!t)
		return NULL;
	if (s && (s->thread != t || !is_of_file(c, s, r)) &&
	    (r->ops.b == BATCH_NEW || r->ops.b == BATCH_ALONE)) {
		/* What its last thread left has been handed over by this one, before. */
		batch_stream_forget(b, s);
		s = NULL;
	}
	if (s && r->ops.b != BATCH_EXIT)
		s->ended = false;
	if (s && !s->thread)
		batch_stream_give(s, t);
	/* Of a thread that had ended, and was forgotten with all that was in the batch. */
	if (s && r->ops.b == BATCH_NEW)
		s->owner = r->batch.tid;
	if (s)
		return s;
	if (r->ops.b == BATCH_EXIT || r->head.site >= c->n_sites)
		return NULL;
	s = batch_stream_new(b, t, address, c->sites[r->head.site].file, &r->batch);
	if (s)
		s->since_ns = r->head.ts;
	return s;
}

/* An event that could not know its time happened when the kernel took it. */
static const uint64_t *with_time(struct batches *b, const struct record_batch *r, size_t *bytes)
{
	const uint64_t *events = (const uint64_t *)(r + 1);

	if (r->ops.b != BATCH_ALONE || *bytes < 8 || events[0])
		return events;
	if (*bytes > sizeof(b->memory))
		*bytes = sizeof(b->memory);
	memcpy(b->memory, events, *bytes);
	b->memory[0] = batch_clock_ticks(&b->clock, r->head.ts);
	return b->memory;
}

static void take_batch(struct capture *c, const struct record_batch *r, size_t size)
{
	size_t bytes = size - sizeof(*r);
	struct batch_head head = r->batch;
	const uint64_t *events;
	struct batch_stream *s;

	batch_room_wanted(c, r);
	if (head.used < sizeof(head))
		return;
	s = stream_for(c, r);
	if (!s) {
		/* One that its thread had left counts as lost since then. */
		if (r->ops.b != BATCH_EXIT || head.stuck < BATCH_STUCK)
			c->batches->unreadable += head.complete >> 16;
		c->batches->unfollowed += r->ops.b == BATCH_NEW;
		return;
	}
	if (r->ops.b == BATCH_ALONE) {
		head.base = s->taken;
		head.events = s->events;
	}
	/* It was to be handed over when its thread left it, and found no room: it counts as lost. */
	if (r->ops.b == BATCH_EXIT && head.stuck >= BATCH_STUCK &&
	    s->handed < head.base + head.used - sizeof(head))
		c->batches->overlap += head.complete >> 16;
	if (r->head.types) {
		s->lost += r->head.types;
		if (s->gap == SIZE_MAX)
			s->gap = s->end;
	}
	events = with_time(c->batches, r, &bytes);
	batch_stream_take(c, s, &head, events, bytes, true);
}

/* A thread's last batch comes before its exit. */
static void end_streams(struct batches *b, uint32_t pid, uint32_t tid)
{
	const uint32_t key[2] = { pid, tid };
	struct batch_stream *s;
	struct batch_thread *t;

	HASH_FIND(hh, b->threads, key, sizeof(key), t);
	for (s = t ? t->streams : NULL; s; s = s->next_of_thread)
		s->ended = true;
}

/*
 * Where among what was told a record of this time belongs: nearly always at the end. Its time was taken
 * before its place in the ring buffer, and whoever came in between stands in front of it with a later
 * one.
 */
static size_t place_of(const struct batches *b, uint64_t ts)
{
	size_t at = b->told_begin;

	if (b->told_begin == b->told_end || b->told_last_ns <= ts)
		return b->told_end;
	while (at < b->told_end && ((const struct record *)&b->told[at + 1])->ts <= ts)
		at += 1 + (b->told[at] + 7) / 8;
	return at;
}

/* What the kernel told waits with the events of its time. */
static void keep(struct batches *b, const struct record *r, size_t size)
{
	size_t at, words = 1 + (size + 7) / 8, room = b->told_room ? b->told_room : 4096;

	if (b->told_end + words > b->told_room) {
		size_t waiting = b->told_end - b->told_begin;
		uint64_t *grown = b->told;

		if (waiting)
			memmove(b->told, b->told + b->told_begin, waiting * sizeof(*b->told));
		b->told_begin = 0;
		b->told_end = waiting;
		while (room < waiting + words)
			room *= 2;
		if (room != b->told_room)
			grown = realloc(b->told, room * sizeof(*grown));
		if (!grown) {
			b->slots[ACCOUNT_KERNEL_FULL]++;
			return;
		}
		b->told = grown;
		b->told_room = room;
	}
	at = place_of(b, r->ts);
	if (at == b->told_end)
		b->told_last_ns = r->ts;
	if (at < b->told_end)
		memmove(b->told + at + words, b->told + at, (b->told_end - at) * sizeof(*b->told));
	b->told[at] = size;
	memcpy(&b->told[at + 1], r, size);
	b->told_end += words;
	b->waiting += words;
}

/*
 * Threads that end at once may all find that none is left alive, and each says that it is the last one.
 * What others have to say comes yet: only then the process is over.
 */
static bool others_end(const struct batches *b, uint32_t pid)
{
	const struct batch_stream *s;
	const struct batch_process *p;

	HASH_FIND(hh, b->processes, &pid, sizeof(pid), p);
	for (s = p ? p->streams : NULL; s; s = s->next_of_process) {
		if (s->known && s->thread && !s->ended)
			return true;
	}
	return false;
}

void batches_take(struct capture *c, const struct record *r, size_t size)
{
	struct batches *b = c->batches;
	struct record_comm ended;
	bool over;

	if (size < sizeof(*r))
		return;
	if (r->kind == RECORD_BATCH) {
		if (size >= sizeof(struct record_batch))
			take_batch(c, (const struct record_batch *)r, size);
		return;
	}
	if (r->kind == RECORD_EXIT)
		end_streams(b, r->tgid, r->tid);
	over = r->kind == RECORD_EXIT && size >= sizeof(struct record_plain) &&
	       ((const struct record_plain *)r)->ops.a;
	if (over && size <= sizeof(ended) && others_end(b, r->tgid)) {
		memcpy(&ended, r, size);
		ended.ops.a = 0;
		r = &ended.head;
		over = false;
	}
	if (r->kind == RECORD_EXEC || over)
		batch_process_renewed(b, r->tgid);
	if (r->kind == RECORD_EXEC)
		batch_rooms_exec(c, (pid_t)r->tgid, r->ts);
	else if (over)
		batch_rooms_over(c, (pid_t)r->tgid);
	/* Somebody waits for its consequences: a process ends, a child appears, a dump is wanted. */
	b->urgent |= r->kind >= RECORD_STEP && r->kind <= RECORD_EXIT;
	keep(b, r, size);
}

void batches_from_now(struct capture *c, pid_t pid)
{
	struct batch_process *p = batch_process_of(c->batches, pid);

	if (p)
		p->from_ns = monotonic_now();
}
