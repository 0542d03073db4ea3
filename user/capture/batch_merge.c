/* SPDX-License-Identifier: BSD-2-Clause */
/* All streams and what the kernel told, in the order of time. */
#include "capture/batch.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ROUND_NS 100000000ull /* at least this often */
/* How far a time by the processor's counter may be from the same by the kernel's clock. */
#define CLOCKS_APART_NS 100000ull
#define URGENT_NS	2000000ull
#define MANY_WORDS	(16 << 20 >> 3) /* then it is time, too */

#define META_OBJECT(meta) ((uint8_t)((meta) >> 40))
#define META_IS_MARKER	  (1ull << 44)

/* The pause that the recorder itself ordered, among what the kernel told. a: pause or not. */
#define RECORD_SAID 101

static uint64_t head_ns(const struct batches *b, const struct batch_stream *s)
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
static void look_at_first(const struct batches *b, struct batch_stream *s)
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
		b->heap[n++] = &s->head;
	}
	merge_heapify(b->heap, n);
	return n;
}

/* --- one event ------------------------------------------------------------------------------------ */

/* The site whose stub lies at this address, whose upper half is that of the flush site. */
static const struct site *site_of(struct capture *c, struct batch_stream *s, uint32_t stub,
				  uint32_t *ret_number)
{
	unsigned slot = (stub >> 5) % STREAM_SITES, i;
	uint64_t vaddr = s->file->flush_stub + (int32_t)(stub - (uint32_t)s->flush);

	if (s->sites[slot].site && s->sites[slot].stub == stub) {
		*ret_number = s->sites[slot].site - 1;
		return &c->sites[*ret_number];
	}
	for (i = 0; i < s->file->n_sites; i++) {
		const struct site *site = &c->sites[s->file->first_site + i];

		if (!site->batches || site->vaddr != vaddr)
			continue;
		s->sites[slot].stub = stub;
		s->sites[slot].site = s->file->first_site + i + 1;
		*ret_number = s->file->first_site + i;
		return site;
	}
	return NULL;
}

/* Whether it is a marker all the same: of a domain that is on for another tracer. */
static bool is_not_selected(const struct batch_stream *s, uint32_t stub)
{
	uint64_t vaddr = s->file->flush_stub + (int32_t)(stub - (uint32_t)s->flush);
	unsigned i;

	for (i = 0; i < s->file->sites.n; i++) {
		if (s->file->sites.sites[i].stub == vaddr)
			return true;
	}
	return false;
}

/* The strings of an event, behind the record as bpf/marks.bpf.c puts them. False: it makes no sense. */
static bool put_strings(struct batches *b, const struct batch_event *e, size_t *ret_size)
{
	struct record_full *r = &b->record.record;
	size_t bytes = 0;
	unsigned i;

	if (e->meta & META_NAME_DYNAMIC) {
		if (e->name_length & STRING_NULL) {
			r->head.flags |= RECORD_NAME_UNREADABLE;
		} else {
			r->head.flags |= RECORD_NAME_COPIED |
					 (e->name_length & STRING_CUT ? RECORD_NAME_CUT : 0);
			r->args.name_length = (uint32_t)e->name_length;
			bytes += r->args.name_length;
		}
		if (e->meta & META_CATEGORIES) {
			r->ops.b = e->b & STRING_NULL ? 0 : (uint32_t)e->b;
			bytes += r->ops.b;
		}
	}
	for (i = 0; i < e->n; i++) {
		if ((e->meta >> (8 + 4 * i) & 15) == VALUE_STRING && !(e->values[i] & STRING_NULL))
			bytes += (uint32_t)e->values[i];
		if (bytes > e->n_bytes)
			return false;
	}
	if (bytes > e->n_bytes || bytes > sizeof(b->record.bytes))
		return false;
	memcpy(b->record.bytes, e->bytes, bytes);
	*ret_size = sizeof(*r) + bytes;
	return true;
}

static bool make_record(struct batches *b, const struct batch_event *e, size_t *ret_size)
{
	struct record_full *r = &b->record.record;

	r->ops.a = e->a;
	r->ops.b = e->b;
	if (e->meta & META_CATEGORIES)
		r->head.flags |= RECORD_CATEGORIES;
	r->args.keys = e->keys;
	r->args.name_length = 0;
	if (e->n)
		memcpy(r->args.values, e->values, e->n * sizeof(*e->values));
	*ret_size = e->n ? offsetof(struct record_full, args.values) + e->n * sizeof(*e->values)
			 : sizeof(struct record_plain);
	if (e->meta & (META_NAME_DYNAMIC | META_HAS_STRINGS))
		return put_strings(b, e, ret_size);
	return true;
}

