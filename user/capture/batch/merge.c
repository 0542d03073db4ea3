/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merging all streams and the kernel's records by time, in rounds.
 *
 * Each stream is sorted, so the stream with the earliest first event is on top of a heap. A record
 * of the kernel comes between the events of its time. The merge ends at the moment up to which
 * everything is known (batch.h).
 */
#include "capture/batch/batch.h"
#include "base/rare.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ROUND_NS 100000000ull /* there is a round at least this often */
/*
 * The largest difference between the time of a mark, which comes from the processor's counter, and
 * the time of a kernel record.
 */
#define CLOCKS_APART_NS 100000ull
#define URGENT_NS	2000000ull
#define MANY_WORDS	(16 << 20 >> 3) /* a round is also due when this many words wait */

/*
 * A pause or resume that the recorder ordered, queued among the kernel's records. a: whether it is
 * a pause; tgid: of which process, 0 of all.
 */
#define RECORD_PAUSE_ORDER 101

static uint64_t first_event_ns(struct batches *b, const struct batch_stream *s)
{
	return batch_clock_ns(&b->clock, s->words[s->begin]);
}

/* --- the order of a stream's events --------------------------------------------------------------- */

/*
 * A signal handler that marks while another mark is being written comes behind it, although its
 * time is earlier. This is rare, but a program can claim it for all of its events.
 */
struct event_place {
	uint64_t ticks;
	size_t at;
};

