/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams: what has been seen of the events of each batch. A batch says how many bytes were in it
 * before, so each event has a place in the stream, and one that was seen in memory and then comes with
 * the batch that is handed over is the same one. What the kernel could not hand on is a gap.
 */
#include "capture/batch.h"
#include "rare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEARCHES     128	  /* much more than a batch has holes */
#define NEAR	     (1ull << 40) /* ticks: some minutes */
#define MOST_STREAMS (1 << 16)	  /* at once: a program can say that it has any number of batches */
#define MOST_WORDS   (256 << 20 >> 3) /* that wait in one stream */
#define MOST_WAITING (512 << 20 >> 3) /* in all of them */

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

/* Becomes the thread's, and its process's as well, where it is not yet. */
static void give(struct batch_stream *s, struct batch_thread *t)
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

static void forget(struct batches *b, struct batch_stream *s)
{
	if (s->known)
		HASH_DEL(b->table, s);
	s->known = false;
	s->over = true;
}

/* Seen in memory, and the batch they were in did not come: they are among those counted as lost. */
static void not_handed(struct batches *b, const struct batch_stream *s, uint64_t before)
{
	uint64_t seen = s->events - s->handed_events;

	b->overlap += before < seen ? before : seen;
}

void batch_stream_free(struct batches *b, struct batch_stream *s)
{
	/* Its process may be over, and nothing of it waits, before the end of its thread is its turn. */
	if (s->thread)
		not_handed(b, s, UINT64_MAX);
	forget(b, s);
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
	give(s, t);
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
		forget(b, s);
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

static bool make_room(const struct batches *b, struct batch_stream *s, size_t words)
{
	size_t waiting = s->end - s->begin, room = s->room ? s->room : 256;
	uint64_t *grown;

	if (s->end + words <= s->room)
		return true;
	if (s->begin) {
		memmove(s->words, s->words + s->begin, waiting * sizeof(*s->words));
		if (s->gap != SIZE_MAX)
			s->gap -= s->begin;
		s->begin = 0;
		s->end = waiting;
	}
	if (waiting + words > MOST_WORDS || b->waiting + words > MOST_WAITING)
		return false;
	while (room < waiting + words)
		room *= 2;
	if (room == s->room)
		return true;
	grown = realloc(s->words, room * sizeof(*grown));
	if (!grown)
		return false;
	s->words = grown;
	s->room = room;
	return true;
}

/*
 * Whether an event of this stream may begin here: its time is near, and its stub one of the file's. A file
 * may have thousands of these, and a batch that lies as many places which look like a beginning: they are
 * looked for so often in one batch, and then what is behind is missing.
 */
static bool may_begin(struct batch_stream *s, const uint64_t *events, size_t at, size_t n)
{
	size_t words = BATCH_EVENT_WORDS(events + at);
	uint64_t since = events[at] - s->last_ticks, vaddr;
	unsigned i;

	if (!events[at] || words < BATCH_EVENT_HEAD || at + words > n || since + NEAR > 2 * NEAR)
		return false;
	if (!s->searches)
		return false;
	s->searches--;
	vaddr = s->file->flush_stub + (int32_t)((uint32_t)events[at + 1] - (uint32_t)s->flush);
	for (i = 0; i < s->file->sites.n; i++) {
		if (s->file->sites.sites[i].stub == vaddr)
			return true;
	}
	return false;
}

/*
 * An event at `at` whose time is not there: how many words to go on by, 0 when that cannot be told. It
 * may have been left before it said how long it was going to be; then the next one is looked for.
 */
static size_t hole(struct batch_stream *s, const uint64_t *events, size_t at, size_t n)
{
	size_t words = at + 2 < n ? BATCH_EVENT_WORDS(events + at) : 0, next;

	if (words >= BATCH_EVENT_HEAD)
		return words;
	for (next = at + BATCH_EVENT_HEAD; next + BATCH_EVENT_HEAD <= n && next < at + 256;
	     next++) {
		if (may_begin(s, events, next, n))
			return next - at;
	}
	return 0;
}

/* Copies what stands there in one piece, so many words of it. */
static void append_words(struct batch_stream *s, const uint64_t *events, size_t words)
{
	memcpy(s->words + s->end, events, words * sizeof(*events));
	s->end += words;
}

/*
 * Appends what is complete from `at` on. Handed over, an event without a time is one that will never
 * be complete; in memory, it may still be, and everything behind it waits. One that says it will happen
 * later than `now`, when it has been read, would wait for ever.
 */
static size_t append(struct batch_stream *s, const uint64_t *events, size_t at, size_t n,
		     uint64_t now, bool handed)
{
	size_t from = at; /* not copied yet, from there to `at` */
	uint64_t last = s->last_ticks;

	while (at + BATCH_EVENT_HEAD <= n) {
		size_t words = BATCH_EVENT_WORDS(events + at);
		uint64_t ticks = events[at];

		if (rare(!ticks)) {
			s->last_ticks = last;
			words = handed ? hole(s, events, at, n) : 0;
			if (!words)
				break;
			append_words(s, events + from, at - from);
			from = at += words;
			continue;
		}
		if (rare(words < BATCH_EVENT_HEAD || at + words > n))
			break;
		if (rare(ticks > now)) {
			append_words(s, events + from, at + words - from);
			from = at + words;
			ticks = s->words[s->end - words] = now;
		}
		s->unsorted |= ticks < last;
		last = ticks > last ? ticks : last;
		s->events++;
		at += words;
	}
	append_words(s, events + from, at - from);
	s->last_ticks = last;
	return at;
}

/* A batch that its thread has left while an event in it was being written, which may yet be completed. */
static void take_left(const struct batches *b, struct batch_stream *s,
		      const struct batch_head *head, const uint64_t *events, size_t n, uint64_t now)
{
	size_t at = 0;

	if (!s->seen) {
		s->seen = calloc(BATCH_MAX / 8 / 64, sizeof(*s->seen));
		if (!s->seen)
			return;
		for (; at * 8 + head->base < s->taken && at < n; at++)
			s->seen[at / 64] |= 1ull << at % 64;
	}
	if (!make_room(b, s, n))
		return;
	for (at = 0; at + BATCH_EVENT_HEAD <= n;) {
		size_t words = events[at] ? BATCH_EVENT_WORDS(events + at) : hole(s, events, at, n);

		if (words < BATCH_EVENT_HEAD || at + words > n)
			break;
		if (events[at] && !(s->seen[at / 64] & 1ull << at % 64)) {
			s->seen[at / 64] |= 1ull << at % 64;
			append(s, events, at, at + words, now, true);
		}
		at += words;
	}
	s->taken = head->base + at * 8;
}

/* What is missing behind the last event that has been seen was handed to nobody, since nobody recorded. */
static bool is_before_recording(struct batches *b, const struct batch_stream *s)
{
	return s->was_there && s->thread &&
	       (!s->last_ticks ||
		batch_clock_ns(&b->clock, s->last_ticks) < s->thread->process->from_ns);
}

void batch_stream_take(struct capture *c, struct batch_stream *s, const struct batch_head *head,
		       const uint64_t *events, size_t bytes, bool handed)
{
	struct batches *b = c->batches;
	size_t n = (head->used < bytes + sizeof(*head) ? head->used - sizeof(*head) : bytes) / 8;
	size_t before = s->end - s->begin, at;
	uint64_t now = batch_clock_now();

	s->searches = SEARCHES;
	if (handed && head->base > s->handed)
		batch_stream_lost(b, s, head);
	if (head->base > s->taken) {
		if (!is_before_recording(b, s)) {
			s->lost += head->events - s->events;
			s->gap = s->end;
		}
		s->taken = head->base;
		s->events = head->events;
	}
	at = (s->taken - head->base) / 8;
	if (head->stuck >= BATCH_STUCK) {
		take_left(b, s, head, events, n, now);
	} else if (at < n) {
		if (make_room(b, s, n - at))
			at = append(s, events, at, n, now, handed);
		else if (!handed)
			return;
	}
	b->waiting += s->end - s->begin - before;
	if (handed) {
		uint64_t complete = head->complete >> 16, missing = head->events + complete;

		/* What is complete must be there. But who claims more than that may claim anything. */
		missing = missing > s->events ? missing - s->events : 0;
		missing = missing < complete ? missing : complete;
		b->unreadable += missing;
		s->events += missing;
		/* Given up for lost, and here it is; or left by its thread, and here once more. */
		if (head->base + n * 8 < s->taken) {
			if (head->base >= s->found && head->stuck < BATCH_STUCK)
				b->unreadable += head->complete >> 16;
			return;
		}
		s->taken = head->base + n * 8;
		s->handed = s->taken;
		s->handed_events = s->events;
	} else if (head->stuck < BATCH_STUCK && at * 8 + head->base > s->taken) {
		s->taken = head->base + at * 8;
	}
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
		forget(b, s);
		s = NULL;
	}
	if (s && r->ops.b != BATCH_EXIT)
		s->ended = false;
	if (s && !s->thread)
		give(s, t);
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
