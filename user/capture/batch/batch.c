/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches and kernel records from the ring buffer. Each batch goes to its stream. A record of the
 * kernel, such as a fork or an exit, waits in a queue until the events of its time are emitted.
 */
#include "capture/batch/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash_key.h"
#include "proftrace.skel.h"

int batches_new(struct proftrace_bpf__bss *shared, struct batches **ret_batches)
{
	struct batches *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->until_ns = UINT64_MAX;
	b->bases = 1;
	b->enough = 1;
	batch_clock_sample(&b->clock);
	b->since_ns = b->clock.moments[0].ns;
	b->losses = shared->batch_losses;
	b->losses_secret = shared->batch_losses_secret = hash_bytes(&hash_key, "losses", 6);
	*ret_batches = b;
	return 0;
}

void batches_free(struct batches *b)
{
	if (!b)
		return;
	while (!LIST_EMPTY(&b->streams))
		batch_stream_free(b, LIST_FIRST(&b->streams));
	hash_clear(hh, b->threads, t);
	hash_each (b->processes, p) {
		HASH_DEL(b->processes, p);
		target_memory_free(p->memory);
		free(p);
	}
	batch_marks_free(b);
	free(b->heap);
	free(b->queue);
	free(b);
}

/*
 * A thread's events without a batch (BATCH_ALONE) get a stream of their own for each file, with an
 * address that no batch has: the number of the thread, which is below 2^22, and above it bits of
 * the file's number. Two files may share one.
 */
static uint64_t alone_stream_address(const struct capture *c, const struct record_batch *r)
{
	uint64_t file = r->head.site < c->n_sites ? c->sites[r->head.site].file->first_site : 0;

	return STREAM_ALONE | (file & 1023) << 22 | (r->head.tid & ((1u << 22) - 1));
}

static bool stream_is_of_file(const struct capture *c, const struct batch_stream *s,
			      const struct record_batch *r)
{
	return r->ops.b != BATCH_ALONE || r->head.site >= c->n_sites ||
	       s->file == c->sites[r->head.site].file;
}

/* A library was loaded where another one was: its batch starts from the beginning. */
static bool stream_is_replaced(const struct batch_stream *s, const struct record_batch *r)
{
	return r->ops.b == BATCH_NEW && r->batch.base < s->seen_to;
}

/* Whether the batch has another owner than the stream. The record by which it told so may have been lost. */
static bool stream_is_of_other(const struct capture *c, const struct batch_stream *s,
			       const struct batch_thread *t, const struct record_batch *r)
{
	bool is_begun = r->ops.b == BATCH_NEW || r->ops.b == BATCH_ALONE ||
			(s->thread && s->turn != r->batch.turn);

	return is_begun &&
	       (s->thread != t || !stream_is_of_file(c, s, r) || stream_is_replaced(s, r));
}

/*
 * Finds or creates the stream for a batch. A thread that has just got a batch says so; before that,
 * another thread may have owned it.
 */
static struct batch_stream *find_record_stream(struct capture *c, const struct record_batch *r)
{
	struct batches *b = c->batches;
	uint64_t address = r->ops.b == BATCH_ALONE ? 0 : r->ops.a;
	struct batch_thread *t = batch_thread_get(b, r->head.tgid, r->head.tid);
	struct batch_stream *s = batch_stream_find(b, r->head.tgid, address);
	struct batch_head head = r->batch;

	/* Events without a batch are in a stream of the thread's own. */
	if (r->ops.b == BATCH_ALONE) {
		address = alone_stream_address(c, r);
		s = batch_stream_find(b, r->head.tgid, address);
	}
	if (!t)
		return NULL;
	if (s && stream_is_of_other(c, s, t, r)) {
		/* The new owner, or the unloading of its library, has already handed over what the last owner left. */
		batch_stream_retire(b, s);
		s = NULL;
	}
	if (s && r->ops.b != BATCH_EXIT)
		s->ended = false;
	if (s && !s->thread)
		batch_stream_assign(s, t);
	/* The last owner has exited, and its contents are forgotten. */
	if (s) {
		s->turn = r->batch.turn;
		s->loss_thread = r->thread;
		return s;
	}
	if (r->head.site >= c->n_sites)
		return NULL;
	/* In a copy made by a fork, everything before this position is the parent's. */
	if (r->from > head.base) {
		head.base = r->from;
		head.events = r->from_events;
	}
	s = batch_stream_new(b, t, address, c->sites[r->head.site].file, &head);
	if (!s)
		return NULL;
	s->since_ns = r->head.ts;
	s->loss_thread = r->thread;
	return s;
}