static void take_event(struct capture *c, struct batch_stream *s, const uint64_t *event,
		       uint64_t ns)
{
	struct batches *b = c->batches;
	struct record *r = &b->record.record.head;
	struct batch_event e;
	struct batch_mark m = { 0 };
	const struct site *site;
	size_t size;
	int level;
	bool whole;

	/* From before or after the recording: the batch was there then, or still is. */
	if (ns < s->thread->process->from_ns || ns > b->until_ns)
		return;
	whole = batch_event_read(event, &e);
	site = site_of(c, s, e.stub, &r->site);
	if (!site) {
		b->unreadable += !is_not_selected(s, e.stub);
		return;
	}
	m.kind = site->kind;
	m.meta = e.meta;
	m.only_categories = site->only_categories;
	m.token = e.a ? e.a : site->plain_token;
	level = batch_nesting(b, s->thread, &m);
	if (level < 0)
		return;
	r->ts = ns;
	r->tgid = s->thread->pid;
	r->tid = s->thread->tid;
	r->name = e.name;
	r->types = (uint32_t)m.meta;
	r->kind = m.kind;
	r->flags = m.flags;
	r->level = level;
	r->object = META_OBJECT(m.meta);
	if (!whole || !make_record(b, &e, &size)) {
		c->decoded++;
		c->malformed++;
		return;
	}
	if (m.kind <= RECORD_INSTANT &&
	    !(m.meta & (15 | META_CATEGORIES | META_NAME_DYNAMIC | META_IS_MARKER)))
		size = sizeof(*r);
	decode_take(c, r, size);
}

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

static void pop(struct capture *c, struct batch_stream *s)
{
	struct batches *b = c->batches;
	const uint64_t *event = s->words + s->begin;
	size_t words = BATCH_EVENT_WORDS(event);

	if (s->gap <= s->begin)
		tell_lost(c, s, s->head.next_ns);
	take_event(c, s, event, s->head.next_ns);
	s->begin += words;
	b->waiting -= words;
	if (s->begin < s->end)
		s->head.next_ns = head_ns(b, s);
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

/* What is left of a thread's streams. */
static void empty(struct capture *c, uint32_t pid, uint32_t tid, uint64_t until_ns)
{
	struct batch_stream *s;

	for (s = c->batches->streams; s; s = s->next) {
		if (!s->thread || s->thread->pid != pid || s->thread->tid != tid ||
		    s->begin == s->end)
			continue;
		look_at_first(c->batches, s);
		while (s->begin < s->end && s->head.next_ns <= until_ns)
			pop(c, s);
	}
}

static void take_told(struct capture *c, const struct record *r, size_t size)
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

/* Returns whether streams may have come to their end. */
static bool pop_told(struct capture *c)
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
	take_told(c, (const struct record *)&r, size);
	return ((const struct record *)&r)->kind == RECORD_EXIT ||
	       ((const struct record *)&r)->kind == RECORD_EXEC;
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
			if (pop_told(c))
				n = make_heap(b);
			continue;
		}
		if (!s || s->head.next_ns > known_ns)
			return;
		if (told < bound)
			bound = told;
		bound = merge_bound(b->heap, n, bound);
		do
			pop(c, s);
		while (s->begin < s->end && s->head.next_ns <= bound);
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
	    !(b->urgent && since >= URGENT_NS))
		return;
	b->round_ns = ns;
	b->urgent = false;
	batch_clock_look(&b->clock);
	b->known_ns = batches_read(c);
	merge(c, b->known_ns);
	free_over(b);
	b->enough = b->waiting + MANY_WORDS;
}

void batches_pause(struct capture *c, bool pause)
{
	struct record_plain r = { .head = { .ts = monotonic_now(), .kind = RECORD_SAID } };

	r.ops.a = pause;
	batches_take(c, &r.head, sizeof(r));
}

void batches_stop(struct capture *c)
{
	merge(c, UINT64_MAX);
}