static int compare_event_ticks(const void *a, const void *b)
{
	const struct event_place *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Without memory, the events stay in the order of their positions. */
static void sort_stream_events(struct batch_stream *s)
{
	size_t n = 0, at, i;
	struct event_place *places =
		reallocarray(NULL, (s->end - s->begin) / BATCH_EVENT_HEAD, sizeof(*places));
	uint64_t *words = reallocarray(NULL, s->capacity, sizeof(*words));

	s->unsorted = false;
	if (!places || !words) {
		free(places);
		free(words);
		return;
	}
	for (at = s->begin; at < s->end; at += BATCH_EVENT_WORDS(s->words + at))
		places[n++] = (struct event_place){ s->words[at], at };
	qsort(places, n, sizeof(*places), compare_event_ticks);
	for (i = 0, at = s->begin; i < n; i++) {
		size_t size = BATCH_EVENT_WORDS(s->words + places[i].at);

		memcpy(words + at, s->words + places[i].at, size * sizeof(*words));
		at += size;
	}
	free(places);
	free(s->words);
	s->words = words;
}

/* Updates the stream's time in the heap. The stream is not empty. */
static void update_stream_head(struct batches *b, struct batch_stream *s)
{
	if (s->unsorted)
		sort_stream_events(s);
	s->head.next_ns = first_event_ns(b, s);
}

/* --- the heap: the stream with the earliest event is on top --------------------------------------- */

static unsigned build_stream_heap(struct batches *b)
{
	struct batch_stream *s;
	unsigned n = 0;

	if (b->heap_capacity < b->n_streams) {
		struct merge_head **grown = realloc(b->heap, 2 * b->n_streams * sizeof(*b->heap));

		if (!grown)
			return 0;
		b->heap = grown;
		b->heap_capacity = 2 * b->n_streams;
	}
	LIST_FOREACH(s, &b->streams, of_all)
	{
		if (s->begin == s->end)
			continue;
		update_stream_head(b, s);
		s->stale = false;
		b->heap[n++] = &s->head;
	}
	merge_heapify(b->heap, n);
	return n;
}

/*
 * --- the events of a stream
 * -----------------------------------------------------------------------
 */

static void batch_thread_lost(struct batch_thread *t)
{
	t->depth = 0;
	t->too_deep = 0;
	t->lost = true;
}

/* Reports events that were lost before this one. They may have ended any of the open slices. */
static void emit_stream_loss(struct capture *c, struct batch_stream *s, uint64_t ns)
{
	struct record_plain r = { .head = { .kind = RECORD_LOST } };
	uint64_t before = c->decoded.reported_lost;

	s->gap = SIZE_MAX;
	batch_thread_lost(s->thread);
	r.head.ts = ns;
	r.head.tgid = s->thread->pid;
	r.head.tid = s->thread->tid;
	r.ops.a = s->lost;
	r.ops.b = ns;
	decode_and_emit(c, &r.head, sizeof(r));
	/* What the program says, and the kernel does not, hides no losses of others. */
	if (c->decoded.reported_lost != before)
		c->decoded.reported_lost = before + batch_losses_reported(c->batches, s, s->lost);
	s->lost = 0;
}

/* Emits the first event of a stream, and then all up to `bound`. */
static void emit_stream_until(struct capture *c, struct batch_stream *s, uint64_t bound)
{
	struct batches *b = c->batches;
	size_t begin = s->begin;

	do {
		const uint64_t *event = s->words + s->begin;

		if (rare(s->gap <= s->begin))
			emit_stream_loss(c, s, s->head.next_ns);
		batch_event_emit(c, s, event, s->head.next_ns);
		s->begin += BATCH_EVENT_WORDS(event);
		if (s->begin == s->end)
			break;
		s->head.next_ns = first_event_ns(b, s);
	} while (s->head.next_ns <= bound);
	b->waiting -= s->begin - begin;
}

/*
 * --- the records of the kernel
 * --------------------------------------------------------------------
 */

static void set_process_paused(struct batches *b, const struct record *r)
{
	struct batch_process *p = batch_process_get(b, r->tgid);

	if (!p)
		return;
	if (r->kind == RECORD_STOP)
		p->stopped = true;
	else
		p->paused = r->kind == RECORD_PAUSE;
}

static void set_paused(struct batches *b, uint32_t pid, bool pause)
{
	struct batch_process *one = pid ? batch_process_get(b, pid) : NULL;

	if (one)
		one->paused = pause;
	if (pid)
		return;
	b->paused = pause;
	hash_each (b->processes, p)
		p->paused = pause;
}

/* A child begins paused if its parent is paused. */
static void inherit_pause(struct batches *b, const struct record_plain *r)
{
	struct batch_process *child, *parent;

	if (r->head.tgid != r->head.tid)
		return;
	child = batch_process_get(b, r->head.tgid);
	parent = batch_process_get(b, (uint32_t)r->ops.a);
	if (!child || !parent)
		return;
	child->paused = parent->paused;
	child->stopped = parent->stopped;
}

/*
 * Emits the rest of a thread's streams. The streams keep their positions in the heap, where they
 * are updated when they come to the top.
 */
static void flush_thread_streams(struct capture *c, uint32_t pid, uint32_t tid, uint64_t until_ns)
{
	struct batch_thread *t = batch_thread_find(c->batches, pid, tid);
	struct batch_stream *s;

	for (s = t ? LIST_FIRST(&t->streams) : NULL; s; s = LIST_NEXT(s, of_thread)) {
		uint64_t place_ns = s->head.next_ns;

		if (s->begin == s->end)
			continue;
		update_stream_head(c->batches, s);
		if (s->head.next_ns <= until_ns)
			emit_stream_until(c, s, until_ns);
		s->head.next_ns = place_ns;
		s->stale = true;
	}
}

/*
 * Sets the level of a mark that enters the kernel in both modes. Only the batch knows the slices
 * around it.
 */
static void set_record_level(struct batches *b, struct record *r)
{
	const struct batch_thread *t;

	if (r->kind < RECORD_THREAD_NAME || r->kind > RECORD_SCOPE_POP)
		return;
	t = batch_thread_find(b, r->tgid, r->tid);
	if (t)
		r->level = (uint8_t)t->depth;
}

/* Marks of the thread that entered the kernel were lost: they may have ended any of its slices. */
static void forget_open_slices(struct batches *b, const struct record *r)
{
	struct batch_thread *t = batch_thread_get(b, r->tgid, r->tid);

	if (t)
		batch_thread_lost(t);
}

static void emit_kernel_record(struct capture *c, struct record *r, size_t size)
{
	struct batches *b = c->batches;
	const struct record_plain *plain = (const struct record_plain *)r;

	if (r->kind == RECORD_PAUSE_ORDER) {
		set_paused(b, r->tgid, plain->ops.a);
		return;
	}
	if (r->kind == RECORD_BASE) {
		batch_base_add(c, r, size);
		return;
	}
	if (r->kind == RECORD_FORK && size >= sizeof(*plain))
		inherit_pause(b, plain);
	/* The clocks differ, so the thread's last mark may have a slightly later time. */
	if (r->kind == RECORD_EXIT || r->kind == RECORD_EXEC)
		flush_thread_streams(c, r->tgid, r->tid, r->ts + CLOCKS_APART_NS);
	if (r->kind == RECORD_LOST)
		forget_open_slices(b, r);
	if (r->kind < RECORD_THREAD_NAME && !batch_apply_record(c, r, &size))
		return;
	set_record_level(b, r);
	decode_and_emit(c, r, size);
	if (r->kind == RECORD_PAUSE || r->kind == RECORD_RESUME || r->kind == RECORD_STOP)
		set_process_paused(b, r);
	if (r->kind == RECORD_EXEC)
		batch_thread_exited(b, r->tgid, r->tid);
	if (r->kind == RECORD_EXIT && size >= sizeof(*plain)) {
		batch_thread_exited(b, r->tgid, r->tid);
		batch_losses_forget(b, r->tid, r->ts);
		if (plain->ops.a)
			batch_process_exited(b, r->tgid);
	}
}

static uint64_t first_queued_ns(const struct batches *b)
{
	if (b->queue_begin == b->queue_end)
		return UINT64_MAX;
	return ((const struct record *)&b->queue[b->queue_begin + 1])->ts;
}

static void pop_kernel_record(struct capture *c)
{
	struct batches *b = c->batches;
	size_t size = QUEUE_SIZE(b->queue[b->queue_begin]), words = 1 + (size + 7) / 8;
	struct {
		_Alignas(8) char bytes[4096];
	} r;

	if (size > sizeof(r))
		size = sizeof(r);
	memcpy(&r, &b->queue[b->queue_begin + 1], size);
	b->queue_begin += words;
	b->waiting -= words;
	emit_kernel_record(c, (struct record *)&r, size);
}

/* --- rounds --------------------------------------------------------------------------------------- */

static void merge_streams(struct capture *c, uint64_t known_ns)
{
	struct batches *b = c->batches;
	unsigned n = build_stream_heap(b);

	for (;;) {
		struct batch_stream *s = n ? (struct batch_stream *)b->heap[0] : NULL;
		uint64_t queued = first_queued_ns(b), bound = known_ns;

		if (queued != UINT64_MAX && queued <= known_ns &&
		    (!s || queued < s->head.next_ns)) {
			pop_kernel_record(c);
			continue;
		}
		if (!s || s->head.next_ns > known_ns)
			return;
		if (s->begin < s->end && batch_awaits_base(c, s->thread, s->head.next_ns))
			return;
		if (queued < bound)
			bound = queued;
		if (!rare(s->stale))
			emit_stream_until(c, s, merge_bound(b->heap, n, bound));
		else if (s->begin < s->end)
			update_stream_head(b, s);
		s->stale = false;
		if (s->begin == s->end)
			b->heap[0] = b->heap[--n];
		if (n)
			merge_sift_down(b->heap, 0, n);
	}
}

static void free_finished_streams(struct batches *b)
{
	struct batch_stream *s, *next;

	for (s = LIST_FIRST(&b->streams); s; s = next) {
		next = LIST_NEXT(s, of_all);
		if (s->over && s->begin == s->end)
			batch_stream_free(b, s);
	}
}

void batches_merge(struct capture *c, bool now)
{
	struct batches *b = c->batches;
	uint64_t ns = monotonic_now(), since = ns - b->round_ns;

	if (!now && since < ROUND_NS && b->waiting < b->enough &&
	    !(b->urgent && since >= URGENT_NS + 4 * b->round_took_ns))
		return;
	b->round_ns = ns;
	b->urgent = false;
	b->ending = now;
	b->rounds++;
	batch_clock_sample(&b->clock);
	b->known_ns = batches_read_memory(c);
	batch_bases_check(c);
	merge_streams(c, b->known_ns);
	free_finished_streams(b);
	b->round_took_ns = monotonic_now() - ns;
	b->enough = b->waiting + MANY_WORDS;
}

void batches_pause(struct capture *c, pid_t pid, bool pause)
{
	struct record_plain r = { .head = { .ts = monotonic_now(), .kind = RECORD_PAUSE_ORDER } };

	r.head.tgid = pid;
	r.ops.a = pause;
	batches_add_record(c, &r.head, sizeof(r));
}

/*
 * Whether events of a live thread were missed at the end: they had not been handed over, and its
 * memory could not be read. What is handed over after the recording has ended is missing, too, but
 * it does not matter if everything before is known.
 */
static bool stream_ends_unread(struct capture *c, const struct batch_stream *s)
{
	const struct batches *b = c->batches;

	if (s->over || s->ended || !s->thread || !batch_stream_in_memory(s))
		return false;
	return s->unread || (s->missing_ns && b->known_ns < b->until_ns) ||
	       !batch_process_open_memory(c, s->thread->process);
}

void batches_find_exited(struct batches *b)
{
	struct batch_stream *s;

	LIST_FOREACH(s, &b->streams, of_all)
	{
		s->lost_exit = !s->over && s->thread && batch_stream_in_memory(s) &&
			       s->events > s->handed_events &&
			       batch_thread_has_exited(s->thread->tid);
	}
}

void batches_stop(struct capture *c)
{
	struct batch_stream *s;

	LIST_FOREACH(s, &c->batches->streams, of_all)
	{
		c->batches->unfollowed += stream_ends_unread(c, s);
		if (s->lost_exit && !s->ended)
			batch_stream_lost_rest(c->batches, s);
	}
	batch_bases_check(c);
	c->batches->ending = true;
	c->batches->rounds++;
	merge_streams(c, UINT64_MAX);
}