/* An event that was written without a time happened when the kernel took it. */
static const uint64_t *set_alone_time(struct batches *b, const struct record_batch *r,
				      size_t *bytes)
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

/*
 * A library is unloaded, with batches of any threads: this is the last reading of their memory. When a program exits, its
 * libraries are unloaded too, and each thread still hands over its batch by itself. Batches without a live owner were
 * handed over when their thread exited.
 */
static void add_unloaded_batch(struct capture *c, const struct record_batch *r, size_t bytes)
{
	struct batch_stream *s = batch_stream_find(c->batches, r->head.tgid, r->ops.a);

	if (!s || !s->thread || s->turn != r->batch.turn)
		return;
	batch_stream_add(c, s, &r->batch, (const uint64_t *)(r + 1), bytes, false);
	if (s->handed >= s->seen_to)
		return;
	s->handed = s->seen_to;
	s->handed_events = s->events;
}

static void add_batch_record(struct capture *c, const struct record_batch *r, size_t size)
{
	size_t bytes = size - sizeof(*r);
	struct batch_head head = r->batch;
	const uint64_t *events;
	struct batch_stream *s;

	if (head.used < sizeof(head))
		return;
	if (r->ops.b == BATCH_UNLOADED) {
		add_unloaded_batch(c, r, bytes);
		return;
	}
	s = find_record_stream(c, r);
	if (!s) {
		/* A batch that its thread has abandoned was counted as lost at that time. */
		if (r->ops.b != BATCH_EXIT || head.stuck < BATCH_STUCK)
			c->batches->unreadable += head.complete >> 16;
		c->batches->unfollowed += r->ops.b == BATCH_NEW;
		return;
	}
	if (r->ops.b == BATCH_ALONE) {
		c->batches->strings += !!(r->head.flags & BATCH_STRINGS_READ);
		head.base = s->seen_to;
		head.events = s->events;
	}
	/*
	 * The batch was to be handed over when its thread abandoned it, but the buffer was full, so
	 * the kernel counts its marks as lost.
	 */
	if (r->ops.b == BATCH_EXIT && head.stuck >= BATCH_STUCK &&
	    s->handed < head.base + head.used - sizeof(head))
		batch_losses_seen(c->batches, s, head.complete >> 16);
	if (r->head.types) {
		s->lost += r->head.types;
		if (s->gap == SIZE_MAX)
			s->gap = s->end;
	}
	events = set_alone_time(c->batches, r, &bytes);
	batch_stream_add(c, s, &head, events, bytes, true);
}

/* A thread's last batch comes before its exit. */
static void mark_streams_ended(struct batches *b, uint32_t pid, uint32_t tid)
{
	struct batch_thread *t = batch_thread_find(b, pid, tid);
	struct batch_stream *s;

	for (s = t ? LIST_FIRST(&t->streams) : NULL; s; s = LIST_NEXT(s, of_thread))
		s->ended = true;
}

/* The number of the thread was that of another one, whose exit was lost. Nothing more comes of that one. */
static void retire_reused_thread(struct batches *b, uint32_t pid, uint32_t tid)
{
	struct batch_thread *t = batch_thread_find(b, pid, tid);
	struct batch_stream *s;

	for (s = t ? LIST_FIRST(&t->streams) : NULL; s; s = LIST_NEXT(s, of_thread))
		batch_stream_retire(b, s);
}

/*
 * Finds the position of a record in the queue, which is sorted by time, and the number of words of the record before it.
 * It is nearly always the end. But a record's time is not taken when it gets its space in the ring buffer, so another
 * CPU's record may come first with a later time.
 */
static size_t find_queue_position(const struct batches *b, uint64_t ts, uint64_t *ret_before)
{
	size_t at = b->queue_end;

	*ret_before = b->queue_last_words;
	while (at > b->queue_begin &&
	       ((const struct record *)&b->queue[at - *ret_before + 1])->ts > ts) {
		at -= *ret_before;
		*ret_before = b->queue[at] >> QUEUE_BEFORE_SHIFT;
	}
	return at;
}

