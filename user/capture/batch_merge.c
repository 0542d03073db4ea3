/* SPDX-License-Identifier: BSD-2-Clause */
/* All streams and what the kernel told, in the order of time. */
#include "capture/batch.h"
#include "rare.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ROUND_NS 100000000ull /* at least this often */
/* How far a time by the processor's counter may be from the same by the kernel's clock. */
#define CLOCKS_APART_NS 100000ull
#define URGENT_NS	2000000ull
#define MANY_WORDS	(16 << 20 >> 3) /* then it is time, too */

/* The pause that the recorder itself ordered, among what the kernel told. a: pause or not. */
#define RECORD_SAID 101

static uint64_t head_ns(struct batches *b, const struct batch_stream *s)
{
	return batch_clock_ns(&b->clock, s->words[s->begin]);
}

/* --- the order of a stream's events --------------------------------------------------------------- */

/*
 * A signal handler that marked while another mark was being written stands behind it, though its time
 * is before. Rare; but a program can say it of all of its events.
 */
struct place {
	uint64_t ticks;
	size_t at;
};

static int by_ticks(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Without memory for it they stay as they are: in order of their places, not of their times. */
static void sort(struct batch_stream *s)
{
	size_t n = 0, at, i;
	struct place *places =
		reallocarray(NULL, (s->end - s->begin) / BATCH_EVENT_HEAD, sizeof(*places));
	uint64_t *words = reallocarray(NULL, s->room, sizeof(*words));

	s->unsorted = false;
	if (!places || !words) {
		free(places);
		free(words);
		return;
	}
	for (at = s->begin; at < s->end; at += BATCH_EVENT_WORDS(s->words + at))
		places[n++] = (struct place){ s->words[at], at };
	qsort(places, n, sizeof(*places), by_ticks);
	for (i = 0, at = s->begin; i < n; i++) {
		size_t size = BATCH_EVENT_WORDS(s->words + places[i].at);

		memcpy(words + at, s->words + places[i].at, size * sizeof(*words));
		at += size;
	}
	free(places);
	free(s->words);
	s->words = words;
}

/* Of a stream that has some. */
static void look_at_first(struct batches *b, struct batch_stream *s)
{
	if (s->unsorted)
		sort(s);
	s->head.next_ns = head_ns(b, s);
}

/* --- the heap: the stream with the earliest event is on top --------------------------------------- */

static unsigned make_heap(struct batches *b)
{
	struct batch_stream *s;
	unsigned n = 0;

	if (b->heap_room < b->n_streams) {
		struct merge_head **grown = realloc(b->heap, 2 * b->n_streams * sizeof(*b->heap));

		if (!grown)
			return 0;
		b->heap = grown;
		b->heap_room = 2 * b->n_streams;
	}
	for (s = b->streams; s; s = s->next) {
		if (s->begin == s->end)
			continue;
		look_at_first(b, s);
		s->stale = false;
		b->heap[n++] = &s->head;
	}
	merge_heapify(b->heap, n);
	return n;
}

/* --- a stream's events ---------------------------------------------------------------------------- */

/* Some were lost before this event: what was open may have ended among them. */
static void tell_lost(struct capture *c, struct batch_stream *s, uint64_t ns)
{
	struct record_plain r = { .head = { .kind = RECORD_LOST } };

	s->gap = SIZE_MAX;
	s->thread->depth = 0;
	s->thread->too_deep = 0;
	s->thread->lost = true;
	r.head.ts = ns;
	r.head.tgid = s->thread->pid;
	r.head.tid = s->thread->tid;
	r.ops.a = s->lost;
	r.ops.b = ns;
	s->lost = 0;
	decode_take(c, &r.head, sizeof(r));
}

/* Those of a stream that has some, the first one in any case, and then up to `bound`. */
static void pop_until(struct capture *c, struct batch_stream *s, uint64_t bound)
{
	struct batches *b = c->batches;
	size_t begin = s->begin;

	do {
		const uint64_t *event = s->words + s->begin;

		if (rare(s->gap <= s->begin))
			tell_lost(c, s, s->head.next_ns);
		batch_event_take(c, s, event, s->head.next_ns);
		s->begin += BATCH_EVENT_WORDS(event);
		if (s->begin == s->end)
			break;
		s->head.next_ns = head_ns(b, s);
	} while (s->head.next_ns <= bound);
	b->waiting -= s->begin - begin;
}

/* --- what the kernel told ------------------------------------------------------------------------- */

static void set_paused(struct batches *b, const struct record *r)
{
	struct batch_process *p = batch_process_of(b, r->tgid);

	if (!p)
		return;
	if (r->kind == RECORD_STOP)
		p->stopped = true;
	else
		p->paused = r->kind == RECORD_PAUSE;
}

static void said(struct batches *b, bool pause)
{
	struct batch_process *p, *next;

	b->paused = pause;
	HASH_ITER (hh, b->processes, p, next)
		p->paused = pause;
}

/* A child is born as its parent is. */
static void born(struct batches *b, const struct record_plain *r)
{
	struct batch_process *child, *parent;

	if (r->head.tgid != r->head.tid)
		return;
	child = batch_process_of(b, r->head.tgid);
	parent = batch_process_of(b, (uint32_t)r->ops.a);
	if (!child || !parent)
		return;
	child->paused = parent->paused;
	child->stopped = parent->stopped;
}

/*
 * What is left of a thread's streams. They keep their places in the heap, where each is looked at again
 * when it comes to the top.
 */
static void empty(struct capture *c, uint32_t pid, uint32_t tid, uint64_t until_ns)
{
	const uint32_t key[2] = { pid, tid };
	struct batch_stream *s;
	struct batch_thread *t;

	HASH_FIND(hh, c->batches->threads, key, sizeof(key), t);
	for (s = t ? t->streams : NULL; s; s = s->next_of_thread) {
		uint64_t place_ns = s->head.next_ns;

		if (s->begin == s->end)
			continue;
		look_at_first(c->batches, s);
		if (s->head.next_ns <= until_ns)
			pop_until(c, s, until_ns);
		s->head.next_ns = place_ns;
		s->stale = true;
	}
}

/* The marks that enter the kernel in any mode stand among slices of which only the batch knows. */
static void set_level(struct batches *b, struct record *r)
{
	const uint32_t key[2] = { r->tgid, r->tid };
	const struct batch_thread *t;

	if (r->kind < RECORD_THREAD_NAME || r->kind > RECORD_SCOPE_POP)
		return;
	HASH_FIND(hh, b->threads, key, sizeof(key), t);
	if (t)
		r->level = (uint8_t)t->depth;
}

static void take_told(struct capture *c, struct record *r, size_t size)
{
	struct batches *b = c->batches;
	const struct record_plain *plain = (const struct record_plain *)r;

	if (r->kind == RECORD_SAID) {
		said(b, plain->ops.a);
		return;
	}
	if (r->kind == RECORD_FORK && size >= sizeof(*plain))
		born(b, plain);
	/* By the two clocks its last mark may have come a little later. */
	if (r->kind == RECORD_EXIT || r->kind == RECORD_EXEC)
		empty(c, r->tgid, r->tid, r->ts + CLOCKS_APART_NS);
	set_level(b, r);
	decode_take(c, r, size);
	if (r->kind == RECORD_PAUSE || r->kind == RECORD_RESUME || r->kind == RECORD_STOP)
		set_paused(b, r);
	if (r->kind == RECORD_EXEC)
		batch_thread_over(b, r->tgid, r->tid);
	if (r->kind == RECORD_EXIT && size >= sizeof(*plain)) {
		batch_thread_over(b, r->tgid, r->tid);
		if (plain->ops.a)
			batch_process_over(b, r->tgid);
	}
}

static uint64_t told_ns(const struct batches *b)
{
	if (b->told_begin == b->told_end)
		return UINT64_MAX;
	return ((const struct record *)&b->told[b->told_begin + 1])->ts;
}

static void pop_told(struct capture *c)
{
	struct batches *b = c->batches;
	size_t size = b->told[b->told_begin], words = 1 + (size + 7) / 8;
	struct {
		_Alignas(8) char bytes[4096];
	} r;

	if (size > sizeof(r))
		size = sizeof(r);
	memcpy(&r, &b->told[b->told_begin + 1], size);
	b->told_begin += words;
	b->waiting -= words;
	take_told(c, (struct record *)&r, size);
}

/* --- rounds --------------------------------------------------------------------------------------- */

static void merge(struct capture *c, uint64_t known_ns)
{
	struct batches *b = c->batches;
	unsigned n = make_heap(b);

	for (;;) {
		struct batch_stream *s = n ? (struct batch_stream *)b->heap[0] : NULL;
		uint64_t told = told_ns(b), bound = known_ns;

		if (told != UINT64_MAX && told <= known_ns && (!s || told < s->head.next_ns)) {
			pop_told(c);
			continue;
		}
		if (!s || s->head.next_ns > known_ns)
			return;
		if (told < bound)
			bound = told;
		if (!rare(s->stale))
			pop_until(c, s, merge_bound(b->heap, n, bound));
		else if (s->begin < s->end)
			look_at_first(b, s);
		s->stale = false;
		if (s->begin == s->end)
			b->heap[0] = b->heap[--n];
		if (n)
			merge_sift_down(b->heap, 0, n);
	}
}

static void free_over(struct batches *b)
{
	struct batch_stream *s, *next;

	for (s = b->streams; s; s = next) {
		next = s->next;
		if (s->over && s->begin == s->end)
			batch_stream_free(b, s);
	}
}

void batches_round(struct capture *c, bool now)
{
	struct batches *b = c->batches;
	uint64_t ns = monotonic_now(), since = ns - b->round_ns;

	if (!now && since < ROUND_NS && b->waiting < b->enough &&
	    !(b->urgent && since >= URGENT_NS + 4 * b->took_ns))
		return;
	b->round_ns = ns;
	b->urgent = false;
	batch_clock_look(&b->clock);
	b->known_ns = batches_read(c);
	merge(c, b->known_ns);
	free_over(b);
	b->took_ns = monotonic_now() - ns;
	b->enough = b->waiting + MANY_WORDS;
}

void batches_pause(struct capture *c, bool pause)
{
	struct record_plain r = { .head = { .ts = monotonic_now(), .kind = RECORD_SAID } };

	r.ops.a = pause;
	batches_take(c, &r.head, sizeof(r));
}

/*
 * Of a thread that lives on: what it has not handed over was to be read in its memory. What it hands over
 * when nothing is recorded any more is missing, too, and nothing of ours when all until then is known.
 */
static bool ends_unread(struct capture *c, const struct batch_stream *s)
{
	const struct batches *b = c->batches;

	if (s->over || s->ended || !s->thread || !batch_stream_in_memory(s))
		return false;
	return (s->missing_ns && b->known_ns < b->until_ns) ||
	       batch_process_memory(c, s->thread->process) < 0;
}

void batches_stop(struct capture *c)
{
	const struct batch_stream *s;

	for (s = c->batches->streams; s; s = s->next)
		c->batches->unfollowed += ends_unread(c, s);
	merge(c, UINT64_MAX);
}