/* Copies a kernel record into the queue. */
static void queue_kernel_record(struct batches *b, const struct record *r, size_t size)
{
	uint64_t before;
	size_t at, words = 1 + (size + 7) / 8,
		   capacity = b->queue_capacity ? b->queue_capacity : 4096;

	if (b->queue_end + words > b->queue_capacity) {
		size_t waiting = b->queue_end - b->queue_begin;
		uint64_t *grown = b->queue;

		if (waiting)
			memmove(b->queue, b->queue + b->queue_begin, waiting * sizeof(*b->queue));
		b->queue_begin = 0;
		b->queue_end = waiting;
		while (capacity < waiting + words)
			capacity *= 2;
		if (capacity != b->queue_capacity)
			grown = realloc(b->queue, capacity * sizeof(*grown));
		if (!grown) {
			b->slots[r->kind == RECORD_BASE ? ACCOUNT_READINGS : ACCOUNT_KERNEL_FULL]++;
			if (r->kind == RECORD_BASE)
				batch_bases_lost(b, r->ts);
			return;
		}
		b->queue = grown;
		b->queue_capacity = capacity;
	}
	at = find_queue_position(b, r->ts, &before);
	if (at == b->queue_end) {
		b->queue_last_words = words;
	} else {
		memmove(b->queue + at + words, b->queue + at,
			(b->queue_end - at) * sizeof(*b->queue));
		b->queue[at + words] =
			QUEUE_SIZE(b->queue[at + words]) | words << QUEUE_BEFORE_SHIFT;
	}
	b->queue[at] = size | before << QUEUE_BEFORE_SHIFT;
	memcpy(&b->queue[at + 1], r, size);
	b->queue_end += words;
	b->waiting += words;
}

/*
 * Threads that exit at the same time may all find that none is left alive, and each reports that it
 * was the last one. The process has only exited when all of its streams have ended.
 */
static bool process_has_open_streams(const struct batches *b, uint32_t pid)
{
	const struct batch_process *p = batch_process_find(b, pid);
	const struct batch_stream *s;

	for (s = p ? LIST_FIRST(&p->streams) : NULL; s; s = LIST_NEXT(s, of_process)) {
		if (s->known && s->thread && !s->ended)
			return true;
	}
	return false;
}

void batches_add_record(struct capture *c, const struct record *r, size_t size)
{
	struct batches *b = c->batches;
	struct record_comm ended;
	bool over;

	if (size < sizeof(*r))
		return;
	if (r->kind == RECORD_BATCH) {
		if (size >= sizeof(struct record_batch))
			add_batch_record(c, (const struct record_batch *)r, size);
		return;
	}
	if (r->kind == RECORD_EXIT)
		mark_streams_ended(b, r->tgid, r->tid);
	if (r->kind == RECORD_FORK)
		retire_reused_thread(b, r->tgid, r->tid);
	over = r->kind == RECORD_EXIT && size >= sizeof(struct record_plain) &&
	       ((const struct record_plain *)r)->ops.a;
	if (over && size <= sizeof(ended) && process_has_open_streams(b, r->tgid)) {
		memcpy(&ended, r, size);
		ended.ops.a = 0;
		r = &ended.head;
		over = false;
	}
	if (r->kind == RECORD_EXEC || over)
		batch_process_executed(b, r->tgid);
	/*
	 * Somebody waits for the consequences: a process exits, a child appears, or a dump is
	 * wanted.
	 */
	b->urgent |= r->kind >= RECORD_STEP && r->kind <= RECORD_EXIT;
	queue_kernel_record(b, r, size);
}

void batches_find(struct capture *c, bool begins)
{
	if (!c->batches)
		return;
	c->batches->finding = begins;
	c->batches->find_steps = 0;
}

bool batches_were_there(const struct capture *c, pid_t pid)
{
	const struct batch_process *p = c->batches ? batch_process_find(c->batches, pid) : NULL;
	const struct batch_stream *s;

	for (s = p ? LIST_FIRST(&p->streams) : NULL; s; s = LIST_NEXT(s, of_process)) {
		if (s->was_there)
			return true;
	}
	return false;
}

void batches_start_process(struct capture *c, pid_t pid, uint64_t from_ns)
{
	struct batch_process *p = batch_process_get(c->batches, pid);

	if (p)
		p->from_ns = from_ns;
}
